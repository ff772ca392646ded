"""What is always live in large grammars, in the user's cache.

In: a recogniser and a spelling. Out: their
:class:`~cfgguide.engine.liveness.always_live.AlwaysLive`, if it came with the package, or some
process has made the same before and the cache is on. The same means: the tables of the recogniser,
the classes of the bytes that are tokens and of those that occur in tokens, and the code that
compiles. For small grammars making it takes no longer than reading a file, so it is not stored.

Kernels read these arrays without checking bounds, so their numbers are checked here, as
:mod:`cfgguide.engine.machine.grammar_file` does with tables. Arrays that pass may still claim too
much.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.cache import packaged, user_cache
from cfgguide.engine.lexer.lexeme_ends import classes_of
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.liveness.always_live import AlwaysLive
from cfgguide.engine.machine.grammar_cache import environment
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling

KIND = "always_live"
MIN_STATES = 2000  # of the scanner: Python's has 30,000, JSON's 30

_NUMBERS = ("end_offsets", "end_terminal_ids", "end_groups", "first_alike")
_FLAGS = ("is_certain", "is_letter", "is_always_live", "is_live_after_newline")


def load_or_make(recognizer: Recognizer, spelling: Spelling) -> AlwaysLive | None:
    """Return the table of a large grammar, from the cache or made and stored; else None."""
    if recognizer.scanner.n_states < MIN_STATES:
        return None
    always_live = _load(recognizer, spelling)
    if always_live is None and user_cache() is not None:
        always_live = AlwaysLive.of(recognizer, spelling)
        store(recognizer, spelling, always_live)
    return always_live


def store(recognizer: Recognizer, spelling: Spelling, always_live: AlwaysLive) -> None:
    """Store the table of a large grammar, if there is room."""
    cache = user_cache()
    if cache is not None and recognizer.scanner.n_states >= MIN_STATES:
        arrays: Arrays = {name: getattr(always_live, name) for name in (*_NUMBERS, *_FLAGS)}
        terminal_ids = sorted(always_live.possible_terminal_ids)
        cache.store(KIND, _key(recognizer, spelling), arrays, terminal_ids)


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
    return AlwaysLive(**parts, possible_terminal_ids=frozenset(terminal_ids))


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
    certain, letter, always_live, after_newline = (arrays[name] for name in _FLAGS)
    n_ends = ends.size
    n_groups = always_live.shape[1] if always_live.ndim == 2 else 0
    shapes: list[tuple[int, ...]] = [(scanner.n_states + 1,), (n_ends,), (n_ends,)]
    shapes += [
        (table.n_states,),
        (n_ends,),
        (scanner.transitions.shape[1],),
        *2 * [(table.n_states, n_groups)],
    ]
    every = (offsets, ends, groups, alike, certain, letter, always_live, after_newline)
    are_fitting = n_groups > 0 and all(
        array.shape == shape for array, shape in zip(every, shapes, strict=True)
    )
    are_fitting &= all(array.dtype == np.int32 for array in (offsets, ends, groups, alike))
    are_fitting &= all(
        array.dtype == np.bool_ for array in (certain, letter, always_live, after_newline)
    )
    if not are_fitting:
        return False
    known = np.unique(scanner.match[scanner.match != NO_MATCH])
    return bool(
        offsets[0] == 0
        and offsets[-1] == n_ends
        and (offsets[:-1] <= offsets[1:]).all()
        and np.isin(ends, known).all()
        and ((groups >= 0) & (groups < n_groups)).all()
        and ((alike >= 0) & (alike <= np.arange(table.n_states))).all()
        and all(type(terminal_id) is int for terminal_id in terminal_ids)
        and set(terminal_ids) <= set(known.tolist())
    )
