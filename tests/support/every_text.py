"""A grammar against a judge, on every text of some letters up to a length."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from cfgguide.compiler import compile_recognizer
from cfgguide.errors import GrammarError
from cfgguide.grammar.grammar import Grammar
from support.judges import is_sentence


def n_sentences(
    grammar: Grammar, letters: Iterable[str], longest: int, judge: Callable[[str], bool]
) -> int:
    """Compare with a judge on all texts; return how many of them are sentences.

    A grammar that we refuse since no text at all is a sentence must have none with the judge.
    """
    try:
        recognizer = compile_recognizer(grammar)
    except GrammarError as error:
        if "no text at all is a sentence" not in str(error):
            raise
        recognizer = None
    found = 0
    for length in range(longest + 1):
        for chosen in itertools.product(letters, repeat=length):
            text = "".join(chosen)
            ours = recognizer is not None and is_sentence(recognizer, text)
            assert ours == judge(text), text
            found += ours
    return found
