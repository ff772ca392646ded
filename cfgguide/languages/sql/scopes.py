"""What a query has so far: its tables, its columns, and what it still owes.

In: what comes, from left to right. Out: frames, values that hold all that a later part of the text
may need. A query names columns before it says where they come from. So these are *promises*: FROM
must bind them before it ends. ::

    SELECT u.name, total      promises (u, name), (any, total)
    ... FROM users AS u       (u, name) is kept; FROM may not end yet
    ... JOIN orders           `total` is kept if no other table has one: FROM may end

A name that two tables have is ambiguous, unless USING or NATURAL makes them one; a table that would
make a promised name ambiguous is then owed a USING. What FROM cannot find is looked for in the
query around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

Promise = tuple[str | None, str | None]  # a qualifier, if there is one; a column, None for all

HAS_AGGREGATE, HAS_WINDOW = 1, 2
#: Names that SQLite gives to no column of a query, nor of a common table, whatever is written.
TRUE_OR_FALSE = frozenset(("true", "false"))


class TableSource(NamedTuple):
    """A table of FROM: its name there, None if it has none, and the names of its columns.

    Columns without a name that can be written are None.
    """

    name: str | None
    columns: tuple[str | None, ...]


class Result(NamedTuple):
    """A result column.

    Attributes
    ----------
    name : str or None
        What it is called; None if that cannot be written.
    flags : int
        `HAS_AGGREGATE`, `HAS_WINDOW`.
    is_alias : bool
        Whether the name was given with AS.
    star : str or None
        Of ``*`` the empty text, of ``t.*`` the qualifier; None of a single column.
    """

    name: str | None
    flags: int = 0
    is_alias: bool = False
    star: str | None = None


class Sources(NamedTuple):
    """The tables of FROM so far.

    Attributes
    ----------
    tables : tuple of TableSource
        From left to right.
    merged : frozenset of (int, str)
        Columns that USING or NATURAL have made one with a column further left: the table's number
        and the name.
    """

    tables: tuple[TableSource, ...] = ()
    merged: frozenset[tuple[int, str]] = frozenset()

    def visible(self) -> Iterator[str | None]:
        """Yield the columns of ``*``, in order."""
        for number, table in enumerate(self.tables):
            for column in table.columns:
                if column is None or (number, column) not in self.merged:
                    yield column

    def named(self, qualifier: str) -> list[TableSource]:
        """Return the tables of a name."""
        return [table for table in self.tables if table.name == qualifier]

    def n_having(self, promise: Promise) -> int:
        """Return how many columns a name may mean."""
        qualifier, column = promise
        if qualifier is None:
            return counts_of(self).get(column, 0)
        named = self.named(qualifier)
        if column is None:
            return len(named)
        return sum(table.columns.count(column) for table in named)

    def added(self, table: TableSource, *, is_natural: bool) -> Sources:
        """Return the tables with one more."""
        merged = self.merged
        if is_natural:
            known, number = counts_of(self), len(self.tables)
            merged |= {(number, column) for column in table.columns if column and column in known}
        return Sources((*self.tables, table), merged)

    def using(self, column: str) -> Sources:
        """Return the tables when the last one is joined by a column."""
        return self._replace(merged=self.merged | {(len(self.tables) - 1, column)})

    def joinable(self) -> frozenset[str]:
        """Return the columns by which the last table may be joined."""
        left = counts_of(Sources(self.tables[:-1], self.merged))
        return frozenset(
            column
            for column in self.tables[-1].columns
            if column is not None
            and left.get(column) == 1
            and (len(self.tables) - 1, column) not in self.merged
        )


@lru_cache(maxsize=4096)
def counts_of(sources: Sources) -> dict[str | None, int]:
    """Return how many columns each name means in some tables."""
    counts: dict[str | None, int] = {}
    for column in sources.visible():
        if column is not None:
            counts[column] = counts.get(column, 0) + 1
    return counts


@lru_cache(maxsize=4096)
def unambiguous(sources: Sources) -> frozenset[str]:
    """Return the names that mean one column."""
    return frozenset(name for name, n in counts_of(sources).items() if n == 1 and name is not None)


class Core(NamedTuple):
    """A SELECT, from its first word to its last clause.

    Attributes
    ----------
    wanted : int or None
        How many result columns it must have.
    outer : int
        The frame of the SELECT around it whose columns it may use; -1 if there is none.
    clause : str
        Where the text is: "select", "from", "on", "using", "where", "group", "having" or "order".
    sources : Sources
        The tables so far.
    is_known : bool
        Whether FROM has ended, or there is none.
    promises : frozenset of Promise
        What has been named before that, and must stay unambiguous.
    local : frozenset of Promise
        Those of them that cannot come from a query around.
    results : tuple of Result
        The result columns so far; those of ``*`` are filled in when FROM ends.
    flags : int
        What the expression has that is being written.
    owed : frozenset of str
        The columns by which the last table must be joined.
    is_natural, is_sided : bool
        Whether the table that is being joined is joined by NATURAL; and by RIGHT or FULL.
    pending : TableSource or None
        A table before its alias.
    is_grouped, has_aggregate : bool
        Whether it has GROUP BY, or an aggregate in a result column or HAVING.
    recursive : str or None
        The name of the common table expression that this part of it may use once.
    is_recursive : bool
        Whether it has done so.
    begins_term : int
        1 if a term of GROUP BY or ORDER BY has only begun, so that an integer is a position; 2 if a
        sign has come, so that it is a wrong one.
    single : str or None
        The column that is all of a result column so far; empty before anything came, None if there
        is more.
    alias : str or None
        The alias of the result column that is being written.
    has_short_term : bool
        Whether a term of GROUP BY is an alias or a position, so that no window may follow: SQLite
        would read the term twice.
    windows, defined : frozenset of str
        The windows that are named after OVER, and those that WINDOW has defined.
    """

    wanted: int | None
    outer: int
    clause: str = "select"
    sources: Sources = Sources()
    is_known: bool = False
    promises: frozenset[Promise] = frozenset()
    local: frozenset[Promise] = frozenset()
    results: tuple[Result, ...] = ()
    flags: int = 0
    owed: frozenset[str] = frozenset()
    is_natural: bool = False
    is_sided: bool = False
    pending: TableSource | None = None
    is_grouped: bool = False
    has_aggregate: bool = False
    recursive: str | None = None
    is_recursive: bool = False
    begins_term: int = 0
    single: str | None = ""
    alias: str | None = None
    has_short_term: bool = False
    windows: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()

    @property
    def has_star(self) -> bool:
        """Whether it has ``*`` or ``t.*``."""
        return any(result.star is not None for result in self.results)

    @property
    def n_missing(self) -> int:
        """How many columns a ``*`` must have, if the number of all is given."""
        assert self.wanted is not None, "the number is given"
        n_stars = sum(result.star is not None for result in self.results)
        return self.wanted - (len(self.results) - n_stars)

    def expanded(self) -> tuple[Result, ...]:
        """Return the result columns with those of ``*``."""
        results: list[Result] = []
        for result in self.results:
            if result.star is None:
                results.append(result)
            elif result.star:
                (table,) = self.sources.named(result.star)[:1]
                results += [Result(column) for column in table.columns]
            else:
                results += [Result(column) for column in self.sources.visible()]
        return tuple(results)

    def aliases(self, allowed_flags: int) -> frozenset[str]:
        """Return the aliases of result columns that have only some flags."""
        flags: dict[str, int] = {}  # of two of a name, the first counts
        for result in self.results:
            if result.is_alias and result.name is not None:
                flags.setdefault(result.name, result.flags)
        return frozenset(name for name, has in flags.items() if not has & ~allowed_flags)


class Query(NamedTuple):
    """A query with all that belongs to it: WITH, the parts of a set operation, ORDER BY.

    Attributes
    ----------
    wanted : int or None
        How many columns it must have.
    outer : int
        As for its parts.
    names : tuple of (str or None) or None
        Of the columns of the first part; None before that has ended.
    n_parts : int
        How many parts have ended.
    ctes : tuple of (str, tuple or None)
        The common table expressions that have come: names and columns; columns are None while one
        is being written.
    last : Core or None
        The part that ended last, if it was a SELECT.
    is_recursive : bool
        Whether some part uses the common table expression that it belongs to.
    itself : str or None
        The name of the common table expression whose body it is.
    pending : tuple or None
        The name and the columns of the one that is being written.
    takes_unions : bool
        Whether its parts so far are joined by UNION only.
    sortable : frozenset of str
        The names by which a set operation may be ordered.
    """

    wanted: int | None
    outer: int
    names: tuple[str | None, ...] | None = None
    n_parts: int = 0
    ctes: tuple[tuple[str, tuple[str | None, ...] | None], ...] = ()
    last: Core | None = None
    is_recursive: bool = False
    itself: str | None = None
    pending: tuple[str, tuple[str, ...]] | None = None
    takes_unions: bool = True
    sortable: frozenset[str] = frozenset()


class ValuesScope(NamedTuple):
    """VALUES: how many values each row must have; None before the first row has ended."""

    wanted: int | None
    outer: int
    n: int = 0


class CallScope(NamedTuple):
    """The arguments of a function: its name, how many have ended, and whether DISTINCT came."""

    name: str
    n: int = 0
    is_distinct: bool = False
    has_star: bool = False


class RowScope(NamedTuple):
    """Values in parentheses: how many commas have come, and how many values there must be."""

    n: int = 1
    wanted: int | None = None


class NestedScope(NamedTuple):
    """Anything else that is open: "list", "case", "cast", "filter", "over", "limit", "closing".

    The last is open before the parenthesis that ends a subquery or a list.
    """

    kind: str


class Writing(NamedTuple):
    """A statement that writes.

    Attributes
    ----------
    kind : str
        "insert", "update" or "delete".
    table : str or None
        The table that it writes, folded; None before it has come.
    alias : str or None
        What the table is called in the statement, if that is another name.
    columns : frozenset of str
        The columns that are written, as far as they are named.
    takes_conflicts : bool
        Whether ON CONFLICT may come.
    n : int
        How many clauses ON CONFLICT, or result columns of RETURNING, have come.
    """

    kind: str
    table: str | None = None
    alias: str | None = None
    columns: frozenset[str] = frozenset()
    takes_conflicts: bool = False
    n: int = 0

    @property
    def name(self) -> str:
        """What the table is called in the statement."""
        assert self.table is not None, "it has come"
        return self.table if self.alias is None else self.alias


class Listed(NamedTuple):
    """Names of columns in parentheses: of an "insert", a "set" or a "key"; and those so far."""

    kind: str
    names: frozenset[str] = frozenset()


Frame = Core | Query | ValuesScope | CallScope | RowScope | NestedScope | Writing | Listed


def results_named(results: Iterable[Result]) -> tuple[str | None, ...]:
    """Return the names of columns by which a query around may call them; None for the others.

    Of two columns of one name, the second has another name, which is not of use.
    """
    seen: set[str] = set()
    names: list[str | None] = []
    for result in results:
        is_new = result.name not in seen and result.name not in TRUE_OR_FALSE
        names.append(result.name if is_new else None)
        if result.name is not None:
            seen.add(result.name)
    return tuple(names)
