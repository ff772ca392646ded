"""Texts sampled from masks, and their shortest endings.

:func:`walked` takes tokens at random, each allowed one with the same probability, and
:class:`Endings` closes what is open: a best-first search over tokens of a few bytes, those first
that leave the lowest stack behind. Where that takes too long, it goes down the stack step by step.
Both see nothing but masks and configurations.
"""

from __future__ import annotations

import heapq
import random
from itertools import count
from keyword import kwlist

import numpy as np

import cfgguide
from cfgguide.index import Index
from cfgguide.visits import Visit

# What ends most texts: what closes brackets, strings and lines, and what must come before.
_PYTHON = (
    *(b" pass", b"pass", b" in", b"in", b" else", b"else", b" except", b"except", b"finally"),
    *(b" import", b"import", b" as", b"as", b" case", b"case", b" for", b"class", b" x", b"x"),
    *(b":", b")", b"]", b"}", b'"', b"'", b'"""', b"'''", b".x", b"0", b"\x80", b"\xa0", b"\xbf"),
    *(b"\n", b"\n ", b"\n    ", b"\n        ", b"\n            ", b" "),
)
_SQL = (
    *(b" x", b"x", b"1", b" 1", b")", b"]", b'"', b"'", b"`", b"*/", b"\n", b" ", b";", b".x"),
    *(b" then", b" end", b" when", b" as", b" from", b" by", b" on", b" to", b" set", b" values"),
    *(b" select", b" and", b" in", b" is", b" null", b" into", b" table", b" join", b" do"),
    *(b" like", b" row", b" following", b" preceding", b" begin", b" of", b" exists", b" key"),
    *(b"\x80", b"\xa0", b"\xbf"),
)
LANGUAGES = {"python": _PYTHON, "sql": _SQL}
_SIGNS = (b"=", b",", b"(", b".")
_KEYWORDS = {
    "python": kwlist,
    "sql": (
        *("and", "between", "case", "cast", "current", "distinct", "else", "end", "escape"),
        *(
            "except",
            "exists",
            "following",
            "from",
            "glob",
            "group",
            "having",
            "intersect",
            "isnull",
        ),
        *("join", "like", "limit", "match", "notnull", "null", "offset", "order", "over"),
        *("partition", "preceding", "regexp", "select", "similar", "then", "unbounded", "union"),
        *("using", "values", "when", "where", "window"),
    ),
}
_LETTERS = tuple(bytes([byte]) for byte in b"abcdefghijklmnopqrstuvwxyz")  # of keywords
_BYTES = tuple(bytes([byte]) for byte in range(256))


class Endings:
    """Finds short endings.

    Parameters
    ----------
    index : Index
        Of the grammar.
    language : str
        One of `LANGUAGES`: which words end texts of it.
    """

    def __init__(self, index: Index, language: str = "python") -> None:
        self._index = index
        first: dict[bytes, int] = {}
        for token_id, token in enumerate(index.vocabulary.tokens):
            if token:
                first.setdefault(token, token_id)
        ends = LANGUAGES[language]
        closing = [first[word] for word in ends if word in first]
        keywords = _KEYWORDS[language]
        parts = {word[cut:].encode() for word in keywords for cut in range(1, len(word))}
        rests = closing + [first[part] for part in sorted(parts) if part in first]
        words = [first[word] for word in (*ends, *_SIGNS, *_LETTERS) if word in first]
        few = [first[word] for word in (*ends, *_SIGNS, b"def") if word in first]
        many = list(dict.fromkeys([first[word] for word in _BYTES if word in first] + few))
        # What is tried, how much the height of a stack counts, and how often.
        self._searches = [
            *((closing, 3, 5_000), (rests, 3, 10_000), (words, 3, 10_000), (few, 3, 20_000)),
            (many, 3, 50_000),
            *((closing, 30, 10_000), (few, 30, 20_000), (many, 30, 50_000)),
        ]
        self._eos = index.vocabulary.eos_token_ids[0]

    def ending(self, visit: Visit) -> list[int] | None:
        """Return tokens that complete a sentence, without EOS; None if none is found soon."""
        return self._first(visit, height=0) or self._step_by_step(visit)

    def _first(self, visit: Visit, height: int) -> list[int] | None:
        """Return what the first search finds that finds anything."""
        found = (self._found(visit, *search, height) for search in self._searches)
        return next((path for path in found if path is not None), None)

    def _step_by_step(self, visit: Visit) -> list[int] | None:
        """Return an ending that is put together of ways down the stack."""
        path: list[int] = []
        while self._eos not in self._index.allowed(visit):
            step = self._first(visit, _height(visit))
            if step is None:
                return None
            path += step
            for token_id in step:
                visit = self._index.advance(visit, token_id)
        return path

    def _found(
        self, visit: Visit, tried: list[int], weight: int, most: int, height: int
    ) -> list[int] | None:
        """Return tokens after which the text may end, or some stack is lower than a height."""
        number = count()
        pending: list[tuple[float, int, Visit, tuple[int, ...]]] = [(0, 0, visit, ())]
        seen = {visit.configuration}
        while pending and next(number) < most:
            _, _, here, path = heapq.heappop(pending)
            subset = self._index.allowed(here)
            if self._eos in subset or _height(here) < height:
                return list(path)
            for token_id in tried:
                if token_id not in subset:
                    continue
                after = self._index.advance(here, token_id)
                if after.configuration in seen:
                    continue
                seen.add(after.configuration)
                cost = weight * _height(after) + len(path)
                heapq.heappush(pending, (cost, next(number), after, (*path, token_id)))
        return None


def _height(visit: Visit) -> int:
    return min(each.stack.height for each in visit.configuration.hypotheses)


def walked(index: Index, rng: random.Random, n_tokens: int) -> tuple[list[int], Visit, bool]:
    """Return tokens taken at random, the visit they lead to, and whether EOS was among them.

    Raises
    ------
    AssertionError
        If no token is allowed somewhere.
    """
    visit, tokens = index.start, []
    for _ in range(n_tokens):
        ids = index.allowed(visit).token_ids()
        assert len(ids), f"no token is allowed after {tokens}"
        token_id = int(ids[rng.randrange(len(ids))])
        if token_id in index.vocabulary.eos_token_ids:
            return tokens, visit, True
        tokens.append(token_id)
        visit = index.advance(visit, token_id)
    return tokens, visit, False


def text_of(vocabulary: cfgguide.Vocabulary, tokens: list[int]) -> bytes:
    """Return the bytes that tokens spell."""
    return b"".join(vocabulary.tokens[token_id] or b"" for token_id in tokens)


def sampled(logits: np.ndarray, rng: np.random.Generator) -> int:
    """Return an id drawn from the softmax of logits; shape (vocabulary size,)."""
    shifted = logits - logits.max()
    weights = np.exp(shifted)
    return int(rng.choice(len(weights), p=weights / weights.sum()))
