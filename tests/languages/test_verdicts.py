"""Every bundled programming language: texts of one construction each, and what is said of them.

`NAME_texts.txt` holds those of a language. Before each stands `+` if the language has it, `-` if it
has not, `!` if its judge's grammar has it and a later stage of the judge refuses it, `~` if the
language has it and the grammar leaves it out, and `?` if the judge leaves it out too. After a mark
may stand the start rule that the text is one of, or `tidy` for the tidy form.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from support import java_judge, pascal_judge, rust_judge
from support.judged_texts import texts_of
from support.languages import (
    can_be_written,
    errors_of,
    index_of,
    judge_of,
    lark_parses,
    random_texts,
)

import cfgguide


@dataclass(frozen=True)
class Language:
    """A bundled language.

    Attributes
    ----------
    starts : str
        The other start rules.
    parsed : str
        Others that Lark alone is asked about, as a first mask takes long.
    n_random : int
        How many texts are written at random.
    words : tuple of bytes
        Tokens to write them with, beside all bytes.
    tidy_start : str
        The start rule of the tidy form that is tested.
    """

    starts: str = ""
    parsed: str = ""
    n_random: int = 0
    words: tuple[bytes, ...] = ()
    tidy_start: str = "start"


C = b"int ", b"size_t ", b"struct ", b"(*", b") {", b"; ", b" = ", b"->", b"if (", b"typedef "
GO = b" {\n", b"}\n", b"func ", b" := ", b"if ", b"type ", b"[]int", b"<-", b"//", b"struct{"
LUA = b" end", b" then", b" do", b" = 1", b" local ", b" function", b" return ", b" ...", b"--"
ALL = "function statement expression"
LANGUAGES = {
    "c": Language(ALL, n_random=60, words=C, tidy_start="function"),
    "go": Language("statement expression", n_random=100, words=GO, tidy_start="function"),
    "java": Language("function statement", "class expression"),
    "javascript": Language("function", "module statement expression"),
    "lua": Language(ALL, n_random=100, words=LUA),
    "pascal": Language(ALL),
    "rust2021": Language(parsed=ALL, n_random=100),
    "verilog": Language(parsed="module statement expression", n_random=100),
}
RANDOM = {name: each.n_random for name, each in LANGUAGES.items() if each.n_random}
#: What is quick, since the first mask does not take seconds: by language, the mark or the test.
QUICK = {"lua": ["+", "-", "~", "judge", "tidy", "function"], "verilog": ["~", "judge"]}


def case(name: str, of: str, *values: Any) -> Any:
    """Return a case of a test, slow unless it is quick."""
    marks = () if of in QUICK.get(name, ()) else pytest.mark.slow
    return pytest.param(name, *values, marks=marks, id=" ".join([name, *map(repr, values)]))


def marked(name: str, marks: str) -> list[str]:
    """Return the texts of a language that have one of some marks."""
    return [text for mark in marks for text in texts_of(f"{name}_texts.txt", mark)]


def texts(marks: str) -> list[Any]:
    """Return those of all languages as cases."""
    return [
        case(name, mark, text)
        for name in LANGUAGES
        for mark in marks
        for text in marked(name, mark)
    ]


def by(test: str) -> list[Any]:
    """Return the languages as cases of a test."""
    return [case(name, test) for name in LANGUAGES]


@pytest.mark.parametrize(("name", "text"), texts("+"))
def test_what_a_language_has_is_accepted(name, text):
    assert lark_parses(text, name)
    assert can_be_written(text, index_of(name))


@pytest.mark.parametrize(("name", "text"), texts("-!"))
def test_what_a_language_has_not_is_refused(name, text):
    assert not lark_parses(text, name)
    assert not can_be_written(text, index_of(name))


@pytest.mark.few(2)
@pytest.mark.parametrize(("name", "text"), texts("~?"))
def test_what_is_left_out_is_refused(name, text):
    assert not lark_parses(text, name)
    assert not can_be_written(text, index_of(name))


@pytest.mark.parametrize("name", by("judge"))
def test_the_judge_says_the_same(name):
    has, has_not = marked(name, "+~"), marked(name, "-")
    said = dict(zip([*has, *has_not], errors_of(name, [*has, *has_not]), strict=True))
    assert {text: said[text] for text in has if said[text]} == {}
    assert [text for text in has_not if not said[text]] == []


@pytest.mark.parametrize(
    ("name", "start"),
    [
        case(name, start, start)
        for name, language in LANGUAGES.items()
        for start in [*language.starts.split(), *language.parsed.split()]
    ],
)
def test_other_start_rules(name, start):
    is_written = start in LANGUAGES[name].starts.split()
    for mark, verdict in (("+", True), ("-", False)):
        for text in texts_of(f"{name}_texts.txt", f"{mark}{start}"):
            assert lark_parses(text, name, start) == verdict, text
            if is_written:
                assert can_be_written(text, index_of(name, start)) == verdict, text


@pytest.mark.parametrize("name", by("tidy"))
def test_tidy_has_no_comments_and_no_endless_space(name):
    index = index_of(name, LANGUAGES[name].tidy_start, tidy=True)
    for mark, verdict in (("+", True), ("-", False)):
        for text in texts_of(f"{name}_texts.txt", f"{mark}tidy"):
            assert can_be_written(text, index) == verdict, text


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RANDOM, "rust"])
def test_texts_written_at_random_are_sentences(name):
    words = LANGUAGES[name].words if name in LANGUAGES else ()
    written = list(random_texts(index_of(name, words=words), RANDOM.get(name, 50)))
    said = zip(written, errors_of(name, written), strict=True)
    assert [(text, error) for text, error in said if error] == []


# --- Java ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_constructor_may_have_another_name_than_its_class():
    for text in ("class A { B() { } }", "enum A { C; B(int d) { } }"):
        assert judge_of("java").error(text) is None
        assert lark_parses(text, "java")


@pytest.mark.slow
def test_the_judge_sees_a_wrong_syntax_behind_many_such_constructors():
    judge_of("java")
    assert java_judge.error("class A { " + "B() { } " * 20 + "int }")


# --- Pascal --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_compiler_of_pascal_refuses_what_its_parser_lets_pass():
    judge = judge_of("pascal")
    assert [text for text in marked("pascal", "!") if not judge.compiler_messages(text)] == []


@pytest.mark.slow
def test_the_compiler_of_pascal_finds_no_syntax_error_either():
    """Names are not declared, so it finds other errors; it reads on after those."""
    error = judge_of("pascal").compiler_error
    assert {text: said for text in marked("pascal", "+") if (said := error(text))} == {}


@pytest.mark.slow
def test_texts_written_at_random_are_pascal():
    judge_of("pascal")
    index = index_of("pascal", words=PASCAL)
    for seed in range(60):
        rng = random.Random(seed)
        guide = cfgguide.Guide(index)
        for byte in rng.choice((b"", b"begin ", b"type a = class ", b"var ")):
            guide.advance(byte)
        for _ in range(rng.randint(1, 60)):
            words = [each for each in guide.allowed_token_ids() if each >= 256]
            guide.advance(int(rng.choice(words or guide.allowed_token_ids())))
            if guide.is_finished:
                break
        for token_id in () if guide.is_finished else guide.shortest_completion():
            guide.advance(token_id)
        assert not pascal_judge.strict_error(guide.text.decode()), guide.text


PASCAL = (
    *(b"begin ", b"end ", b"if ", b"then ", b"else ", b"case ", b"of ", b"a ", b"b ", b"12 "),
    *(b"procedure ", b"function ", b"property ", b"read ", b"private ", b"virtual ", b"const "),
    *(b":= ", b"; ", b": ", b"( ", b") ", b"[ ", b"] ", b"= ", b", ", b"+ ", b"'c' ", b"try "),
)


# --- Rust: `rust_texts.txt` holds what editions tell apart, or might. `+` is in both, `-` in
# neither, `<` in 2021 alone, and `>` in 2024 alone.

CHAIN = "while a && let B = c {}"  # of what 2021 has not, what 2024 has


def editions() -> dict[str, tuple[bool, bool]]:
    """Return for each text whether 2021 has it, and 2024."""
    verdicts = {"+": (True, True), "-": (False, False), "<": (True, False), ">": (False, True)}
    return {text: each for mark, each in verdicts.items() for text in marked("rust", mark)}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "verdicts"), editions().items(), ids=repr)
def test_an_edition_has_what_is_its_own(text, verdicts):
    assert tuple(lark_parses(text, name) for name in ("rust2021", "rust")) == verdicts
    assert can_be_written(text, index_of("rust")) == verdicts[1]


@pytest.mark.slow
@pytest.mark.parametrize("text", marked("rust2021", "+"), ids=repr)
def test_rust_2024_has_what_2021_has(text):
    assert lark_parses(text, "rust")


@pytest.mark.slow
@pytest.mark.parametrize("text", marked("rust2021", "-"), ids=repr)
def test_rust_2024_has_little_that_2021_has_not(text):
    assert not lark_parses(text, "rust") or CHAIN in text


@pytest.mark.slow
def test_rust_says_the_same_of_both_editions():
    for place, name in enumerate(("rust2021", "rust")):
        said = errors_of(name, [*editions()])
        assert [not error for error in said] == [each[place] for each in editions().values()]


@pytest.mark.slow
def test_rust_2024_says_the_same_of_what_2021_has():
    taken = marked("rust2021", "+~")
    said = zip(taken, errors_of("rust", taken), strict=True)
    assert [text for text, error in said if error] == []


MORE = "error: aborting due to 1 previous error\n"  # the last line of rustc


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "said", "verdict"),
    [
        (0, "", ""),
        (0, "<anon>:1:1: warning: unused\n", ""),
        (1, f"<anon>:1:4: error: expected item\n{MORE}", "expected item"),
        (1, f"<anon>:1:4: error[E0765]: unterminated\n{MORE}", "unterminated"),
        (1, "error: couldn't read from stdin\n", "couldn't read from stdin"),
        (1, MORE, "an error without a text"),
        (101, "error: internal compiler error: unexpected panic\n", None),
        (-11, "error: rustc interrupted by SIGSEGV, printing backtrace\n", None),
    ],
)
def test_the_judge_takes_an_error_without_a_place_for_one(status, said, verdict):
    assert rust_judge.verdict(status, said) == verdict
