"""What stands between a grammar and its masks: every machine keeps the laws of the protocol.

The smallest machine here knows nothing of the package's others, so what it has is what is needed.
"""

from __future__ import annotations

import pickle
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import RLock
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from lark.indenter import Indenter
from support.monitored import allowed_tokens, read_tokens

import cfgguide
from cfgguide.engine.index.configuration_trie import Mask
from cfgguide.engine.masks.arrays import LIVE
from cfgguide.engine.masks.subset import bitmask_of
from cfgguide.errors import GrammarError, MonitorError
from cfgguide.monitors import Monitor, OneOf

PIECES = [b'{"', b'":', b'",', b'"}', b"ab", b"ba", b"12", b"  ", b"\n  ", b"b\n", b"a,a"]
VOCABULARY = cfgguide.Vocabulary.of_bytes(PIECES)


class Blocks(Indenter):
    NL_type, INDENT_type, DEDENT_type = "_NL", "_INDENT", "_DEDENT"
    OPEN_PAREN_types = CLOSE_PAREN_types = ()
    tab_len = 4


@dataclass(frozen=True)
class Pairs(Monitor):
    """Names come in pairs, the second equal to the first."""

    terminals = frozenset({"NAME"})
    first: str | None = None
    can_finish = True

    def texts(self, terminal: str) -> Any:
        return None if self.first is None else OneOf([self.first])

    def shifted(self, terminal: str, text: str) -> Monitor:
        return Pairs(text if self.first is None else None)


SCHEMA: Any = {
    "type": "object",
    "properties": {
        "ab": {"type": "array", "uniqueItems": True, "items": {"enum": [1, 12, "a", [1]]}},
        "ba": {"type": "string", "maxLength": 3},
        "b": {"type": "array", "uniqueItems": True, "items": {"type": ["array", "string"]}},
    },
    "patternProperties": {"^x": {"type": "null"}},
    "additionalProperties": False,
    "minProperties": 2,
}
TAG: Any = {
    "type": "sequence",
    "elements": [
        {
            "type": "tag",
            "begin": "a<",
            "content": {"type": "any_text", "max_tokens": 4},
            "end": "ab>",
        },
        {"type": "json_schema", "json_schema": SCHEMA},
    ],
}
GRAMMARS: dict[str, Any] = {
    "LR": lambda: cfgguide.Grammar.bundled("json"),
    "LR, hypotheses": lambda: cfgguide.Grammar('start: (A | AB | "," )+\nA: "a"\nAB: /ab(?!a)/'),
    "LR, indented": lambda: cfgguide.Grammar(
        "start: item+\nitem: NAME _NL [_INDENT item+ _DEDENT]\nNAME: /[ab]+/\n_NL: /(\\n *)+/\n"
        "%declare _INDENT _DEDENT\n",
        postlex=Blocks,
    ),
    "schema": lambda: cfgguide.json_schema(SCHEMA),
    "message": lambda: cfgguide.structural_tag(TAG),
    "pattern": lambda: cfgguide.regex(r"(?:[ab]{1,200},?\s*){2,300}|\w{2}[^a-z]{3,}é?"),
    "pattern, looking": lambda: cfgguide.regex(
        r"(?=.*b)(?!.*a,)(?:[ab12]{2,9}[,é日 ]*){1,40}(?<!ba)"
    ),
    "texts": lambda: cfgguide.choice(["ab", "abab12", "ab日本", "ab日曜", "é", "\U00010000a"]),
    "LR, watched": lambda: cfgguide.Grammar(
        'start: (NAME "," NAME "\\n")+\nNAME: /[ab]+/\n%ignore " "'
    ).watched_by(Pairs()),
    "LR, indented, watched": lambda: cfgguide.Grammar(
        'start: item+\nitem: NAME "," NAME _NL [_INDENT item+ _DEDENT]\nNAME: /[ab]+/\n'
        "_NL: /(\\n *)+/\n%declare _INDENT _DEDENT\n",
        postlex=Blocks,
    ).watched_by(Pairs()),
}


#: Where the second item may become the first again.
BEGUN = {"schema": b'{"b":["ab",["ab"],["ab"', "message": b'a<ab>{"b":["ab",["ab"],["ab"'}


@cache
def index_of(name: str) -> cfgguide.Index:
    return cfgguide.compile(GRAMMARS[name](), VOCABULARY)


def walks(name: str, seed: int) -> Any:
    """Guides at places that are reached at random."""
    rng, guide = random.Random(f"{name} {seed}"), cfgguide.Guide(index_of(name))
    for byte in BEGUN.get(name, b"") if seed % 2 else b"":
        guide.advance(byte)
    for _ in range(15):
        yield guide
        allowed = sorted(allowed_tokens(guide))
        likely = [each for each in allowed if VOCABULARY.tokens[each] in PIECES]
        if not allowed:
            return
        guide.advance(rng.choice(likely if likely and rng.random() < 0.7 else allowed))


@pytest.mark.few(14)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", GRAMMARS)
def test_all_that_is_asked_of_a_machine_agrees(name: str, seed: int) -> None:
    for guide in walks(name, seed):
        machine, here = guide.index.machine, guide.configuration
        eos = set(VOCABULARY.eos_token_ids)
        assert allowed_tokens(guide) == read_tokens(guide), guide.text
        ends = machine.is_sentence(here)
        assert ends == (not eos.isdisjoint(guide.allowed_token_ids().tolist())), guide.text
        assert ends == ("$END" in machine.expected(here)), guide.text
        assert machine.is_live(here)
        found = [find(here) for find in machine.endings(VOCABULARY, len)]
        assert any(each is not None for each in found), guide.text
        for ending in found:
            after = here if ending is None else machine.read(here, ending)
            assert ending is None or machine.is_sentence(after), (guide.text, ending)


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_walk_finds_the_tokens_of_the_mask(name: str) -> None:
    walker = index_of(name).walker()
    for guide in walks(name, 9):
        walk = walker.walk(guide.configuration)
        for number in range(walk.n_outcomes):
            if walk.verdict(number) != LIVE:
                is_live = guide.index.machine.is_live(walk.configuration(number))
                walk.resolve(number, is_live=is_live)
        bitmask = np.zeros(VOCABULARY.n_words, dtype=np.int32)
        walker.fill(bitmask)
        expected = guide.bitmask() & ~guide.index.eos_bitmask
        assert (bitmask == expected).all(), guide.text


@pytest.mark.parametrize("name", GRAMMARS)
def test_a_machine_goes_to_other_processes(name: str, tmp_path: Path) -> None:
    index = index_of(name)
    indexes = [pickle.loads(pickle.dumps(index))]
    if "watched" not in name:  # a monitor is in no file
        index.save(tmp_path / "index")
        indexes.append(cfgguide.Index.load(tmp_path / "index", VOCABULARY))
    for again in indexes:
        assert again.digest == index.digest
        for guide in walks(name, 2):
            copied = cfgguide.Guide(again)
            for token_id in guide.token_ids:
                copied.advance(token_id)
            assert (copied.bitmask() == guide.bitmask()).all()


# --- A machine of one's own -----------------------------------------------------------------------


class Key(NamedTuple):
    n_read: int

    def candidates(self, depth: int) -> list[tuple[int, ...]]:
        return [(self.n_read,)]

    def path(self, mask: Mask) -> tuple[int, ...]:
        return (self.n_read,)


class WordMasks:
    files = None
    like = staticmethod(len)

    def __init__(self, machine: Any, vocabulary: cfgguide.Vocabulary) -> None:
        self.machine, self.vocabulary = machine, vocabulary

    def key(self, configuration: int) -> Key:
        return Key(configuration)

    def mask(self, key: Key, known: object) -> Mask:
        found = [
            number
            for number, token in enumerate(self.vocabulary.tokens)
            if token and self.machine.advance(key.n_read, token) is not None
        ]
        if self.machine.is_sentence(key.n_read):
            found += self.vocabulary.eos_token_ids
        return Mask(0, bitmask_of(found, self.vocabulary.n_words))

    def narrowed(self, configuration: int, subset: Any) -> Any:
        return subset

    def is_at_end(self, configuration: int, allowed: object) -> bool:
        return self.machine.is_sentence(configuration)

    def walker(self, subset: object) -> Any:
        raise NotImplementedError

    def release_workspace(self) -> None:
        pass

    def shared(self) -> list[object]:
        return []


class Word:
    """The machine of one word: a configuration is how many bytes of it have come."""

    initial: Any = 0
    digest = "word"
    n_parse_states = None

    def __init__(self, word: bytes = b"abba") -> None:
        self.word = word
        self.lock = RLock()

    def advance(self, configuration: int, data: bytes) -> Any:
        end = configuration + len(data)
        return end if self.word[configuration:end] == data else None

    read = advance

    def is_sentence(self, configuration: int) -> bool:
        return configuration == len(self.word)

    def is_live(self, configuration: int, *, quickly: bool = False) -> bool:
        return True

    def expected(self, configuration: int) -> tuple[str, ...]:
        return ("$END",) if self.is_sentence(configuration) else ("REST",)

    def endings(self, vocabulary: object, n_tokens: object) -> list[Any]:
        return [lambda configuration: self.word[configuration:]]

    def masks(self, vocabulary: cfgguide.Vocabulary) -> Any:
        return WordMasks(self, vocabulary)

    def packed(self) -> Any:
        return {}, {"word": self.word.decode()}


def test_a_machine_of_ones_own_makes_masks() -> None:
    guide = cfgguide.Guide(cfgguide.Index(Word(), VOCABULARY))
    texts = {VOCABULARY.tokens[each] for each in guide.allowed_token_ids().tolist()}
    assert texts == {b"a", b"ab"}
    guide.advance(VOCABULARY.tokens.index(b"ab"))
    assert guide.forced_bytes() == b"ba"
    guide.advance(VOCABULARY.tokens.index(b"ba"))
    assert guide.is_accepting
    assert guide.allowed_token_ids().tolist() == [*VOCABULARY.eos_token_ids]
    assert guide.bitmask(trailing=False).tolist() == guide.index.eos_bitmask.tolist()


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"advance": None}, r"method advance\(\)"),
        ({"is_live": 3}, r"method is_live\(\)"),
        ({"expected": None}, r"method expected\(\)"),
        ({"masks": None}, r"method masks\(\)"),
        ({"initial": [0]}, "is .0., which cannot be looked up"),
        ({"is_sentence": lambda self, configuration: "no"}, r"is_sentence\(\) returned 'no'"),
        ({"masks": lambda self, vocabulary: object()}, r"masks\(\) returned .* no key\(\)"),
    ],
)
def test_a_machine_that_breaks_the_protocol_is_refused_by_the_method(broken, said) -> None:
    machine = type("Broken", (Word,), broken)()
    with pytest.raises(GrammarError, match=f"Broken.*{said}"):
        cfgguide.Index(machine, VOCABULARY)


def test_a_machine_without_a_digest_is_refused() -> None:
    machine: Any = Word()
    names = [name for name in dir(machine) if name[0] != "_" and name != "digest"]
    lacking: Any = SimpleNamespace(**{name: getattr(machine, name) for name in names})
    with pytest.raises(GrammarError, match="no attribute digest"):
        cfgguide.Index(lacking, VOCABULARY)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda self, key, known: None, r"mask\(\) of WordMasks returned None"),
        (lambda self, key, known: b"", r"mask\(\) of WordMasks returned b''"),
    ],
)
def test_what_is_no_mask_is_an_error_that_names_the_method(made, said, monkeypatch) -> None:
    monkeypatch.setattr(WordMasks, "mask", made)
    with pytest.raises(GrammarError, match=said):
        cfgguide.Guide(cfgguide.Index(Word(), VOCABULARY)).allowed_token_ids()


def test_a_configuration_that_cannot_be_looked_up_names_the_method(monkeypatch) -> None:
    guide = cfgguide.Guide(cfgguide.Index(Word(), VOCABULARY))
    monkeypatch.setattr(Word, "advance", lambda self, configuration, data: [1])
    with pytest.raises(GrammarError, match=r"advance\(\) of Word returned is \[1\]"):
        guide.advance(VOCABULARY.tokens.index(b"a"))


# --- Monitors that break theirs -------------------------------------------------------------------


def answering(**answers: Any) -> Monitor:
    """A monitor of names some of whose methods do something else."""
    methods: dict[str, Any] = {
        "terminals": frozenset({"NAME"}),
        "texts": lambda self, terminal: None,
        "shifted": lambda self, terminal, text: self,
    }
    return type("Bad", (Monitor,), methods | answers)()


def fails(*_: object) -> Any:
    raise KeyError("gone")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"texts": lambda self, terminal: ["a"]}, r"Bad.texts\('NAME'\) returned \['a'\]"),
        ({"texts": fails}, r"failed in texts\('NAME'\): KeyError"),
        ({"shifted": lambda self, terminal, text: None}, r"shifted\('NAME', 'a'\) returned None"),
        ({"shifted": fails}, r"failed in shifted\('NAME', 'a'\): KeyError"),
        (
            {"rules": frozenset({"item"}), "reduced": lambda self, rule: "x"},
            r"reduced\('item'\) returned 'x'; it is a Monitor, or None",
        ),
        ({"relevant": property(lambda self: [1])}, "relevant cannot be looked up"),
        ({"relevant": property(fails)}, "failed to say relevant: KeyError"),
        ({"can_finish": "no"}, "can_finish is 'no'; it is a bool, or None"),
        ({"can_finish": property(fails)}, "failed to say can_finish: KeyError"),
        ({"way_out": lambda self: None}, r"failed in way_out\(\): TypeError"),
        ({"way_out": lambda self: [1, 2]}, r"way_out\(\) returned \[1, 2\]; it is names"),
    ],
)
def test_a_monitor_that_breaks_the_protocol_is_an_error_that_names_the_method(answers, said):
    grammar = cfgguide.Grammar('start: item+ "."\nitem: NAME ","\nNAME: /[ab]+/')

    def use() -> None:
        index = cfgguide.compile(grammar.watched_by(answering(**answers)), VOCABULARY)
        guide = cfgguide.Guide(index)
        for byte in b"a,":
            guide.allowed_token_ids()
            guide.advance(byte)
        guide.allowed_token_ids()
        guide.shortest_completion()

    with pytest.raises(MonitorError, match=said):
        use()
