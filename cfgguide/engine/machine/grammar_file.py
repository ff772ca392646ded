"""A compiled grammar as arrays and a JSON value, and back.

In: a :class:`~cfgguide.grammar.lr.table.ParseTable` and a
:class:`~cfgguide.engine.lexer.scanner.Scanner`, or what :mod:`cfgguide.base.archive` has read; out:
the other. ``docs/design/0007-files-and-caches.md`` lists the arrays.

Tables from a file are run by compiled loops that check no bounds, so nothing in them is believed:
every state, terminal id, production, byte class and context must exist; assertions must come to an
end; and whatever stack leads to a state, a reduction there must find all that it pops, and a goto.
Tables that pass may still describe another language than the file's maker said.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD, LOOKED_FOR, N_BYTES
from cfgguide.base.archive import Arrays
from cfgguide.base.checked import Checked
from cfgguide.base.sets import members
from cfgguide.engine.lexer.scanner import NO_MATCH, Scanner
from cfgguide.engine.machine.indentation_reader import IndentationReader
from cfgguide.errors import GrammarError
from cfgguide.grammar.lr.indentation import IndentationRules
from cfgguide.grammar.lr.indentation_names import IndentationNames
from cfgguide.grammar.lr.table import ERROR, NO_STATE, START_STATE, ParseTable

KIND = "grammar"
VERSION = 4  # of what the arrays mean

_TABLE_ARRAYS = ("action", "goto", "set_of_state")
_SCANNER_ARRAYS = (
    "transitions",
    "byte_classes",
    "match",
    "assertions",
    "starts",
    "contexts",
    "is_start",
    "equivalence_classes",
)
_MAX_ASSERTIONS = 500  # that lead to each other: the recogniser resolves them by recursion
_MAX_STEPS = 5_000_000  # of searching below reductions, in units of 1,000 states


def packed(
    table: ParseTable, scanner: Scanner, indentation_rules: IndentationRules | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays, each in the smallest of types, and a JSON value that hold the tables.

    Examples
    --------
    >>> from cfgguide.grammar import lark_frontend
    >>> from cfgguide.engine.lexer import scanner
    >>> from cfgguide.grammar.grammar import Grammar
    >>> grammar = lark_frontend.load(Grammar('start: "a"+'))
    >>> arrays, value = packed(grammar.parse_table, scanner.build(grammar))
    >>> table, automaton, _ = unpacked(arrays, value)
    >>> automaton.n_states, table.productions == grammar.parse_table.productions
    (4, True)
    """
    arrays = {
        **{name: _smallest(getattr(table, name)) for name in _TABLE_ARRAYS},
        **{name: _smallest(getattr(scanner, name)) for name in _SCANNER_ARRAYS},
    }
    value = {
        "version": VERSION,
        "terminals": list(table.terminals),
        "nonterminals": list(table.nonterminals),
        "productions": [[left, list(right)] for left, right in table.productions],
        "end_state": table.end_state,
        "conflicts": list(table.conflicts),
        "alternatives": table.alternatives.tolist(),
        "asks_each": scanner.asks_each,
        "indentation_rules": indentation_rules.names.as_json()
        if indentation_rules is not None
        else None,
    }
    return arrays, value


def _smallest(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype == np.bool_:
        return array
    for dtype in (np.int8, np.int16):
        if array.size == 0 or np.iinfo(dtype).min <= array.min() <= array.max() <= (
            np.iinfo(dtype).max
        ):
            return array.astype(dtype)
    return array


def unpacked(
    arrays: Arrays, value: Any, *, is_packaged: bool = False
) -> tuple[ParseTable, Scanner, IndentationRules | None]:
    """Return the tables that arrays and a JSON value hold, as copies of their own.

    Parameters
    ----------
    arrays : dict of str to array
        The arrays.
    value : JSON value
        The value.
    is_packaged : bool
        Whether they came with the package. Who could change them could change its code, so what
        takes longest to check is believed: reductions, and columns after line breaks.

    Raises
    ------
    IndexFormatError
        If something is missing, or no grammar could have led to it.
    """
    names = value.get("indentation_rules") if isinstance(value, dict) else None
    checked = Checked(arrays, "the file holds no compiled grammar")
    value = _checked_value(checked, value)
    asks_each, alternatives = value.pop("asks_each"), value.pop("alternatives")
    table = _with_alternatives(checked, _parse_table(checked, value), alternatives)
    scanner = replace(_scanner(checked, n_terminals=table.n_terminals), asks_each=asks_each)
    checked.check((table.set_of_state < len(scanner.starts)).all(), "set_of_state")
    if not is_packaged:
        _check_reductions(checked, table)
    rules = _indentation_rules(checked, names, table, scanner, is_packaged=is_packaged)
    return table, scanner, rules


def _indentation_rules(
    checked: Checked, value: Any, table: ParseTable, scanner: Scanner, *, is_packaged: bool
) -> IndentationRules | None:
    """Return the rules of indentation, which are made again from their names."""
    if value is None:
        return None
    names = IndentationNames.from_json(value)
    if names is None:
        checked.refuse("what its indenter is like")
    try:
        indentation_rules = IndentationRules.of(names, table)
        kinds = indentation_rules.byte_kinds()
        classes = {(kind, each) for kind, each in zip(kinds, scanner.byte_classes, strict=True)}
        checked.check(len(classes) == len({each for _, each in classes}), "byte_classes")
        if not is_packaged:
            IndentationReader(indentation_rules, table, scanner)
    except GrammarError as error:
        checked.refuse(str(error))
    return indentation_rules


def _checked_value(checked: Checked, value: Any) -> dict[str, Any]:
    """Return the JSON value with its names as tuples."""
    names = (
        *("version", "terminals", "nonterminals", "productions", "end_state", "conflicts"),
        *("alternatives", "asks_each"),
    )
    checked.check(isinstance(value, dict) and set(names) <= set(value), "its description")
    checked.check(value["version"] == VERSION, f"version {value['version']!r}, not {VERSION},")
    for name in ("terminals", "nonterminals"):
        checked.check(_are_texts(value[name]) and len(set(value[name])) == len(value[name]), name)
    checked.check(value["terminals"][:1] == ["$END"], "terminals")
    known = set(value["nonterminals"])
    checked.check(isinstance(value["productions"], list), "productions")
    for production in value["productions"]:
        checked.check(isinstance(production, list) and len(production) == 2, "a production")
        left, right = production
        checked.check(isinstance(left, str) and left in known and _are_texts(right), "a production")
    checked.check(type(value["end_state"]) is int, "end_state")
    checked.check(type(value["asks_each"]) is bool, "asks_each")
    checked.check(
        _are_texts(value["conflicts"]) and set(value["conflicts"]) <= set(value["terminals"]),
        "conflicts",
    )
    return {
        "terminals": tuple(value["terminals"]),
        "nonterminals": tuple(value["nonterminals"]),
        "productions": tuple((left, tuple(right)) for left, right in value["productions"]),
        "end_state": value["end_state"],
        "conflicts": tuple(value["conflicts"]),
        "alternatives": value["alternatives"],
        "asks_each": value["asks_each"],
    }


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _numbers(
    checked: Checked,
    name: str,
    shape: tuple[int | None, ...],
    least: int,
    most: int | None = None,
) -> npt.NDArray[np.int32]:
    found = checked.numbers(name, shape, least, most, dtypes=(np.int8, np.int16, np.int32))
    checked.check(0 not in found.shape or 0 in shape, f"{name} is empty")
    return found.astype(np.int32)


def _parse_table(checked: Checked, value: dict[str, Any]) -> ParseTable:
    n_productions = len(value["productions"])
    n_terminals, n_nonterminals = len(value["terminals"]), len(value["nonterminals"])
    action = _numbers(checked, "action", (None, n_terminals), -n_productions)
    n_states = len(action)
    number = {name: index for index, name in enumerate(value["nonterminals"])}
    checked.check(0 <= value["end_state"] < n_states, "end_state")
    checked.check(action.max() <= n_states, "action")
    return ParseTable(
        **value,
        action=action,
        goto=_numbers(checked, "goto", (n_states, n_nonterminals), NO_STATE, n_states - 1),
        lengths=np.array([len(right) for _, right in value["productions"]], dtype=np.int32),
        left_sides=np.array([number[left] for left, _ in value["productions"]], dtype=np.int32),
        set_of_state=_numbers(checked, "set_of_state", (n_states,), 0),
    )


def _with_alternatives(checked: Checked, table: ParseTable, alternatives: Any) -> ParseTable:
    """Return a table with the conflicts that it keeps; a general one has no endless reductions."""
    checked.check(
        isinstance(alternatives, list)
        and all(
            isinstance(row, list)
            and len(row) == 3
            and all(type(number) is int for number in row)
            and 0 <= row[0] < table.n_states
            and 0 <= row[1] < table.n_terminals
            and 0 <= row[2] < len(table.productions)
            and table.action[row[0], row[1]] != ERROR
            for row in alternatives
        ),
        "alternatives",
    )
    if not alternatives:
        return table
    found = sorted({(int(row[0]), int(row[1]), int(row[2])) for row in alternatives})
    checked.check(
        [list(row) for row in found] == alternatives and not table.may_repeat, "alternatives"
    )
    return replace(table, alternatives=np.array(found, dtype=np.int32))


def _scanner(checked: Checked, *, n_terminals: int) -> Scanner:
    # A terminal that no rule uses has the id after that of ignored ones.
    match = _numbers(checked, "match", (None,), NO_MATCH, n_terminals + 1)
    n_states, last = len(match), len(match) - 1
    transitions = _numbers(checked, "transitions", (n_states, None), DEAD, last)
    n_classes = transitions.shape[1]
    assertions = _numbers(checked, "assertions", (n_states, 3), DEAD, last)
    starts = _numbers(checked, "starts", (None, None), DEAD, last)
    n_contexts = starts.shape[1]
    is_start = checked.numbers("is_start", (n_states,), dtypes=(np.bool_,))
    equivalence_classes = _numbers(checked, "equivalence_classes", (n_states,), 0, last)
    class_representatives = np.unique(equivalence_classes, return_index=True)[1].astype(np.int32)
    checked.check(
        int(equivalence_classes.max()) < len(class_representatives)
        and equivalence_classes[DEAD] == 0,
        "equivalence_classes",
    )
    is_dead = not transitions[DEAD].any() and not assertions[DEAD].any() and match[DEAD] == NO_MATCH
    checked.check(is_dead, "the dead state")
    _check_assertions(checked, assertions)
    return Scanner(
        transitions=transitions,
        byte_classes=_numbers(checked, "byte_classes", (N_BYTES,), 0, n_classes - 1),
        match=match,
        assertions=assertions,
        starts=starts,
        contexts=_numbers(checked, "contexts", (n_contexts, n_classes), 0, n_contexts - 1),
        is_start=is_start.copy(),
        ignored=n_terminals,
        can_continue=(transitions != DEAD).any(axis=1),
        equivalence_classes=equivalence_classes,
        class_representatives=class_representatives,
    )


def _check_assertions(checked: Checked, assertions: npt.NDArray[np.int32]) -> None:
    """Refuse assertions that lead to themselves, but for what a fork looks for."""
    is_open = assertions[:, LOOKED_FOR] != DEAD
    checked.check(not assertions[~is_open].any(), "assertions")
    is_fork = is_open & (assertions[:, LOOKED_FOR] == np.arange(len(assertions)))
    assertions = assertions.copy()
    assertions[is_fork, LOOKED_FOR] = DEAD
    for _ in range(_MAX_ASSERTIONS):
        if not is_open.any():
            return
        is_open &= is_open[assertions].any(axis=1)
    checked.refuse("assertions")


def _check_reductions(checked: Checked, table: ParseTable) -> None:
    """Refuse reductions that pop more than there is, or find no goto.

    A set of states is a number with a bit for each. Below all states of a set lies another set,
    and so on down; where the start state is among them, nothing may lie below.
    """
    below = _below(table)
    deeper: dict[int, int] = {}
    goto = [_as_bits(is_defined) for is_defined in (table.goto != NO_STATE).T]
    n_steps = 0
    for state, productions in _reductions(table).items():
        levels = [1 << state]
        for production in productions:
            length = int(table.lengths[production])
            while len(levels) <= length:
                n_steps += 1 + table.n_states // 1000
                checked.check(
                    n_steps <= _MAX_STEPS and not levels[-1] & 1 << START_STATE, "a reduction"
                )
                if levels[-1] not in deeper:
                    deeper[levels[-1]] = _union(below, levels[-1])
                levels.append(deeper[levels[-1]])
            checked.check(not levels[length] & ~goto[table.left_sides[production]], "a goto")


def _reductions(table: ParseTable) -> dict[int, list[int]]:
    """Return, for each state that reduces, its productions."""
    states, terminals = np.nonzero(table.action < ERROR)
    n_productions = len(table.productions)
    pairs = states * n_productions - table.action[states, terminals] - 1
    others = table.alternatives.astype(np.int64)
    pairs = np.append(pairs, others[:, 0] * n_productions + others[:, 2])
    found: dict[int, list[int]] = {}
    for pair in np.unique(pairs).tolist():
        state, production = divmod(pair, n_productions)
        found.setdefault(state, []).append(production)
    return found


def _union(below: list[int], states: int) -> int:
    return reduce(or_, map(below.__getitem__, members(states)), 0)


def _below(table: ParseTable) -> list[int]:
    """Return, for each state, the set of states that can lie directly below it."""
    shifting, terminals = np.nonzero(table.action > ERROR)
    going, nonterminals = np.nonzero(table.goto != NO_STATE)
    above = np.append(table.action[shifting, terminals] - 1, table.goto[going, nonterminals])
    order = np.argsort(above, kind="stable")
    lower = np.split(
        np.append(shifting, going)[order],
        np.cumsum(np.bincount(above, minlength=table.n_states))[:-1],
    )
    found = []
    for states in lower:
        is_below = np.zeros(table.n_states, dtype=np.bool_)
        is_below[states] = True
        found.append(_as_bits(is_below))
    return found


def _as_bits(is_member: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(is_member, bitorder="little").tobytes(), "little")
