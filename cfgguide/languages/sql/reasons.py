"""Why a name or a word of SQL is refused, for people.

In: what is open, and a lexeme. Out: a sentence, such as "`author_id` is no column of `authors`".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.languages.sql.database import AGGREGATE, EITHER, WINDOW
from cfgguide.languages.sql.name_sets import unquoted
from cfgguide.languages.sql.scopes import CallScope, Core, RowScope, counts_of

if TYPE_CHECKING:
    from cfgguide.languages.sql.select_monitor import SelectMonitor

_MAX_NAMED = 4  # tables
_SUBQUERIES = ("SELECT", "VALUES", "WITH", "EXISTS", "IN")


def why(monitor: SelectMonitor, terminal: str, text: str) -> str:
    """Return why a lexeme is refused; empty if there is nothing to say."""
    name, core = unquoted(text), monitor.core()
    top = monitor.frames[-1] if monitor.frames else None
    if terminal == "REF":
        return _of_reference(monitor, core, name)
    if terminal == "FIELD":
        return f"{_quoted(monitor.reference)} has no column {_quoted(name)} here"
    if terminal == "TABLE_NAME":
        if name not in monitor.names.database.tables and name not in monitor.ctes():
            return f"there is no table {_quoted(name)}"
        return f"the table {_quoted(name)} may not come here"
    if terminal in _SUBQUERIES and monitor.is_in_aggregate():
        return "no subquery may stand in the arguments of an aggregate or a window function"
    if terminal == "INTEGER" and core is not None and core.begins_term:
        return f"{text} is the position of no result column that may stand here"
    if monitor.reference is not None and monitor.reference != name:
        return _of_reference(monitor, core, monitor.reference)
    if isinstance(top, CallScope) and terminal in ("COMMA", "RPAR"):
        if terminal == "RPAR" and monitor.names.database.functions[top.name].kind == EITHER:
            return f"{top.name} of one argument is an aggregate, which may not stand here"
        counts = sorted(monitor.names.database.functions[top.name].counts)
        most = f"{counts[0]} or more" if len(counts) > 8 else " or ".join(map(str, counts))
        return f"{top.name} takes {most} arguments, and has {top.n}"
    if isinstance(top, RowScope) and top.wanted is not None:
        return f"{top.wanted} values are needed in parentheses, and there are {top.n}"
    if isinstance(top, Core):
        return _of_select(top)
    return ""


def _of_reference(monitor: SelectMonitor, core: Core | None, name: str | None) -> str:
    function = monitor.names.database.functions.get(name or "")
    if function is not None and function.kind in (AGGREGATE, WINDOW):
        kind = "an aggregate" if function.kind == AGGREGATE else "a window function"
        return f"{name} is {kind}, which may not stand here"
    if core is None:
        return f"no column can be named here, such as {_quoted(name)}"
    if core.clause == "select":
        return f"no table has a column {_quoted(name)}"
    n = counts_of(core.sources).get(name, 0)
    owners = [table.name or "a subquery" for table in core.sources.tables if name in table.columns]
    if n > 1:
        return f"{_quoted(name)} is ambiguous: {_listed(owners)} have it"
    tables = [table.name or "a subquery" for table in core.sources.tables]
    if not tables:
        return f"{_quoted(name)} is no column: there is no FROM"
    return f"{_quoted(name)} is no column of {_listed(tables)}"


def _of_select(core: Core) -> str:
    unmet = [each for each in core.promises if not core.sources.n_having(each)]
    if core.clause in ("select", "from") and unmet:
        qualifier, column = min(unmet, key=lambda each: (each[0] or "", each[1] or ""))
        name = _quoted(column) if qualifier is None else f"{_quoted(qualifier)}.{_quoted(column)}"
        return f"FROM has to go on: it lacks {name}, which was named before"
    if core.owed:
        return f"{_listed(sorted(core.owed))} would be ambiguous: join with USING"
    if core.wanted is not None and core.clause == "select":
        return f"{core.wanted} result columns are needed, and there are {len(core.results)}"
    if core.windows - core.defined:
        return f"WINDOW has to define {_listed(sorted(core.windows - core.defined))}"
    return ""


def _quoted(name: str | None) -> str:
    return f"`{name}`" if name else "*"


def _listed(names: list[str]) -> str:
    shown = [_quoted(name) if name != "a subquery" else name for name in names[:_MAX_NAMED]]
    more = len(names) - _MAX_NAMED
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
