"""What is always live in large grammars, in the user's cache.

In: a recogniser and a spelling. Out: their
:class:`~cfgguide.engine.liveness.always_live.AlwaysLive`, and in it what short endings are found
with, if it came with the package, or some process has made the same before and the cache is on. The
same means: the tables of the recogniser, the classes of the bytes that are tokens and of those that
occur in tokens, and the code that compiles. For small grammars making it takes no longer than
reading a file, so it is not stored.

Kernels read these arrays without checking bounds, so their numbers are checked here, as
:mod:`cfgguide.engine.machine.grammar_file` does with tables. Arrays that pass may still claim too
much.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.cache import packaged, user_cache
from cfgguide.engine.lexer.lexeme_ends import Int32Array, classes_of
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.lexer.shortest_lexemes import FAR
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.liveness.endings import Endings
from cfgguide.engine.machine.grammar_cache import environment
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling

KIND = "always_live"
MIN_STATES = 2000  # of the scanner: Python's has 30,000, JSON's 30

_NUMBERS = ("end_offsets", "end_terminal_ids", "end_groups", "first_alike")
_FLAGS = ("is_certain", "resolves", "is_letter", "is_always_live", "is_live_after_newline")
_ENDINGS = "endings."  # with which the names begin of what endings are found with


def load_or_make(recognizer: Recognizer, spelling: Spelling) -> AlwaysLive | None:
    """Return the table of a large grammar, from the cache or made and stored; else None."""
    if recognizer.scanner.n_states < MIN_STATES:
        return None
    always_live = _load(recognizer, spelling)
    if always_live is None and user_cache() is not None:
        always_live = store(recognizer, spelling, AlwaysLive.of(recognizer, spelling))
    return always_live


def store(recognizer: Recognizer, spelling: Spelling, always_live: AlwaysLive) -> AlwaysLive:
    """Store the table of a large grammar with what finds endings, if there is room; return both."""
    cache = user_cache()
    if cache is None or recognizer.scanner.n_states < MIN_STATES:
        return always_live
    endings = Endings(recognizer, spelling.reachable_bytes).packed()
    arrays: Arrays = {name: getattr(always_live, name) for name in (*_NUMBERS, *_FLAGS)}
    arrays |= {f"{_ENDINGS}{name}": array for name, array in endings.items()}
    terminal_ids = sorted(always_live.possible_terminal_ids)
    cache.store(KIND, _key(recognizer, spelling), arrays, terminal_ids)
    return replace(always_live, endings=endings)


def _load(recognizer: Recognizer, spelling: Spelling) -> AlwaysLive | None:
    cache, key = user_cache(), _key(recognizer, spelling)
    found = packaged(KIND, key) or (cache.load(KIND, key) if cache is not None else None)
    if found is None:
        return None
    arrays, terminal_ids = found
    if not _is_right(recognizer, arrays, terminal_ids):
        if cache is not None:
            cache.drop(KIND, key)
        return None
    parts: dict[str, Any] = {name: arrays[name].copy() for name in (*_NUMBERS, *_FLAGS)}
    endings = archive.part(arrays, _ENDINGS)
    return AlwaysLive(**parts, possible_terminal_ids=frozenset(terminal_ids), endings=endings)


def _key(recognizer: Recognizer, spelling: Spelling) -> str:
    # A byte is as good as others of its class: a vocabulary may lack a control character.
    single = {byte for byte, node in spelling.steps[BOUNDARY] if node == BOUNDARY}
    letters = [
        classes_of(recognizer.scanner, some).tolist() for some in (single, spelling.reachable_bytes)
    ]
    return archive.digest({}, [recognizer.digest, *letters, environment()])


def _is_right(recognizer: Recognizer, arrays: Arrays, terminal_ids: Any) -> bool:
    """Return whether all numbers are states, terminal ids and groups of the grammar."""
    scanner, table = recognizer.scanner, recognizer.parse_table
    if not set(_NUMBERS + _FLAGS) <= set(arrays) or not isinstance(terminal_ids, list):
        return False
    offsets, ends, groups, alike = (arrays[name] for name in _NUMBERS)
    certain, resolves, letter, always_live, after_newline = (arrays[name] for name in _FLAGS)
    n_ends = ends.size
    n_groups = always_live.shape[1] if always_live.ndim == 2 else 0
    shapes: list[tuple[int, ...]] = [(scanner.n_states + 1,), (n_ends,), (n_ends,)]
    shapes += [
        (table.n_states,),
        (n_ends,),
        (n_groups, scanner.transitions.shape[1]),
        (scanner.transitions.shape[1],),
        *2 * [(table.n_states, n_groups)],
    ]
    flags = (certain, resolves, letter, always_live, after_newline)
    every = (offsets, ends, groups, alike, *flags)
    are_fitting = n_groups > 0 and all(
        array.shape == shape for array, shape in zip(every, shapes, strict=True)
    )
    are_fitting &= all(array.dtype == np.int32 for array in (offsets, ends, groups, alike))
    are_fitting &= all(array.dtype == np.bool_ for array in flags)
    if not are_fitting:
        return False
    known = np.unique(scanner.match[scanner.match != NO_MATCH])
    return bool(
        offsets[0] == 0
        and offsets[-1] == n_ends
        and (offsets[:-1] <= offsets[1:]).all()
        and np.isin(ends, known).all()
        and _are_below(n_groups, groups)
        and ((alike >= 0) & (alike <= np.arange(table.n_states))).all()
        and all(type(terminal_id) is int for terminal_id in terminal_ids)
        and set(terminal_ids) <= set(known.tolist())
        and _are_endings(recognizer, archive.part(arrays, _ENDINGS))
    )


def _are_endings(recognizer: Recognizer, arrays: Arrays) -> bool:
    """Return whether all numbers are distances, rows, lengths, terminals, and items of states."""
    scanner, table = recognizer.scanner, recognizer.parse_table
    n_symbols = table.n_terminals + len(table.nonterminals)
    kinds: dict[str, tuple[type, tuple[int | None, ...]]] = {
        "distances": (np.int16, (3, None, scanner.ignored + 1)),
        "row_of_state": (np.int32, (scanner.n_states,)),
        "lengths": (np.float64, (n_symbols,)),
        "firsts": (np.int32, (n_symbols,)),
        "ends": (np.int32, (table.n_states + 1,)),
        "items": (np.int32, (None, 2)),
    }
    for name, (dtype, shape) in kinds.items():
        array = arrays.get(name, np.empty(0))
        if array.dtype != dtype or array.ndim != len(shape):
            return False
        if any(n not in (each, None) for n, each in zip(shape, array.shape, strict=True)):
            return False
    distances, row_of_state, lengths, firsts, ends, items = (arrays[name] for name in kinds)
    productions, dots = items.T
    return bool(
        _are_below(FAR + 1, distances)
        and _are_below(distances.shape[1], row_of_state)
        and (lengths >= 0).all()
        and _are_below(table.n_terminals, firsts)
        and ends[0] == 0
        and ends[-1] == len(items)
        and (ends[:-1] <= ends[1:]).all()
        and _are_below(len(table.productions), productions)
        and ((dots > 0) & (dots <= table.lengths[productions])).all()
    )


def _are_below(end: int, numbers: Int32Array) -> bool:
    return bool(((numbers >= 0) & (numbers < end)).all())
