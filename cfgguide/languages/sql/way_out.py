"""How a SELECT is finished soon: what it owes, lexeme by lexeme.

In: what is open. Out: lexemes to try, the best first. Only what the monitor allows is taken, so
this may name too much, but must not lead round in circles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cfgguide.languages.sql.name_sets import quoted
from cfgguide.languages.sql.scopes import CallScope, Core, Promise, Query, RowScope

if TYPE_CHECKING:
    from cfgguide.languages.sql.select_monitor import SelectMonitor

_MAX_ALIASES = 60  # that are tried
_MAX_TABLES = 5  # that are tried for one promise

Lexeme = tuple[str, str]  # terminal and text

_CLOSE: Lexeme = ("RPAR", ")")
_OPEN: Lexeme = ("LPAR", "(")
_COMMA: Lexeme = ("COMMA", ",")
_ONE: Lexeme = ("INTEGER", "1")
_NULL: Lexeme = ("NULL", "NULL")


def way_out(monitor: SelectMonitor) -> Iterator[Lexeme]:
    """Yield lexemes that lead towards the end of a query."""
    top = monitor.frames[-1] if monitor.frames else None
    if isinstance(top, CallScope):
        yield from (_CLOSE, _ONE, _COMMA, ("OVER", "OVER"), _OPEN)
    elif isinstance(top, RowScope):
        yield from (_CLOSE, _ONE, _COMMA)
    elif isinstance(top, Query) or top is None:
        yield from (_CLOSE, ("SELECT", "SELECT"))
    elif not isinstance(top, Core):
        yield from (_CLOSE, _ONE)
    elif top.clause == "select":
        yield from _select_list(monitor, top)
    elif top.clause == "from":
        yield from _tables(monitor, top)
    elif top.clause == "using":
        yield _CLOSE
        for name in sorted(top.owed) or sorted(top.sources.joinable())[:1]:
            yield "USING_COLUMN", quoted(name)
        yield from (_COMMA, _OPEN)
    elif top.clause == "window":
        yield _CLOSE
        for name in sorted(top.windows - top.defined)[:1]:
            yield "WINDOW_NAME", name
        yield from (_COMMA, ("AS", "AS"), _OPEN)
    else:
        yield from (_CLOSE, _ONE, _NULL, ("WINDOW", "WINDOW"))
        if top.clause == "on":
            yield _COMMA


def _select_list(monitor: SelectMonitor, core: Core) -> Iterator[Lexeme]:
    written = {result.name for result in core.results} | {core.single, core.alias}
    missing = [name for name in _asked_of(monitor) if name not in written]
    if core.single is None or core.single == "":
        for name in missing[:1]:
            is_known = name in monitor.names.columns.names
            yield ("REF", quoted(name)) if is_known else _ONE
    for name in missing[:1]:
        yield "RESULT_NAME", quoted(name)
    if missing:
        yield _COMMA
    yield from (_CLOSE, _ONE, ("FROM", "FROM"))
    if core.windows:
        yield "WINDOW", "WINDOW"
    yield _COMMA


def _asked_of(monitor: SelectMonitor) -> list[str]:
    """Return the columns that the query around a derived table lacks."""
    around = monitor.frames[-3] if len(monitor.frames) > 2 else None
    if isinstance(around, Core) and around.clause == "from":
        return [column for _, column in _first_unmet(around) if column is not None]
    return []


def _first_unmet(core: Core) -> list[Promise]:
    """Return the promises of one qualifier that FROM has not kept."""
    unmet = sorted(
        (each for each in core.promises if not core.sources.n_having(each)),
        key=lambda each: (each[0] or "", each[1] or ""),
    )
    if not unmet or unmet[0][0] is None:
        return unmet[:1]
    return [each for each in unmet if each[0] == unmet[0][0]]


def _tables(monitor: SelectMonitor, core: Core) -> Iterator[Lexeme]:
    unmet = _first_unmet(core)
    qualifier = unmet[0][0] if unmet else None
    columns = [column for _, column in unmet if column is not None]
    if core.pending is not None:
        has_all = all(column in core.pending.columns for column in columns)
        if has_all and qualifier is not None and qualifier != core.pending.name:
            yield "TABLE_ALIAS", quoted(qualifier)
        yield _CLOSE
        if core.windows:
            yield "WINDOW", "WINDOW"
        yield from (_COMMA, ("USING", "USING"))
        names = [f"t{n}" for n in range(1, 9)]
        if not monitor.names.takes_new_columns:
            names += sorted(monitor.names.aliases.names)[:_MAX_ALIASES]
        yield from (("TABLE_ALIAS", quoted(name)) for name in names)
        return
    yield _CLOSE
    if core.windows:
        yield "WINDOW", "WINDOW"
    yield from (("USING", "USING"), _COMMA)
    for name in _fitting(monitor, core, qualifier, columns):
        yield "TABLE_NAME", quoted(name)
    yield from (_OPEN, ("SELECT", "SELECT"))


def _fitting(
    monitor: SelectMonitor, core: Core, qualifier: str | None, columns: list[str]
) -> list[str]:
    """Return tables that have some columns, those first that have the name, or few columns."""
    known = dict(monitor.ctes())
    tables = {name: each.columns for name, each in monitor.names.database.tables.items()}
    every = tables | {name: each for name, each in known.items() if each is not None}
    fitting = (name for name, has in every.items() if all(column in has for column in columns))
    size = core.n_missing if core.wanted is not None and core.has_star else 0
    return sorted(
        fitting, key=lambda name: (name != qualifier, abs(len(every[name]) - size), name)
    )[:_MAX_TABLES]
