"""Compiled grammars in files and in the cache: the same tables again, and none that could harm."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lark.load_grammar import FromPackageLoader
from support.judges import is_sentence

import cfgguide
import cfgguide.base.archive
import cfgguide.base.cache
import cfgguide.engine.liveness.always_live
import cfgguide.engine.machine.recognizer
import cfgguide.engine.masks.walk
from cfgguide import Grammar, Guide, Limits
from cfgguide.base.cache import Cache
from cfgguide.engine.lexer import scanner
from cfgguide.engine.machine import grammar_file
from cfgguide.engine.masks.token_classes import TokenClasses
from cfgguide.errors import GrammarError, IndexFormatError, LimitError
from cfgguide.grammar import lark_frontend
from cfgguide.index import compile_recognizer

GOLDEN = Path(__file__).parents[2] / "golden"
GRAMMARS = {
    path.parent.name: path
    for path in sorted(GOLDEN.glob("*/grammar.lark"))
    if path.parent.name != "python"  # takes seconds
}
JSON = Grammar(Grammar.bundled("json").text)  # not the one that may come with the package
LOOKING = r"""
start: (IF | NAME | QUOTED)*
IF: /if(?![a-z])/
NAME: /(?<!\d)[a-z]+/
QUOTED: /"(?:[^"\\]|\\.)*?"(?=[ ,]|$)/
%ignore " "
"""


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Cache:
    """The user's cache, empty."""
    monkeypatch.setenv("CFGGUIDE_CACHE", str(tmp_path / "cache"))
    found = cfgguide.base.cache.user_cache()
    assert found is not None
    return found


def tables(grammar: Grammar):
    compiled = lark_frontend.load(grammar)
    return compiled.parse_table, scanner.build(compiled)


def is_equal(first, second) -> bool:
    """Whether two tables are equal field by field."""
    return all(
        value.dtype == other.dtype and value.tolist() == other.tolist()
        if isinstance(value, np.ndarray)
        else value == other
        for value, other in (
            (getattr(first, name), getattr(second, name)) for name in first.__dataclass_fields__
        )
    )


def entries(cache: Cache) -> list[str]:
    return [entry.path.name for entry in cache.entries()]


# --- Tables as arrays ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*GRAMMARS, "json", "looking"])
def test_tables_come_back_as_they_were(name, tmp_path):
    if name in GRAMMARS:
        grammar = Grammar.open(GRAMMARS[name])
    else:
        grammar = Grammar.bundled("json") if name == "json" else Grammar(LOOKING)
    try:
        made = tables(grammar)
    except GrammarError:
        pytest.skip("a grammar that needs options of its own")
    arrays, value = grammar_file.packed(*made)
    cfgguide.base.archive.write(tmp_path / "file", arrays, value, kind="grammar", digest="d")
    again = grammar_file.unpacked(*cfgguide.base.archive.read(tmp_path / "file", kind="grammar"))
    assert is_equal(made[0], again[0])
    assert is_equal(made[1], again[1])
    assert all(
        array.flags.writeable and array.flags.c_contiguous
        for table in again
        for array in getattr(table, "__dict__", {}).values()
        if isinstance(array, np.ndarray)
    )


@pytest.fixture(scope="module")
def made():
    return tables(Grammar(LOOKING + "\nNUMBER: /[0-9]+/\n%override start: (IF | NAME | (NUMBER))*"))


def copied(made):
    arrays, value = grammar_file.packed(*made)
    wide = {name: array.astype(np.int32) for name, array in arrays.items()}
    return {**wide, "is_start": arrays["is_start"].copy()}, json.loads(json.dumps(value))


def test_a_copy_is_right(made):
    grammar_file.unpacked(*copied(made))


def set_one(name, number):
    return lambda arrays, value: arrays[name].flat.__setitem__(-1, number)


def drop(name):
    return lambda arrays, value: (arrays.pop(name, None), value.pop(name, None))


def replace(name, change):
    def damage(arrays, value):
        holder = arrays if name in arrays else value
        holder[name] = change(holder[name])

    return damage


HUGE = 2**31 - 1
DAMAGES = {
    **{f"no {name}": drop(name) for name in (
        "action", "goto", "set_of_state", "transitions", "byte_classes", "match", "assertions",
        "starts", "contexts", "is_start", "equivalence_classes", "terminals", "nonterminals",
        "productions", "end_state", "version", "conflicts",
    )},
    **{f"{name} too high": set_one(name, HUGE) for name in (
        "action", "goto", "set_of_state", "transitions", "byte_classes", "match", "assertions",
        "starts",
        "contexts", "equivalence_classes",
    )},
    **{f"{name} too low": set_one(name, -HUGE) for name in (
        "action", "goto", "set_of_state", "transitions", "byte_classes", "match", "assertions",
        "starts",
        "contexts", "equivalence_classes",
    )},
    **{f"{name} of doubles": replace(name, lambda array: array.astype(float)) for name in (
        "action", "transitions", "is_start",
    )},
    **{f"{name} of another shape": replace(name, lambda array: array[None]) for name in (
        "action", "goto", "set_of_state", "transitions", "byte_classes", "match", "assertions",
        "starts",
        "contexts", "is_start", "equivalence_classes",
    )},
    **{f"{name} cut": replace(name, lambda array: array[:-1].copy()) for name in (
        "goto", "set_of_state", "transitions", "byte_classes", "match", "assertions", "contexts",
        "is_start", "equivalence_classes", "terminals", "nonterminals",
    )},
    **{f"{name} empty": replace(name, lambda array: array[:0].copy()) for name in (
        "action", "transitions", "match", "starts", "contexts", "terminals", "productions",
    )},
    "no columns": replace("transitions", lambda array: array[:, :0]),
    "contexts without": replace("starts", lambda array: array[:, :0]),
    "a set too many": set_one("set_of_state", 100),
    "other version": replace("version", lambda version: version + 1),
    "names that are no texts": replace("terminals", lambda names: [*names[:-1], 5]),
    "names twice": replace("terminals", lambda names: [*names[:-1], names[0]]),
    "no $END": replace("terminals", lambda names: names[::-1]),
    "production of nobody": replace("productions", lambda found: [["?", []], *found[1:]]),
    "production of one": replace("productions", lambda found: [["start"], *found[1:]]),
    "production of no texts": replace("productions", lambda found: [["start", [1]], *found[1:]]),
    "conflicts by number": replace("conflicts", lambda _: ["NOBODY"]),
    "end nowhere": replace("end_state", lambda _: 10_000),
    "end negative": replace("end_state", lambda _: -1),
    "end of truth": replace("end_state", lambda _: True),
    "the dead live": lambda arrays, value: arrays["transitions"].__setitem__(0, 1),
    "the dead match": lambda arrays, value: arrays["match"].__setitem__(0, 1),
    "the dead in a block": lambda arrays, value: arrays["equivalence_classes"].__setitem__(0, 1),
    "block without states": lambda arrays, value: arrays["equivalence_classes"].__setitem__(
        arrays["equivalence_classes"] == 1, 0
    ),
    "half a question": lambda arrays, value: arrays["assertions"].__setitem__((1, 1), 1),
    "a question to itself": lambda arrays, value: arrays["assertions"].__setitem__(1, 1),
    "two questions to each other": lambda arrays, value: (
        arrays["assertions"].__setitem__(1, 2), arrays["assertions"].__setitem__(2, 1)
    ),
    "a reduction in the start state": lambda arrays, value: (
        arrays["action"].__setitem__((0, slice(None)), -1 - longest(value))
    ),
    "reductions everywhere": lambda arrays, value: (
        arrays["action"].__setitem__(..., -1 - longest(value))
    ),
    "a longer production": lambda arrays, value: value["productions"].__setitem__(
        longest(value),
        [value["productions"][longest(value)][0], ["start"] * 50],
    ),
    "no goto": lambda arrays, value: arrays["goto"].__setitem__(..., -1),
}  # fmt: skip


def longest(value) -> int:
    lengths = [len(right) for _, right in value["productions"]]
    return lengths.index(max(lengths))


@pytest.mark.parametrize("name", DAMAGES)
def test_tables_that_no_grammar_leads_to_are_refused(made, name):
    arrays, value = copied(made)
    DAMAGES[name](arrays, value)
    with pytest.raises(IndexFormatError, match="no compiled grammar"):
        grammar_file.unpacked(arrays, value)


@pytest.mark.parametrize("value", [None, 3, [], {}, {"version": 1}])
def test_a_description_of_nothing_is_refused(made, value):
    with pytest.raises(IndexFormatError):
        grammar_file.unpacked(copied(made)[0], value)


@pytest.mark.slow
def test_what_is_not_refused_can_be_run(made):
    """Random numbers in the tables: refused, or the compiled walk comes to an end with them."""
    vocabulary = cfgguide.Vocabulary([b"if", b"a", b" ", b'"', b"1", None], eos_token_ids=5)
    random = np.random.default_rng(5)
    n_run = 0
    for _ in range(300):
        arrays, value = copied(made)
        name = sorted(arrays)[random.integers(len(arrays))]
        place = random.integers(arrays[name].size)
        arrays[name].flat[place] = random.integers(-5, 60)
        try:
            table, automaton, _ = grammar_file.unpacked(arrays, value)
        except IndexFormatError:
            continue
        recognizer = cfgguide.engine.machine.recognizer.Recognizer(table, automaton)
        always_live = cfgguide.engine.liveness.always_live.AlwaysLive.of(
            recognizer, vocabulary.spelling
        )
        token_classes = TokenClasses(recognizer, vocabulary.trie)
        walker = cfgguide.engine.masks.walk.LrWalker(recognizer, token_classes, always_live)
        for data in (b"", b"a", b"if", b'"a', b"1 a"):
            configuration = recognizer.advance(recognizer.initial, data)
            if configuration is not None:
                walker.walk(configuration)
                n_run += 1
    assert n_run


# --- The cache -----------------------------------------------------------------------------------

SIMPLE = 'start: "a" B+\nB: /b+/\n'


def test_a_grammar_is_kept_and_found_again(cache):
    first = compile_recognizer(Grammar(SIMPLE))
    (name,) = entries(cache)
    assert name.startswith("grammar-")
    again = compile_recognizer(Grammar(SIMPLE))
    assert again.digest == first.digest
    assert entries(cache) == [name]


def test_what_is_found_is_used(cache):
    """An entry with the tables of another grammar: this is what the cache would be trusted with."""
    other = Grammar('start: "c"')
    compile_recognizer(Grammar(SIMPLE))
    (entry,) = cache.entries()
    arrays, value = grammar_file.packed(*tables(other))
    _, _, digest = entry.path.name.partition("-")
    cache.store("grammar", digest, arrays, {**value, "imported": []})
    assert compile_recognizer(Grammar(SIMPLE)).digest == compile_recognizer(other).digest


def test_the_cache_can_be_left_out(cache):
    compile_recognizer(Grammar(SIMPLE), use_cache=False)
    vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    cfgguide.compile(Grammar(SIMPLE), vocabulary, use_cache=False)
    assert entries(cache) == []


def test_a_guide_from_the_cache_allows_the_same(cache):
    vocabulary = cfgguide.Vocabulary([b"{", b"}", b'"a"', b":", b"1", b"\n", None], eos_token_ids=6)
    found = []
    for _ in range(2):
        with pytest.warns(cfgguide.errors.VocabularyWarning):
            guide = Guide(cfgguide.compile(JSON, vocabulary))
        masks = []
        for token_id in (0, 2, 3, 4, 1):
            masks.append(guide.allowed_token_ids().tolist())
            guide.advance(token_id)
        found.append((masks, guide.expected(), guide.is_accepting))
    assert len(entries(cache)) == 1
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "other",
    [
        Grammar(SIMPLE + "\n"),
        Grammar("x" + SIMPLE.replace("start", "start"), start="xstart"),
        Grammar(SIMPLE, lexer="basic"),
        Grammar(SIMPLE, regex_flags=int(re.IGNORECASE)),
    ],
)
def test_another_grammar_is_another_entry(cache, other):
    compile_recognizer(Grammar(SIMPLE))
    compile_recognizer(other)
    assert len(entries(cache)) == 2


def test_limits_hold_for_what_is_kept_too(cache):
    compile_recognizer(Grammar(SIMPLE))
    with pytest.raises(LimitError):
        compile_recognizer(Grammar(SIMPLE), limits=Limits(max_scanner_states=2))
    compile_recognizer(Grammar(SIMPLE), limits=Limits(max_seconds=77))  # is no part of it
    assert len(entries(cache)) == 1


@pytest.mark.parametrize("text", ["start: start", 'start: "a', 'start: "a" start'])
def test_what_cannot_be_compiled_is_told_every_time(cache, text):
    for _ in range(2):
        with pytest.raises(GrammarError):
            compile_recognizer(Grammar(text))
    assert entries(cache) == []


def test_strict_grammars_and_those_with_loaders_are_not_kept(cache):
    compile_recognizer(Grammar(SIMPLE, strict=True))
    compile_recognizer(Grammar(SIMPLE, import_paths=(FromPackageLoader("lark", ("grammars",)),)))
    assert entries(cache) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-3]),
        lambda path: path.write_bytes(b"PK\x03\x04" + path.read_bytes()),
        lambda path: path.write_bytes(b""),
    ],
)
def test_a_damaged_entry_is_made_anew(cache, damage):
    first = compile_recognizer(Grammar(SIMPLE))
    (entry,) = cache.entries()
    whole = entry.path.read_bytes()
    damage(entry.path)
    assert compile_recognizer(Grammar(SIMPLE)).digest == first.digest
    assert entry.path.read_bytes() == whole


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, value: value.pop("imported"),
        lambda arrays, value: value.update(imported=[["x"]]),
        lambda arrays, value: value.update(imported=[[3, None]]),
        lambda arrays, value: value.update(imported=3),
        lambda arrays, value: value.update(version=0),
        lambda arrays, value: arrays.pop("action"),
    ],
)
def test_an_entry_that_makes_no_sense_is_made_anew(cache, change):
    first = compile_recognizer(Grammar(SIMPLE))
    (entry,) = cache.entries()
    whole = entry.path.read_bytes()
    digest = entry.path.name.removeprefix("grammar-")
    arrays, value = cache.load("grammar", digest)
    change(arrays, value)
    cache.store("grammar", digest, arrays, value)
    assert compile_recognizer(Grammar(SIMPLE)).digest == first.digest
    assert entry.path.read_bytes() == whole


class TestImports:
    """What %import finds is part of a grammar, and is looked up again."""

    TEXT = "%import .words.WORD\nstart: WORD"

    @staticmethod
    def accepts(grammar: Grammar, text: bytes) -> bool:
        return is_sentence(compile_recognizer(grammar), text)

    def test_a_changed_file_is_noticed(self, cache, tmp_path):
        (tmp_path / "words.lark").write_text("WORD: /[a-z]+/")
        grammar = Grammar(self.TEXT, source_path=str(tmp_path / "main.lark"))
        assert self.accepts(grammar, b"abc")
        assert len(entries(cache)) == 1
        (tmp_path / "words.lark").write_text("WORD: /[0-9]+/")
        assert not self.accepts(grammar, b"abc")
        assert self.accepts(grammar, b"123")

    def test_a_file_of_an_imported_file_is_noticed(self, cache, tmp_path):
        (tmp_path / "words.lark").write_text("%import .letters.LETTER\nWORD: LETTER+")
        (tmp_path / "letters.lark").write_text("LETTER: /[a-z]/")
        grammar = Grammar(self.TEXT, source_path=str(tmp_path / "main.lark"))
        assert self.accepts(grammar, b"abc")
        (tmp_path / "letters.lark").write_text("LETTER: /[0-9]/")
        assert not self.accepts(grammar, b"abc")

    def test_a_file_that_comes_to_stand_before_another_is_noticed(self, cache, tmp_path):
        for folder in ("first", "second"):
            (tmp_path / folder).mkdir()
        (tmp_path / "second" / "words.lark").write_text("WORD: /[a-z]+/")
        paths = (str(tmp_path / "first"), str(tmp_path / "second"))
        grammar = Grammar("%import words.WORD\nstart: WORD", import_paths=paths)
        assert self.accepts(grammar, b"abc")
        (tmp_path / "first" / "words.lark").write_text("WORD: /[0-9]+/")
        assert not self.accepts(grammar, b"abc")

    def test_a_file_that_is_gone_is_noticed(self, cache, tmp_path):
        (tmp_path / "words.lark").write_text("WORD: /[a-z]+/")
        grammar = Grammar(self.TEXT, source_path=str(tmp_path / "main.lark"))
        assert self.accepts(grammar, b"abc")
        (tmp_path / "words.lark").unlink()
        with pytest.raises(GrammarError, match="words"):
            self.accepts(grammar, b"abc")

    def test_a_file_beside_larks_own_is_noticed(self, cache, tmp_path):
        grammar = Grammar("%import common.WORD\nstart: WORD", import_paths=(str(tmp_path),))
        assert self.accepts(grammar, b"abc")
        (tmp_path / "common.lark").write_text("WORD: /[0-9]+/")
        assert not self.accepts(grammar, b"abc")

    def test_the_same_text_elsewhere_is_another_grammar(self, cache, tmp_path):
        grammars = []
        for folder, pattern in (("here", "[a-z]+"), ("there", "[0-9]+")):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "words.lark").write_text(f"WORD: /{pattern}/")
            grammars.append(Grammar(self.TEXT, source_path=str(tmp_path / folder / "main.lark")))
        assert self.accepts(grammars[0], b"abc")
        assert not self.accepts(grammars[1], b"abc")

    def test_without_relative_imports_the_place_does_not_matter(self, cache, tmp_path):
        text = "%import common.WORD\nstart: WORD"
        for place in ("here", "there"):
            assert self.accepts(Grammar(text, source_path=str(tmp_path / place)), b"abc")
        assert len(entries(cache)) == 1


PROCESS = """
import sys, cfgguide
if sys.argv[1] == "poisoned":
    import cfgguide.grammar.lark_frontend, lark
    lark.Lark.__init__ = None  # whoever makes one fails
grammar = cfgguide.Grammar(cfgguide.Grammar.bundled("json").text)
recognizer = cfgguide.index.compile_recognizer(grammar)
print(recognizer.digest)
"""


@pytest.mark.slow
def test_another_process_finds_it_and_asks_lark_nothing(cache):
    def run(name: str, seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROCESS, name]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("first", "1") == run("poisoned", "2")
    assert len(entries(cache)) == 1
    cache.clear()
    with pytest.raises(subprocess.CalledProcessError):
        run("poisoned", "3")


# --- What a kernel reads -------------------------------------------------------------------------

BOUNDED = """
import support.uncompiled
import sys
import numpy as np
import cfgguide
from cfgguide import Grammar
from cfgguide.grammar import lark_frontend
from cfgguide.engine.lexer import scanner
from cfgguide.engine.masks import walk
from cfgguide.engine.masks.token_classes import TokenClasses
from cfgguide.engine.machine import grammar_file
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.errors import CfgGuideError


class Bounded(np.ndarray):
    '''An array that takes no index from behind, as compiled loops would read before its start.'''

    def __getitem__(self, place):
        numbers = place if isinstance(place, tuple) else (place,)
        if any(not isinstance(number, slice) and number < 0 for number in numbers):
            raise IndexError(f"{place} is before the start")
        found = super().__getitem__(place)
        return found if isinstance(found, np.ndarray) else found.item()


def bounded(record):
    return record._make(
        each.view(Bounded) if isinstance(each, np.ndarray) else each for each in record
    )


walk.view = bounded
compiled = lark_frontend.load(Grammar(sys.argv[1]))
arrays, value = grammar_file.packed(compiled.parse_table, scanner.build(compiled))
value = {name: each if not isinstance(each, tuple) else list(each)
         for name, each in value.items()}
value["productions"] = [[left, list(right)] for left, right in value["productions"]]
vocabulary = cfgguide.Vocabulary([b"if", b"a", b" ", b'"', b"1", None], eos_token_ids=5)
random = np.random.default_rng(7)
n_run = n_refused = 0
for attempt in range(int(sys.argv[2])):
    damaged = {name: array.copy() for name, array in arrays.items()}
    if attempt:  # the first is right
        name = sorted(damaged)[random.integers(len(damaged))]
        for _ in range(random.integers(1, 4)):
            damaged[name].flat[random.integers(damaged[name].size)] = random.integers(-3, 40)
    try:
        table, automaton, _ = grammar_file.unpacked(damaged, value)
    except CfgGuideError:
        n_refused += 1
        continue
    recognizer = Recognizer(table, automaton)
    always_live = AlwaysLive.of(recognizer, vocabulary.spelling)
    token_classes = TokenClasses(recognizer, vocabulary.trie)
    walker = walk.LrWalker(recognizer, token_classes, always_live)
    for data in (b"", b"a", b"if", b'"a', b"1 a"):
        now = recognizer.advance(recognizer.initial, data)
        if now is not None:
            walker.walk(now)
            n_run += 1
print(n_run, n_refused)
"""


@pytest.mark.slow
def test_no_table_that_passes_makes_a_kernel_read_outside_its_arrays():
    """The kernels run in Python here, where every index is checked."""
    tests = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    command = [sys.executable, "-c", BOUNDED, LOOKING, "1500"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    n_run, n_refused = map(int, done.stdout.split())
    assert n_run > 100
    assert n_refused > 100
