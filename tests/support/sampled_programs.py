"""Texts sampled from masks, and their shortest endings.

:func:`walked` takes tokens at random, each allowed one with the same probability, and
:class:`Endings` closes what is open: a best-first search over a few words, those first
that leave the lowest stack. Where that takes too long, it goes down the stack step by step.
It sees nothing but configurations; masks must allow what it finds.
"""

from __future__ import annotations

import heapq
import random
from itertools import count
from keyword import kwlist

import numpy as np

import cfgguide
from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.machine.recognizer import Configuration

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
# Whole phrases, which are tried as one step.
_PHRASES = {
    "python": (),
    "sql": (
        *(b" as(select 1)", b" values(1)", b" select 1", b"(select 1)", b" by 1", b" set x=1"),
        *(b" on x(x)", b" begin select 1;end", b" delete on x begin select 1;end", b" from x"),
        *(
            b" into x values(1)", b" table x(x)", b" to x", b" as x", b" table x add x",
            b" table x rename to x", b" using x", b" in(1)",
        ),
        *(b" 1 and 1", b" and 1", b" then 1 end", b" 1 then 1 end", b" join x", b" is null"),
        *(
            b" do nothing", b" x set x=1", b"(x)references x", b" between 1 and 1",
            b" like 1", b" x values(1)",
        ),
    ),
}  # fmt: skip
_SIGNS = (b"=", b",", b"(", b".")
_KEYWORDS = {
    "python": kwlist,
    "sql": (
        *("and", "between", "case", "cast", "current", "distinct", "else", "end", "escape"),
        *(
            "except", "exists", "following", "from", "glob", "group", "having",
            "intersect", "isnull",
        ),
        *("join", "like", "limit", "match", "notnull", "null", "offset", "order", "over"),
        *("partition", "preceding", "regexp", "select", "similar", "then", "unbounded", "union"),
        *("update", "insert", "delete", "using", "values", "when", "where", "window"),
    ),
}  # fmt: skip
_LETTERS = tuple(bytes([byte]) for byte in b"abcdefghijklmnopqrstuvwxyz")  # of keywords
_BYTES = cfgguide.Vocabulary.of_bytes().tokens[:256]


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
        self._first: dict[bytes, int] = {}
        for token_id, token in enumerate(index.vocabulary.tokens):
            if token:
                self._first.setdefault(token, token_id)
        closing = list(LANGUAGES[language])
        keywords = _KEYWORDS[language]
        parts = {word[cut:].encode() for word in keywords for cut in range(1, len(word))}
        rests = [*closing, *_PHRASES[language], *sorted(parts)]
        few = [*closing, *_SIGNS, b"def"]
        words = [*few, *_LETTERS]
        many = list(dict.fromkeys([*_BYTES, *few]))
        # What is tried, how much the height of a stack counts, and how often.
        self._searches = [
            *(([*closing, *_PHRASES[language]], 3, 3_000), (rests, 3, 6_000), (closing, 3, 5_000)),
            *((rests, 3, 10_000), (words, 3, 10_000), (few, 3, 20_000), (many, 3, 50_000)),
            *((closing, 30, 10_000), (few, 30, 20_000), (many, 30, 50_000)),
        ]

    def ending(self, step: Step) -> list[int] | None:
        """Return tokens that complete a sentence, without EOS; None if none is found soon.

        Raises
        ------
        AssertionError
            If the masks do not allow what the grammar does.
        """
        text = self._ending(step.configuration)
        if text is None:
            return None
        path = self._spelled(text)
        for token_id in path:
            assert token_id in self._index.allowed(step), (text, token_id)
            step = self._index.advance(step, token_id)
        assert self._index.vocabulary.eos_token_ids[0] in self._index.allowed(step), text
        return path

    def _ending(self, here: Configuration) -> bytes | None:
        found = self._first_found(here, height=0)
        if found is not None:
            return found
        text = b""  # put together of ways down the stack
        while not self._index.machine.is_sentence(here):
            step = self._first_found(here, _height(here))
            after = self._index.machine.advance(here, step) if step else None
            if step is None or after is None:
                return None
            text, here = text + step, after
        return text

    def _first_found(self, here: Configuration, height: int) -> bytes | None:
        """Return what the first search finds that finds anything."""
        found = (self._found(here, *search, height) for search in self._searches)
        return next((text for text in found if text is not None), None)

    def _found(
        self, here: Configuration, tried: list[bytes], weight: int, most: int, height: int
    ) -> bytes | None:
        """Return a text after which all may end, or some stack is lower than a height."""
        recognizer, number = self._index.machine.recognizer, count()
        pending: list[tuple[float, int, Configuration, bytes, int]] = [(0, 0, here, b"", 0)]
        seen = {here}
        while pending and next(number) < most:
            _, _, here, text, n_steps = heapq.heappop(pending)
            if recognizer.is_sentence(here) or _height(here) < height:
                return text
            for step in tried:
                after = recognizer.advance(here, step)
                if after is None or after in seen:
                    continue
                seen.add(after)
                cost = weight * _height(after) + n_steps + 1
                heapq.heappush(pending, (cost, next(number), after, text + step, n_steps + 1))
        return None

    def _spelled(self, text: bytes) -> list[int]:
        found = []
        while text:
            length = next(n for n in range(len(text), 0, -1) if text[:n] in self._first)
            found.append(self._first[text[:length]])
            text = text[length:]
        return found


def _height(here: Configuration) -> int:
    return min(each.stack.height for each in here.hypotheses)


def walked(index: Index, rng: random.Random, n_tokens: int) -> tuple[list[int], Step, bool]:
    """Return tokens taken at random, the step node they lead to, and whether EOS was among them.

    Raises
    ------
    AssertionError
        If no token is allowed somewhere.
    """
    step, tokens = index.start, []
    for _ in range(n_tokens):
        ids = index.allowed(step).token_ids()
        assert len(ids), f"no token is allowed after {tokens}"
        token_id = int(ids[rng.randrange(len(ids))])
        if token_id in index.vocabulary.eos_token_ids:
            return tokens, step, True
        tokens.append(token_id)
        step = index.advance(step, token_id)
    return tokens, step, False


def text_of(vocabulary: cfgguide.Vocabulary, tokens: list[int]) -> bytes:
    """Return the bytes that tokens spell."""
    return b"".join(vocabulary.tokens[token_id] or b"" for token_id in tokens)


def sampled(logits: np.ndarray, rng: np.random.Generator) -> int:
    """Return an id drawn from the softmax of logits; shape (vocabulary size,)."""
    shifted = logits - logits.max()
    weights = np.exp(shifted)
    return int(rng.choice(len(weights), p=weights / weights.sum()))
