"""The monitor of SELECT: every statement that it lets through prepares on the database.

In: the lexemes and reductions of a text in ``grammars/sql_runs.lark``. Out: which names, and which
words and signs that open or end something, may come. What is open is a stack of frames
(:mod:`cfgguide.sql.scopes`); the grammar's empty rules say when one is opened.

It never leaves a text without a way on: FROM can always go on with a table, or with a subquery that
has just the column that is still missing.

Source: https://www.sqlite.org/lang_select.html, and SQLite itself (docs/design/0037).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any, ClassVar, Self

from cfgguide.monitors.monitor import Monitor
from cfgguide.monitors.texts import NOTHING, OneOf, Texts
from cfgguide.sql.database import AGGREGATE, EITHER, WINDOW
from cfgguide.sql.name_sets import Names, NameSet, OtherNames, folded, unquoted
from cfgguide.sql.reasons import why
from cfgguide.sql.schema_names import TRUTH, SchemaNames, name_set
from cfgguide.sql.scopes import (
    HAS_AGGREGATE,
    HAS_WINDOW,
    Call,
    Core,
    Frame,
    Nested,
    Promise,
    Query,
    Result,
    Row,
    Source,
    Values,
    counts_of,
    results_named,
    unambiguous,
)
from cfgguide.sql.way_out import way_out

_MAX_DEPTH = 14  # frames; SQLite's parser has room for about three times as many
_MAX_PREFIXES = 30  # signs and NOT, which SQLite's parser keeps on its stack
_MAX_TABLES = 50
_MAX_COLUMNS = 100
_MAX_PARTS = 50

_CLOSING = Nested("closing")  # so that a parenthesis is not taken for that of what is around it
_TRUE_OR_FALSE = ("true", "false")
_JOINS = ("NATURAL", "JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL")
_SIDES = ("RIGHT", "FULL")
_OPENING = ("IN", "EXISTS", "CAST", "CASE", "VALUES", "WITH")
_SIGNS = ("PLUS", "MINUS", "TILDE", "NOT")


class SelectMonitor(Monitor):
    """What a SELECT has so far, and what it owes.

    Parameters
    ----------
    names : SchemaNames
        Of the database.
    frames : tuple of Frame
        What is open, the outermost first.
    reference : str or None
        A name before it is known whether it is a column, a function or a qualifier.
    row : int or None
        How many values the row has with which the next one is compared.
    n_prefixes : int
        Signs and NOT so far.
    """

    __slots__ = ("_hash", "frames", "n_prefixes", "names", "reference", "row")

    terminals: ClassVar[frozenset[str]] = frozenset()  # set below, with what is done at each
    rules: ClassVar[frozenset[str]] = frozenset()

    def __init__(
        self,
        names: SchemaNames,
        frames: tuple[Frame, ...] = (),
        reference: str | None = None,
        row: int | None = None,
        n_prefixes: int = 0,
    ) -> None:
        self.names = names
        self.frames = frames
        self.reference = reference
        self.row = row
        self.n_prefixes = n_prefixes
        self._hash = hash((frames, reference, row, n_prefixes))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, SelectMonitor)
            and self._hash == other._hash
            and self.frames == other.frames
            and (self.reference, self.row) == (other.reference, other.row)
            and self.n_prefixes == other.n_prefixes
            and self.names == other.names
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"SelectMonitor({', '.join(map(repr, self.frames))})"

    @property
    def can_finish(self) -> bool:
        """True: what would leave no way on is refused."""
        return True

    @property
    def relevant(self) -> Hashable:
        """All but the number of signs, unless no more may come."""
        return self.frames, self.reference, self.row, self.n_prefixes >= _MAX_PREFIXES

    # -- events -----------------------------------------------------------------------------

    def texts(self, terminal: str) -> Texts | None:
        """Return which texts of a terminal may stand here; None if all may."""
        asked = _TEXTS.get(terminal)
        return None if asked is None else asked(self, terminal)

    def shifted(self, terminal: str, text: str) -> Self:
        """Return the monitor after a lexeme that may stand here."""
        shift = _SHIFTED.get(terminal)
        return self if shift is None else shift(self, terminal, text)

    def reduced(self, rule: str) -> Self | None:
        """Return the monitor after a reduction; None if it is refused."""
        result: Self | None = _REDUCED[rule](self)
        return result

    # -- frames -----------------------------------------------------------------------------

    @property
    def _top(self) -> Any:
        return self.frames[-1] if self.frames else None

    def _with(self, *frames: Frame, **changes: Any) -> Self:
        """Return a monitor with other frames."""
        return type(self)(
            self.names,
            frames,
            changes.get("reference"),
            changes.get("row", self.row),
            changes.get("n_prefixes", self.n_prefixes),
        )

    def _pushed(self, frame: Frame) -> Self:
        return self._with(*self.frames, frame)

    def _popped(self, n: int = 1) -> Self:
        return self._with(*self.frames[:-n])

    def _changed(self, **changes: Any) -> Self:
        """Return the monitor with a change to the frame on top."""
        return self._with(*self.frames[:-1], self._top._replace(**changes))

    def _replaced(self, place: int, frame: Frame) -> Self:
        """Return the monitor with another frame at a place."""
        return self._with(*self.frames[:place], frame, *self.frames[place + 1 :])

    @property
    def _scope(self) -> int:
        """The frame whose names an expression may use: of a SELECT or VALUES; -1 in LIMIT."""
        for place in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[place]
            if isinstance(frame, Core | Values):
                return place
            if isinstance(frame, Nested) and frame.kind == "limit":
                return -1
        return -1

    def core(self) -> Core | None:
        """Return the SELECT that an expression belongs to."""
        scope = self._scope
        frame = self.frames[scope] if scope >= 0 else None
        return frame if isinstance(frame, Core) else None

    def _in_core(self, **changes: Any) -> Self:
        """Return the monitor with a change to the SELECT that an expression belongs to."""
        scope = self._scope
        core = self.frames[scope] if scope >= 0 else None
        if not isinstance(core, Core):
            return self._with(*self.frames)
        return self._replaced(scope, core._replace(**changes))

    def _takes(self) -> tuple[bool, bool]:
        """Return whether aggregates and windows may stand in the expression here."""
        takes_windows = True
        for frame in reversed(self.frames):
            if isinstance(frame, Call):
                kind = self.names.database.functions[frame.name].kind
                if kind in (AGGREGATE, EITHER):
                    return False, False
                takes_windows &= kind != WINDOW
            elif isinstance(frame, Nested) and frame.kind in ("filter", "limit"):
                return False, False
            elif isinstance(frame, Nested) and frame.kind == "over":
                takes_windows = False
            elif isinstance(frame, Core):
                aggregates, windows = _takes_in(frame)
                return aggregates, windows and takes_windows
            elif isinstance(frame, Values | Query):
                return False, False
        return False, False

    def _is_in_aggregate(self) -> bool:
        """Return whether an expression belongs to an aggregate."""
        for frame in reversed(self.frames):
            if isinstance(frame, Call):
                if self.names.database.functions[frame.name].kind in (AGGREGATE, EITHER, WINDOW):
                    return True
            elif isinstance(frame, Core | Values | Query):
                return False
            elif isinstance(frame, Nested) and frame.kind in ("filter", "over"):
                return True
        return False

    # -- names ------------------------------------------------------------------------------

    def ctes(self) -> dict[str, tuple[str | None, ...] | None]:
        """Return the common table expressions that may be named here; None where one may not be."""
        found: dict[str, tuple[str | None, ...] | None] = {}
        for frame in self.frames:
            if isinstance(frame, Query):
                if frame.itself is not None:
                    found[frame.itself] = None
                found.update(frame.ctes)
        core = self.core()
        if core is not None and core.recursive is not None and _may_recur(core):
            query = self.frames[self._scope - 1]
            assert isinstance(query, Query), "a SELECT is part of a query"
            found[core.recursive] = query.names
        return found

    def _columns_of(self, table: str) -> tuple[str | None, ...]:
        cte = self.ctes().get(table)
        return self.names.database.tables[table].columns if cte is None else cte

    def _outwards(self, scope: int) -> Iterator[Core]:
        """Yield the SELECTs whose names an expression may use, the innermost first."""
        while scope >= 0:
            frame = self.frames[scope]
            if isinstance(frame, Core):
                yield frame
            scope = _around(frame)

    def _takes_new(self, scope: int) -> bool:
        """Return whether a SELECT may name what only a subquery in its FROM will have.

        FROM can open one, if it is not too deep.
        """
        return self.names.takes_new_columns and scope < _MAX_DEPTH

    def _names_anything(self) -> bool:
        """Return whether any name may come where FROM is not known."""
        scope = self._scope
        core = self.frames[scope] if scope >= 0 else None
        return isinstance(core, Core) and core.clause == "select" and self._takes_new(scope)

    def _obtainable(self) -> tuple[tuple[NameSet, ...], NameSet]:
        """Return the columns that FROM may yet bring, and the names of tables it may."""
        ctes = {name: columns for name, columns in self.ctes().items() if any(columns or ())}
        columns = {column for each in ctes.values() for column in each or () if column is not None}
        sets = (self.names.columns, *((name_set(frozenset(columns)),) if columns else ()))
        return sets, name_set(frozenset(ctes))

    def _column_names(self) -> tuple[tuple[NameSet, ...], frozenset[str]]:
        """Return the columns that may be named without a qualifier, but for some names."""
        is_local = self._is_in_aggregate()
        names: set[str] = set()
        blocked: set[str] = set()
        sets: tuple[NameSet, ...] = ()
        missing: frozenset[str] = frozenset()
        for number, core in enumerate(self._outwards(self._scope)):
            if core.clause == "select":
                if not sets:
                    sets = self._obtainable()[0]
                    missing = frozenset(blocked - names)
            else:
                names.update(unambiguous(core.sources) - blocked)
                blocked.update(name for name in counts_of(core.sources) if name is not None)
                if not number:
                    names.update(self._aliases(core).difference(blocked))
            if is_local:
                break
        own = (name_set(frozenset(names)),) if names else ()
        return own + sets, missing

    def _aliases(self, core: Core) -> frozenset[str]:
        """Return the result columns that may be named by their aliases."""
        if core.clause == "group" and any(each.flags & HAS_WINDOW for each in core.results):
            return frozenset()  # SQLite reads such terms twice
        if core.clause in ("where", "group"):
            return core.aliases(0)
        if core.clause not in ("having", "order"):
            return frozenset()
        aggregates, windows = self._takes()
        return core.aliases((HAS_AGGREGATE if aggregates else 0) | (HAS_WINDOW if windows else 0))

    def _qualifiers(self) -> tuple[NameSet, ...]:
        """Return what may stand before a dot."""
        is_local = self._is_in_aggregate()
        names: set[str] = set()
        sets: tuple[NameSet, ...] = ()
        for core in self._outwards(self._scope):
            if core.clause == "select" and not sets:
                sets = (self.names.tables, self._obtainable()[1])
                if self.names.columns.names and self._scope < _MAX_DEPTH:
                    sets += (self.names.aliases,)
            names.update(
                table.name
                for table in core.sources.tables
                if table.name is not None and any(table.columns)
            )
            if is_local:
                break
        return (*((name_set(frozenset(names)),) if names else ()), *sets)

    def _fields(self, qualifier: str) -> tuple[NameSet, ...]:
        """Return what may stand after a qualifier and a dot."""
        is_local = self._is_in_aggregate()
        sets: tuple[NameSet, ...] = ()
        is_open = False
        for core in self._outwards(self._scope):
            if core.clause == "select":
                if not is_open:
                    sets += self._fields_to_come(qualifier)
                is_open = True
            else:
                named = core.sources.named(qualifier)
                if named:
                    columns = (c for c in named[0].columns if c is not None)
                    sets += (name_set(frozenset(columns)),)
                    break
            if is_local:
                break
        return sets

    def _fields_to_come(self, qualifier: str) -> tuple[NameSet, ...]:
        cte = self.ctes().get(qualifier)
        if cte is not None:
            return (name_set(frozenset(column for column in cte if column is not None)),)
        if qualifier in self.names.database.tables:
            return (self.names.columns_of(qualifier),)
        if qualifier in self.names.aliases.names:
            return self._obtainable()[0]
        return ()

    def _use(self, promise: Promise) -> Self:
        """Return the monitor after a column was named."""
        is_local, scope = self._is_in_aggregate(), self._scope
        while scope >= 0:
            core = self.frames[scope]
            assert isinstance(core, Core | Values), "a scope"
            if isinstance(core, Core):
                if core.clause == "select":
                    return self._replaced(scope, _promised(core, promise, is_local=is_local))
                if core.sources.n_having(promise):
                    if core.is_known:
                        break
                    return self._replaced(scope, _promised(core, promise, is_local=False))
                if promise[0] is None and promise[1] in core.aliases(-1):
                    if core.clause == "group":
                        return self._replaced(scope, core._replace(has_short_term=True))
                    break
            scope = _around(core)
        return self._with(*self.frames)

    def _passed_on(self, place: int) -> Self | None:
        """Return the monitor when FROM ends: what it lacks is promised to the query around.

        None if FROM has to go on.
        """
        core = self.frames[place]
        assert isinstance(core, Core), "FROM belongs to one"
        monitor = self
        for promise in sorted(core.promises, key=repr):
            n = core.sources.n_having(promise)
            if n == 1:
                continue
            after = None if n or promise in core.local else monitor._promised_around(core, promise)
            if after is None:
                return None
            monitor = after
        return monitor

    def _promised_around(self, core: Core, promise: Promise) -> Self | None:
        """Return the monitor with a promise of the queries around; None if none can keep it."""
        scope = _around(core)
        while scope >= 0:
            frame = self.frames[scope]
            if isinstance(frame, Core):
                n = frame.sources.n_having(promise)
                if n > 1:
                    return None
                if frame.is_known and n:
                    return self
                if not frame.is_known and (n or self._is_obtainable(scope, promise)):
                    return self._replaced(scope, _promised(frame, promise, is_local=False))
            scope = _around(frame)
        return None

    def _is_obtainable(self, scope: int, promise: Promise) -> bool:
        """Return whether FROM of a SELECT that is not known may still keep a promise."""
        core = self.frames[scope]
        qualifier, column = promise
        if not isinstance(core, Core) or core.clause != "select" or column is None:
            return False
        if qualifier is None:
            is_known = any(column in names.names for names in self._obtainable()[0])
        else:
            is_known = any(column in names.names for names in self._fields_to_come(qualifier))
        return is_known or (self._takes_new(scope) and qualifier not in self.names.database.tables)

    # -- what may come ----------------------------------------------------------------------

    def _reference_texts(self, _: str) -> Texts | None:
        if self._names_anything():
            return None
        aggregates, windows = self._takes()
        sets, missing = self._column_names()
        called: tuple[NameSet, ...] = ()
        if len(self.frames) < _MAX_DEPTH:
            called = (self.names.functions(aggregates=aggregates, windows=windows),)
        if missing:
            missing -= {name for each in (*called, *self._qualifiers()) for name in each.names}
        return Names((*sets, *self._qualifiers(), *called, TRUTH), missing)

    def _is_qualifier(self) -> bool:
        return self._names_anything() or any(
            self.reference in names.names for names in self._qualifiers()
        )

    def _dot_texts(self, _: str) -> Texts | None:
        return None if self._is_qualifier() else NOTHING

    def _field_texts(self, _: str) -> Texts | None:
        assert self.reference is not None, "a qualifier came before"
        is_known = self.reference in self.names.database.tables or self.ctes().get(self.reference)
        if self._names_anything() and not is_known:
            return None
        return Names(self._fields(self.reference))

    def _star_texts(self, terminal: str) -> Texts | None:
        core = self._top
        if core.wanted is None:
            if terminal == "EVERY_COLUMN":
                return None
            return None if self._is_own_qualifier() else NOTHING
        if core.promises or core.has_star or len(core.results) >= core.wanted:
            return NOTHING
        if terminal == "EVERY_COLUMN":
            return None if len(self.frames) <= _MAX_DEPTH else NOTHING
        known = self.ctes().get(self.reference or "") or self._table_columns()
        return None if len(known or ()) == core.wanted - len(core.results) else NOTHING

    def _table_columns(self) -> tuple[str | None, ...] | None:
        table = self.names.database.tables.get(self.reference or "")
        return None if table is None else table.columns

    def _is_own_qualifier(self) -> bool:
        if self._names_anything():
            return True
        sets = (self.names.tables, self._obtainable()[1], self.names.aliases)
        return any(self.reference in names.names for names in sets)

    def _every_row_texts(self, _: str) -> Texts | None:
        takes_star = self.names.database.functions[self._top.name].takes_star
        return None if takes_star else NOTHING

    def _comma_texts(self, _: str) -> Texts | None:
        return None if self._may_go_on() else NOTHING

    def _may_go_on(self) -> bool:
        """Return whether a comma may come."""
        top = self._top
        if isinstance(top, Call):
            return not top.is_distinct and top.n < self.names.database.functions[top.name].most
        if isinstance(top, Row):
            return top.n < (_MAX_COLUMNS if top.wanted is None else top.wanted)
        if isinstance(top, Core):
            if top.clause == "select":
                most = _MAX_COLUMNS if top.wanted is None else top.wanted
                is_full = top.wanted is not None and top.has_star
                return not is_full and len(top.results) < most
            if top.clause == "from":
                return _takes_tables(top)
            if top.clause == "using":
                return bool(top.sources.joinable())
        return True

    def _closing_texts(self, _: str) -> Texts | None:
        return None if self._may_close() else NOTHING

    def _may_close(self) -> bool:
        """Return whether a closing parenthesis may come."""
        top = self._top
        if isinstance(top, Call):
            function = self.names.database.functions[top.name]
            if function.kind == EITHER and top.n == 1 and not top.is_distinct:
                outside = self._popped()._takes()
                return outside[0] or outside[1]
            return top.has_star or top.n in function.counts
        if isinstance(top, Row):
            return top.wanted is None or top.n == top.wanted
        if isinstance(top, Core) and top.clause == "using":
            return not top.owed
        return True

    def _opening_texts(self, terminal: str) -> Texts | None:
        """Return whether something may be opened: not too deep."""
        depth = len(self.frames)
        is_query = terminal == "EXISTS" or (terminal == "IN" and self.row is not None)
        if is_query and self._is_in_aggregate():  # which its columns might give to another query
            return NOTHING
        if terminal != "LPAR":
            return NOTHING if depth >= _MAX_DEPTH else None
        top = self._top
        is_using = isinstance(top, Core) and top.clause == "using"
        if depth > _MAX_DEPTH and not is_using:
            return NOTHING
        if isinstance(top, Core) and top.clause == "from" and (top.is_natural or top.is_sided):
            return NOTHING  # its columns are not known yet
        return None

    def _from_texts(self, _: str) -> Texts | None:
        return None if _has_all_columns(self._top) else NOTHING

    def _join_texts(self, terminal: str) -> Texts | None:
        core = self._top
        if not isinstance(core, Core) or core.clause != "from":
            return None
        if not _takes_tables(core):
            return NOTHING
        if terminal == "NATURAL" and core.wanted is not None and core.has_star:
            return NOTHING
        if terminal in _SIDES:
            sided = core._replace(is_sided=True)
            tables = self.names.database.tables.values()
            fits = any(_fits(sided, table.columns) for table in tables)
            return None if fits and not core.is_natural else NOTHING
        return None

    def _on_texts(self, _: str) -> Texts | None:
        return NOTHING if self._top.owed or self._top.is_natural else None

    def _using_texts(self, _: str) -> Texts | None:
        core = self._top
        is_refused = core.is_natural or core.is_sided or not core.sources.joinable()
        return NOTHING if is_refused else None

    def _using_column_texts(self, _: str) -> Texts:
        return Names((name_set(self._top.sources.joinable()),))

    def _table_texts(self, _: str) -> Texts:
        core = self._top
        ctes = self.ctes()
        missing = {name for name, columns in ctes.items() if columns is None}
        known = name_set(frozenset(ctes.keys() - missing))
        if core.is_natural or core.is_sided or (core.wanted is not None and core.has_star):
            for name in self.names.database.tables.keys() | ctes.keys():
                if name not in missing and not _fits(core, self._columns_of(name)):
                    missing.add(name)
        return Names((self.names.tables, known), frozenset(missing))

    def _table_alias_texts(self, _: str) -> Texts | None:
        refused = self._refused_aliases()
        return OtherNames(refused) if refused else None

    def _refused_aliases(self) -> frozenset[str]:
        """Return the names that the table that has just come may not have."""
        core = self._top
        taken = {table.name for table in core.sources.tables if table.name is not None}
        for qualifier, column in core.promises:
            if qualifier is None or qualifier in taken:
                continue
            columns = core.pending.columns
            if column is None:
                if core.wanted is not None and len(columns) != core.n_missing:
                    taken.add(qualifier)
            elif columns.count(column) != 1:
                around = self._promised_around(core, (qualifier, column))
                if around is None or (qualifier, column) in core.local:
                    taken.add(qualifier)
        return frozenset(taken)

    def _cte_name_texts(self, _: str) -> Texts | None:
        # A table of this name would be hidden from what has come, too.
        taken = {name for name, _ in self._top.ctes} | self.names.database.tables.keys()
        return OtherNames(frozenset(taken)) if taken else None

    def _new_column_texts(self, _: str) -> Texts | None:
        taken = frozenset(self._top.pending[1])
        return OtherNames(taken) if taken else None

    def _compound_texts(self, _: str) -> Texts | None:
        query = self._top
        return NOTHING if query.is_recursive or query.n_parts >= _MAX_PARTS else None

    def _distinct_texts(self, _: str) -> Texts | None:
        top = self._top
        if not isinstance(top, Call):
            return None
        function = self.names.database.functions[top.name]
        if function.kind not in (AGGREGATE, EITHER) or 1 not in function.counts:
            return NOTHING
        return None if self._popped()._takes()[0] else NOTHING

    def _all_texts(self, _: str) -> Texts | None:
        return NOTHING if isinstance(self._top, Call) else None

    def _filter_texts(self, _: str) -> Texts | None:
        return None if self._is_aggregate(self._top) else NOTHING

    def _is_aggregate(self, call: Call) -> bool:
        kind = self.names.database.functions[call.name].kind
        return kind == AGGREGATE or (kind == EITHER and call.n == 1)

    def _over_texts(self, _: str) -> Texts | None:
        call = self._top
        function = self.names.database.functions[call.name]
        is_window = function.kind == WINDOW or self._is_aggregate(call)
        takes_windows = self._popped()._takes()[1]
        may = function.is_windowed and is_window and not call.is_distinct and takes_windows
        return None if may else NOTHING

    def _group_texts(self, _: str) -> Texts | None:
        top = self._top  # a window may exclude a GROUP
        return NOTHING if isinstance(top, Core) and top.is_recursive else None

    def _having_texts(self, _: str) -> Texts | None:
        core = self._top
        return None if core.is_grouped or core.has_aggregate else NOTHING

    def _integer_texts(self, _: str) -> Texts | None:
        core = self.core()
        if core is None or not core.begins_term or isinstance(self._top, Nested | Call):
            return None
        return OneOf(self._positions(core) if core.begins_term == 1 else ())

    @staticmethod
    def _positions(core: Core) -> list[str]:
        """Return the positions of result columns that a term may be."""
        if core.clause == "group" and any(each.flags & HAS_WINDOW for each in core.results):
            return []
        if core.clause == "group":
            return [str(n) for n, result in enumerate(core.results, 1) if not result.flags]
        return [str(n) for n in range(1, len(core.results) + 1)]

    def _position_texts(self, _: str) -> Texts:
        return OneOf(str(n) for n in range(1, len(self._top.names) + 1))

    def _sort_name_texts(self, _: str) -> Texts:
        return Names((name_set(self._top.sortable),))

    def _window_name_texts(self, _: str) -> Texts | None:
        defined = self._top.defined
        return OtherNames(defined) if defined else None

    def _window_reference_texts(self, _: str) -> Texts | None:
        core = self.core()
        assert core is not None, "windows stand in a SELECT"
        if core.clause != "order":
            return None
        return Names((NameSet(core.defined, is_word_only=True),))

    def _sign_texts(self, _: str) -> Texts | None:
        return NOTHING if self.n_prefixes >= _MAX_PREFIXES else None

    # -- lexemes ----------------------------------------------------------------------------

    def _shift_reference(self, _: str, text: str) -> Self:
        monitor = self._in_core(begins_term=0)
        return monitor._with(*monitor.frames, reference=unquoted(text))

    def _shift_dot(self, _: str, __: str) -> Self:
        return self

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
        return self._changed(n=self._top.n + 1) if isinstance(self._top, Row) else self

    def _shift_distinct(self, _: str, __: str) -> Self:
        return self._changed(is_distinct=True) if isinstance(self._top, Call) else self

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
            pending=Source(name, self._columns_of(name)),
            is_recursive=core.is_recursive or is_recursive,
        )

    def _shift_table_alias(self, _: str, text: str) -> Self:
        return self._with_table(unquoted(text))

    def _with_table(self, name: str | None) -> Self:
        core = self._top
        table = Source(name, core.pending.columns)
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
        return self._changed(pending=(name, (*columns, unquoted(text))))

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
        return self._with(*self.frames, n_prefixes=self.n_prefixes + 1)

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
        if is_column or (self._names_anything() and name not in _TRUE_OR_FALSE):
            return self._use((None, name))._named(name)
        if name not in _TRUE_OR_FALSE:
            return None
        monitor = self._unnamed()
        return monitor._with(*monitor.frames)

    def _reduce_function(self) -> Self | None:
        name = self.reference or ""
        if len(self.frames) >= _MAX_DEPTH or name not in self.names.database.functions:
            return None
        aggregates, windows = self._takes()
        kind = self.names.database.functions[name].kind
        if (kind == AGGREGATE and not aggregates) or (kind == WINDOW and not windows):
            return None
        return self._unnamed()._pushed(Call(name))

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
        return popped._with(*popped.frames, row=row.n if row.wanted is None else None)

    def _open_parenthesis(self) -> Self:
        return self._with(*self.frames, Row(1, self.row), row=None)

    def _open_unnamed(self, frame: Frame) -> Self:
        return self._unnamed(begins_term=0)._pushed(frame)

    def _open_query(self, wanted: int | None) -> Self | None:
        if self._is_in_aggregate():
            return None
        monitor = self._unnamed(begins_term=0)
        return monitor._with(*monitor.frames, Query(wanted, self._scope), row=None)

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
        return self._pushed(Values(_width_of(query), query.outer))

    def _open_row(self) -> Self:
        return self._pushed(Row(1, self._top.wanted))

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
        if core.has_star or not _has_all_columns(core):
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
            return popped._changed(pending=Source(None, names))
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
        """Return lexemes that lead towards the end of a text; see :mod:`cfgguide.sql.way_out`."""
        return way_out(self)

    def why(self, terminal: str, text: str) -> str:
        """Return why a lexeme is refused here, for people; see :mod:`cfgguide.sql.reasons`."""
        return why(self, terminal, text)


def _around(frame: Frame) -> int:
    """Return the frame of the SELECT around whose columns may be named too; -1 for none.

    Terms of GROUP BY and ORDER BY see none.
    """
    assert isinstance(frame, Core | Values), "a scope"
    is_term = isinstance(frame, Core) and frame.clause in ("group", "order")
    return -1 if is_term else frame.outer


def _takes_in(core: Core) -> tuple[bool, bool]:
    """Return whether aggregates and windows may stand in a clause."""
    if core.is_recursive:
        return False, False
    if core.clause == "select":
        return True, True
    if core.clause == "having":
        return True, False
    if core.clause == "order":
        return core.is_grouped or core.has_aggregate, not core.has_short_term
    return False, False


def _may_recur(core: Core) -> bool:
    """Return whether a SELECT may still name the common table expression that it is part of."""
    flags = core.flags
    for result in core.results:
        flags |= result.flags
    return not core.is_recursive and not flags


def _promised(core: Core, promise: Promise, *, is_local: bool) -> Core:
    if promise in core.promises and (not is_local or promise in core.local):
        return core
    local = core.local | {promise} if is_local else core.local
    return core._replace(promises=core.promises | {promise}, local=local)


def _has_all_columns(core: Core) -> bool:
    """Return whether the list of result columns may end."""
    return core.wanted is None or core.has_star or len(core.results) == core.wanted


def _takes_tables(core: Core) -> bool:
    """Return whether FROM may have another table."""
    if len(core.sources.tables) >= _MAX_TABLES:
        return False
    if core.wanted is None or not any(result.star == "" for result in core.results):
        return True
    return len(list(core.sources.visible())) < core.n_missing


def _fits(core: Core, columns: tuple[str | None, ...]) -> bool:
    """Return whether a table may come next in FROM, as far as its columns decide."""
    counts = counts_of(core.sources)
    if core.is_natural and any(counts.get(column, 0) > 1 for column in columns):
        return False
    if core.is_sided and any((None, column) in core.promises for column in columns):
        return False  # USING would be needed, which SQLite takes otherwise there
    if core.wanted is None or not any(result.star == "" for result in core.results):
        return True
    return len(list(core.sources.visible())) + len(columns) <= core.n_missing


def _width_of(query: Query) -> int | None:
    """Return how many columns the next part of a query must have."""
    return query.wanted if query.names is None else len(query.names)


_Ask = Callable[[SelectMonitor, str], Texts | None]
_Shift = Callable[[SelectMonitor, str, str], Any]
_Reduce = Callable[[SelectMonitor], Any]
_M = SelectMonitor

_TEXTS: dict[str, _Ask] = {
    "REF": _M._reference_texts,
    "FIELD": _M._field_texts,
    "DOT": _M._dot_texts,
    "EVERY_COLUMN": _M._star_texts,
    "TABLE_COLUMNS": _M._star_texts,
    "EVERY_ROW": _M._every_row_texts,
    "COMMA": _M._comma_texts,
    "RPAR": _M._closing_texts,
    "LPAR": _M._opening_texts,
    "FROM": _M._from_texts,
    "ON": _M._on_texts,
    "USING": _M._using_texts,
    "USING_COLUMN": _M._using_column_texts,
    "TABLE_NAME": _M._table_texts,
    "TABLE_ALIAS": _M._table_alias_texts,
    "CTE_NAME": _M._cte_name_texts,
    "NEW_COLUMN": _M._new_column_texts,
    "DISTINCT": _M._distinct_texts,
    "ALL": _M._all_texts,
    "FILTER": _M._filter_texts,
    "OVER": _M._over_texts,
    "GROUP": _M._group_texts,
    "HAVING": _M._having_texts,
    "INTEGER": _M._integer_texts,
    "POSITION": _M._position_texts,
    "SORT_NAME": _M._sort_name_texts,
    "WINDOW_NAME": _M._window_name_texts,
    "WINDOW_REFERENCE": _M._window_reference_texts,
    **dict.fromkeys(("UNION", "EXCEPT", "INTERSECT"), _M._compound_texts),
    **dict.fromkeys(_JOINS, _M._join_texts),
    **dict.fromkeys(_OPENING, _M._opening_texts),
    **dict.fromkeys(_SIGNS, _M._sign_texts),
}

_SHIFTED: dict[str, _Shift] = {
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
    **dict.fromkeys(_SIDES, _M._shift_side),
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

_REDUCED: dict[str, _Reduce] = {
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
    "open_list": lambda monitor: monitor._pushed(Nested("list")),
    "in_list": lambda monitor: monitor._popped()._pushed(_CLOSING),
    "open_case": lambda monitor: monitor._open_unnamed(Nested("case")),
    "case": _M._popped,
    "open_cast": lambda monitor: monitor._open_unnamed(Nested("cast")),
    "cast": _M._popped,
    "open_filter": lambda monitor: monitor._pushed(Nested("filter")),
    "open_over": lambda monitor: monitor._pushed(Nested("over")),
    "open_limit": lambda monitor: monitor._pushed(Nested("limit")),
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

SelectMonitor.terminals = frozenset({*_TEXTS, *_SHIFTED})
SelectMonitor.rules = frozenset(_REDUCED)
