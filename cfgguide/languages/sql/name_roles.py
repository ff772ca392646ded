r"""What names may be in SQL, and the rules and terminals of a grammar that says so.

In: the roles of each name, and how a :class:`Dialect` writes names. Out: rules and terminals. A
word may name a table, a column and an alias, but Lark's lexer gives it one terminal. So there is a
terminal for each set of roles that occurs. ::

    _table_to_read: TABLE_NAME | TABLE_OR_COLUMN_NAME | ALIAS_NAME
    TABLE_NAME: /(?ai:orders|users)(?![...])|(?ai:"(?:orders|users)")(?!")|.../
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Flag, auto


class Role(Flag):
    """What a name may be; flags combine if it may be several things."""

    TABLE = auto()
    COLUMN = auto()
    ALIAS = auto()
    LABEL = auto()  # an alias that is a keyword, and stands after AS where it is new
    DOTTED = auto()  # a column or alias that is a keyword, and stands after a dot
    FUNCTION = auto()
    TABLE_FUNCTION = auto()
    OPERATOR = auto()  # a keyword between operands that calls the function of that name
    ELEMENT = auto()  # a column of a function in FROM
    EXCLUDED = auto()
    ARGUMENT = auto()
    TRUTH = auto()
    COLLATION = auto()
    TYPE = auto()
    FIELD = auto()

    @property
    def terminal(self) -> str:
        """The terminal of the names that have exactly these roles."""
        return "_OR_".join(str(role.name) for role in self) + "_NAME"


NO_ROLE = Role(0)
Roles = dict[str, Role]


@dataclass(frozen=True)
class Dialect:
    """How a dialect writes names, and where.

    Attributes
    ----------
    part : str
        The file of `grammars/` that leaves the rules open.
    places : dict
        These rules, and the roles of the names that are allowed there.
    plain, quoted : callable
        The roles in which a name needs no quotes, and those in which it may have them.
    patterns : callable
        Makes patterns that match the first names as words and the second ones in quotes.
    keywords : iterable of (Role, dict)
        Words that have terminals of their own, which stand for them where they have a role.
    constants : dict
        Terminals that a rule allows besides, whatever the schema is.
    """

    part: str
    places: Mapping[str, Role]
    plain: Callable[[str, Role], Role]
    quoted: Callable[[Role], Role]
    patterns: Callable[[Iterable[str], Iterable[str]], list[str]]
    keywords: Iterable[tuple[Role, Mapping[str, str]]]
    constants: Mapping[str, tuple[str, ...]]

    def rules(self, roles: Roles) -> Iterator[str]:
        """Yield the rules that say which names may stand where, and the terminals of the names."""
        terminals = self._terminals(roles)
        for rule, wanted in self.places.items():
            fitting = [name for name, (role, _) in terminals.items() if role & wanted]
            # After a dot, a keyword is like any name.
            for role, words in self.keywords if not wanted & Role.DOTTED else ():
                is_meant = role & wanted
                fitting += [words[word] for word in words if roles.get(word, NO_ROLE) & is_meant]
            fitting += self.constants.get(rule, ())
            yield f"{rule}: {' | '.join(fitting or ['NEVER'])}"
        for name, (_, pattern) in terminals.items():
            yield f"{name}: /{pattern}/"

    def _terminals(self, roles: Roles) -> dict[str, tuple[Role, str]]:
        """Return the roles and the pattern of each terminal, by its name."""
        plain: dict[Role, list[str]] = {}
        quoted: dict[Role, list[str]] = {}
        for name, role in roles.items():
            if as_word := self.plain(name, role):
                plain.setdefault(as_word, []).append(name)
            if in_quotes := self.quoted(role):
                quoted.setdefault(in_quotes, []).append(name)
        terminals = {}
        for role in sorted({*plain, *quoted}, key=lambda role: role.value):
            patterns = self.patterns(plain.get(role, []), quoted.get(role, []))
            for number, pattern in enumerate(patterns, 1):
                suffix = f"_{number}" if len(patterns) > 1 else ""
                terminals[role.terminal + suffix] = role, pattern
        return terminals

    def roles(
        self, named: Iterable[tuple[Role, Iterable[str]]], *, has_upserts: bool = True
    ) -> Roles:
        """Return all roles of each name, of names with one role each."""
        roles: Roles = {}
        for role, names in named:
            for name in names:
                roles[name] = roles.get(name, NO_ROLE) | role
        # Before a dot, one terminal cannot belong to two rules; a table `excluded` allows as much.
        if has_upserts and not roles.get("excluded", NO_ROLE) & self.places["_qualifier"]:
            roles["excluded"] = roles.get("excluded", NO_ROLE) | Role.EXCLUDED
        return roles
