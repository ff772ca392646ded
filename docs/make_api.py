"""Writes docs/api/, the reference of all public names, from the docstrings.

One page for each public module, and an index of all names. Run ``make api``;
`tests/project/test_docs.py` checks that the pages are current. The source files are read and not
imported, since some of them need torch.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "api"
PACKAGE = Path(__file__).parent.parent / "cfgguide"
WIDTH = 96
SHOWN = ("Parameters", "Attributes", "Raises")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
HEAD = """\
# API reference

Every public name, by module. Written from the docstrings by `make api`; do not edit it by hand.
`help(cfgguide.Guide)` shows a whole docstring, with examples.
"""


def pages() -> dict[str, str]:
    """Return the text of each page by its file's name."""
    places: dict[tuple[Path, str], str] = {}  # the name under which a definition is described
    index = [HEAD]
    texts: dict[str, str] = {}
    for folder in ["", *_assigned(_parsed(PACKAGE / "__init__.py"), "_FOLDERS")]:
        alone = PACKAGE / f"{folder}.py"
        package = _parsed(alone if alone.is_file() else PACKAGE / folder / "__init__.py")
        prefix = f"cfgguide.{folder}" if folder else "cfgguide"
        file_name = f"{prefix}.md"
        about = _first(ast.get_docstring(package) or "")
        lines = [f"# {prefix}", "", about, ""]
        index += [f"## [{prefix}]({file_name})", "", about, "", "| name | |", "|---|---|"]
        for name, module in sorted(_assigned(package, "_NAMES").items(), key=_without_case):
            file = PACKAGE / (module.replace(".", "/") + ".py")
            title = f"{prefix}.{name}"
            link = f"[{name}]({file_name}#{anchor(title)})"
            if (file, name) in places:
                same = f"The same as {places[file, name]}."
                lines += [f"## {title}", "", same, ""]
                index.append(f"| {link} | {same} |")
            else:
                places[file, name] = f"[{title}]({file_name}#{anchor(title)})"
                definition = _definition(file, name)
                lines += _described(title, definition)
                index.append(f"| {link} | {_summary(definition)} |")
        texts[file_name] = "\n".join(lines).rstrip() + "\n"
        index.append("")
    return {"index.md": "\n".join(index).rstrip() + "\n", **texts}


def anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w-]", "", title).lower()


def _summary(node: Definition | ast.Assign) -> str:
    """Return what stands beside a name in the index."""
    if isinstance(node, ast.Assign):
        return f"`{ast.unparse(node)}`".replace("|", "\\|")
    return _first(ast.get_docstring(node) or "").replace("|", "\\|")


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _assigned(module: ast.Module, name: str) -> Any:
    """Return the literal that a module assigns to a name."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


def _without_case(item: tuple[str, str]) -> str:
    return item[0].lower()


def _definition(file: Path, name: str) -> Definition | ast.Assign:
    """Return the definition of a name at the top level of a file: the last, after overloads."""
    found: list[Definition | ast.Assign] = []
    for node in _flat(_parsed(file).body):
        named = [node.name] if isinstance(node, Definition) else []
        if isinstance(node, ast.Assign):
            named = [ast.unparse(node.targets[0])]
        if isinstance(node, Definition | ast.Assign) and name in named:
            found.append(node)
    if not found:
        raise LookupError(f"{file} defines no {name}")
    return found[-1]


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those in the branches of an `if` among them."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _flat([*node.body, *node.orelse])
        else:
            yield node


def _described(title: str, node: Definition | ast.Assign) -> list[str]:
    """Return the section about a definition."""
    if isinstance(node, ast.Assign):
        return [f"## {title}", "", "```text", ast.unparse(node), "```", ""]
    docstring = ast.get_docstring(node) or ""
    kind = {ast.ClassDef: "class ", ast.AsyncFunctionDef: "async "}.get(type(node), "")
    signature = _wrapped(kind + node.name + _arguments(node))
    lines = [f"## {title}", "", "```text", *signature, "```", "", _first(docstring), ""]
    for section in SHOWN:
        entries = list(_entries(docstring, section))
        lines += [f"{section}:", "", *entries, ""] if entries else []
    if isinstance(node, ast.ClassDef):
        members = list(_members(node))
        lines += ["Members:", "", *members, ""] if members else []
    return lines


def _arguments(node: Definition) -> str:
    """Return the arguments and the returned type of a function, or of a class's constructor."""
    if isinstance(node, ast.ClassDef):
        constructors = [each for each in _functions(node) if each.name == "__init__"]
        if constructors:
            return _arguments(constructors[0]).removesuffix(" -> None")
        decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
        if not any(decorator.startswith("dataclass") for decorator in decorators):
            return ""
        return f"({', '.join(_fields(node))})"
    arguments = re.sub(r"^(self|cls)(, |$)", "", ast.unparse(node.args))
    return f"({arguments})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Yield the arguments of a dataclass, with a star before those that need their name."""
    has_star = False
    for each in _flat(node.body):
        if not isinstance(each, ast.AnnAssign) or ast.unparse(each.target).startswith("_"):
            continue
        shown = ast.unparse(each)
        if "kw_only=True" in shown and not has_star:
            yield "*"
            has_star = True
        yield re.sub(r"field\(default=(.*), kw_only=True\)$", r"\1", shown)


def _wrapped(signature: str) -> list[str]:
    """Return a signature as lines: one, or one for each argument if it is long."""
    if len(signature) <= WIDTH:
        return [signature]
    lines, depth = [""], 0
    for character in signature:
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and character == ")":
            lines.append("")
        lines[-1] += character
        if depth == 1 and character in "(,":
            lines.append("    " if character == "(" else "   ")
    return [line.rstrip() for line in lines]


def _functions(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the methods of a class, without overloads."""
    functions = (
        each
        for each in _flat(node.body)
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return [
        each
        for each in functions
        if not any(ast.unparse(decorator) == "overload" for decorator in each.decorator_list)
    ]


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Yield an entry for each public method and property."""
    for function in _functions(node):
        if function.name.startswith("_"):
            continue
        decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
        is_property = any(name.endswith("property") for name in decorators)
        shown = function.name + ("" if is_property else _arguments(function))
        yield f"* `{shown}`: {_first(ast.get_docstring(function) or '')}"


def _first(docstring: str) -> str:
    """Return the first paragraph of a docstring, in Markdown."""
    return _markdown(" ".join(docstring.split("\n\n")[0].split()))


def _entries(docstring: str, section: str) -> Iterator[str]:
    """Yield the entries of a section of a numpydoc docstring, as items of a list."""
    match = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", docstring, re.M | re.S)
    for entry in re.split(r"\n(?=\S)", match[1].strip()) if match else ():
        head, _, text = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        described = _markdown(" ".join(text.split()))
        named = f"`{name}`" + (f", {_markdown(kind)}" if kind else "") + f": {described}"
        yield "* " + (named if text else _markdown(head))  # without a text the head is a sentence


def _markdown(text: str) -> str:
    """Return text with the roles of Sphinx as plain code; a method keeps its class."""
    text = re.sub(r":mod:`~?([\w.]+)`", r"`\1`", text)
    text = re.sub(r":\w+:`~?(?:[a-z_]\w*\.)*([\w.]+)`", r"`\1`", text)
    return text.replace("``", "`")


def main() -> None:
    """Write all pages, and remove those of modules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
