"""What is said of a line break at once is what the search says, and a sentence is live."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.indenters import TreeIndenter
from support.plain_search import searching

from cfgguide.compiler import compile_recognizer
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.recognizer import Configuration, Recognizer
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.indenters import PythonIndenter

PROGRAM = b"""\
class A:
    def f(self, x):
        if x:
            return [1,
                2]
        elif y: pass
        else:
            for i in x:
                try:
                    g(i)
                except E:
                    pass

    z = '''
  s'''


@d
async def h(): pass
"""
LEAVES = r"""
    start: _NL? item+
    item: NAME _NL [_INDENT item+ _DEDENT]
    NAME: /[a-z]+/
    _NL: /\n */
    %declare _INDENT _DEDENT
"""
TREE = b"a\n  b\n     c\n  d\ne\n"
LINES = r"""
    start: item+
    item: NAME ":" _NEWLINE _INDENT item+ _DEDENT | NAME _NEWLINE
    NAME: /[a-z]+/
    _NEWLINE: /\n */
    %declare _INDENT _DEDENT LPAR RPAR
"""
BLOCKS = b"a:\n  b:\n     c\n  d\ne\n"


def grammars() -> Iterator[tuple[str, Grammar, bytes]]:
    for start in ("start", "expression"):
        name = f"tidy {start}"
        yield name, Grammar.bundled("python", tidy=True, start=start), PROGRAM
    wanted = replace(Grammar.bundled("python"), restrict=(("_NEWLINE", r"\n *"),))
    yield "one line break at a time", wanted, PROGRAM
    yield "Lark's indenter", Grammar(LEAVES, postlex=TreeIndenter()), TREE
    yield "CPython's rules", Grammar(LINES, postlex=PythonIndenter()), BLOCKS


GRAMMARS = {name: (grammar, text) for name, grammar, text in grammars()}
NAMES = [
    pytest.param(name, marks=pytest.mark.slow if text is PROGRAM else ())
    for name, (_, text) in GRAMMARS.items()
]


def configurations(recognizer: Recognizer, text: bytes) -> Iterator[Configuration]:
    """After each beginning of a text that ends a line, lines of all widths."""
    found: Configuration | None = recognizer.initial
    for byte in text:
        widths: Configuration | None = found
        for _ in range(24):
            widths = widths and recognizer.advance(widths, b"\n" if widths is found else b" ")
            if widths is not None:
                yield widths
        found = found and recognizer.advance(found, bytes([byte]))
    yield from filter(None, [recognizer.advance(recognizer.initial, b"\n" * n) for n in (1, 2)])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("without", [b"", b" "])
def test_what_is_said_at_once_is_what_the_search_says(name, without):
    grammar, text = GRAMMARS[name]
    recognizer = compile_recognizer(grammar)
    tokens = [token for token in Vocabulary.of_bytes().tokens if token != without]
    liveness, searched = Liveness(recognizer, Spelling.of(tokens)), searching(recognizer, tokens)
    quick = liveness._line_breaks
    assert quick is not None
    said: list[bool] = []
    answers: dict[object, bool] = {}
    for configuration in configurations(recognizer, text):
        for hypothesis in configuration.hypotheses:
            asked = hypothesis, configuration.context
            decided = liveness._remembered(*asked) or quick.decide(hypothesis)
            decided = decided or liveness._witnesses.decide(*asked)
            if decided is None:
                continue
            liveness._remember(*asked, decided)
            is_live, height = decided
            controls = searched.controls(hypothesis, configuration.context)
            assert is_live == searched.decide_stack(controls, hypothesis.stack)[0]
            # It depends on no more of the stack than was read.
            state, _, stack, indentation = hypothesis
            top = tuple(itertools.islice(stack, max(stack.height - height + 1, 0)))
            assert answers.setdefault((state, top, indentation), is_live) == is_live
            said.append(is_live)
    assert said


@pytest.mark.parametrize("name", NAMES)
def test_a_sentence_is_live(name):
    grammar, text = GRAMMARS[name]
    recognizer = compile_recognizer(grammar)
    liveness = Liveness(recognizer, Spelling.of(Vocabulary.of_bytes().tokens))
    n_sentences = 0
    for configuration in configurations(recognizer, text):
        if recognizer.is_sentence(configuration):
            n_sentences += 1
            assert liveness.decide(configuration).is_live
    assert n_sentences
