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
from functools import partial
from typing import Any

import numpy as np

from cfgguide.base import archive
from cfgguide.base.archive import Arrays
from cfgguide.base.cache import kept, user_cache
from cfgguide.base.checked import Checked
from cfgguide.engine.lexer.lexeme_ends import classes_of
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
    key = _key(recognizer, spelling)
    always_live = kept(KIND, key, partial(_unpacked, recognizer))
    if always_live is None and user_cache() is not None:
        made = AlwaysLive.of(recognizer, spelling)
        always_live = with_endings(recognizer, spelling, made)
        store(recognizer, spelling, always_live)
    return always_live


def with_endings(recognizer: Recognizer, spelling: Spelling, always_live: AlwaysLive) -> AlwaysLive:
    """Return a table with what finds endings, which the first mask of a large grammar needs."""
    if recognizer.scanner.n_states < MIN_STATES or always_live.endings is not None:
        return always_live
    return replace(always_live, endings=Endings(recognizer, spelling.reachable_bytes).packed())


def store(recognizer: Recognizer, spelling: Spelling, always_live: AlwaysLive) -> None:
    """Store the table of a large grammar with what finds endings, if there is room."""
    cache, endings = user_cache(), always_live.endings
    if cache is None or endings is None or recognizer.scanner.n_states < MIN_STATES:
        return
    arrays: Arrays = {name: getattr(always_live, name) for name in (*_NUMBERS, *_FLAGS)}
    arrays |= {f"{_ENDINGS}{name}": array for name, array in endings.items()}
    terminal_ids = sorted(always_live.possible_terminal_ids)
    cache.store(KIND, _key(recognizer, spelling), arrays, terminal_ids)


def _unpacked(recognizer: Recognizer, arrays: Arrays, terminal_ids: Any) -> AlwaysLive:
    _check(recognizer, Checked(arrays, "what is always live cannot be used"), terminal_ids)
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


def _check(recognizer: Recognizer, checked: Checked, terminal_ids: Any) -> None:
    """Refuse what are no states, terminal ids and groups of the grammar."""
    scanner, table = recognizer.scanner, recognizer.parse_table
    known = np.unique(scanner.match[scanner.match != NO_MATCH])
    ends = checked.numbers("end_terminal_ids", (None,))
    checked.check(np.isin(ends, known).all(), "a lexeme ends as no terminal")
    checked.offsets("end_offsets", scanner.n_states, len(ends))
    flags = (np.bool_,)
    n_groups = checked.numbers("is_always_live", (table.n_states, None), dtypes=flags).shape[1]
    n_letters = scanner.transitions.shape[1]
    for name, shape in (
        ("is_certain", ends.shape),
        ("resolves", (n_groups, n_letters)),
        ("is_letter", (n_letters,)),
        ("is_live_after_newline", (table.n_states, n_groups)),
    ):
        checked.numbers(name, shape, dtypes=flags)
    checked.numbers("end_groups", ends.shape, 0, n_groups - 1)
    alike = checked.numbers("first_alike", (table.n_states,), 0)
    checked.check(
        n_groups > 0
        and (alike <= np.arange(table.n_states)).all()
        and isinstance(terminal_ids, list)
        and all(type(terminal_id) is int for terminal_id in terminal_ids)
        and set(terminal_ids) <= set(known.tolist()),
        "it is of another grammar",
    )
    _check_endings(recognizer, checked)


def _check_endings(recognizer: Recognizer, checked: Checked) -> None:
    """Refuse what are no distances, rows, lengths, terminals, and items of states."""
    scanner, table = recognizer.scanner, recognizer.parse_table
    n_symbols = table.n_terminals + len(table.nonterminals)
    shape = (3, None, scanner.ignored + 1)
    distances = checked.numbers(f"{_ENDINGS}distances", shape, 0, FAR, dtypes=(np.int16,))
    last_row = distances.shape[1] - 1
    checked.numbers(f"{_ENDINGS}row_of_state", (scanner.n_states,), 0, last_row)
    checked.numbers(f"{_ENDINGS}lengths", (n_symbols,), 0, dtypes=(np.float64,))
    checked.numbers(f"{_ENDINGS}firsts", (n_symbols,), 0, table.n_terminals - 1)
    items = checked.numbers(f"{_ENDINGS}items", (None, 2), 0)
    checked.offsets(f"{_ENDINGS}ends", table.n_states, len(items))
    productions, dots = items.T
    checked.check((productions < len(table.productions)).all(), "there is no such production")
    are_inside = (dots > 0) & (dots <= table.lengths[productions])
    checked.check(are_inside.all(), "an item has its dot outside")
