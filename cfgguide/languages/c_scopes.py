"""Scopes of C: which names are declared in them, and which of these are types.

In: one declaration after another. Out: :class:`DeclaredNames`, a value for each state of a scope.
The same declarations give the same object, so that objects are compared and not what they hold.
"""

from __future__ import annotations

import functools
from weakref import WeakValueDictionary

_N_PARTS = 64


class DeclaredNames:
    """The names of a scope; made by :meth:`declared` from :data:`NONE`.

    Attributes
    ----------
    types : frozenset of str
        Those that are types.
    """

    __slots__ = ("__weakref__", "_after", "_before", "_parts", "types")

    def __init__(
        self,
        parts: tuple[dict[str, bool], ...],
        types: frozenset[str],
        before: DeclaredNames | None,
    ) -> None:
        self._parts = parts
        self.types = types
        self._before = before  # keeps the way alive that led here
        self._after: WeakValueDictionary[tuple[str, bool], DeclaredNames] = WeakValueDictionary()

    def is_type(self, name: str) -> bool | None:
        """Return whether a name is a type; None if the scope does not declare it."""
        return self._parts[hash(name) % _N_PARTS].get(name)

    @property
    def others(self) -> set[str]:
        """The names that are no types."""
        return {name for part in self._parts for name, is_type in part.items() if not is_type}

    def declared(self, name: str, *, is_type: bool) -> DeclaredNames:
        """Return the scope with one name more."""
        if self.is_type(name) is is_type:
            return self
        after = self._after.get((name, is_type))
        if after is None:
            number = hash(name) % _N_PARTS
            part = {**self._parts[number], name: is_type}
            parts = (*self._parts[:number], part, *self._parts[number + 1 :])
            types = self.types | {name} if is_type else self.types - {name}
            after = self._after[name, is_type] = DeclaredNames(parts, types, self)
        return after


NONE = DeclaredNames(({},) * _N_PARTS, frozenset(), None)


@functools.lru_cache(maxsize=1000)
def visible_types(scopes: tuple[DeclaredNames, ...]) -> frozenset[str]:
    """Return the names that are types in the innermost of some scopes."""
    types: frozenset[str] = frozenset()
    for scope in scopes:
        hidden = {name for name in types if scope.is_type(name) is False}
        types = (types - hidden if hidden else types) | scope.types
    return types
