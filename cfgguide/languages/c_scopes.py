"""Scopes of C: which names are declared in them, and which of these are types.

In: one declaration after another. Out: :class:`DeclaredNames`, a value for each state of a scope.
The same declarations give the same object, so that objects are compared and not what they hold.
"""

from __future__ import annotations

import functools

from cfgguide.languages.states import Interned

_N_PARTS = 64


class DeclaredNames(Interned):
    """The names of a scope; made by :meth:`declared` from :data:`NONE`.

    Attributes
    ----------
    types : frozenset of str
        Those that are types.
    """

    __slots__ = ("_parts", "types")

    def __init__(self, before: DeclaredNames | None, step: tuple[str, bool]) -> None:
        super().__init__(before, step)
        self._parts: tuple[dict[str, bool], ...] = ({},) * _N_PARTS
        self.types: frozenset[str] = frozenset()
        if before is not None:
            name, is_type = step
            number = hash(name) % _N_PARTS
            part = {**before._parts[number], name: is_type}
            self._parts = (*before._parts[:number], part, *before._parts[number + 1 :])
            self.types = before.types | {name} if is_type else before.types - {name}

    def is_type(self, name: str) -> bool | None:
        """Return whether a name is a type; None if the scope does not declare it."""
        return self._parts[hash(name) % _N_PARTS].get(name)

    @property
    def others(self) -> set[str]:
        """The names that are no types."""
        return {name for part in self._parts for name, is_type in part.items() if not is_type}

    @property
    def names(self) -> set[str]:
        """All names."""
        return {name for part in self._parts for name in part}

    def declared(self, name: str, *, is_type: bool) -> DeclaredNames:
        """Return the scope with one name more."""
        return self if self.is_type(name) is is_type else self._stepped((name, is_type))


NONE = DeclaredNames.first()


@functools.lru_cache(maxsize=1000)
def visible_types(scopes: tuple[DeclaredNames, ...]) -> frozenset[str]:
    """Return the names that are types in the innermost of some scopes."""
    types: frozenset[str] = frozenset()
    for scope in scopes:
        hidden = {name for name in types if scope.is_type(name) is False}
        types = (types - hidden if hidden else types) | scope.types
    return types


@functools.lru_cache(maxsize=1000)
def declared_names(scopes: tuple[DeclaredNames, ...]) -> frozenset[str]:
    """Return the names that some scopes declare."""
    return frozenset[str]().union(*(scope.names for scope in scopes))


@functools.lru_cache(maxsize=1000)
def scopes_of_types(scopes: tuple[DeclaredNames, ...]) -> tuple[DeclaredNames, ...]:
    """Return some scopes with their types, and with those other names alone that hide types."""
    found: list[DeclaredNames] = []
    for number, scope in enumerate(scopes):
        outer = visible_types(scopes[:number])
        hiding = {name for name in outer if scope.is_type(name) is False}
        fewer = NONE
        for name in sorted(scope.types | hiding):
            fewer = fewer.declared(name, is_type=name in scope.types)
        found.append(fewer)
    return tuple(found)
