"""Short values of a schema, and what arrays and objects that have begun still need.

In: a :class:`~cfgguide.schema.automaton.SchemaAutomaton`. Out: texts. The shortest value of a
schema may need values of others; where schemas refer to each other, all are made shorter until none
becomes shorter (Knuth, "A generalization of Dijkstra's algorithm", 1977, for the idea of shortest
derivations). Of more than a hundred kilobytes none is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from cfgguide.base.limits import LONGEST, check_step
from cfgguide.base.locks import new_lock
from cfgguide.base.remembered import remembered
from cfgguide.engine.byte_machine.short_ends import ShortestLexemes, Written
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.schema.members import (
    DEAD_END,
    Items,
    Members,
    TrackedItems,
    TrackedMembers,
    ending_after,
)
from cfgguide.schema.places import InArray, Inside, NameDue, brackets_of
from cfgguide.schema.solver.goals import Goal
from cfgguide.schema.solver.paths import Property

_MAX_NAMES = 8  # that are compared where a name has begun
_MAX_CASES = 8  # of a value that are compared
_SHORT = 2  # bytes: no array or object is shorter

P = ParamSpec("P")
R = TypeVar("R")


class ShortestValues:
    """Writes short values, and what arrays and objects still need.

    Parameters
    ----------
    automaton : SchemaAutomaton
        Of the schema.
    used : frozenset of int
        The bytes that may be written.
    different : callable
        Returns the items that arrays still need where they are to be different.
    named : callable
        Returns the properties that objects still need where they are counted.
    """

    def __init__(
        self,
        automaton: SchemaAutomaton,
        used: frozenset[int],
        different: Callable[[Items, Any], Written | None],
        named: Callable[[Members, Any], Written | None],
    ) -> None:
        self._automaton = automaton
        self._different = different
        self._named = named
        self.lexemes = ShortestLexemes(used)
        self._known: dict[Goal, Written | None] = {}
        self._best: dict[Goal, Written] = {}  # of those that are being looked for
        self._visited: dict[Goal, None] = {}  # in this round
        self._is_changed = False
        self._search = new_lock()  # held by one: whatever interrupts it, it is free afterwards
        self._found: dict[tuple[Any, ...], Any] = {}  # by what finds it, and of what

    def of(self, goal: Goal) -> Written | None:
        """Return a shortest value and the tag of its class; None if none is known yet."""
        if goal in self._known:
            return self._known[goal]
        if not self._search.locked():
            return self._settled(goal)
        if goal not in self._visited:
            self._visited[goal] = None
            self._look_for(goal)
        return self._best.get(goal)

    def _settled(self, goal: Goal) -> Written | None:
        """Look for a value, and for all that it needs, until none becomes shorter."""
        with self._search:
            self._best, self._is_changed = {}, True
            while self._is_changed:
                self._is_changed = False
                self._visited = {goal: None}
                self._look_for(goal)
            self._known |= {each: self._best.get(each) for each in self._visited}
        return self._known[goal]

    def _look_for(self, goal: Goal) -> None:
        check_step()
        found = self._shortest(goal)
        known = self._best.get(goal)
        if found is not None and (known is None or _order(found) < _order(known)):
            self._best[goal] = found
            self._is_changed = True

    def _shortest(self, goal: Goal) -> Written | None:
        options = self._automaton.options(goal)
        found: list[Written] = []
        for lexer, quote in options.lexers:
            end = self.lexemes.end(lexer.lexemes, lexer.lexemes.start)
            if end is not None:
                found.append(Written(quote + end.text, lexer.tags[end.tag]))
        # What arrays and objects need is looked for, level by level, only if they could be shorter.
        if any(len(each.text) <= _SHORT for each in found):
            return _least(found)
        for begun in options.enclosed:
            inside, brackets = self.inside(begun), brackets_of(begun)
            if inside is not None:
                found.append(Written(brackets[:1] + inside.text + brackets[1:], inside.tag))
        return _least(found)

    # -- arrays and objects -----------------------------------------------------------------

    def inside(self, at: Inside) -> Written | None:
        """Return what still has to come in an array or object."""
        if isinstance(at, InArray):
            return self.items(at.what, at.inside)
        return self.members(at.what, at.inside, is_some=isinstance(at, NameDue))

    def inside_for(self, at: Inside, wanted: Goal | None) -> Iterator[Written]:
        """Yield the shortest of it, and one of each case, as what has to follow may depend on it.

        So it may on a goal that is wanted by what is around.
        """
        best, what = self.inside(at), at.what
        if best is not None:
            yield best
        if isinstance(what, TrackedItems | TrackedMembers):
            for goal in self._others(what.whole, wanted):
                asked = what.asked_for(goal)
                alone: Any = None if asked is None else asked[0]
                written = None if asked is None else self.inside(at._replace(what=alone))
                if asked is not None and written is not None and written.tag != DEAD_END:
                    yield Written(written.text, what.whole.tag_of(asked[1].classes[written.tag]))

    def items(self, items: Items, state: Any) -> Written | None:
        """Return the items that still have to come, and the tag of the array then."""
        return self._kept(self._items_after, items, state)

    def _kept(self, find: Callable[P, R], *about: P.args, **named: P.kwargs) -> R:
        """Return what is found, and keep it unless values still become shorter."""
        key = (find, *about)
        if key in self._found:
            kept: R = self._found[key]
            return kept
        found = find(*about, **named)
        if not self._search.locked():
            self._found[key] = found
        return found

    def _items_after(self, items: Items, state: Any) -> Written | None:
        path = self.items_path(items, state)
        if path is None:
            return None
        if items.are_different(state) and path[1:]:
            return self._different(items, state)
        texts: list[bytes] = []
        n_left = LONGEST
        for goal in path:
            check_step()
            written = self.of(goal)
            if written is None or (n_left := n_left - len(written.text) - 1) < 0:
                return None
            texts.append(written.text)
            state = items.after(state, goal, written.tag)
        return self._joined(texts, items.ending(state))

    def _joined(self, texts: list[bytes], tag: int) -> Written | None:
        """Return items or properties with commas between them, unless that is too long."""
        comma = self._automaton.layout.comma
        if sum(map(len, texts)) + len(comma) * len(texts) > LONGEST:
            return None
        return Written(comma.join(texts), tag)

    def members(self, members: Members, state: Any, *, is_some: bool = False) -> Written | None:
        """Return the properties that still have to come, and the tag of the object then.

        With `is_some`, there is at least one.
        """
        return self._kept(self._members_after, members, state, is_some)

    def _members_after(self, members: Members, state: Any, is_some: bool) -> Written | None:
        path = self.path(members, state)
        if path is None:
            return None
        if path and members.are_counted:
            return self._named(members, state)
        if path or not is_some:
            return self._written(members, state, path)
        return self._any(members, state)

    def items_path(self, items: Items, state: Any) -> list[Goal] | None:
        """Return what the items are to be that still have to come; None if no way is known yet."""
        return self._kept(items.path, state, self.length)

    def path(self, members: Members, state: Any) -> list[Property] | None:
        """Return the properties that still have to come; None if no way is known yet."""
        return self._kept(members.path, state, self.length)

    def _written(self, members: Members, state: Any, path: list[Property]) -> Written | None:
        """Return the properties of a path."""
        texts, tags = [], []
        n_left = LONGEST
        for each in path:
            check_step(0)
            written = self._kept(self._property, members, each)
            if written is None or (n_left := n_left - len(written.text)) < 0:
                return None
            texts.append(written.text)
            tags.append(written.tag)
        return self._joined(texts, ending_after(members, state, path, tags))

    def _property(self, members: Members, asked: Property) -> Written | None:
        check_step()
        tag, goal = asked
        written, name = self.of(goal), self.name(members, tag)
        if written is None or name is None:
            return None
        return Written(name + self._automaton.layout.colon + written.text, written.tag)

    def _any(self, members: Members, state: Any) -> Written | None:
        """Return a short property, and what has to follow, where none has to come."""
        allowed = members.allowed(state)
        tags = [tag for tag in range(members.n_tags) if allowed >> tag & 1]
        found = []
        for tag in [*tags[:_MAX_NAMES], *tags[_MAX_NAMES:][-1:]]:
            rest, name = self.after_name(members, state, tag), self.name(members, tag)
            if rest is not None and name is not None:
                found.append(Written(name + rest.text, rest.tag))
        return _least(found)

    @remembered
    def name(self, members: Members, tag: int) -> bytes | None:
        """Return the name with a tag, in quotes; None if it is too long."""
        lexemes, _ = members.lexemes_for(1 << tag)
        end = self.lexemes.end(lexemes, lexemes.start, tags=1 << tag)
        return None if end is None else b'"' + end.text

    def after_name(self, members: Members, state: Any, tag: int) -> Written | None:
        """Return what follows a name: colon, value, and the properties that still have to come."""
        known = self.after_known_name(members, state, tag)
        if known is not None:
            return known
        goal, layout = members.goal(state, tag), self._automaton.layout
        found = []
        for written in self.of_each_case(goal):
            rest = self.members(members, members.after(state, tag, goal, written.tag))
            if rest is not None:
                texts = [layout.colon + written.text, *([rest.text] if rest.text else [])]
                joined = self._joined(texts, rest.tag)
                found += [joined] if joined is not None else []
        return _least(found)

    def after_known_name(self, members: Members, state: Any, tag: int) -> Written | None:
        """Return the same where a way on that begins with the name is known, but not the best."""
        path = members.path_from(state, tag) if isinstance(members, TrackedMembers) else None
        written = None if path is None else self._written(members, state, path)
        name = self.name(members, tag)
        if written is None or name is None:
            return None
        return Written(written.text[len(name) :], written.tag)

    def of_each_case(self, goal: Goal, wanted: Goal | None = None) -> Iterator[Written]:
        """Yield a shortest value, and one of each case, as what has to follow may depend on it.

        So it may on a goal for the same values that is wanted by what is around.
        """
        best = self.of(goal)
        if best is not None:
            yield best
        for one in self._others(goal, wanted):
            written = self.of(one)
            if written is not None:
                yield Written(written.text, goal.tag_of(one.classes[written.tag]))

    def _others(self, goal: Goal, wanted: Goal | None) -> list[Goal]:
        """Return each case by itself, if there are several, and what is wanted of the values."""
        cases = goal.cases[:_MAX_CASES] if len(goal.cases) > 1 else ()
        goals = [self._automaton.search.goal(goal.values, (case,)) for case in cases]
        if wanted is not None and wanted.values == goal.values and wanted.cases != goal.cases:
            goals.append(wanted)
        return goals

    def length(self, goal: Goal) -> int | None:
        """Return the length of a shortest value; None if none is known yet."""
        written = self.of(goal)
        return None if written is None else len(written.text)


def _least(found: list[Written]) -> Written | None:
    return min(found, key=_order, default=None)


def _order(written: Written) -> tuple[int, bytes]:
    return len(written.text), written.text
