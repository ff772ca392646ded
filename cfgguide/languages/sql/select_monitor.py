"""The monitor of SELECT: every statement that it lets through prepares on the database.

In: the lexemes and reductions of a text in ``grammars/sql_runs.lark``. Out: which names, and which
words and signs that open or end something, may come. What is open is a stack of frames
(:mod:`cfgguide.languages.sql.scopes`); the grammar's empty rules say when one is opened.

It never leaves a text without a way on: FROM can always go on with a table, or with a subquery that
has just the column that is still missing.

Source: https://www.sqlite.org/lang_select.html, and SQLite itself (docs/design/0037).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from cfgguide.languages.sql.database import AGGREGATE, WINDOW
from cfgguide.languages.sql.name_sets import SqlIdentifiers, folded, unquoted
from cfgguide.languages.sql.reasons import why
from cfgguide.languages.sql.schema_names import TRUTH, name_set
from cfgguide.languages.sql.scopes import (
    HAS_AGGREGATE,
    HAS_WINDOW,
    TRUE_OR_FALSE,
    CallScope,
    Core,
    Frame,
    NestedScope,
    Query,
    Result,
    RowScope,
    TableSource,
    ValuesScope,
    counts_of,
    results_named,
    unambiguous,
)
from cfgguide.languages.sql.select_state import MAX_DEPTH
from cfgguide.languages.sql.select_texts import SIDES, SelectTexts, has_all_columns
from cfgguide.languages.sql.way_out import way_out

_CLOSING = NestedScope(
    "closing"
)  # so that a parenthesis is not taken for that of what is around it


class SelectMonitor(SelectTexts):
    """What a SELECT has so far, and what it owes."""

    __slots__ = ()

    #: What is done at each lexeme and reduction.
    shifts: ClassVar[Mapping[str, Callable[[Any, str, str], Any]]] = {}
    reductions: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def shifted(self, terminal: str, text: str) -> Self:
        """Return the monitor after a lexeme that may stand here."""
        shift = self.shifts.get(terminal)
        return self if shift is None else shift(self, terminal, text)

    def reduced(self, rule: str) -> Self | None:
        """Return the monitor after a reduction; None if it is refused."""
        result: Self | None = self.reductions[rule](self)
        return result

    # -- lexemes ----------------------------------------------------------------------------

    def _shift_reference(self, _: str, text: str) -> Self:
        monitor = self._in_core(begins_term=0)
        return monitor._with(monitor.frames, reference=unquoted(text))

    def _shift_field(self, _: str, text: str) -> Self:
        name = unquoted(text)
        return self._use((self.reference, name))._named(name)

    def _shift_star(self, terminal: str, _: str) -> Self:
        core = self._top
        if terminal == "EVERY_COLUMN":
            return self._changed(results=(*core.results, Result(None, star="")))
        promise = self.reference, None
        return self._changed(
            results=(*core.results, Result(None, star=self.reference)),
            promises=core.promises | {promise},
            local=core.local | {promise},
        )

    def _shift_every_row(self, _: str, __: str) -> Self:
        return self._changed(has_star=True)

    def _shift_comma(self, _: str, __: str) -> Self:
        return self._changed(n=self._top.n + 1) if isinstance(self._top, RowScope) else self

    def _shift_distinct(self, _: str, __: str) -> Self:
        return self._changed(is_distinct=True) if isinstance(self._top, CallScope) else self

    def _shift_integer(self, _: str, __: str) -> Self:
        core = self.core()
        if core is None or not core.begins_term:
            return self
        is_short = core.has_short_term or core.clause == "group"
        return self._in_core(begins_term=0, has_short_term=is_short)

    def _shift_closing(self, _: str, __: str) -> Self:
        return self._popped() if self._top == _CLOSING else self

    def _shift_clause(self, terminal: str, _: str) -> Self:
        top = self._top
        if terminal == "ORDER" and isinstance(top, Query) and top.n_parts == 1:
            assert top.last is not None, "only a SELECT can be ordered"
            return self._pushed(top.last._replace(clause="order", flags=0))
        if not isinstance(top, Core):
            return self
        changes: dict[str, Any] = {"clause": terminal.lower(), "flags": 0}
        if terminal == "GROUP":
            changes["is_grouped"] = True
        return self._changed(**changes)

    def _shift_natural(self, _: str, __: str) -> Self:
        return self._changed(is_natural=True)

    def _shift_side(self, _: str, __: str) -> Self:
        return self._changed(is_sided=True)

    def _shift_table(self, _: str, text: str) -> Self:
        name, core = unquoted(text), self._top
        is_recursive = core.recursive == name and self.ctes().get(name) is not None
        return self._changed(
            pending=TableSource(name, self._columns_of(name)),
            is_recursive=core.is_recursive or is_recursive,
        )

    def _shift_table_alias(self, _: str, text: str) -> Self:
        return self._with_table(unquoted(text))

    def _with_table(self, name: str | None) -> Self:
        core = self._top
        table = TableSource(name, core.pending.columns)
        owed: frozenset[str] = frozenset()
        if not core.is_natural:
            known = counts_of(core.sources)
            owed = frozenset(
                column
                for qualifier, column in core.promises
                if qualifier is None and column in known and column in table.columns
            )
        return self._changed(
            sources=core.sources.added(table, is_natural=core.is_natural), owed=owed, pending=None
        )

    def _shift_using_column(self, _: str, text: str) -> Self:
        name, core = unquoted(text), self._top
        return self._changed(sources=core.sources.using(name), owed=core.owed - {name})

    def _shift_result_name(self, _: str, text: str) -> Self:
        return self._changed(single=None, alias=unquoted(text))

    def _shift_cte_name(self, _: str, text: str) -> Self:
        return self._changed(pending=(unquoted(text), ()))

    def _shift_new_column(self, _: str, text: str) -> Self:
        name, columns = self._top.pending
        column = unquoted(text)
        named = None if column in TRUE_OR_FALSE else column
        return self._changed(pending=(name, (*columns, named)))

    def _shift_compound(self, terminal: str, _: str) -> Self:
        takes_unions = self._top.takes_unions and terminal == "UNION"
        return self._changed(last=None, takes_unions=takes_unions)

    def _shift_window_name(self, _: str, text: str) -> Self:
        return self._changed(defined=self._top.defined | {folded(text)})

    def _shift_window_reference(self, _: str, text: str) -> Self:
        core = self.core()
        assert core is not None, "windows stand in a SELECT"
        return self._in_core(windows=core.windows | {folded(text)})

    def _shift_not(self, _: str, __: str) -> Self:
        return self._prefixed()._unnamed(begins_term=0)

    def _prefixed(self) -> Self:
        return self._with(self.frames, n_prefixes=self.n_prefixes + 1)

    # -- the name of a result column ----------------------------------------------------------

    def _named(self, name: str | None) -> Self:
        """Return the monitor after an operand that may be all of a result column."""
        core = self.core()
        if core is None or core.clause != "select":
            return self
        return self._in_core(single=name if core.single == "" else None)

    def _unnamed(self, **changes: Any) -> Self:
        """Return the monitor after something that gives a result column no name."""
        core = self.core()
        if core is None:
            return self
        if core.clause == "select" and core.single is not None:
            changes["single"] = None
        if all(getattr(core, name) == value for name, value in changes.items()):
            return self
        return self._in_core(**changes)

    # -- reductions -------------------------------------------------------------------------

    def _reduce_column(self) -> Self | None:
        name = self.reference
        assert name is not None, "a name came before"
        sets, missing = self._column_names()
        is_column = name not in missing and any(name in names.names for names in sets)
        if is_column or (self._names_anything() and name not in TRUE_OR_FALSE):
            return self._use((None, name))._named(name)
        if name not in TRUE_OR_FALSE:
            return None
        monitor = self._unnamed()
        return monitor._with(monitor.frames)

    def _reduce_function(self) -> Self | None:
        name = self.reference or ""
        if len(self.frames) >= MAX_DEPTH or name not in self.names.database.functions:
            return None
        aggregates, windows = self._takes()
        kind = self.names.database.functions[name].kind
        if (kind == AGGREGATE and not aggregates) or (kind == WINDOW and not windows):
            return None
        return self._unnamed()._pushed(CallScope(name))

    def _open_call(self) -> Self | None:
        return self if self.names.database.functions[self._top.name].most else None

    def _reduce_no_arguments(self) -> Self | None:
        return self if 0 in self.names.database.functions[self._top.name].counts else None

    def _reduce_argument(self) -> Self:
        return self._changed(n=self._top.n + 1)

    def _reduce_no_over(self) -> Self | None:
        call = self._top
        kind = self.names.database.functions[call.name].kind
        if kind == WINDOW:
            return None
        if not self._is_aggregate(call):
            return self
        if not self._popped()._takes()[0]:
            return None
        return self._flagged(HAS_AGGREGATE)

    def _flagged(self, flag: int) -> Self:
        core = self.core()
        if core is None:
            return self
        changes: dict[str, Any] = {"flags": core.flags | flag}
        if flag == HAS_AGGREGATE and core.clause in ("select", "having"):
            changes["has_aggregate"] = True
        return self._in_core(**changes)

    def _reduce_over(self) -> Self:
        return self._popped()._flagged(HAS_WINDOW)

    def _reduce_row(self) -> Self:
        row = self._top
        popped = self._popped()
        return popped._with(popped.frames, row=row.n if row.wanted is None else None)

    def _open_parenthesis(self) -> Self:
        return self._with((*self.frames, RowScope(1, self.row)), row=None)

    def _open_unnamed(self, frame: Frame) -> Self:
        return self._unnamed(begins_term=0)._pushed(frame)

    def _open_query(self, wanted: int | None) -> Self | None:
        if self.is_in_aggregate():
            return None
        monitor = self._unnamed(begins_term=0)
        return monitor._with((*monitor.frames, Query(wanted, self._scope)), row=None)

    def _open_row_query(self) -> Self | None:
        return self._open_query(self.row)

    def _open_derived(self) -> Self:
        core = self._top
        wanted = None
        if core.wanted is not None and any(result.star == "" for result in core.results):
            wanted = core.n_missing - len(list(core.sources.visible()))
        return self._pushed(Query(wanted, -1))

    def _open_cte(self) -> Self:
        name, columns = self._top.pending
        names = columns or None
        return self._pushed(Query(len(columns) or None, -1, names=names, itself=name))

    def _open_core(self) -> Self:
        query = self._top
        recursive = query.itself if query.n_parts and query.takes_unions else None
        return self._pushed(Core(_width_of(query), query.outer, recursive=recursive))

    def _open_values(self) -> Self:
        query = self._top
        return self._pushed(ValuesScope(_width_of(query), query.outer))

    def _open_row(self) -> Self:
        return self._pushed(RowScope(1, self._top.wanted))

    def _reduce_value_row(self) -> Self:
        n = self._top.n
        return self._popped()._changed(wanted=n)

    def _reduce_values(self) -> Self:
        width = self._top.wanted
        return self._popped()._part_ended([Result(f"column{n}") for n in range(1, width + 1)], None)

    def _part_ended(self, results: Any, core: Core | None) -> Self:
        query = self._top
        sortable = query.sortable
        if not query.n_parts and core is not None:
            single = unambiguous(core.sources)
            sortable = core.aliases(-1) | {
                each.name for each in core.results if each.name is not None and each.name in single
            }
        return self._changed(
            sortable=sortable,
            names=results_named(results) if query.names is None else query.names,
            n_parts=query.n_parts + 1,
            last=core,
            is_recursive=query.is_recursive or (core is not None and core.is_recursive),
        )

    def _reduce_core(self) -> Self | None:
        core = self._top
        if core.windows - core.defined:
            return None
        return self._popped()._part_ended(core.results, core)

    def _reduce_computed(self) -> Self:
        core = self._top
        name = core.alias if core.alias is not None else (core.single or None)
        result = Result(name, core.flags, core.alias is not None)
        return self._changed(results=(*core.results, result), flags=0, single="", alias=None)

    def _reduce_no_from(self) -> Self | None:
        core = self._top
        if core.has_star or not has_all_columns(core):
            return None
        after = self._passed_on(len(self.frames) - 1)
        return None if after is None else after._known()

    def _known(self) -> Self:
        """Return the monitor when the tables of a SELECT are known."""
        core = self._top
        return self._changed(
            clause="known",
            is_known=True,
            promises=frozenset(),
            local=frozenset(),
            results=core.expanded(),
            is_natural=False,
            is_sided=False,
        )

    def _reduce_from(self) -> Self | None:
        after = self._passed_on(len(self.frames) - 1)
        if after is None:
            return None
        known = after._known()
        core = known._top
        if core.wanted is not None and len(core.results) != core.wanted:
            return None
        return known

    def _reduce_no_constraint(self) -> Self | None:
        core = self._top
        if core.owed:
            return None
        return self._changed(is_natural=False, is_sided=False)

    def _reduce_join(self) -> Self:
        return self._changed(clause="from", flags=0, is_sided=False)

    def _reduce_no_alias(self) -> Self | None:
        name = self._top.pending.name
        return None if name in self._refused_aliases() else self._with_table(name)

    def _reduce_subquery(self) -> Self:
        names = self._top.names
        popped = self._popped()
        around = popped._top
        if isinstance(around, Query):
            assert around.pending is not None, "it is being written"
            return popped._changed(pending=(around.pending[0], names))
        if isinstance(around, Core) and around.clause == "from":
            return popped._changed(pending=TableSource(None, names))
        return popped._pushed(_CLOSING)

    def _reduce_cte(self) -> Self:
        query = self._top
        return self._changed(ctes=(*query.ctes, query.pending), pending=None)

    def _open_term(self) -> Self:
        return self._changed(begins_term=1)

    def _reduce_sign(self) -> Self:
        core = self.core()
        is_signed = core is not None and core.begins_term
        return self._prefixed()._unnamed(**({"begins_term": 2} if is_signed else {}))

    def way_out(self) -> Iterator[tuple[str, str]]:
        """Return lexemes that lead towards the end: :mod:`cfgguide.languages.sql.way_out`."""
        return way_out(self)

    def known(self) -> SqlIdentifiers:
        """Return the columns and tables of the database, and the names that have come.

        A function has its name and a parenthesis: the name alone is one that nobody knows.
        """
        here = name_set(frozenset(_words_in(self.frames)) | {self.reference or ""})
        return SqlIdentifiers((self.names.columns, self.names.tables, TRUTH, here))

    def why(self, terminal: str, text: str) -> str:
        """Return why a lexeme is refused here: :mod:`cfgguide.languages.sql.reasons`."""
        return why(self, terminal, text)


def _width_of(query: Query) -> int | None:
    """Return how many columns the next part of a query must have."""
    return query.wanted if query.names is None else len(query.names)


_M = SelectMonitor

SelectMonitor.shifts = {
    "REF": _M._shift_reference,
    "FIELD": _M._shift_field,
    "EVERY_COLUMN": _M._shift_star,
    "TABLE_COLUMNS": _M._shift_star,
    "EVERY_ROW": _M._shift_every_row,
    "COMMA": _M._shift_comma,
    "RPAR": _M._shift_closing,
    "DISTINCT": _M._shift_distinct,
    "INTEGER": _M._shift_integer,
    "NATURAL": _M._shift_natural,
    **dict.fromkeys(SIDES, _M._shift_side),
    "TABLE_NAME": _M._shift_table,
    "TABLE_ALIAS": _M._shift_table_alias,
    "USING_COLUMN": _M._shift_using_column,
    "RESULT_NAME": _M._shift_result_name,
    "CTE_NAME": _M._shift_cte_name,
    "NEW_COLUMN": _M._shift_new_column,
    "NOT": _M._shift_not,
    "WINDOW_NAME": _M._shift_window_name,
    "WINDOW_REFERENCE": _M._shift_window_reference,
    **dict.fromkeys(("UNION", "EXCEPT", "INTERSECT"), _M._shift_compound),
    **dict.fromkeys(
        ("FROM", "ON", "USING", "WHERE", "GROUP", "HAVING", "ORDER", "WINDOW"), _M._shift_clause
    ),
}

SelectMonitor.reductions = {
    "column": _M._reduce_column,
    "function": _M._reduce_function,
    "open_call": _M._open_call,
    "no_arguments": _M._reduce_no_arguments,
    "argument": _M._reduce_argument,
    "filter": _M._popped,
    "no_over": _M._reduce_no_over,
    "over": _M._reduce_over,
    "function_call": _M._popped,
    "open_parenthesis": _M._open_parenthesis,
    "parenthesis": _M._popped,
    "row": _M._reduce_row,
    "open_list": lambda monitor: monitor._pushed(NestedScope("list")),
    "in_list": lambda monitor: monitor._popped()._pushed(_CLOSING),
    "open_case": lambda monitor: monitor._open_unnamed(NestedScope("case")),
    "case": _M._popped,
    "open_cast": lambda monitor: monitor._open_unnamed(NestedScope("cast")),
    "cast": _M._popped,
    "open_filter": lambda monitor: monitor._pushed(NestedScope("filter")),
    "open_over": lambda monitor: monitor._pushed(NestedScope("over")),
    "open_limit": lambda monitor: monitor._pushed(NestedScope("limit")),
    "limit": _M._popped,
    "open_top": lambda monitor: monitor._pushed(Query(None, -1)),
    "open_scalar": lambda monitor: monitor._open_query(1),
    "open_in": lambda monitor: monitor._open_query(1),
    "open_exists": lambda monitor: monitor._open_query(None),
    "open_row_query": _M._open_row_query,
    "open_derived": _M._open_derived,
    "open_cte": _M._open_cte,
    "subquery": _M._reduce_subquery,
    "query": _M._popped,
    "cte": _M._reduce_cte,
    "open_core": _M._open_core,
    "select_core": _M._reduce_core,
    "open_values": _M._open_values,
    "open_row": _M._open_row,
    "value_row": _M._reduce_value_row,
    "values": _M._reduce_values,
    "computed": _M._reduce_computed,
    "no_from": _M._reduce_no_from,
    "from_clause": _M._reduce_from,
    "no_constraint": _M._reduce_no_constraint,
    "join_on": _M._reduce_join,
    "join_using": _M._reduce_join,
    "no_alias": _M._reduce_no_alias,
    "open_term": _M._open_term,
    "over_name": lambda monitor: monitor._flagged(HAS_WINDOW),
    "window_definition": _M._popped,
    "order_by": _M._popped,
    "_sign": _M._reduce_sign,
    "_suffixed": _M._unnamed,
    "literal": lambda monitor: monitor._unnamed(begins_term=0),
}

SelectMonitor.terminals = frozenset({*_M.asked, *_M.allowed, *_M.shifts})
SelectMonitor.rules = frozenset(_M.reductions)


def _words_in(parts: Iterable[object]) -> Iterator[str]:
    """Yield all words that stand in frames: names, and a few of their own."""
    for part in parts:
        if isinstance(part, str):
            yield part
        elif isinstance(part, tuple | frozenset):
            yield from _words_in(part)
