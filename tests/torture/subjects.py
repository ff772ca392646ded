"""What is tortured: grammars with texts, and the masks that an index gives that nobody disturbs.

In: a seed. Out: a :class:`Subject` for each kind of grammar. Its masks are made once by an index of
its own, and compared with what the recogniser says of each token alone, where tokens are few.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from support.indenters import TreeIndenter

import cfgguide
from cfgguide import Grammar, Guide, Index, Vocabulary

N_TEXTS, N_TOKENS = 6, 24  # of a subject; of a text, at most

WORDS = [
    *(b'{"', b'":', b'", "', b'"}', b"[[", b"]]", b"], [", b": ", b"null", b"true", b"12", b"0.5"),
    *(b"if x:\n", b"\n    ", b"\n", b"x=1\n", b"pass", b"((", b"))", b"aa", b"ab", b"ba", b"bb"),
    *(b"name", b"item", b"-1", b"1e", b"    pass\n", b'"a', b'a"', b"\\u00", b"\xc3", b"\xa9"),
]
TREE = """
start: item+
item: "(" item* ")" | NAME ("," NAME)* ";" | "<" start ">"
NAME: /[a-z]+(?!x)/
%ignore " "
"""
LINES = """
start: (line | _NL)+
line: "x=1" _NL | "if x:" _NL _INDENT line+ _DEDENT | "pass" _NL | list _NL
list: "((" (list ("," list)*)? "))"
_NL: /(\\n[ ]*)+/
%declare _INDENT _DEDENT
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-c]+$", "maxLength": 5},
        "item": {"type": "array", "items": {"enum": [1, 2, "a", None]}, "uniqueItems": True},
        "next": {"$ref": "#"},
        "all": {
            "anyOf": [{"type": "integer", "minimum": 3}, {"type": "object", "minProperties": 1}]
        },
    },
    "patternProperties": {"^x": {"type": ["number", "boolean"]}},
    "required": ["name"],
}


@dataclass(frozen=True)
class Place:
    """Tokens, and the mask after them."""

    token_ids: tuple[int, ...]
    mask: bytes
    within: bytes | None = None  # that within `BUDGET` tokens; None if there is none


BUDGET = 40


@dataclass
class Subject:
    """One kind of grammar.

    Attributes
    ----------
    make : callable
        Makes a new index, with nothing known yet.
    places : list of Place
        What masks have to be.
    """

    name: str
    make: Callable[[], Index]
    places: list[Place] = field(default_factory=list)

    def is_right(self, index: Index, place: Place) -> bool:
        """Whether an index gives the mask of a place."""
        return mask_of(guide_at(index, place.token_ids)) == place.mask

    def wrong(self, index: Index, places: list[Place] | None = None) -> list[Place]:
        """The places where an index is wrong, an error counting as such."""
        found = []
        for place in self.places if places is None else places:
            try:
                if not self.is_right(index, place):
                    found.append(place)
            except Exception:
                found.append(place)
        return found


def guide_at(index: Index, token_ids: tuple[int, ...]) -> Guide:
    guide = Guide(index)
    for token_id in token_ids:
        guide.advance(token_id)
    return guide


def mask_of(guide: Guide) -> bytes:
    out = np.full(guide.index.vocabulary.n_words, -1, dtype=np.int32)
    guide.fill_bitmask(out)
    return out.tobytes()


def within_of(guide: Guide) -> bytes | None:
    try:
        return guide.allowed_within(BUDGET).tobytes()
    except cfgguide.CfgGuideError:
        return None


def by_hand(index: Index, place: Place) -> bytes:
    """The mask of a place, by asking the recogniser about each token alone."""
    guide = guide_at(index, place.token_ids)
    if guide.is_finished:
        return np.zeros(index.vocabulary.n_words, dtype=np.int32).tobytes()
    step = index.step_to(guide.configuration)
    assert step.subset is None, "nothing is known that could be wrong"
    bits = np.zeros(32 * index.vocabulary.n_words, dtype=np.bool_)
    for token_id in range(index.vocabulary.size):
        bits[token_id] = index.accepts(step, token_id)
    return np.packbits(bits, bitorder="little").tobytes()


@cache
def vocabulary() -> Vocabulary:
    """All bytes, and words that span several lexemes; some words have two ids."""
    return Vocabulary.of_bytes([*WORDS, b"aa", b"null"])


def _of_grammar(grammar: Grammar, **options: int) -> Callable[[], Index]:
    def make() -> Index:
        with warnings.catch_warnings(action="ignore"):
            return cfgguide.compile(grammar, vocabulary(), use_cache=False, **options)

    return make


def subjects(seed: int) -> list[Subject]:
    """Return all kinds, with masks that were checked."""
    rng = random.Random(seed)
    found = [
        Subject("tree", _of_grammar(Grammar(TREE))),
        Subject("json, bounded", _of_grammar(Grammar.bundled("json"), max_bytes=6_000)),
        Subject("lines", _of_grammar(Grammar(LINES, postlex=TreeIndenter()))),
        Subject("schema", _of_grammar(cfgguide.json_schema(SCHEMA))),
    ]
    for subject in found:
        index, asked = subject.make(), subject.make()
        seen: dict[tuple[int, ...], Place] = {}
        for _ in range(N_TEXTS):
            guide = Guide(index)
            for _ in range(rng.randrange(N_TOKENS)):
                seen.setdefault(guide.token_ids, _place(guide))
                allowed = guide.allowed_token_ids().tolist()
                if not allowed:
                    break
                # Longer tokens more often: they lead further.
                tokens = index.vocabulary.tokens
                allowed.sort(key=lambda each: len(tokens[each] or b"") + rng.random())
                guide.advance(rng.choice(allowed[-12:]))
            seen.setdefault(guide.token_ids, _place(guide))
        subject.places = list(seen.values())
        for place in subject.places:
            assert by_hand(asked, place) == place.mask, (subject.name, place.token_ids)
    return found


def _place(guide: Guide) -> Place:
    return Place(guide.token_ids, mask_of(guide), within_of(guide))
