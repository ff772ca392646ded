"""The bundled grammar of Python accepts what `ast.parse` of CPython 3.11 accepts.

`python_texts.txt` holds texts of one construction each; what CPython says of them is asked anew.
"""

from __future__ import annotations

import ast
import functools
import itertools
import logging
import random
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lark
import pytest
from support.judged_texts import texts_of
from support.judges import is_parsed, is_python
from support.lark_search import no_search_for_overlaps

from cfgguide.grammar.indenters import PythonIndenter

pytestmark = [
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="Python 3.11 is the judge"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.slow,  # Lark takes twenty seconds to load the grammar
]

GRAMMAR = Path(__file__).parents[2] / "grammars" / "python.lark"
texts = functools.partial(texts_of, "python_texts.txt")
STARTS = ["start", "program", "function", "statement", "expression"]

re_parser: Any = __import__("re._parser", fromlist=["parse"])


def load(*, is_logged: bool = False) -> lark.Lark:
    with no_search_for_overlaps():
        return lark.Lark.open(
            str(GRAMMAR),
            parser="lalr",
            lexer="contextual",
            postlex=PythonIndenter(),
            start=STARTS,
            debug=is_logged,
        )


@functools.cache
def parser() -> lark.Lark:
    return load()


def grammar_accepts(text: str, start: str = "start") -> bool:
    return is_parsed(parser(), text, start=start)


@pytest.mark.parametrize("text", texts("+"))
def test_what_cpython_parses_is_accepted(text: str) -> None:
    assert is_python(text)
    assert grammar_accepts(text)


@pytest.mark.parametrize("text", texts("-"))
def test_what_cpython_refuses_is_refused(text: str) -> None:
    assert not is_python(text)
    assert not grammar_accepts(text)


@pytest.mark.parametrize("text", texts("~"))
def test_what_is_documented_as_lost_is_python(text: str) -> None:
    assert is_python(text)
    assert not grammar_accepts(text)


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        ("a", True), ("a, b", True), ("# c\na  # d\n\n", True), ("(a := b)", True),
        ("(yield)", True), ("lambda: a if b else c", True), ("f'{a!r:>{b}}'", True),
        ("", False), ("*a, b", False), ("a;", False), ("a = b", False),
        ("a := b", False), ("yield", False), ("a\nb", False), (" a", False),
    ],
)  # fmt: skip
def test_an_expression_is_what_eval_parses(text: str, is_accepted: bool) -> None:
    assert is_python(text, "eval") == is_accepted
    assert grammar_accepts(text, "expression") == is_accepted


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        ("def f():\n  return\n", True),
        ("# c\n@a\nasync def f(): await b", True),
        ("def f(): pass\ndef g(): pass", False),
        ("class A: pass", False),
        ("f()", False),
    ],
)
def test_a_function_is_one_definition(text: str, is_accepted: bool) -> None:
    assert is_python(text)
    assert grammar_accepts(text, "function") == is_accepted


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [("a; b", True), ("if a:\n  b\nelse: c", True), ("a\nb", False), ("", False)],
)
def test_a_statement_is_one_line_or_one_block(text: str, is_accepted: bool) -> None:
    assert is_python(text)
    assert grammar_accepts(text, "statement") == is_accepted


PLACES = [
    "{}", "class C:\n {}", "def f():\n {}", "async def f():\n {}",
    "def f():\n class C:\n  {}", "async def f():\n def g():\n  {}",
    "def f():\n async def g():\n  {}", "for a in b:\n {}",
    "for a in b: pass\nelse:\n {}", "while a:\n if b:\n  c\n elif b:\n  {}",
    "while a: {}", "def f():\n for a in b:\n  {}", "for a in b:\n def f():\n  {}",
    "for a in b:\n class C:\n  {}", "for a in b:\n try:\n  {}\n finally: c",
    "try: a\nexcept b:\n {}\nelse: c", "with a:\n {}",
    "def f():\n match a:\n  case b:\n   {}", "async def f():\n async for a in b:\n  {}",
    "async def f():\n while a:\n  async with b:\n   {}",
    "async def f():\n try:\n  {}\n except* a: b",
]  # fmt: skip
STATEMENTS = [
    *("pass", "x", "return", "return 1", "break", "a; continue", "yield", "yield 1", "x = yield"),
    *("x = y = yield 1", "x: int = yield", "x += yield", "case = yield", "import x; break"),
    *("async for y in z: pass", "async for y in z: break", "async with y: pass", "if x: return"),
    *("def h(): return", "def h(): break", "class D: return", "async def h(): return"),
    *("for y in z: continue", "while y: pass\n", "match = 1", "match x, y", "@a\ndef h(): yield"),
]


@pytest.mark.parametrize("place", PLACES)
def test_statements_of_programs_stand_in_their_places(place: str) -> None:
    """`compile` judges, which looks at places."""
    n_accepted = 0
    for statement in STATEMENTS:
        margin = place.partition("{")[0].rpartition("\n")[2]
        if "\n" in statement and margin.strip():
            continue  # two lines behind a colon
        text = place.format(statement.replace("\n", "\n" + margin))
        try:
            compile(text, "", "exec", dont_inherit=True)
            is_right = True
        except SyntaxError:
            is_right = False
        assert grammar_accepts(text, "program") == is_right, text
        assert grammar_accepts(text) == is_python(text)
        n_accepted += is_right
    assert 0 < n_accepted < len(STATEMENTS)


def test_statements_of_functions_stand_in_their_places() -> None:
    assert grammar_accepts("def f():\n for x in y: break\n return x", "function")
    assert grammar_accepts("async def f():\n async for x in y: break", "function")
    for text in (
        "def f():\n break",
        "def f():\n async for x in y: z",
        "def f():\n class C: return",
    ):
        assert is_python(text)
        assert not grammar_accepts(text, "function"), text


@pytest.mark.parametrize("word", sorted(__import__("keyword").kwlist))
def test_a_keyword_is_no_name(word: str) -> None:
    for text in (f"{word} = 1", f"a.{word}", f"def {word}(): pass", f"f({word}=1)"):
        assert not grammar_accepts(text), text
    assert grammar_accepts(f"{word}_ = a.{word}s(_{word}=1)")


def test_names_are_those_of_str_isidentifier() -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    [name] = [terminal for terminal in parser().terminals if terminal.name == "NAME"]
    [capture] = [terminal for terminal in parser().terminals if terminal.name == "CAPTURE"]
    pattern = __import__("re").compile(name.pattern.to_regexp())
    binding = __import__("re").compile(capture.pattern.to_regexp())
    for character in every:
        for text in (character, "a" + character):
            assert (pattern.fullmatch(text) is not None) == text.isidentifier(), text
            is_bound = text.isidentifier() and text != "_"
            assert (binding.fullmatch(text) is not None) == is_bound, text


def language(nodes: Any) -> list[str]:
    """Return the texts that a pattern without unbounded repetition matches."""
    texts = [""]
    for operation, argument in nodes:
        match str(operation):
            case "LITERAL":
                ends = [chr(argument)]
            case "IN":
                codes = ([a] if str(o) == "LITERAL" else range(a[0], a[1] + 1) for o, a in argument)
                ends = [chr(code) for code in itertools.chain.from_iterable(codes)]
            case "BRANCH":
                ends = [text for branch in argument[1] for text in language(branch)]
            case "SUBPATTERN":
                ends = language(argument[3])
            case "MAX_REPEAT":
                once = language(argument[2])
                counts = range(argument[0], argument[1] + 1)
                rounds = (itertools.product(once, repeat=count) for count in counts)
                ends = ["".join(parts) for parts in itertools.chain.from_iterable(rounds)]
            case other:
                raise ValueError(other)
        texts = [text + end for text in texts for end in ends]
    return texts


def test_every_character_that_can_be_named_has_that_name() -> None:
    [named] = [terminal for terminal in parser().terminals if terminal.name == "NAMED"]
    escapes = language(re_parser.parse(named.pattern.to_regexp()))
    assert len(escapes) > 20_000
    for escape in escapes:
        assert len(ast.literal_eval(f'"{escape}"')) == 1, escape
        is_ideograph = "IDEOGRAPH" in escape
        assert is_ideograph or len(ast.literal_eval(f'"{escape[:3]}{escape[3:].lower()}"')) == 1


@pytest.mark.parametrize("character", [chr(c) for c in range(0x20, 0x180) if chr(c).isprintable()])
def test_printable_characters_of_latin_can_be_named(character: str) -> None:
    assert grammar_accepts(f'"\\N{{{unicodedata.name(character)}}}"')


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        ("1" * 4300, True),
        ("1" * 4301, False),
        ("1" + "_1" * 4299, True),
        ("1" + "_1" * 4300, False),
        ("1" * 5000 + ".", True),
        ("1" * 5000 + "j", True),
        ("0" * 5000, True),
        ("0x" + "1" * 5000, True),
        ("(" * 200 + ")" * 200, True),
        ("(" * 201 + ")" * 201, False),
        ("f'{" + "(" * 199 + "a" + ")" * 199 + "}'", True),
        ("f'{" + "(" * 200 + "a" + ")" * 200 + "}'", False),
        ("".join(" " * i + "if a:\n" for i in range(99)) + " " * 99 + "a", True),
        ("".join(" " * i + "if a:\n" for i in range(100)) + " " * 100 + "a", False),
    ],
)
def test_limits_are_cpythons(text: str, is_accepted: bool) -> None:
    assert is_python(text) == is_accepted
    assert grammar_accepts(text) == is_accepted


def mutants(*, seed: int, count: int) -> Iterator[str]:
    """Yield texts of the table, run into each other and cut at random."""
    chance = random.Random(seed)
    table = texts("+")
    for _ in range(count):
        text = chance.choice(table)
        other = chance.choice(table)
        start, end = sorted(chance.choices(range(len(text) + 1), k=2))
        first, last = sorted(chance.choices(range(len(other) + 1), k=2))
        yield text[:start] + other[first:last] + text[end:]


def test_mutants_that_cpython_refuses_are_refused() -> None:
    accepted = [text for text in mutants(seed=1, count=4000) if grammar_accepts(text)]
    assert len(accepted) > 400
    assert [text for text in accepted if not is_python(text)] == []


def test_lark_resolves_no_conflict(caplog: pytest.LogCaptureFixture) -> None:
    lark.logger.addHandler(caplog.handler)
    level = lark.logger.level
    lark.logger.setLevel(logging.DEBUG)
    try:
        load(is_logged=True)
    finally:
        lark.logger.setLevel(level)
        lark.logger.removeHandler(caplog.handler)
    assert "onflict" not in caplog.text
