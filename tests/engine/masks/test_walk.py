"""The kernel's walk over the vocabulary trie finds what the recogniser finds token by token."""

from __future__ import annotations

import functools
import itertools
import os
import random
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from support.walked_grammars import GRAMMARS, words

from cfgguide.compiler import compile, compile_recognizer
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis, Recognizer
from cfgguide.engine.masks import kernels
from cfgguide.engine.masks.arrays import LIVE, OPEN
from cfgguide.engine.masks.token_classes import TokenClasses
from cfgguide.engine.masks.walk import LrWalker, Walk
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.trie import VocabularyTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.stack import Stack
from cfgguide.guide.guide import Guide


@functools.cache
def recognizer_of(grammar: str) -> Recognizer:
    """Like the walk, it leaves stacks as they are."""
    with warnings.catch_warnings(action="ignore"):
        made = compile_recognizer(Grammar(grammar))
    tables = made.parse_table, made.scanner, made.indentation_rules
    return Recognizer(*tables, shortens_stacks=False)


def machine(grammar: str, tokens: list[bytes]) -> tuple[Recognizer, Vocabulary, LrWalker]:
    recognizer = recognizer_of(grammar)
    vocabulary = Vocabulary([*tokens, None], eos_token_ids=len(tokens))
    always_live = AlwaysLive.of(recognizer, Spelling.of(tokens))
    token_classes = TokenClasses(recognizer, VocabularyTrie.of(vocabulary.tokens))
    token_classes.work()
    return recognizer, vocabulary, LrWalker(recognizer, token_classes, always_live)


@functools.cache
def by_recognizer(
    recognizer: Recognizer, vocabulary: Vocabulary, configuration: Configuration
) -> dict[int, Configuration]:
    """Return where each token leads that Lark does not refuse at once."""
    led = {
        token_id: recognizer.advance(configuration, token)
        for token_id, token in enumerate(vocabulary.tokens)
        if token
    }
    return {token_id: after for token_id, after in led.items() if after is not None}


def by_walk(walker: LrWalker, configuration: Configuration) -> dict[int, Configuration]:
    found = walker.walk(configuration)
    return {
        token_id: found.outcome(outcome).configuration
        for token_id, outcome in found.outcome_of_tokens().items()
    }


def some_configurations(
    recognizer: Recognizer, vocabulary: Vocabulary, n: int
) -> list[Configuration]:
    """Return configurations after random sequences of tokens, most of them longer than one."""
    rng = random.Random(7)
    found = [recognizer.initial]
    while len(found) < n:
        following = by_recognizer(recognizer, vocabulary, found[-1])
        if following and rng.random() < 0.95:
            found.append(rng.choice(list(following.values())))
        else:
            found.append(recognizer.initial)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("grammar", "tokens"), GRAMMARS.values(), ids=GRAMMARS.keys())
def test_the_walk_is_the_recognizer_token_by_token(grammar, tokens):
    recognizer, vocabulary, walker = machine(grammar, tokens)
    for configuration in some_configurations(recognizer, vocabulary, 60):
        expected = by_recognizer(recognizer, vocabulary, configuration)
        assert by_walk(walker, configuration) == expected
        found = walker.walk(configuration)
        assert found.is_sentence == recognizer.is_sentence(configuration)
        outcomes = [found.outcome(number) for number in range(found.n_outcomes)]
        assert len(set(outcomes)) == len(outcomes), "an outcome twice"


@pytest.mark.parametrize(("grammar", "tokens"), GRAMMARS.values(), ids=GRAMMARS.keys())
def test_what_was_not_inspected_does_not_matter(grammar, tokens):
    """Below what the walk says that it read, the stack is replaced by nonsense."""
    recognizer, vocabulary, walker = machine(grammar, tokens)
    for configuration in some_configurations(recognizer, vocabulary, 40):
        found = walker.walk(configuration)
        tokens_before, verdicts = found.outcome_of_tokens(), _verdicts(found)
        hypotheses = []
        for (state, obligations, stack, _), n_read in zip(
            configuration.hypotheses, found.inspected, strict=True
        ):
            read = list(itertools.islice(stack, n_read))
            nonsense = list(stack)[n_read:]
            random.Random(3).shuffle(nonsense)
            below = Stack.of([*nonsense, *reversed(read)] or [0])
            hypotheses.append(Hypothesis(state, obligations, below))
        again = walker.walk(Configuration(tuple(hypotheses), configuration.context))
        assert again.outcome_of_tokens() == tokens_before
        assert _verdicts(again) == verdicts
        assert again.is_sentence == found.is_sentence
        assert again.inspected == found.inspected


@pytest.mark.parametrize(("grammar", "tokens"), GRAMMARS.values(), ids=GRAMMARS.keys())
def test_an_outcome_says_where_its_stacks_leave_the_base(grammar, tokens):
    recognizer, vocabulary, walker = machine(grammar, tokens)
    for configuration in some_configurations(recognizer, vocabulary, 30):
        found = walker.walk(configuration)
        for outcome in map(found.outcome, range(found.n_outcomes)):
            for (_, _, stack, _), (home, height) in zip(
                outcome.configuration.hypotheses, outcome.origins, strict=True
            ):
                base = configuration.hypotheses[home].stack
                shared = base.pop(base.height - height)
                assert stack.pop(stack.height - height) is shared


def _verdicts(found: Walk) -> list[int]:
    return [found.verdict(number) for number in range(found.n_outcomes)]


@pytest.mark.few(4)
@pytest.mark.parametrize(("grammar", "tokens"), GRAMMARS.values(), ids=GRAMMARS.keys())
def test_what_the_kernel_judges_is_what_liveness_decides(grammar, tokens):
    recognizer, vocabulary, walker = machine(grammar, tokens)
    liveness = Liveness(recognizer, Spelling.of(tokens))
    for configuration in some_configurations(recognizer, vocabulary, 60):
        found = walker.walk(configuration)
        for number, verdict in enumerate(_verdicts(found)):
            if verdict != OPEN:
                after = found.outcome(number).configuration
                assert (verdict == LIVE) == liveness.decide(after).is_live


# --- Sizes that prove too small -------------------------------------------------------------------


def test_a_reduction_deeper_than_any_window():
    recognizer, _, walker = machine('start: "a" start | "b"', [b"a", b"b", b"aab"])
    configuration = recognizer.advance(recognizer.initial, b"a" * 5000 + b"b")
    found = walker.walk(configuration)
    assert found.is_sentence
    assert found.inspected == [5001]  # `b` is still to be shifted
    assert not found.n_outcomes


@pytest.mark.slow
def test_a_token_that_pushes_more_cells_than_there_are():
    tokens = [b"[", b"[" * 3000, b"[" * 2999 + b"x", b"x", b"]"]
    recognizer, vocabulary, walker = machine('start: "[" start "]" | "x"', tokens)
    expected = by_recognizer(recognizer, vocabulary, recognizer.initial)
    assert sorted(expected) == [0, 1, 2, 3]
    assert by_walk(walker, recognizer.initial) == expected


def test_more_hypotheses_than_there_is_room_for():
    """After `ab...` the lexeme may be any of ten, each of which falls back at another place."""
    strings = [("abcdefghijklmnopqrst"[:n]) for n in range(1, 20)]
    grammar = "start: (" + " | ".join(f'"{text}!"' for text in strings) + " | LETTER)*\n"
    grammar += "LETTER: /[a-t]/"
    recognizer, vocabulary, walker = machine(grammar, [*words("abcdefghijklmnopqrst!", 9, 100)])
    configuration = recognizer.advance(recognizer.initial, b"abcdefghijklmnopqr")
    assert by_walk(walker, configuration) == by_recognizer(recognizer, vocabulary, configuration)
    grammar = """
        start: (X | Y1 | Y2 | Y3 | Y4 | Y5 | Y6 | Y7)*
        X: "a"
        Y1: /aaaaaaab/
        Y2: /a{2}[ac]{5}d/
        Y3: /a{3}[ad]{5}e/
        Y4: /a{4}[ae]{5}f/
        Y5: /a{5}[af]{5}g/
        Y6: /a{6}[ag]{5}h/
        Y7: /a{2,9}i/
        """
    recognizer, vocabulary, walker = machine(grammar, words("abcdefghi", 12, 200))
    configuration = recognizer.advance(recognizer.initial, b"a" * 7)
    assert len(configuration.hypotheses) > 4
    assert by_walk(walker, configuration) == by_recognizer(recognizer, vocabulary, configuration)


def test_more_outcomes_than_there_is_room_for():
    """Every number of opening brackets leads to a stack of its own."""
    openers = [
        "".join(letters) for n in range(1, 6) for letters in itertools.product("([{<", repeat=n)
    ]
    grammar = 'start: "(" start ")" | "[" start "]" | "{" start "}" | "<" start ">" | "x"'
    recognizer, vocabulary, walker = machine(grammar, [text.encode() for text in openers])
    found = walker.walk(recognizer.initial)
    assert found.n_outcomes == len(openers) == 4 + 16 + 64 + 256 + 1024
    assert by_walk(walker, recognizer.initial) == by_recognizer(
        recognizer, vocabulary, recognizer.initial
    )


# --- Threads --------------------------------------------------------------------------------------


@pytest.mark.skipif(kernels.__file__.endswith(".py"), reason="Python's own threads take turns")
def test_other_threads_run_during_a_walk():
    """With turns of a thousand seconds a thread runs only where another gives way."""
    recognizer, _, walker = machine('start: "a"', [b"a", b"b"])
    assert walker.walk(recognizer.initial)
    base = walker._base.loaded(recognizer.initial, 32)
    given = (walker._tables, walker._packed, walker._view, base)
    gate, seen, turns = threading.Lock(), [], sys.getswitchinterval()

    def run() -> None:
        with gate:
            seen.append("it ran")

    sys.setswitchinterval(1000)
    try:
        with gate:
            other = threading.Thread(target=run)
            other.start()
        for _ in range(100_000):
            len(seen)
        assert seen == [], "Python code does not give way"
        for _ in range(100_000):
            kernels.outcomes(*given)
        assert seen == ["it ran"]
    finally:
        sys.setswitchinterval(turns)
    other.join()


# --- Without a compiler ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("selected", ["not (never or look or empty)", "never or look or empty"])
def test_the_kernels_run_uncompiled_with_the_same_results(selected):
    """The tests of this file but this one again, on plain Python and numpy, without a warning."""
    options = ["-W", "error::RuntimeWarning", "-q", "-x", "-p", "no:cacheprovider"]
    options += ["-p", "support.uncompiled"]
    selected = f"not uncompiled and ({selected})"
    tests = Path(__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-k", selected, Path(__file__).name],
        env={**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


MARKDOWN = r"""
root   ::= (plain | bold | italic | code)*
bold   ::= "**" root "**"
italic ::= "_" root "_"
code   ::= "`" [^`]+ "`"
plain  ::= [^*_`]+
"""


@pytest.mark.parametrize("text", ["", "a **b", "_a_ **", "**a** _b **c_"])
def test_runs_of_marks_that_begin_parts_or_end_them_are_read_by_the_recogniser(text):
    """The kernel compares no stacks: after 15 marks it would have more than there may be."""
    runs = [mark * n for mark in ("*", "**", "_", "_*", "**_") for n in (1, 2, 3, 7, 20, 33)]
    tokens = [*(bytes([byte]) for byte in range(128)), *(run.encode() for run in runs), b"a_"]
    vocabulary = Vocabulary([*dict.fromkeys(tokens), None], eos_token_ids=len({*tokens}))
    index = compile(Grammar.gbnf(MARKDOWN), vocabulary, use_cache=False)
    guide, machine = Guide(index), index.machine
    for byte in text.encode():
        guide.advance(byte)
    allowed = {*guide.allowed_token_ids().tolist()} - {*vocabulary.eos_token_ids}
    for token_id, token in enumerate(vocabulary.tokens[:-1]):
        after = machine.advance(guide.configuration, token)
        assert (token_id in allowed) == (after is not None and machine.is_live(after)), token
    assert any(len(vocabulary.tokens[token_id]) > 30 for token_id in allowed)
