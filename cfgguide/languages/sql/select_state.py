"""What a SELECT has so far, and which names are visible where.

In: frames, what is open at a place of a text (:mod:`cfgguide.languages.sql.scopes`). Out: a
:class:`SelectState`, which knows the scope that an expression is in, the columns, aliases and
qualifiers that may be named there, and which promises FROM must keep.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Self

from cfgguide.languages.sql.database import AGGREGATE, EITHER, WINDOW
from cfgguide.languages.sql.name_sets import NameSet
from cfgguide.languages.sql.schema_names import SchemaNames, name_set
from cfgguide.languages.sql.scopes import (
    HAS_AGGREGATE,
    HAS_WINDOW,
    CallScope,
    Core,
    Frame,
    NestedScope,
    Promise,
    Query,
    ValuesScope,
    counts_of,
    unambiguous,
)
from cfgguide.languages.states import FramedMonitor

MAX_DEPTH = 14  # frames; SQLite's parser has room for about three times as many
MAX_PREFIXES = 30  # signs and NOT, which SQLite's parser keeps on its stack


class SelectState(FramedMonitor[Any]):
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

    __slots__ = ("n_prefixes", "names", "reference", "row")
    frames: tuple[Frame, ...]

    def __init__(
        self,
        names: SchemaNames,
        frames: tuple[Frame, ...] = (),
        reference: str | None = None,
        row: int | None = None,
        n_prefixes: int = 0,
    ) -> None:
        super().__init__(names, frames, reference, row, n_prefixes)
        self.names = names
        self.frames = frames
        self.reference = reference
        self.row = row
        self.n_prefixes = n_prefixes

    def __repr__(self) -> str:
        return f"SelectMonitor({', '.join(map(repr, self.frames))})"

    @property
    def relevant(self) -> Hashable:
        """All but the number of signs, unless no more may come."""
        return self.frames, self.reference, self.row, self.n_prefixes >= MAX_PREFIXES

    # -- frames -----------------------------------------------------------------------------

    def _with(self, frames: tuple[Frame, ...], **changes: Any) -> Self:
        # A name that has come is forgotten by whatever comes next.
        return type(self)(
            self.names,
            frames,
            changes.get("reference"),
            changes.get("row", self.row),
            changes.get("n_prefixes", self.n_prefixes),
        )

    @property
    def _scope(self) -> int:
        """The frame whose names an expression may use: of a SELECT or VALUES; -1 in LIMIT."""
        for place in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[place]
            if isinstance(frame, Core | ValuesScope):
                return place
            if isinstance(frame, NestedScope) and frame.kind == "limit":
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
            return self._with(self.frames)
        return self._replaced(scope, core._replace(**changes))

    def _takes(self) -> tuple[bool, bool]:
        """Return whether aggregates and windows may stand in the expression here."""
        takes_windows = True
        for frame in reversed(self.frames):
            if isinstance(frame, CallScope):
                kind = self.names.database.functions[frame.name].kind
                if kind in (AGGREGATE, EITHER):
                    return False, False
                takes_windows &= kind != WINDOW
            elif isinstance(frame, NestedScope) and frame.kind in ("filter", "limit"):
                return False, False
            elif isinstance(frame, NestedScope) and frame.kind == "over":
                takes_windows = False
            elif isinstance(frame, Core):
                aggregates, windows = _takes_in(frame)
                return aggregates, windows and takes_windows
            elif isinstance(frame, ValuesScope | Query):
                return False, False
        return False, False

    def is_in_aggregate(self) -> bool:
        """Return whether an expression belongs to an aggregate."""
        for frame in reversed(self.frames):
            if isinstance(frame, CallScope):
                if self.names.database.functions[frame.name].kind in (AGGREGATE, EITHER, WINDOW):
                    return True
            elif isinstance(frame, Core | ValuesScope | Query):
                return False
            elif isinstance(frame, NestedScope) and frame.kind in ("filter", "over"):
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
        return self.names.takes_new_columns and scope < MAX_DEPTH

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
        is_local = self.is_in_aggregate()
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
        is_local = self.is_in_aggregate()
        names: set[str] = set()
        sets: tuple[NameSet, ...] = ()
        for core in self._outwards(self._scope):
            if core.clause == "select" and not sets:
                sets = (self.names.tables, self._obtainable()[1])
                if self.names.columns.names and self._scope < MAX_DEPTH:
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
        is_local = self.is_in_aggregate()
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
        is_local, scope = self.is_in_aggregate(), self._scope
        while scope >= 0:
            core = self.frames[scope]
            assert isinstance(core, Core | ValuesScope), "a scope"
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
        return self._with(self.frames)

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


def _around(frame: Frame) -> int:
    """Return the frame of the SELECT around whose columns may be named too; -1 for none.

    Terms of GROUP BY and ORDER BY see none.
    """
    assert isinstance(frame, Core | ValuesScope), "a scope"
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
