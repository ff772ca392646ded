"""Python: expressions made from seeds or cut out of sources, and functions of the standard library.

In: a random generator, or a source text. Out: expressions as people write them, within
`grammars/python_expressions.cfgguide.lark`; functions and short files as people have written them.
"""

from __future__ import annotations

import ast
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random

_NAMES = """
    x y i n self items value values result total index key data name count node margin floor origin
    config path line lines words matrix np os re user request response left right is_valid notes
"""
_ATTRIBUTES = "name value shape append get items join split strip path lower size mean sum index"
NAMES, ATTRIBUTES = _NAMES.split(), _ATTRIBUTES.split()
STRINGS = ["hello world", "utf-8", "it's", "a\\n", "%s: %d", "", "naïve café", "{name!r}", ".json"]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in", "not in", "is", "is not"]
SHORTEST, LONGEST = 400, 1500  # characters
_MAX_DEPTH = 4
_SHARE_OF_FILES = 0.2  # of the documents of whole Python


def document(rng: Random) -> str:
    """Return an expression of some hundred characters: a display or a call of smaller ones."""
    length = rng.randrange(SHORTEST, LONGEST)
    parts: list[str] = []
    while sum(map(len, parts)) < length:
        parts.append(_expression(rng, 1))
    kind = rng.randrange(4)
    if kind == 0:
        return f"{rng.choice(NAMES)}({', '.join(parts)})"
    if kind == 1:
        return "{\n    " + ",\n    ".join(f"{_string(rng)}: {part}" for part in parts) + ",\n}"
    return "[\n    " + ",\n    ".join(parts) + ",\n]"


def expressions_of(source: str) -> Iterator[str]:
    """Yield what stands to the right of ``=`` and after ``return`` and ``if`` in a source."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        value = getattr(node, "value", None) or getattr(node, "test", None)
        is_wanted = isinstance(node, ast.Return | ast.Assign | ast.Expr | ast.If)
        text = ast.get_source_segment(source, value) if is_wanted and value is not None else None
        if text:
            yield text


def function_or_file(rng: Random) -> str:
    """Return a function or, less often, a short file of this Python's standard library."""
    is_file = rng.random() < _SHARE_OF_FILES
    paths = list(_sources())
    while True:
        source = rng.choice(paths).read_bytes()
        texts = [source.decode()] if is_file else list(functions_of(source))
        texts = [text for text in texts if SHORTEST <= len(text) <= 2 * LONGEST]
        if texts and is_python(texts[0]):
            return rng.choice(texts)


def functions() -> Iterator[str]:
    """Yield the functions of this Python's standard library, file by file in a random order."""
    for source in _shuffled_sources():
        yield from functions_of(source)


def library_expressions() -> Iterator[str]:
    """Yield the expressions of this Python's standard library, file by file in that order."""
    for source in _shuffled_sources():
        yield from expressions_of(source.decode())


def _shuffled_sources() -> Iterator[bytes]:
    paths = list(_sources())
    Random(0).shuffle(paths)
    for path in paths:
        yield path.read_bytes()


def functions_of(source: bytes) -> Iterator[str]:
    """Yield the functions and methods of a source, as they are written and moved to the left.

    Those that cannot be moved, for a string in them goes over lines, are left out.
    """
    try:
        tree, text = ast.parse(source), source.decode()
    except (SyntaxError, ValueError):  # the library's tests hold such files
        return
    lines = text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            moved = textwrap.dedent("".join(lines[first - 1 : node.end_lineno]))
            if is_python(moved):
                yield moved


def is_python(text: str) -> bool:
    """Return whether this Python reads a text."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@cache
def _sources() -> tuple[Path, ...]:
    folder = Path(sysconfig.get_path("stdlib"))
    found = (path for path in folder.rglob("*.py") if "site-packages" not in path.parts)
    return tuple(path for path in sorted(found) if _is_utf8(path))


def _is_utf8(path: Path) -> bool:
    try:
        path.read_bytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _expression(rng: Random, depth: int) -> str:
    if depth >= _MAX_DEPTH:
        return _atom(rng)
    deeper = depth + 1
    kinds = [
        lambda: _atom(rng),
        lambda: _primary(rng, deeper),
        lambda: _primary(rng, deeper),
        lambda: f"{_operand(rng, deeper)} {rng.choice(OPERATORS)} {_operand(rng, deeper)}",
        lambda: f"{_operand(rng, deeper)} {rng.choice(COMPARISONS)} {_operand(rng, deeper)}",
        lambda: f"{_test(rng, deeper)} {rng.choice(['and', 'or'])} {_test(rng, deeper)}",
        lambda: f"{_operand(rng, deeper)} if {_test(rng, deeper)} else {_operand(rng, deeper)}",
        lambda: f"lambda {rng.choice(['x', 'x, y', '', 'key=None'])}: {_expression(rng, deeper)}",
        lambda: f"[{_expression(rng, deeper)} {_loop(rng, deeper)}]",
        lambda: f"{{{_operand(rng, deeper)}: {_operand(rng, deeper)} {_loop(rng, deeper)}}}",
        lambda: f"[{', '.join(_expression(rng, deeper) for _ in range(rng.randrange(4)))}]",
        lambda: f"({_expression(rng, deeper)}, {_expression(rng, deeper)})",
        lambda: f"{{{_string(rng)}: {_expression(rng, deeper)}, **{rng.choice(NAMES)}}}",
    ]
    return rng.choice(kinds)()


def _operand(rng: Random, depth: int) -> str:
    kind = rng.randrange(6)
    if kind == 0 and depth < _MAX_DEPTH:
        return f"({_expression(rng, depth + 1)})"
    if kind == 1:
        return f"-{rng.choice(NAMES)}"
    return _primary(rng, depth) if kind < 4 else _atom(rng)


def _test(rng: Random, depth: int) -> str:
    kind = rng.randrange(3)
    if kind == 0:
        return f"not {_primary(rng, depth)}"
    return f"{_operand(rng, depth)} {rng.choice(COMPARISONS)} {_operand(rng, depth)}"


def _loop(rng: Random, depth: int) -> str:
    target = rng.choice(["x", "i", "key, value", "line", "(x, y)"])
    condition = f" if {_test(rng, depth)}" if rng.random() < 0.4 else ""
    return f"for {target} in {_primary(rng, depth)}{condition}"


def _primary(rng: Random, depth: int) -> str:
    text = rng.choice(NAMES)
    for _ in range(rng.randrange(1, 3)):
        kind = rng.randrange(5)
        if kind < 2 or depth >= _MAX_DEPTH:
            text += f".{rng.choice(ATTRIBUTES)}"
        elif kind < 4:
            text += f"({_arguments(rng, depth + 1)})"
        else:
            text += f"[{_subscript(rng, depth + 1)}]"
    return text


def _arguments(rng: Random, depth: int) -> str:
    parts = [_expression(rng, depth) for _ in range(rng.choice([0, 1, 1, 2]))]
    if rng.random() < 0.3:
        parts.append(f"{rng.choice(NAMES)}={_expression(rng, depth)}")
    if rng.random() < 0.1:
        parts.append(rng.choice(["*items", "**config"]))
    return ", ".join(parts)


def _subscript(rng: Random, depth: int) -> str:
    kinds: list[Callable[[], str]] = [
        lambda: _expression(rng, depth),
        lambda: f"{rng.randrange(5)}:",
        lambda: f"::{rng.choice(['-1', '2'])}",
        lambda: f":, {rng.choice(NAMES)}",
        lambda: f"{rng.choice(NAMES)}:{rng.choice(NAMES)} + 1",
        lambda: "..., 0",
    ]
    return rng.choice(kinds)()


def _atom(rng: Random) -> str:
    kind = rng.randrange(10)
    if kind < 5:
        return rng.choice(NAMES)
    if kind < 7:
        number = rng.choice([rng.randrange(10), rng.randrange(10_000), rng.randrange(1000) / 100])
        return rng.choice([str(number), str(number), hex(rng.randrange(256)), "2j"])
    return _string(rng) if kind < 9 else rng.choice(["None", "True", "False"])


def _string(rng: Random) -> str:
    text = rng.choice(STRINGS)
    if "'" in text or rng.random() < 0.6:
        return rng.choice(["", "", "f", "r"]) + f'"{text}"'
    return f"'{text}'"
