"""Indenters: Lark's own and CPython's rules, with Lark as the judge.

Each case is a grammar, an indenter, and words. All texts of a few words are put to Lark; masks are
compared with what the definition says, by the slow machine and by trying all completions.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, NamedTuple

import lark
import numpy as np
import pytest
from lark.indenter import Indenter
from support.indenters import BracketIndenter, TreeIndenter

import cfgguide
from cfgguide.errors import GrammarError
from cfgguide.grammar.indenters import CPythonIndenter, columns


class SmallIndenter(CPythonIndenter):
    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR"]
    OPEN_STRING_types: ClassVar[list[str]] = ["START"]
    CLOSE_STRING_types: ClassVar[list[str]] = ["END"]
    OPEN_FIELD_types: ClassVar[list[str]] = ["LBRACE"]
    CLOSE_FIELD_types: ClassVar[list[str]] = ["RBRACE"]
    INLINE_types: ClassVar[list[str]] = ["WS"]
    JOIN_types: ClassVar[list[str]] = ["JOIN"]
    ALWAYS_types: ClassVar[list[str]] = ["NAME"]
    DECIMAL_types: ClassVar[list[str]] = ["DECIMAL"]
    max_digits = 3
    max_brackets = 2
    max_indents = 2


class Case(NamedTuple):
    """A grammar with an indenter.

    Attributes
    ----------
    grammar : str
        In Lark's language.
    indenter : type
        Its postlex.
    letters : str
        All texts of a few of these are tried.
    words : list of str
        The vocabulary; texts are also made of these.
    within : int
        How many letters complete every live text.
    """

    grammar: str
    indenter: type[Indenter]
    letters: str
    words: list[str]
    within: int


CASES = {
    "a tree": Case(
        r"""
        start: _NL* tree
        tree: NAME _NL [_INDENT tree+ _DEDENT]
        NAME: /[a-c]+/
        _NL: /(\r?\n[\t ]*)+/
        %declare _INDENT _DEDENT
        """,
        TreeIndenter,
        "a\n \t",
        ["a", "\n", " ", "\t", "\n  a", "\n a", "a\n", "\n\n\t", "\na\n  a\n"],
        3,
    ),
    "one line break only": Case(
        r"""
        start: tree
        tree: NAME _NL [_INDENT tree+ _DEDENT]
        NAME: /a/
        _NL: /\n[ ]*(#x*)?/
        %declare _INDENT _DEDENT
        """,
        TreeIndenter,
        "a\n #x",
        ["a", "\n", " ", "#", "x", "\n  a", "\n a", "a\n", "\n  #"],
        3,
    ),
    "brackets": Case(
        r"""
        start: (stmt)*
        stmt: expr (":" _NL _INDENT stmt+ _DEDENT | _NL)
        expr: NAME | LPAR expr* RPAR
        LPAR: "("
        RPAR: ")"
        NAME: /[a-c]/
        _NL: /(\n[\t ]*|#[^\n]*)+/
        %ignore " "
        %declare _INDENT _DEDENT
        """,
        BracketIndenter,
        "a(:)\n #",
        [
            "a", "(", ")", ":", "\n", " ", "#", ":\n  ", "\n  a", "\n a", ")\n",
            ":\n(\n\n)\n", "a)\na",
        ],
        0,
    ),
    "CPython's rules": Case(
        r"""
        start: (_NEWLINE | stmt)*
        stmt: simple _NEWLINE | "i" ":" block
        block: simple _NEWLINE | _NEWLINE _INDENT stmt+ _DEDENT
        simple: expr (";" expr)*
        expr: NAME | LPAR expr* RPAR | START text* END | DECIMAL | REAL
        DECIMAL: /[1-9](_?[0-9])*/
        REAL: /[1-9](_?[0-9])*[.]/
        text: "x" | LBRACE expr RBRACE | "q" quoted* "p"
        quoted: NAME | LPAR quoted RPAR
        LBRACE: "{"
        RBRACE: "}"
        START: "f"
        END: "e"
        LPAR: "("
        RPAR: ")"
        NAME: /[ab]+/
        WS.-1: /[ \t\f]+/
        JOIN: /\\\n/
        _NEWLINE: /[ \t\f]*(#[^\r\n]*)?((\r\n?|\n)[ \t\f]*(#[^\r\n]*)?)+|[ \t\f]*#[^\r\n]*/
        %declare _INDENT _DEDENT
        """,
        SmallIndenter,
        "ai:\n (){fxe}#;\\\t",
        [
            *("a", "i:", "i", ":", "\n", "\n  ", "\n\t", "\n ", "  ", " ", "(", ")", "fx", "f"),
            *("q", "p", "e", "x", "{", "}", "#", "# c\n", ";", "\\\n", "a\n  a", "\r", "\f"),
            *("\n\n  a", "\n    (a\n)a", "))", "i:\n i:\n  ", "1", "1_", "_", "11.", "12", "."),
        ],
        0,
    ),
}  # fmt: skip


class Engine:
    """The engine and Lark for one case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.grammar = cfgguide.Grammar(case.grammar, postlex=case.indenter)
        words: list[bytes | None] = [word.encode() for word in case.words]
        self.vocabulary = cfgguide.Vocabulary([*words, None], eos_token_ids=len(words))
        self.index = cfgguide.compile(self.grammar, self.vocabulary, use_cache=False)
        self.recognizer = self.index.machine.recognizer
        self.lark = lark.Lark(case.grammar, **self.grammar.lark_options)
        self.is_sentence_of_lark = cache(self._is_sentence_of_lark)

    def _is_sentence_of_lark(self, text: str) -> bool:
        try:
            self.lark.parse(text)
        except (lark.exceptions.LarkError, AssertionError, IndexError, EOFError):
            return False  # IndexError: Lark's indenter, of a newline without a line break
        return True

    def is_sentence(self, text: str) -> bool:
        after = self.recognizer.advance(self.recognizer.initial, text.encode())
        return after is not None and self.recognizer.is_sentence(after)

    def after(self, text: bytes) -> cfgguide.engine.machine.recognizer.Configuration | None:
        return self.recognizer.advance(self.recognizer.initial, text)

    def defined_mask(self, configuration: Any) -> set[int]:
        """The mask by the slow machine and exact liveness, token by token."""
        found = {len(self.case.words)} if self.recognizer.is_sentence(configuration) else set()
        for number, word in enumerate(self.case.words):
            after = self.recognizer.advance(configuration, word.encode())
            if after is not None and self.index.machine.liveness.decide(after).is_live:
                found.add(number)
        return found

    def walked(self, rng: random.Random, steps: int) -> Iterator[tuple[bytes, Any, set[int]]]:
        """Texts, configurations and masks along a random walk over masks."""
        configuration, text = self.recognizer.initial, b""
        for _ in range(steps):
            mask = set(self.index.subset(configuration).token_ids().tolist())
            yield text, configuration, mask
            token = rng.choice(sorted(mask))
            if token == len(self.case.words):
                return
            text += self.case.words[token].encode()
            configuration = self.recognizer.advance(configuration, self.case.words[token].encode())


@cache
def engine(name: str) -> Engine:
    return Engine(CASES[name])


def texts(case: Case, length: int) -> Iterator[str]:
    for n in range(length + 1):
        yield from map("".join, itertools.product(case.letters, repeat=n))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", CASES)
def test_short_texts_are_sentences_just_if_lark_parses_them(name: str) -> None:
    own = engine(name)
    length = {4: 6, 5: 5, 8: 4}.get(len(own.case.letters), 3)
    n_sentences = 0
    for text in texts(own.case, length):
        is_sentence = own.is_sentence_of_lark(text)
        assert own.is_sentence(text) == is_sentence, repr(text)
        n_sentences += is_sentence
    assert n_sentences > 3


@pytest.mark.parametrize("name", CASES)
def test_texts_of_words_are_sentences_just_if_lark_parses_them(name: str) -> None:
    own, rng = engine(name), random.Random(name)
    for _ in range(2000):
        text = "".join(rng.choices(own.case.words, k=rng.randint(3, 12)))
        assert own.is_sentence(text) == own.is_sentence_of_lark(text), repr(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_masks_are_as_defined_and_never_empty(name: str) -> None:
    own, rng = engine(name), random.Random(name)
    n_sentences = 0
    for _ in range(60):
        for text, configuration, mask in own.walked(rng, 25):
            assert mask == own.defined_mask(configuration), text
            assert mask, text
            is_sentence = own.is_sentence_of_lark(text.decode())
            assert (len(own.case.words) in mask) == is_sentence, text
            n_sentences += is_sentence
    assert n_sentences > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.within])
def test_masks_are_those_of_all_completions(name: str) -> None:
    own = engine(name)

    @cache
    def is_live(text: str, room: int) -> bool:
        if own.is_sentence_of_lark(text):
            return True
        return room > 0 and any(is_live(text + letter, room - 1) for letter in own.case.letters)

    n_masks = 0
    for text in texts(own.case, 3 if len(own.case.letters) > 5 else 4):
        if not is_live(text, own.case.within):
            continue
        configuration = own.after(text.encode())
        assert configuration is not None, repr(text)
        expected = {
            number
            for number, word in enumerate(own.case.words)
            if is_live(text + word, own.case.within)
        }
        if own.is_sentence_of_lark(text):
            expected.add(len(own.case.words))
        assert set(own.index.subset(configuration).token_ids().tolist()) == expected, repr(text)
        n_masks += 1
    assert n_masks > 8


def test_masks_outlive_their_process(tmp_path: Any) -> None:
    own, rng = engine("CPython's rules"), random.Random(1)
    walks = [(conf, mask) for _ in range(20) for _, conf, mask in own.walked(rng, 20)]
    own.index.save(tmp_path / "small.idx")
    again = cfgguide.Index.load(tmp_path / "small.idx", own.vocabulary)
    for configuration, mask in walks:
        assert set(again.subset(configuration).token_ids().tolist()) == mask
    assert again.n_made == 0


def test_a_grammar_with_an_indenter_is_kept(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path))
    case = CASES["a tree"]
    grammar = cfgguide.Grammar(case.grammar, postlex=TreeIndenter)
    made = cfgguide.compiler.compile_recognizer(grammar)
    kept = cfgguide.compiler.compile_recognizer(grammar)
    assert kept.digest == made.digest
    assert kept.indentation_rules is not None
    assert np.array_equal(kept.indentation_rules.places, made.indentation_rules.places)

    class Wider(TreeIndenter):
        tab_len = 5

    other = cfgguide.compiler.compile_recognizer(cfgguide.Grammar(case.grammar, postlex=Wider))
    assert other.digest != made.digest


def refused(grammar: str, postlex: object) -> str:
    with pytest.raises(GrammarError) as raised:
        cfgguide.compiler.compile_recognizer(cfgguide.Grammar(grammar, postlex=postlex))
    return str(raised.value)


_TREE = CASES["a tree"].grammar


class Overriding(TreeIndenter):
    def handle_NL(self, token: Any) -> Any:
        yield token


class ZeroTab(TreeIndenter):
    tab_len = 1000


@pytest.mark.parametrize(
    ("grammar", "postlex", "message"),
    [
        (_TREE, Overriding, "has its own handle_NL"),
        (_TREE, ZeroTab, "tab_len is a number from 1 to 100"),
        (_TREE, 5, "postlex is a subclass of lark.indenter.Indenter"),
        (_TREE, SmallIndenter, "_NEWLINE"),
        (
            _TREE.replace("[_INDENT tree+ _DEDENT]", "[_INDENT tree+]"),
            TreeIndenter,
            "does not close the blocks that it opens",
        ),
        (
            _TREE.replace("[_INDENT tree+ _DEDENT]", "(_INDENT | tree _DEDENT)*"),
            TreeIndenter,
            "a repeated part of the rule 'tree' does not close the blocks that it opens",
        ),
        (_TREE.replace("_DEDENT", "_OUT"), TreeIndenter, "has no terminal _DEDENT"),
        (
            _TREE.replace("[_INDENT tree+ _DEDENT]", "[_INDENT tree+ _DEDENT _DEDENT]"),
            TreeIndenter,
            "does not close the blocks that it opens",
        ),
        (
            CASES["brackets"].grammar.replace("LPAR expr* RPAR", "LPAR _NL expr* RPAR"),
            BracketIndenter,
            "has _NL between brackets",
        ),
        (
            CASES["brackets"].grammar.replace("LPAR expr* RPAR", "LPAR expr*"),
            BracketIndenter,
            "does not close the brackets that it opens",
        ),
        (_TREE.replace(r"(\r?\n[\t ]*)+", r"\n"), TreeIndenter, "must take any number of spaces"),
        (
            CASES["CPython's rules"].grammar.replace("LPAR quoted RPAR", "LPAR expr RPAR"),
            SmallIndenter,
            "used both inside strings",
        ),
    ],
)
def test_what_an_indenter_cannot_follow_is_refused(
    grammar: str, postlex: object, message: str
) -> None:
    assert message in refused(grammar, postlex)


def test_columns_are_counted_as_cpython_counts_them() -> None:
    assert columns("\t  ") == (10, 3)
    assert columns("  \t") == (8, 3)
    assert columns("    \f ") == (1, 1)


def test_a_comment_in_brackets_leads_on_whatever_was_asked_before() -> None:
    """Found by `make same`: the search that decides for stacks knows no break that is dropped."""
    grammar = r"""
    start: _NL? stmt+
    stmt: expr _NL | "i" expr ":" _NL _INDENT stmt _DEDENT
    expr: NAME | LPAR expr* RPAR
    NAME: /[ab](?!c)/
    LPAR: "("
    RPAR: ")"
    _NL: /\n[ ]*/
    %ignore /[ \t]+/
    %ignore /#[^\n]*/
    %declare _INDENT _DEDENT
    """
    index = cfgguide.compile(
        cfgguide.Grammar(grammar, postlex=BracketIndenter()), cfgguide.Vocabulary.of_bytes()
    )
    parser = lark.Lark(grammar, parser="lalr", postlex=BracketIndenter())
    assert parser.parse("b\n(#\n)\n")
    for before in (b"", b"b\n(", b""):
        guide = cfgguide.Guide(index)
        for byte in before:
            guide.advance(byte)
        guide.allowed_token_ids()
    guide = cfgguide.Guide(index)
    for byte in b"b\n(#\n)\n":
        assert byte in guide.allowed_token_ids(), guide.text
        guide.advance(byte)
    assert guide.is_accepting
