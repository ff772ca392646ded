"""The documentation is true: its examples run, its links lead somewhere, its names exist."""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import re
import runpy
import shlex
from pathlib import Path, PurePath
from typing import NamedTuple

import pytest

import cfgguide
from cfgguide import errors
from cfgguide.studio.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in DOCUMENTS]

_FENCE = re.compile(
    r"^(?:<!-- no-run: (?P<reason>.+?) -->\n)?```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"")


class Block(NamedTuple):
    """A fenced block of code in a document."""

    document: str
    line: int
    language: str
    text: str
    is_run: bool


def blocks_of(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    return [
        Block(
            str(path.relative_to(ROOT)),
            text.count("\n", 0, match.start("text")) + 1,
            match["language"],
            match["text"],
            match["reason"] is None,
        )
        for match in _FENCE.finditer(text)
    ]


BLOCKS = [block for path in DOCUMENTS for block in blocks_of(path)]


def prose_of(path: Path) -> str:
    """The text of a document without its blocks of code."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def commands_of(path: Path) -> list[str]:
    """What a reader may type: commands in blocks, and spans of code."""
    return commands_in_blocks(path) + _CODE_SPAN.findall(prose_of(path))


def commands_in_blocks(path: Path) -> list[str]:
    """Lines of shell blocks without comments, and what follows a `$` in console blocks."""
    return [
        line.removeprefix("$ ").split(" #")[0].strip()
        for block in blocks_of(path)
        if block.language in ("sh", "console")
        for line in block.text.splitlines()
        if block.language == "sh" or line.startswith("$ ")
    ]


# --- Examples ------------------------------------------------------------------------------------


def case(argument: object, block: Block, text: str) -> object:
    """A case named after the block that it begins with; slow if it needs a model, or takes long."""
    needs_model = any(word in text for word in NEEDS_MODEL)
    marks = [pytest.mark.model, pytest.mark.slow] if needs_model else []
    if any(word in text for word in TAKES_LONG):
        marks.append(pytest.mark.slow)
    return pytest.param(argument, id=f"{block.document}:{block.line}", marks=marks)


TAKES_LONG = ("with_schema(postgresql",)
NEEDS_MODEL = ("load_model", "transformers", "cfgguide trace", "cfgguide index")
PYTHON = [block for block in BLOCKS if block.is_run and block.language in ("python", "pycon", "py")]


def sessions() -> list[list[Block]]:
    """The sessions; a block that does not begin with an `import` continues the one before it."""
    grouped: list[list[Block]] = []
    for block in (block for block in PYTHON if ">>>" in block.text):
        is_first = not grouped or grouped[-1][-1].document != block.document
        if is_first or block.text.startswith(">>> import "):
            grouped.append([])
        grouped[-1].append(block)
    return grouped


@pytest.mark.slow
@pytest.mark.parametrize(
    "blocks",
    [case(blocks, blocks[0], "".join(block.text for block in blocks)) for blocks in sessions()],
)
def test_sessions_in_documents_give_what_they_show(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(
            block.text, {}, block.document, block.document, block.line
        )
        test.globs = names
        report = io.StringIO()
        doctest.DocTestRunner().run(test, out=report.write, clear_globs=False)
        assert test.examples
        assert report.getvalue() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [case(block, block, block.text) for block in PYTHON if ">>>" not in block.text]
)
def test_scripts_in_documents_run(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = "\n" * block.line + block.text  # so that a traceback shows the document's line
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, block.document, "exec", dont_inherit=True), {"__name__": "__main__"})
    shown = shown_below(block)
    assert shown is None or printed.getvalue() == shown


def shown_below(block: Block) -> str | None:
    """What a document says that a script prints: a block without a language, right below it."""
    line = block.line + block.text.count("\n") + len(["```", "", "```"])
    below = [each for each in BLOCKS if (each.document, each.line) == (block.document, line)]
    return below[0].text if below and not below[0].language else None


def test_some_scripts_show_what_they_print():
    assert sum(shown_below(block) is not None for block in PYTHON) >= 2


CONSOLE = [block for block in BLOCKS if block.is_run and block.language == "console"]


@pytest.mark.parametrize("block", [case(block, block, block.text) for block in CONSOLE])
def test_commands_in_documents_print_what_they_show(block, tmp_path, monkeypatch, capsys):
    """`cat` stands for a file that is there, `...` for what differs from run to run."""
    monkeypatch.chdir(tmp_path)
    status = 0
    for step in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        program, *words = shlex.split(command)
        if program == "cat":
            (tmp_path / words[0]).write_text(shown, encoding="utf-8")
        elif program == "echo":
            assert shown == f"{status}\n"
        else:
            assert program == "cfgguide"
            status = main.main(words)
            printed = capsys.readouterr().out
            assert doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS), printed


def test_every_session_is_in_a_block_that_is_run():
    """A `>>>` elsewhere would look like an example and never be tried."""
    runnable = [block.text for block in PYTHON] + [b.text for b in BLOCKS if not b.is_run]
    n_run = sum(text.count(">>> ") for text in runnable)
    assert n_run == sum(path.read_text(encoding="utf-8").count(">>> ") for path in DOCUMENTS)
    assert n_run > 0


def test_the_readme_has_a_script_and_a_session():
    readme = [block.text for block in PYTHON if block.document == "README.md"]
    assert any(">>>" in text for text in readme)
    assert any("cfgguide.generate(" in text for text in readme)


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.name,
            marks=[pytest.mark.model, pytest.mark.slow] if "load_model" in path.read_text() else [],
        )
        for path in EXAMPLES
    ],
)
def test_examples_run(path, monkeypatch, capsys):
    if "import ray" in path.read_text(encoding="utf-8"):
        pytest.importorskip("ray", reason="`make serve-test` has Ray, and runs it over two nodes")
    monkeypatch.setattr("sys.argv", [str(path)])
    ended = []
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as exit_:
        ended.append(exit_.code)
    assert ended in ([], [None], [0])
    assert capsys.readouterr().out


@pytest.mark.slow
def test_the_walk_through_of_a_python_function_is_current():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "walkthrough.py"))
    table = script["table"]()
    assert table.count("\n") == 1 + len(script["TOKENS"])
    assert f"\n{table}\n" in (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_the_pictures_of_how_a_mask_is_made_are_current():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "one_mask.py"))
    for name, drawn in script["PICTURES"].items():
        assert (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == drawn()


def test_the_pictures_of_one_token_are_current():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "one_token.py"))
    for name, draw in script["PICTURES"].items():
        assert (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8") == draw()


def test_the_pictures_of_the_paper_are_current():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "paper.py"))
    for name, drawn in script["PICTURES"].items():
        assert (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == drawn()


@pytest.mark.slow
def test_the_picture_of_a_python_function_is_current():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "paper.py"))
    for name, drawn in script["SLOW_PICTURES"].items():
        assert (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == drawn()


@pytest.mark.slow
@pytest.mark.model
def test_the_picture_of_a_json_text_is_current():
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures" / "trace.py"))["picture"]()
    assert (ROOT / "docs" / "pictures" / "trace.svg").read_text(encoding="utf-8") == drawn


def test_the_pictures_of_drawing_are_current():
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "drawing.py"))
    for name, drawn in script["PICTURES"].items():
        assert (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8") == drawn()


def test_the_reference_of_public_names_is_current():
    script = runpy.run_path(str(ROOT / "docs" / "make_api.py"))
    written = {path.name: path.read_text("utf-8") for path in (ROOT / "docs" / "api").iterdir()}
    assert written == script["pages"](), "make api"


# --- Links and names -----------------------------------------------------------------------------


def anchors_of(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", path.read_text("utf-8")), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("name", NAMES)
def test_relative_links_lead_to_files_and_headings_that_exist(name):
    path = ROOT / name
    targets = [first or second for first, second in _LINK.findall(prose_of(path))]
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue  # another site
        file, _, anchor = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors_of(linked), target


#: Folders of the wheel, or of what is built, and not of the repository.
ELSEWHERE = {"cfgguide/grammars", "build/site", "build/site-source"}


@pytest.mark.parametrize("name", NAMES)
def test_paths_in_documents_exist(name):
    """Spans of code that begin with a folder of the repository."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."}
    for span in _CODE_SPAN.findall(prose_of(ROOT / name)):
        is_path = re.fullmatch(r"[\w.-]+(/[\w.-]*)+", span) and span.split("/")[0] in folders
        if is_path and span.rstrip("/") not in ELSEWHERE:
            assert (ROOT / span).exists(), span


@pytest.mark.parametrize("name", [name for name in NAMES if PurePath(name).parts[1:-1] == ()])
def test_modules_in_documents_exist(name):
    """Spans such as `engine/index/index.py`, from the package or from the repository."""
    for span in _CODE_SPAN.findall(prose_of(ROOT / name)):
        if re.fullmatch(r"(\w+/)+\w+\.py", span):
            assert (ROOT / span).exists() or (ROOT / "cfgguide" / span).exists(), span


@pytest.mark.parametrize("name", NAMES)
def test_public_names_in_documents_exist(name):
    """Spans such as `cfgguide.compile` or `cfgguide.Vocabulary(...)`."""
    for span in _CODE_SPAN.findall(prose_of(ROOT / name)):
        for public_name in re.findall(r"\bcfgguide\.(\w+)(?=[^\w.]|$)", span):
            is_module = (ROOT / "cfgguide" / f"{public_name}.py").exists()
            assert is_module or hasattr(cfgguide, public_name), span


def test_every_error_code_has_a_section_and_every_section_a_code():
    classes = [
        error
        for _, error in inspect.getmembers(errors, inspect.isclass)
        if issubclass(error, errors.CfgGuideError)
    ]
    codes = [error.code for error in classes]
    assert len(set(codes)) == len(codes)
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    by_code = {section.split("\n")[0]: section for section in sections}
    assert sorted(by_code) == sorted(codes)
    for error in classes:
        if error is not errors.CfgGuideError:
            assert f"`{error.__name__}`" in by_code[error.code]


def test_every_warning_is_documented():
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for name, warning in inspect.getmembers(errors, inspect.isclass):
        if issubclass(warning, Warning):
            assert f"`{name}`" in text


def make_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_make_targets_in_documents_exist(name):
    for command in commands_of(ROOT / name):
        if command.startswith("make "):
            words = [word for word in command.split()[1:] if "=" not in word]
            assert set(words) <= make_targets(), command


def test_make_help_names_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets_in_help = {
        word
        for line in re.findall(r'@echo "make ([a-z -]+?)(?: [A-Z]|  |")', makefile)
        for word in line.split()
    }
    assert targets_in_help <= make_targets()
    assert make_targets() - {"help", "install", "clean"} <= targets_in_help


def test_make_demo_and_make_test_are_in_the_readme():
    assert {"make demo", "make test"} <= set(commands_of(ROOT / "README.md"))


@pytest.mark.parametrize("name", NAMES)
def test_commands_in_documents_are_understood(name, capsys):
    """Lines of shell blocks parse as a whole; spans in the text may leave out arguments."""
    in_blocks = commands_in_blocks(ROOT / name)
    for command in commands_of(ROOT / name):
        if not re.match(r"cfgguide( [a-z]|$)", command):
            continue
        words = shlex.split(command)[1:]
        is_whole = command in in_blocks
        with pytest.raises(SystemExit) as exit_:
            main.main([*words[: None if is_whole else 1], "--help"])
        assert exit_.value.code == 0, command
        if is_whole:
            main._parser().parse_args(words)


def test_every_command_is_documented():
    with pytest.raises(SystemExit), contextlib.redirect_stdout(io.StringIO()) as shown:
        main.main(["--help"])
    commands = re.findall(r"^    ([a-z]+) ", shown.getvalue(), re.MULTILINE)
    page = ROOT / "docs" / "command-line.md"
    named = {line.split()[1] for line in commands_of(page) if line.startswith("cfgguide ")}
    assert set(commands) <= named
    assert set(commands) <= anchors_of(page)


def test_the_changelog_has_the_version_of_the_package():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(cfgguide.__version__)}\b", changelog, re.MULTILINE)


def test_bundled_grammars_are_documented():
    pages = (ROOT / "docs" / name for name in ("grammars.md", "languages.md"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for name in cfgguide.Grammar.bundled_names():
        assert re.search(rf"^#+ {name}$", text, re.MULTILINE), name
