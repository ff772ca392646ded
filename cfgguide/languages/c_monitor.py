"""The monitor of C's names: which of them are types, and what may stand where then.

In: the lexemes of a text, whose names the lexer cannot tell from one another. Out: which may come.
It runs a parser of C itself (:mod:`cfgguide.languages.c_tables`), as compilers do, and gives it
each name as what it is by the declarations so far. ::

    typedef int T;         T becomes a type
    T * x;                 so this declares x
    void f(int T) {        here T is no type
        T * x;             and this multiplies
    }

pycparser declares the names of a declaration at its end, and gcc each one at once, so between these
a name that becomes a type, or no longer is one, is refused. So is, in the list where it stands, a
parameter that is called as a type is.

Source: C11, 6.2.1, 6.7.6.3p11, 6.7.8.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import ClassVar

from cfgguide.engine.monitors.monitor import BelowTopError
from cfgguide.engine.monitors.text_sets import NOTHING, AllBut, OneOf, Texts
from cfgguide.languages.c_scopes import (
    NONE,
    DeclaredNames,
    declared_names,
    scopes_of_types,
    visible_types,
)
from cfgguide.languages.c_tables import ALIKE, CRule, CTables
from cfgguide.languages.states import Interned, LanguageMonitor

_END = "$END"
_BELOW = -1  # the state of what lies below the top of a stack

# What declares: the names in it are those of its parts. Others have none.
_NAMING = (
    *("_declared", "_name_alone", "_function_declarator", "_direct_function", "_other_declarator"),
    *("_direct_other", "declarator", "_shadowing", "_typedef_declarator", "_typedef_direct"),
    *("_typedef_declared", "_new_name", "init_declarator", "init_declarator_list"),
    *("typedef_declarator", "_typedef_list", "_parameter_declarator", "_parameter_direct"),
    *("_parameter_name", "_shadowing_parameter", "parameter_declaration", "_parameter_list"),
    *(
        "parameter_type_list",
        "_parameters",
        "identifier_list",
        "enumeration_constant",
        "enumerator",
    ),
)
_NAMING_LISTS = (
    "__init_declarator_list_",
    "___typedef_list_",
    "__identifier_list_",
)
_DECLARATIONS = frozenset(
    {"declaration", "for_declaration", "_old_declaration", "_typedef_declaration"}
)
# What takes the names of its parts, as it declares them or takes them for unsure.
_DECLARING = _DECLARATIONS | {"_function_suffix", "_abstract_suffix", "function_definition"}


class CStack(Interned):
    """A parser's stack; equal ones are the same object.

    Attributes
    ----------
    before : CStack or None
        All but the topmost part.
    state : int
        That of the parser.
    names : tuple of str
        What the topmost part of the text declares.
    parameters : tuple of str or None
        Those of the function that it declares.
    all_names : frozenset of str
        Those of all parts.
    is_whole : bool
        Whether it is more than the top of a stack.
    may_come : dict of (str, bool)
        What was found out: which terminals of the tables may come.
    """

    __slots__ = (
        *("_tops", "all_names", "before", "is_whole", "may_come", "names", "parameters", "state"),
    )

    def __init__(
        self,
        before: CStack | None,
        step: tuple[int, tuple[str, ...], tuple[str, ...] | None],
    ) -> None:
        super().__init__(before, step)
        self.before = before
        self.state, self.names, self.parameters = step
        below = frozenset[str]() if before is None else before.all_names
        own = self.names if self.parameters is None else (*self.names, *self.parameters)
        self.all_names: frozenset[str] = below.union(own) if own else below
        self.is_whole: bool = self.state != _BELOW if before is None else before.is_whole
        self._tops: dict[int, CStack] = {}
        self.may_come: dict[str, bool] = {}

    def pushed(
        self, state: int, names: tuple[str, ...] = (), parameters: tuple[str, ...] | None = None
    ) -> CStack:
        """Return the stack with one part more."""
        return self._stepped((state, names, parameters))

    def popped(self) -> CStack:
        """Return what lies below the topmost part, which is there."""
        if self.before is None or self.before.state == _BELOW:
            raise BelowTopError
        return self.before

    def top(self, depth: int) -> CStack:
        """Return the topmost parts, on one that stands for all others; itself if there are few."""
        if depth not in self._tops:
            parts: list[CStack] = []
            part: CStack = self
            while part.before is not None and len(parts) <= depth:
                parts.append(part)
                part = part.before
            if len(parts) <= depth:
                return self
            top = CStack.first(_BELOW, (), None)
            for part in parts[depth - 1 :: -1]:
                top = top.pushed(part.state, part.names, part.parameters)
            self._tops[depth] = top
        return self._tops[depth]


class CNames(LanguageMonitor):
    """What a parser of C knows of a text so far.

    Parameters
    ----------
    tables : CTables
        Those of the parser.
    stack : CStack
        That of the parser.
    scopes : tuple of DeclaredNames
        Those that are open, the innermost last.
    unsure : tuple of str
        Names that are types for one compiler and not for another.
    """

    __slots__ = ("_next", "_reduced", "scopes", "stack", "tables", "unsure")
    terminals: ClassVar[frozenset[str]] = frozenset()  # set by those who make one
    rules: ClassVar[frozenset[str]] = frozenset({"start"})
    named: ClassVar[frozenset[str] | None] = frozenset({"NAME"})

    def __init__(
        self,
        tables: CTables,
        stack: CStack,
        scopes: tuple[DeclaredNames, ...],
        unsure: tuple[str, ...] = (),
    ) -> None:
        super().__init__(tables, stack, scopes, unsure)
        self.tables = tables
        self.stack = stack
        self.scopes = scopes
        self.unsure = unsure
        self._next: dict[tuple[str, str], CNames] = {}
        self._reduced: dict[CRule, CNames] = {}

    # -- lexemes ----------------------------------------------------------------------------

    def _texts(self, terminal: str) -> Texts | None:
        if terminal != "NAME":
            alike = ALIKE.get(terminal, (terminal,))
            return None if any(map(self._may_come, alike)) else NOTHING
        ready = [(each, self._ready(each)) for each in ALIKE["NAME"] if self._may_come(each)]
        if any(each == "NEW_TYPE" for each, _ in ready):
            self._knows_others()
        return _names(
            tuple((each, there.scopes, there.unsure) for each, there in ready if there is not None)
        )

    def shifted(self, terminal: str, text: str) -> CNames:
        """Return the monitor after a lexeme that may stand here."""
        key = terminal, text
        after = self._next.get(key)
        if after is None:
            after = self._next[key] = self._after(terminal, text)
        return after

    def _after(self, terminal: str, text: str) -> CNames:
        for each in ALIKE.get(terminal, (terminal,)):
            ready = self._ready(each)
            if ready is not None and (terminal != "NAME" or ready._takes(each, text)):
                state = ready.tables.actions[ready.stack.state][each]
                assert isinstance(state, int), "a lexeme comes after all reductions"
                names = (text,) if terminal == "NAME" else ()
                return ready._pushed(ready.stack, state, names)
        raise AssertionError("texts() allowed it")

    def _takes(self, terminal: str, name: str) -> bool:
        """Return whether a name is what a terminal of the tables stands for."""
        if name in self.unsure:
            return False
        is_type = name in visible_types(self.scopes)
        here = self.scopes[-1].is_type(name)
        if terminal == "NAME":
            return not is_type
        if terminal == "NEW_TYPE":
            return here is not False and self._knows_others()
        return is_type and not (terminal == "SHADOWING" and here)

    def top(self, depth: int) -> CNames:
        """Return a monitor that knows the top of the stack, and of the scopes what are types."""
        stack = self.stack.top(depth)
        if stack is self.stack:
            return self
        return CNames(self.tables, stack, scopes_of_types(self.scopes), self.unsure)

    def told_apart(self, terminal: str) -> frozenset[str]:
        """Return the names that have been declared, or are being declared: new ones are alike."""
        return declared_names(self.scopes).union(self.unsure, self.stack.all_names)

    def reduced(self, rule: str) -> CNames | None:
        """Return the monitor at the end of a text; None if it cannot end here."""
        return self if self._ready(_END) is not None else None

    def way_out(self) -> Iterator[tuple[str, str]]:
        """Return the next lexeme on a short way to the end."""
        here = self
        while True:
            way = self.tables.ways[here.stack.state]
            if isinstance(way, CRule):
                if way.name.startswith("$root"):
                    return
                here = here._reduce(way)
                continue
            for terminal, alike in ALIKE.items():
                if way in alike:
                    way = terminal
            yield way, (_new_name(here) if way == "NAME" else self.tables.spelled[way])
            return

    # -- the parser -------------------------------------------------------------------------

    def _ready(self, terminal: str) -> CNames | None:
        """Return the monitor after all that a terminal of the tables completes; None if refused."""
        here = self
        while True:
            action = self.tables.actions[here.stack.state].get(terminal)
            if action is None:
                return here if terminal == _END and here.stack.state == self.tables.end else None
            if isinstance(action, int):
                return here
            here = here._reduce(action)

    def _may_come(self, terminal: str) -> bool:
        """Return whether a terminal of the tables may come, whatever the names are."""
        known = self.stack.may_come.get(terminal)
        if known is None:
            known = self.stack.may_come[terminal] = self._is_taken(terminal)
        return known

    def _is_taken(self, terminal: str) -> bool:
        actions, stack, above = self.tables.actions, self.stack, list[int]()
        while True:
            action = actions[above[-1] if above else stack.state].get(terminal)
            if not isinstance(action, CRule):
                return action is not None
            n_below = action.length - len(above)
            del above[max(-n_below, 0) :]
            for _ in range(n_below):
                stack = stack.popped()
            above.append(self.tables.gotos[above[-1] if above else stack.state][action.name])

    def _knows_others(self) -> bool:
        """Return True, if the scopes have all names and not only those that matter to types."""
        if not self.stack.is_whole:
            raise BelowTopError
        return True

    def _pushed(
        self,
        stack: CStack,
        state: int,
        names: tuple[str, ...] = (),
        parameters: tuple[str, ...] | None = None,
    ) -> CNames:
        """Return the monitor on a stack and a part more, with what that names if it matters."""
        if not _keeps_names(self.tables)[state]:
            names, parameters = (), None
        stack = stack.pushed(state, names, parameters)
        return CNames(self.tables, stack, self.scopes, self.unsure)

    def _reduce(self, rule: CRule) -> CNames:
        after = self._reduced.get(rule)
        if after is None:
            after = self._reduced[rule] = self._after_rule(rule)
        return after

    def _after_rule(self, rule: CRule) -> CNames:
        stack = self.stack
        names: tuple[str, ...] = ()
        parameters: tuple[str, ...] | None = None
        for _ in range(rule.length):
            names = stack.names + names
            if stack.parameters is not None:
                parameters = stack.parameters
            stack = stack.popped()
        after = self._declaring(rule.name, names)
        if rule.name == "_function_suffix":
            names, parameters = (), names
        elif rule.name in _DECLARATIONS or not _is_naming(rule.name):
            names, parameters = (), None
        state = self.tables.gotos[stack.state][rule.name]
        return after._pushed(stack, state, names, parameters)

    def _declaring(self, rule: str, names: tuple[str, ...]) -> CNames:
        """Return the monitor with what a rule declares, whose parts have some names."""
        scopes, unsure = self.scopes, self.unsure
        if rule in _DECLARATIONS:
            is_typedef = rule == "_typedef_declaration"
            scopes = (*scopes[:-1], _declared(scopes[-1], names, is_type=is_typedef))
            unsure = ()
        elif rule in ("_new_name", "typedef_declarator", "parameter_declaration"):
            types = visible_types(scopes)
            becomes = rule == "typedef_declarator"
            changed = (each for each in names if (each in types) is not becomes)
            unsure = tuple(sorted({*unsure, *changed}))
        elif rule in ("_function_suffix", "_abstract_suffix"):
            unsure = tuple(each for each in unsure if each not in names)
        elif rule == "enumerator":
            scopes = (*scopes[:-1], _declared(scopes[-1], names[:1], is_type=False))
        elif rule == "_function_scope":
            scopes = (*scopes, _declared(NONE, self.stack.parameters or (), is_type=False))
        elif rule == "_scope":
            scopes = (*scopes, NONE)
        elif rule in ("compound_statement", "_declaring_for"):
            scopes = scopes[:-1]
        elif rule == "function_definition":
            # Both of its scopes end here, and the function's name is one of the scope around them.
            outer = _declared(scopes[-2], names[:1], is_type=False)
            scopes = (*scopes[:-2], outer)
        return CNames(self.tables, self.stack, scopes, unsure)


@functools.lru_cache(maxsize=10_000)
def _names(
    ready: tuple[tuple[str, tuple[DeclaredNames, ...], tuple[str, ...]], ...],
) -> Texts | None:
    """Return which names are taken, as one of some terminals in the scopes that there are then."""
    wanted: set[str] = set()
    refused: set[str] | None = None  # of all names, if others may come
    for terminal, scopes, unsure in ready:
        types = visible_types(scopes)
        if terminal == "NAME":
            refused = {*types, *unsure}
        elif terminal == "NEW_TYPE":
            refused = {*unsure, *scopes[-1].others}
        elif terminal == "SHADOWING":
            wanted |= types - scopes[-1].types - {*unsure}
        else:
            wanted |= types - {*unsure}
    if refused is None:
        return OneOf(wanted)
    refused -= wanted
    return AllBut(refused) if refused else None


@functools.cache
def _keeps_names(tables: CTables) -> list[bool]:
    """Return in which states it matters what the text on top of the stack names."""
    return [any(_is_naming(rule) or rule in _DECLARING for rule in rules) for rules in tables.begun]


@functools.cache
def _is_naming(rule: str) -> bool:
    return rule in _NAMING or rule.startswith(_NAMING_LISTS)


def _declared(scope: DeclaredNames, names: tuple[str, ...], *, is_type: bool) -> DeclaredNames:
    for name in names:
        scope = scope.declared(name, is_type=is_type)
    return scope


def _new_name(monitor: CNames) -> str:
    """Return a name that nothing is known of."""
    types = visible_types(monitor.scopes)
    number = 0
    while True:
        name = f"x{number or ''}"
        if name not in types and monitor.scopes[-1].is_type(name) is None:
            return name
        number += 1
