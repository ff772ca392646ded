"""Which texts of each terminal may come in a SELECT.

In: what it has so far (:mod:`cfgguide.languages.sql.select_state`). Out: a :class:`SelectTexts`,
which says for each terminal that is followed which texts may stand at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from cfgguide.engine.monitors.text_sets import NOTHING, OneOf, Texts
from cfgguide.languages.sql.database import AGGREGATE, EITHER, WINDOW
from cfgguide.languages.sql.name_sets import NameSet, OtherNames, SqlIdentifiers
from cfgguide.languages.sql.schema_names import TRUTH, name_set
from cfgguide.languages.sql.scopes import (
    HAS_WINDOW,
    TRUE_OR_FALSE,
    CallScope,
    Core,
    NestedScope,
    RowScope,
    counts_of,
)
from cfgguide.languages.sql.select_state import MAX_DEPTH, MAX_PREFIXES, SelectState

_MAX_TABLES = 50
_MAX_COLUMNS = 100
_MAX_PARTS = 50
_JOINS = ("NATURAL", "JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL")
SIDES = ("RIGHT", "FULL")
_OPENING = ("IN", "EXISTS", "CAST", "CASE", "VALUES", "WITH")
_SIGNS = ("PLUS", "MINUS", "TILDE", "NOT")


class SelectTexts(SelectState):
    """What a SELECT has so far, and which texts may come."""

    __slots__ = ()

    #: Which texts of names and numbers may stand here, and whether words and signs may.
    asked: ClassVar[Mapping[str, Callable[[Any, str], Texts | None]]] = {}
    allowed: ClassVar[Mapping[str, Callable[[Any, str], bool]]] = {}

    def _texts(self, terminal: str) -> Texts | None:
        if terminal in self.asked:
            return self.asked[terminal](self, terminal)
        allowed = self.allowed.get(terminal)
        return None if allowed is None or allowed(self, terminal) else NOTHING

    def _reference_texts(self, _: str) -> Texts | None:
        if self._names_anything():
            return None
        aggregates, windows = self._takes()
        sets, missing = self._column_names()
        called: tuple[NameSet, ...] = ()
        if len(self.frames) < MAX_DEPTH:
            called = (self.names.functions(aggregates=aggregates, windows=windows),)
        if missing:
            missing -= {name for each in (*called, *self._qualifiers()) for name in each.names}
        return SqlIdentifiers((*sets, *self._qualifiers(), *called, TRUTH), missing)

    def _may_be_dot(self, _: str) -> bool:
        return self._names_anything() or any(
            self.reference in names.names for names in self._qualifiers()
        )

    def _field_texts(self, _: str) -> Texts | None:
        assert self.reference is not None, "a qualifier came before"
        is_known = self.reference in self.names.database.tables or self.ctes().get(self.reference)
        if self._names_anything() and not is_known:
            nobodys = TRUE_OR_FALSE - self.names.columns.names
            return OtherNames(nobodys) if nobodys else None
        return SqlIdentifiers(self._fields(self.reference))

    def _may_be_star(self, terminal: str) -> bool:
        core = self._top
        if core.wanted is None:
            if terminal == "EVERY_COLUMN":
                return True
            return self._is_own_qualifier()
        if core.promises or core.has_star or len(core.results) >= core.wanted:
            return False
        if terminal == "EVERY_COLUMN":
            return len(self.frames) <= MAX_DEPTH
        known = self.ctes().get(self.reference or "") or self._table_columns()
        return bool(len(known or ()) == core.wanted - len(core.results))

    def _table_columns(self) -> tuple[str | None, ...] | None:
        table = self.names.database.tables.get(self.reference or "")
        return None if table is None else table.columns

    def _is_own_qualifier(self) -> bool:
        if self._names_anything():
            return True
        sets = (self.names.tables, self._obtainable()[1], self.names.aliases)
        return any(self.reference in names.names for names in sets)

    def _may_be_every_row(self, _: str) -> bool:
        return self.names.database.functions[self._top.name].takes_star

    def _may_be_comma(self, _: str) -> bool:
        top = self._top
        if isinstance(top, CallScope):
            # SQLite takes DISTINCT before a single argument only.
            return not top.is_distinct and top.n < self.names.database.functions[top.name].most
        if isinstance(top, RowScope):
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

    def _may_be_closing(self, _: str) -> bool:
        top = self._top
        if isinstance(top, CallScope):
            function = self.names.database.functions[top.name]
            if function.kind == EITHER and top.n == 1 and not top.is_distinct:
                outside = self._popped()._takes()
                return outside[0] or outside[1]
            return top.has_star or top.n in function.counts
        if isinstance(top, RowScope):
            return top.wanted is None or top.n == top.wanted
        if isinstance(top, Core) and top.clause == "using":
            return not top.owed
        return True

    def _may_be_opening(self, terminal: str) -> bool:
        depth = len(self.frames)
        is_query = terminal == "EXISTS" or (terminal == "IN" and self.row is not None)
        if is_query and self.is_in_aggregate():  # which its columns might give to another query
            return False
        if terminal != "LPAR":
            return depth < MAX_DEPTH
        top = self._top
        is_using = isinstance(top, Core) and top.clause == "using"
        if depth > MAX_DEPTH and not is_using:
            return False
        # Columns of a subquery are not known when its join is to be checked.
        is_from = isinstance(top, Core) and top.clause == "from"
        return not (is_from and (top.is_natural or top.is_sided))

    def _may_be_from(self, _: str) -> bool:
        return has_all_columns(self._top)

    def _may_be_join(self, terminal: str) -> bool:
        core = self._top
        if not isinstance(core, Core) or core.clause != "from":
            return True
        if not _takes_tables(core):
            return False
        if terminal == "NATURAL" and core.wanted is not None and core.has_star:
            return False
        if terminal in SIDES:
            sided = core._replace(is_sided=True)
            tables = self.names.database.tables.values()
            fits = any(_fits(sided, table.columns) for table in tables)
            return fits and not core.is_natural
        return True

    def _may_be_on(self, _: str) -> bool:
        return not (self._top.owed or self._top.is_natural)

    def _may_be_using(self, _: str) -> bool:
        core = self._top
        return not (core.is_natural or core.is_sided) and bool(core.sources.joinable())

    def _using_column_texts(self, _: str) -> Texts:
        return SqlIdentifiers((name_set(self._top.sources.joinable()),))

    def _table_texts(self, _: str) -> Texts:
        core = self._top
        ctes = self.ctes()
        missing = {name for name, columns in ctes.items() if columns is None}
        if not self.names.takes_new_columns:
            taken = {table.name for table in core.sources.tables if table.name is not None}
            promised = {qualifier for qualifier, _ in core.promises}
            if self.names.aliases.names <= taken | promised:  # a second one needs another name
                missing |= taken
        known = name_set(frozenset(ctes.keys() - missing))
        if core.is_natural or core.is_sided or (core.wanted is not None and core.has_star):
            for name in self.names.database.tables.keys() | ctes.keys():
                if name not in missing and not _fits(core, self._columns_of(name)):
                    missing.add(name)
        return SqlIdentifiers((self.names.tables, known), frozenset(missing))

    def _table_alias_texts(self, _: str) -> Texts | None:
        refused = self._refused_aliases()
        if not self.names.takes_new_columns:
            return SqlIdentifiers((self.names.aliases,), refused & self.names.aliases.names)
        return OtherNames(refused) if refused else None

    def _may_be_as(self, _: str) -> bool:
        top = self._top
        if self.names.takes_new_columns or not isinstance(top, Core) or top.pending is None:
            return True
        return not self.names.aliases.names <= self._refused_aliases()

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
        taken = frozenset(filter(None, self._top.pending[1]))
        return OtherNames(taken) if taken else None

    def _may_be_compound(self, _: str) -> bool:
        query = self._top
        return not (query.is_recursive or query.n_parts >= _MAX_PARTS)

    def _may_be_distinct(self, _: str) -> bool:
        top = self._top
        if not isinstance(top, CallScope):
            return True
        function = self.names.database.functions[top.name]
        if function.kind not in (AGGREGATE, EITHER) or 1 not in function.counts:
            return False
        return self._popped()._takes()[0]

    def _may_be_all(self, _: str) -> bool:
        return not isinstance(self._top, CallScope)

    def _may_be_filter(self, _: str) -> bool:
        return self._is_aggregate(self._top)

    def _is_aggregate(self, call: CallScope) -> bool:
        kind = self.names.database.functions[call.name].kind
        return kind == AGGREGATE or (kind == EITHER and call.n == 1)

    def _may_be_over(self, _: str) -> bool:
        call = self._top
        function = self.names.database.functions[call.name]
        is_window = function.kind == WINDOW or self._is_aggregate(call)
        takes_windows = self._popped()._takes()[1]
        return function.is_windowed and is_window and not call.is_distinct and takes_windows

    def _may_be_group(self, _: str) -> bool:
        top = self._top  # a window may exclude a GROUP
        return not (isinstance(top, Core) and top.is_recursive)

    def _may_be_having(self, _: str) -> bool:
        core = self._top
        return bool(core.is_grouped or core.has_aggregate)

    def _integer_texts(self, _: str) -> Texts | None:
        core = self.core()
        if core is None or not core.begins_term or isinstance(self._top, NestedScope | CallScope):
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
        return SqlIdentifiers((name_set(self._top.sortable),))

    def _window_name_texts(self, _: str) -> Texts | None:
        defined = self._top.defined
        return OtherNames(defined) if defined else None

    def _window_reference_texts(self, _: str) -> Texts | None:
        core = self.core()
        assert core is not None, "windows stand in a SELECT"
        if core.clause != "order":
            return None
        return SqlIdentifiers((NameSet(core.defined, is_word_only=True),))

    def _may_be_sign(self, _: str) -> bool:
        return self.n_prefixes < MAX_PREFIXES


def has_all_columns(core: Core) -> bool:
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


_T = SelectTexts

SelectTexts.asked = {
    "REF": _T._reference_texts,
    "FIELD": _T._field_texts,
    "USING_COLUMN": _T._using_column_texts,
    "TABLE_NAME": _T._table_texts,
    "TABLE_ALIAS": _T._table_alias_texts,
    "CTE_NAME": _T._cte_name_texts,
    "NEW_COLUMN": _T._new_column_texts,
    "INTEGER": _T._integer_texts,
    "POSITION": _T._position_texts,
    "SORT_NAME": _T._sort_name_texts,
    "WINDOW_NAME": _T._window_name_texts,
    "WINDOW_REFERENCE": _T._window_reference_texts,
}
SelectTexts.allowed = {
    "DOT": _T._may_be_dot,
    "EVERY_COLUMN": _T._may_be_star,
    "TABLE_COLUMNS": _T._may_be_star,
    "EVERY_ROW": _T._may_be_every_row,
    "COMMA": _T._may_be_comma,
    "RPAR": _T._may_be_closing,
    "LPAR": _T._may_be_opening,
    "FROM": _T._may_be_from,
    "ON": _T._may_be_on,
    "USING": _T._may_be_using,
    "AS": _T._may_be_as,
    "DISTINCT": _T._may_be_distinct,
    "ALL": _T._may_be_all,
    "FILTER": _T._may_be_filter,
    "OVER": _T._may_be_over,
    "GROUP": _T._may_be_group,
    "HAVING": _T._may_be_having,
    **dict.fromkeys(("UNION", "EXCEPT", "INTERSECT"), _T._may_be_compound),
    **dict.fromkeys(_JOINS, _T._may_be_join),
    **dict.fromkeys(_OPENING, _T._may_be_opening),
    **dict.fromkeys(_SIGNS, _T._may_be_sign),
}
