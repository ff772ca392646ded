"""Public grammars decide their texts byte by byte as Lark does with their own projects' options.

The grammars, the options and the texts are those of `benchmarks/gallery`; so is what Lark is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.ci import or_in_ci

import cfgguide
from cfgguide.errors import CfgGuideError, GrammarError

_BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
if _BENCHMARKS not in sys.path:
    sys.path.append(_BENCHMARKS)

from gallery_entries import Entry, entries, judge_of  # noqa: E402

END = 256
N_PLACES = or_in_ci(40, 12)  # of a sentence, where it is cut off or changed
#: Over a second.
SLOW = {
    *("asciidoctrine", "lammps-ast", "lark-grammars-sqlite", "lark-python", "lark-sqlpp"),
    *("mappyfile", "sql-to-ibis", "syncode-go", "syncode-java", "syncode-sql"),
}
LOADED = [entry for entry in entries().values() if not entry.refused_by_lark]
READ = [entry for entry in LOADED if not entry.refused]


def _parameters(chosen: list[Entry]) -> list[object]:
    return [
        pytest.param(entry, id=entry.name, marks=[pytest.mark.slow] if entry.name in SLOW else [])
        for entry in chosen
    ]


@cache
def _bytes() -> cfgguide.Vocabulary:
    return cfgguide.Vocabulary([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=END)


def _reader(entry: Entry) -> Callable[[str], int | None]:
    """Return what tells how many bytes of a text are live; None if all, and it is a sentence."""
    index = cfgguide.compile(entry.grammar(), _bytes(), use_cache=False)

    def read(text: str) -> int | None:
        guide = cfgguide.Guide(index)
        for place, byte in enumerate(text.encode()):
            if not guide.accepts(byte):
                return place
            guide.advance(byte)
        return None if guide.is_accepting else len(text.encode())

    return read


@pytest.mark.slow
@pytest.mark.parametrize("entry", _parameters(READ))
def test_sentences_are_live_to_their_ends_and_no_other_text_is_accepted(entry):
    judge, read = judge_of(entry), _reader(entry)
    for text in entry.sentences:
        assert judge(text), text
        assert read(text) is None, (text, read(text))
    for text in entry.others:
        assert not judge(text), text
        assert read(text) is not None, text


@pytest.mark.slow
@pytest.mark.parametrize("entry", _parameters([entry for entry in LOADED if entry.refused]))
def test_what_is_not_supported_is_refused_though_lark_reads_it(entry):
    judge = judge_of(entry)
    assert [judge(text) for text in entry.sentences] == [True] * len(entry.sentences)
    assert [judge(text) for text in entry.others] == [False] * len(entry.others)
    with pytest.raises(CfgGuideError) as refusal:
        _reader(entry)
    assert refusal.value.code == entry.refused


@pytest.mark.parametrize(
    "entry", _parameters([entry for entry in entries().values() if entry.refused_by_lark])
)
def test_what_lark_does_not_load_is_refused_with_its_message(entry):
    with pytest.raises(GrammarError) as refusal:
        _reader(entry)
    assert entry.refused_by_lark in str(refusal.value)


def test_each_grammar_says_where_it_is_from_and_on_which_terms():
    for entry in entries().values():
        assert entry.source
        assert entry.licence
        assert entry.text
        assert list(entry.path.parents[0].glob("LICENSE*")) or list(
            entry.path.parents[1].glob("LICENSE*")
        ), entry.name
        assert entry.refused_by_lark or (entry.sentences and entry.others), entry.name


@pytest.mark.slow
@pytest.mark.parametrize("entry", READ, ids=lambda entry: entry.name)
def test_what_is_cut_off_and_one_character_less_or_more_are_decided_as_by_lark(entry):
    judge, read = judge_of(entry), _reader(entry)
    for sentence in entry.sentences:
        for place in range(0, len(sentence), len(sentence) // N_PLACES + 1):
            before, character, after = sentence[:place], sentence[place], sentence[place + 1 :]
            for text in (before, before + after, before + 2 * character + after):
                assert (read(text) is None) == judge(text), text
