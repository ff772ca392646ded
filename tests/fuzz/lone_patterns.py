r"""One pattern, with text before it and after it, against Python's ``re`` over all short texts.

The grammar is made so that Lark's verdict says where the match of the pattern ends::

    start: BEFORE X AFTER        BEFORE: /(?s:.){2}/      AFTER: /(?s:.){1}/

After two characters only X is tried, after X only AFTER, which takes one character. So a text is a
sentence iff ``re`` finds X at 2 and its match ends one character before the end of the text.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import lark
from hypothesis import strategies as st

import cfgguide
from fuzz.case import Case
from fuzz.compare import Completeness, Soundness, comparing, is_stated
from fuzz.features import some_of
from fuzz.grammars import LETTERS
from fuzz.patterns import Writer, literal

MAX_TEXTS = 1500
PATTERN_FEATURES = frozenset(LETTERS) | {
    *("quantifiers", "lazy", "choice", "counted", "classes", "flags", "scoped flags", "groups"),
    *("word boundaries", "anchors", "look-behind", "look-ahead", "nested look-around"),
}


class LonePattern(NamedTuple):
    """A pattern as Lark writes it, the letters of texts, and how many stand before and after."""

    literal: str
    letters: str
    n_before: int
    n_after: int

    @property
    def regex(self) -> re.Pattern[str]:
        """What Lark makes of the literal: it reads escapes such as a newline's by itself."""
        return _regex(self.grammar)

    @property
    def grammar(self) -> str:
        sides = {"BEFORE": self.n_before, "X": None, "AFTER": self.n_after}
        used = [name for name, n in sides.items() if n != 0]
        lines = [f"start: {' '.join(used)}", f"X: {self.literal}"]
        lines += [f"{name}: /(?s:.){{{sides[name]}}}/" for name in used if sides[name]]
        return "\n".join(lines)

    def case(self, *texts: str) -> Case:
        tokens = tuple(letter.encode() for letter in self.letters)
        return Case(self.grammar, "contextual", tokens, tuple(text.encode() for text in texts))

    def is_sentence(self, text: str) -> bool:
        """Return what `re` says."""
        match = self.regex.match(text, self.n_before) if len(text) > self.n_before else None
        return match is not None and self.n_before < match.end() == len(text) - self.n_after


@functools.lru_cache(maxsize=8)
def _regex(grammar: str) -> re.Pattern[str]:
    """Return the pattern of X; raises what Lark or `re` raises if they do not take it."""
    terminals = lark.Lark(grammar, parser="lalr").terminals
    (pattern,) = [terminal.pattern for terminal in terminals if terminal.name == "X"]
    return re.compile(pattern.to_regexp())


@st.composite
def lone_patterns(draw: st.DrawFn, features: Collection[str]) -> LonePattern:
    """Draw a pattern that may match something, and its place."""
    chosen = draw(some_of(PATTERN_FEATURES & set(features)))
    letters = "ab" + "".join(letter for name, letter in LETTERS.items() if name in chosen)[:2]
    drawn = literal(Writer(draw, chosen, letters), 3)
    return LonePattern(drawn, letters, draw(st.integers(0, 2)), draw(st.integers(0, 2)))


def compare_with_re(lone: LonePattern, counts: Counter[str]) -> None:
    """Compare the engine's verdicts with those of `re`, and count the texts.

    Raises
    ------
    Disagreement
        The first that is found; its `case` holds the text.
    """
    counts["patterns"] += 1
    try:
        assert lone.regex
    except (lark.exceptions.LarkError, re.error):
        counts["patterns refused: by Lark"] += 1  # those that may be empty are among them
        return
    with comparing(counts):
        try:
            guide = _guide(lone)
        except cfgguide.CfgGuideError as error:
            if not is_stated(error) and any(map(lone.is_sentence, _texts(lone))):
                raise Completeness(f"there are sentences, but the engine says: {error}") from None
            counts["patterns refused: by the engine"] += 1
            return
        _compare_texts(lone, guide, counts)


def _guide(lone: LonePattern) -> cfgguide.Guide:
    tokens = [*lone.case().tokens, None]
    vocabulary = cfgguide.Vocabulary(tokens, eos_token_ids=len(lone.letters))
    return cfgguide.Guide(cfgguide.compile(cfgguide.Grammar(lone.grammar), vocabulary))


def _texts(lone: LonePattern) -> list[str]:
    """Return the shortest texts of the letters."""
    every = itertools.chain.from_iterable(
        map("".join, itertools.product(lone.letters, repeat=n)) for n in range(9)
    )
    return list(itertools.islice(every, MAX_TEXTS))


def _compare_texts(lone: LonePattern, first: cfgguide.Guide, counts: Counter[str]) -> None:
    guides = {"": first}
    for text in _texts(lone):
        before = guides.get(text[:-1])
        if text and before and before.accepts(lone.letters.index(text[-1])):
            guides[text] = before.copy()
            guides[text].advance(lone.letters.index(text[-1]))
        found = text in guides and guides[text].is_accepting
        counts["texts of patterns"] += 1
        if found != lone.is_sentence(text):
            kind = Soundness if found else Completeness
            raise kind(
                f"/{lone.literal}/ between {lone.n_before} and {lone.n_after} characters: "
                f"re says {not found} of {text!r}",
                lone.case(text),
            )
