"""Pictures of LALR automata and of parse trees.

In: a :class:`~cfgguide.grammar.lr.table.ParseTable`, or Lark's tree of a text. Out: a picture.
Shifts are plain arrows, gotos dashed ones; a state says which productions it reduces, and before
what.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfgguide.diagnostics.diagnosis import check
from cfgguide.errors import DrawingError, shown
from cfgguide.grammar.lr.table import START_STATE, ParseTable
from cfgguide.output_types import TreeParser
from cfgguide.studio.draw.byte_labels import shown_token
from cfgguide.studio.draw.graph import Arrow, Graph, State
from cfgguide.studio.draw.machines import grammar_of, recognizer_of
from cfgguide.studio.draw.picture import DEFAULT_MAX_STATES, Picture, check_options, picture_of

_MAX_REDUCTIONS, _MAX_NAMES, _MAX_COLUMNS = 4, 3, 40


def parser(
    grammar: object, *, layout: str = "auto", max_states: int = DEFAULT_MAX_STATES
) -> Picture:
    r"""Return the picture of a grammar's LALR automaton.

    Parameters
    ----------
    grammar : Grammar, or anything that :func:`cfgguide.compile` takes; or an Index
        The grammar. One for Lark's Earley parser has a table too, which keeps its conflicts.
    layout, max_states
        As for :func:`cfgguide.draw.fsm`.

    Raises
    ------
    GrammarError, PatternError, LimitError
        As :func:`cfgguide.compile`.
    DrawingError
        If an argument is wrong, or the grammar has no parse table.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = cfgguide.Grammar('start: "(" start ")" | A\nA: /a+/')
    >>> "reduce start → A" in cfgguide.draw.parser(grammar, layout="layers").svg
    True
    """
    check_options(layout, max_states)
    table = recognizer_of(grammar).parse_table
    states = tuple(
        State(
            (str(number), *(_lines(table, number) if number < max_states else ())),
            is_start=number == START_STATE,
            is_final=number == table.end_state,
        )
        for number in range(table.n_states)
    )
    terminals = {*table.terminals}
    arrows = tuple(
        Arrow(number, target, (_short(symbol),), "" if symbol in terminals else "goto")
        for number in range(table.n_states)
        for symbol, target in table.transitions[number].items()
    )
    graph = Graph("parser: plain arrows shift, dashed arrows are gotos", states, arrows)
    return picture_of(graph, layout=layout, max_states=max_states)


def symbols_of_states(table: ParseTable) -> dict[int, str]:
    """Return the symbol that leads to each parse state: there is one, and none to the start."""
    _, symbols, targets = table.edges
    names = map(table.symbols.__getitem__, symbols.tolist())
    return dict(zip(targets.tolist(), names, strict=True))


def _lines(table: ParseTable, state: int) -> list[str]:
    """Return what a state does besides moving on."""
    before: dict[int, list[str]] = {}
    for terminal in np.flatnonzero(table.action[state]).tolist():
        for action in table.actions_of(state, terminal):
            if action < 0:
                before.setdefault(-action - 1, []).append(table.terminals[terminal])
    lines = ["accept"] * (state == table.end_state)
    is_all = len(before) == 1 and not (table.action[state] > 0).any()
    for production, names in before.items():
        left, right = table.productions[production]
        lines.append(_short(f"reduce {left} → {' '.join(right) or 'nothing'}"))
        if not is_all:
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            lines.append(_short(f"  before {', '.join(names[:_MAX_NAMES])}{more}"))
    if len(lines) > 2 * _MAX_REDUCTIONS:
        n_more = len(before) - _MAX_REDUCTIONS
        lines = [*lines[: 2 * _MAX_REDUCTIONS], f"and {n_more} more reductions"]
    return lines


def _short(text: str) -> str:
    return text if len(text) <= _MAX_COLUMNS else f"{text[: _MAX_COLUMNS - 1]}…"


def tree(
    grammar: object,
    text: str | bytes,
    *,
    layout: str = "auto",
    max_states: int = 2 * DEFAULT_MAX_STATES,
) -> Picture:
    """Return the picture of Lark's parse tree of a sentence.

    Parameters
    ----------
    grammar : Grammar, or anything that :func:`cfgguide.compile` takes
        The grammar.
    text : str or bytes
        A sentence; bytes are UTF-8.
    layout : str
        As for :func:`cfgguide.draw.fsm`.
    max_states : int
        Most nodes that are drawn.

    Raises
    ------
    DrawingError
        If the text is no sentence, or an argument is wrong.
    GrammarError, PatternError, LimitError
        As :func:`cfgguide.compile`.

    Examples
    --------
    >>> import cfgguide
    >>> "NUMBER" in cfgguide.draw.tree("json", "[1, 2]").svg
    True
    """
    check_options(layout, max_states)
    if not isinstance(text, str | bytes):
        raise DrawingError(f"a text is a str or bytes, not {shown(text)}")
    used = grammar_of(grammar)
    diagnosis = check(used, text)
    if not diagnosis.is_sentence:
        raise DrawingError(f"only a sentence has a parse tree; {diagnosis}")
    written = text if isinstance(text, str) else text.decode()
    states: list[State] = []
    arrows: list[Arrow] = []
    pending: list[tuple[Any, int | None]] = [(TreeParser(used)(written), None)]
    while pending:
        node, above = pending.pop()
        here = len(states)
        states.append(_node(node))
        if above is not None:
            arrows.append(Arrow(above, here))
        # Depth first, so that the leaves stand in the order of the text.
        pending += [(child, here) for child in reversed(getattr(node, "children", ()))]
    graph = Graph("parse tree", tuple(states), tuple(arrows), noun="nodes")
    return picture_of(graph, layout=layout, max_states=max_states)


def _node(node: Any) -> State:
    """Return a rule, a lexeme, or what an optional part that is not there has left."""
    if hasattr(node, "children"):
        return State((str(node.data),), tone="rule")
    if hasattr(node, "type"):
        return State((str(node.type), _short(shown_token(str(node).encode()))), tone="lexeme")
    return State((_short(repr(node)),), tone="faint")
