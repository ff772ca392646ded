"""Whether a text that remembers what has come can be finished, and by which texts.

In: a :class:`~cfgguide.schema.automaton.SchemaAutomaton`, a state, a stack, and what the text
remembers (:mod:`cfgguide.engine.byte_machine.seen_parts`). Out: texts that finish the part that is
being read, one after another, each of another value, until somebody has found one that has not
come. ::

    [{"a": true}, {"a": f       the items are {"a": true} and {"a": false}: `alse}`
    [{"a": true}, {"a": t       nothing: the `t` is refused

A part has often endless many values. The first are short; where there is an end, all of them come:
of names in each set only one order, of numbers one spelling.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from heapq import heappop, heappush
from itertools import chain, islice, takewhile
from math import inf
from typing import Any, NamedTuple, TypeVar

from cfgguide.automata.language import Language
from cfgguide.base.bounded import BoundedDict
from cfgguide.base.limits import LONGEST, Steps, check_step
from cfgguide.base.remembered import remembered
from cfgguide.base.sets import members as members_of
from cfgguide.engine.byte_machine.byte_machine import popped
from cfgguide.engine.byte_machine.byte_views import DEAD
from cfgguide.engine.byte_machine.property_names import ListedNumbers, PropertyNames
from cfgguide.engine.byte_machine.scalars import Numbers, ScalarAutomaton, Strings, is_end
from cfgguide.engine.byte_machine.seen_parts import (
    BETWEEN,
    ByteConfiguration,
    Open,
    SeenParts,
    is_recalling,
)
from cfgguide.engine.byte_machine.short_ends import Written
from cfgguide.errors import SchemaError
from cfgguide.grammar.lr.stack import Stack
from cfgguide.schema.automaton import TOO_DEEP, JsonLayout, SchemaAutomaton
from cfgguide.schema.equality import number_of, value_of
from cfgguide.schema.json_reading import BegunValue
from cfgguide.schema.members import (
    DEAD_END,
    Items,
    Members,
    PlainItems,
    PlainMembers,
    ending_after,
)
from cfgguide.schema.places import (
    Colon,
    InArray,
    InLexeme,
    InObject,
    Inside,
    ItemEnded,
    ItemOf,
    Lexer,
    Mark,
    NameDue,
    NameOf,
    Place,
    PropertyEnded,
    PropertyOf,
    Shut,
    Value,
    brackets_of,
)
from cfgguide.schema.scalar_tokens import rests_of
from cfgguide.schema.shortest_values import ShortestValues
from cfgguide.schema.solver.counts import are_more, canonical_numbers, words_from
from cfgguide.schema.solver.goals import Goal
from cfgguide.schema.solver.nodes import Node
from cfgguide.schema.solver.values import Values
from cfgguide.schema.unique import DifferentScalars, are_endless, are_many

_N_CHARACTERS = 90  # at least, that are one byte
_SPACES = b" \t\n\r"
_ALL_BYTES = frozenset(range(256))
_DEEP = 3  # objects in objects
_OF_NUMBERS = b"-+0123456789.eE"
_NOTHING: frozenset[Hashable] = frozenset()


#: Steps of one search; after so many, it is not known. After each such search, others have half as
#: many, down to some hundred, since a mask asks for many; but not those whose answer is an ending.
_MAX_STEPS, _MAX_HALVED = 10_000, 6
_NEVER_TOO_LONG = -(10**12)  # steps: the limits of a step end the search

_N_BEGUN = 16  # names of so many objects are remembered

Automaton = TypeVar("Automaton", bound=SchemaAutomaton)

#: Names with their values and the steps that each took, and what goes on looking.
_Begun = tuple[list[tuple[bytes, Hashable, int]], Iterator[Written]]

_Place = tuple[int, Stack, SeenParts]  # the text of the memory is all since its parts began


class _TooLongError(Exception):
    """A search has had all its steps."""


class Closing(NamedTuple):
    """A text, and the state and the stack after it."""

    text: bytes
    state: int
    stack: Stack


def new_automaton(
    root: Node, layout: JsonLayout, *, is_ordered: bool, steps: Steps | None = None
) -> SchemaAutomaton:
    """Return the automaton of a schema, which knows how its texts can be finished."""
    return completed(SchemaAutomaton([root], layout, is_ordered=is_ordered, steps=steps))


def completed(automaton: Automaton) -> Automaton:
    """Have an automaton know how its texts can be finished, and return it."""
    automaton.completions = MemoryCompletions(automaton, _ALL_BYTES)
    automaton.search.writes_enough_items = _EnoughItems(automaton, frozenset())
    return automaton


class _EnoughItems:
    """Finds out whether there are enough different items, by writing them.

    The values are those of a search that is under way, so they are written by another automaton.
    """

    def __init__(self, automaton: SchemaAutomaton, asked: frozenset[frozenset[Node]]) -> None:
        self._automaton = automaton
        self._asked = asked  # what is being found out: there, as many as are needed are presumed

    def __call__(self, values: Values) -> bool:
        if values.every in self._asked or self._automaton.refuses_few:
            return True
        return self._found(values)

    @remembered
    def _found(self, values: Values) -> bool:
        automaton = self._automaton
        root = Node("", all_of=values.nodes)
        other = new_automaton(
            root, automaton.layout, is_ordered=automaton.is_ordered, steps=automaton.steps
        )
        other.search.writes_enough_items = _EnoughItems(other, self._asked | {values.every})
        items = PlainItems(other.roots[0], other.search)
        return all(other.completions.has_items(*each, is_needed=True) for each in items.few())


class MemoryCompletions:
    """Finishes parts of texts.

    Parameters
    ----------
    automaton : SchemaAutomaton
        Of the schema; it is changed as states are made.
    used : frozenset of int
        The bytes that may be written.
    """

    def __init__(self, automaton: SchemaAutomaton, used: frozenset[int]) -> None:
        self._automaton = automaton
        self.shortest = ShortestValues(automaton, used, self._different, self._named)
        # How many ways there are to finish a part, or some of them, and whether these are all.
        self._n_ways: dict[tuple[Hashable, ...], tuple[int, bool]] = {}
        # Of the names with a tag the first ones, and what goes on looking.
        self._begun: BoundedDict[tuple[Members, int], _Begun] = BoundedDict(_N_BEGUN)
        self._many: dict[Values, bool] = {}  # of which there surely are more than any array has
        self._n_steps = 0
        self._n_halved = 0  # how often searches have become shorter

    @contextmanager
    def _bounded(self, n: int = _MAX_STEPS, *, is_needed: bool = False) -> Iterator[None]:
        """Give the search inside a `with` block its own steps: any number if it is needed."""
        before, self._n_steps = self._n_steps, _NEVER_TOO_LONG if is_needed else _MAX_STEPS - n
        try:
            yield
        finally:
            self._n_steps = before

    @contextmanager
    def _quickly(self) -> Iterator[None]:
        """Have a search found out what is not known otherwise, or be given up."""
        try:
            with self._bounded(_MAX_STEPS >> self._n_halved):
                yield
        except _TooLongError:
            self._n_halved = min(self._n_halved + 1, _MAX_HALVED)

    def _step(self, n: int = 1) -> None:
        check_step(n)
        self._n_steps += n
        if self._n_steps > _MAX_STEPS:
            raise _TooLongError

    def can_go_on(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether a text can be finished by parts that are different.

        Mostly there are more ways than parts have come. Else an ending is looked for, however many
        steps that takes.
        """
        n_used = memory.n_used
        if not n_used or self.takes_more(state, stack, memory):
            return True
        has_to_begin = self._has_to_begin(state, stack, memory)
        if not has_to_begin:
            if not self.may_repeat(memory) or self._is_endless(state, stack, memory):
                return True
            memory = self.narrowed(memory)
            if not self.may_repeat(memory):
                return True
        try:
            with self._quickly():
                if has_to_begin:
                    has_ways = self._has_parts(state, n_used)
                else:
                    has_ways = self._has_ways(state, stack, memory, n_used)
                if has_ways:
                    return True
            with self._bounded(is_needed=True):
                return next(self.endings(state, stack, memory), None) is not None
        except RecursionError:
            raise SchemaError(TOO_DEEP) from None

    def has_items(self, goal: Goal, n: int, *, is_needed: bool = False) -> bool:
        """Return whether there are surely `n` different values that meet a goal.

        As far as they are found in so many steps; in any number if it is needed.
        """
        with suppress(_TooLongError), self._bounded(is_needed=is_needed):
            return _n_different((each.text for each in self._values(goal)), n) >= n
        return False

    def takes_more(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether each part that is open surely can be finished in endlessly many ways."""
        return all(self._takes_more(state, stack, each) for each in memory.opens)

    def _takes_more(self, state: int, stack: Stack, part: Open) -> bool:
        of = self._part_of(state, stack, part)
        return of is not None and of.what.takes_more

    def is_followed_freely(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether after each part that is open surely endlessly many others may come."""
        return all(self._is_followed_freely(state, stack, each) for each in memory.opens)

    def _is_followed_freely(self, state: int, stack: Stack, part: Open) -> bool:
        of = self._part_of(state, stack, part)
        if isinstance(of, ItemOf | InArray):
            return of.what.each is not None and self._are_many(of.what.each)
        return of is not None and of.what.takes_more

    def rests_of_strings(self, state: int, stack: Stack, memory: SeenParts) -> list[bytes] | None:
        """Return how a string may go on as one of those that have come, without the quote.

        None if something else is being read that may become what has come.
        """
        *outer, part = memory.opens
        text, of = memory.text[part.start :], self._part_of(state, stack, part)
        is_string = isinstance(of, NameOf) or (
            isinstance(of, ItemOf) and of.what.each is not None and of.what.each.strings is not None
        )
        is_inside = part.height != stack.height or any(each.possible for each in outer)
        if not is_string or is_inside or b"\\" in text or not text.startswith(b'"'):
            return None
        return [*rests_of(part.possible, text)]

    def different_scalars(
        self, state: int, stack: Stack, memory: SeenParts
    ) -> DifferentScalars | None:
        """Return the scalars that may come in an array; None if not only what they are matters."""
        *outer, part = memory.opens
        of = self._part_of(state, stack, part)
        if not isinstance(of, ItemOf | InArray) or any(each.possible for each in outer):
            return None
        return self._scalars_in(of.what)

    def _scalars_in(self, items: Items) -> DifferentScalars | None:
        """Return the scalars that items are; None if they are not all alike, or no scalars."""
        each = items.each if isinstance(items, PlainItems) else None
        return None if each is None or not each.is_scalar else self._scalars_of(each)

    @remembered
    def _scalars_of(self, values: Values) -> DifferentScalars:
        return DifferentScalars(values)

    def are_more(self, values: Values, n: int) -> bool:
        """Return whether there surely are more than `n` of some values."""
        return self._are_many(values) or are_more(values, n, self._automaton.search)

    def _are_many(self, values: Values, depth: int = 0) -> bool:
        """Return whether there surely are more of some values than any array has."""
        known = self._many.get(values)
        if known is None:
            known = _has_many_scalars(self._automaton.search.goal(values))
            if not known and values.has_plain_objects and not values.mixed and depth < _DEEP:
                goal = self._automaton.search.goal(values)
                members = self._automaton.options(goal).members
                known = members is not None and self._takes_others(members, members.start, depth)
            self._many[values] = known
        return known

    def _takes_others(self, what: Members | Items, inside: Any, depth: int = 0) -> bool:
        """Return whether parts may come of which there surely are more than any array has."""
        if isinstance(what, PlainItems):
            goal = what.goal(inside)
            return goal is not None and self._are_many_of(goal, depth)
        if not isinstance(what, PlainMembers):
            return what.takes_more
        allowed = what.allowed(inside)
        return any(
            allowed >> tag & 1
            and (
                self._are_many_of(what.goal(inside, tag), depth)
                if tag < what.n_listed
                else what.has_endless_names(tag)
            )
            for tag in range(what.n_tags)
        )

    def _are_many_of(self, goal: Goal, depth: int = 0) -> bool:
        return goal.is_every and self._are_many(goal.values, depth + 1)

    def _part_of(
        self, state: int, stack: Stack, part: Open
    ) -> NameOf | PropertyOf | ItemOf | InObject | InArray | None:
        """Return what is open: what its part is, or where the next one may begin."""
        frame, of = None, None
        if part.height <= stack.height:
            frame = _at(stack, part.height).state
        else:
            place = self._automaton.place(state)
            if isinstance(place, Value):
                frame = place.frame
            elif isinstance(place, InObject | InArray):
                return place
        if frame is not None:
            of = self._automaton.meaning_of_frame(frame)
        return of if isinstance(of, NameOf | PropertyOf | ItemOf) else None

    # -- what may be refused ----------------------------------------------------------------

    def may_repeat(self, memory: SeenParts) -> bool:
        """Return whether a part that is being read may become one that has come."""
        return any(each.possible for each in memory.opens)

    def narrowed(self, memory: SeenParts) -> SeenParts:
        """Return a memory that knows what the parts that are being read can become no more."""
        if not self.may_repeat(memory):
            return memory
        opens = []
        for each in memory.opens:
            if each.possible:
                begun = BegunValue(memory.text[each.start :])
                each = each._replace(possible=frozenset(filter(begun.may_become, each.possible)))
            opens.append(each)
        return memory._replace(opens=tuple(opens))

    def matters(self, state: int, stack: Stack, memory: SeenParts) -> tuple[Hashable, ...]:
        """Return what it depends on which tokens leave few ways, beside how many have come."""
        opens, at = memory.opens, self._automaton.meaning(state)
        is_number = isinstance(at, InLexeme) and isinstance(at.lexer.lexemes, Numbers)
        digits = _number_at_end(memory.text) if is_number else b""
        frames = islice(stack, max(stack.height - opens[0].height + 1, 0))
        places = ((stack.height - each.height, each.start == BETWEEN) for each in opens)
        is_between = self.is_between(state, stack, memory)
        inside = takewhile(lambda each: each.start == BETWEEN, () if is_between else opens[::-1])
        return state, digits, (*frames,), (*places,), (*(each.used for each in inside),)

    def is_free(
        self,
        before: ByteConfiguration,
        token: bytes,
        after: ByteConfiguration,
        n: int | None = None,
    ) -> bool:
        """Return whether a part can be finished in more ways than have come, however it began.

        Parameters
        ----------
        before : ByteConfiguration
            While the part is being read.
        token : bytes
            What comes.
        after : ByteConfiguration
            Where the automaton is then.
        n : int, optional
            More ways than these, some of which may begin later; by default, where it is now.
        """
        memory = self._read_on(before, token, after)
        if memory is None or memory.outermost is None:
            return memory is not None  # it is about the value of a property
        if n is not None and self._is_endless(*after[:2], memory):
            return True
        with self._quickly():
            return self._has_ways(*after[:2], memory, before.memory.n_used if n is None else n)
        return False

    def _read_on(
        self, before: ByteConfiguration, token: bytes, after: ByteConfiguration
    ) -> SeenParts | None:
        """Return what a text remembers after a token; None where a part may have ended in it."""
        first, base, memory = before[:3]
        state, stack = after[:2]
        part = memory.opens[-1]
        if self.is_between(first, base, memory):
            if stack.height < part.height or b"," in token:
                return None  # nothing has begun; or what other tokens are asked about
            frame = _at(stack, part.height).state
            if isinstance(self._automaton.meaning_of_frame(frame), PropertyOf):
                return None  # the name has ended
            memory = SeenParts((part._replace(start=0),), token.lstrip(_SPACES))
        else:
            part = next((each for each in reversed(memory.opens) if each.start != BETWEEN), part)
            if part.start == BETWEEN:
                return memory
            if stack.height < part.height or _at(stack, part.height) is not _at(base, part.height):
                return None  # it has ended
            # What the token has closed is not open any more.
            opens = tuple([each for each in memory.opens if each.height <= stack.height + 1])
            memory = SeenParts(opens, memory.text + token)
        if stack.height >= memory.opens[-1].height and _recalls(self._automaton.place(state)):
            return None  # a walk does not know what has come of what begins in the token
        return memory

    def _has_ways(self, state: int, stack: Stack, memory: SeenParts, n: int) -> bool:
        """Return whether there are surely more than `n` ways to finish the innermost part.

        Then one of them is left, whatever has come of this part, and of those that it is in.
        """
        part, inner, above = _innermost(stack, memory)
        if not self._automaton.recalling.isdisjoint(above[:-1]):
            return False
        at = self._automaton.place(state)
        if isinstance(at, InLexeme):
            if isinstance(at.lexer.lexemes, Numbers):  # it depends on the digits
                return _are_endless(at.lexer.lexemes, _number_at_end(memory.text))
            traits = at.lexer.lexemes.traits(at.key)
            if traits.is_any and not traits.is_named and _n_texts(*traits.bounds) > n:
                return True
        elif self._may_begin_many(at):
            return True
        key = (state, *above, *(each.used for each in inner))
        known, is_all = self._n_ways.get(key, (0, False))
        if known <= n and not is_all:
            text = memory.text[part.start :]
            opens = (Open(part.height, _NOTHING, 0), *inner)
            endings = self.endings(state, stack, SeenParts(opens, text))
            # More than is asked for: with the next part of the text, `n` grows.
            known = _n_different((text + ending for ending in endings), 2 * n + 1)
            self._n_ways[key] = known, known <= 2 * n
        return known > n

    def _may_begin_many(self, at: Place) -> bool:
        """Return whether surely more values may begin at a place than any array has items."""
        if isinstance(at, Value):
            return self._are_many_of(at.goal)
        return isinstance(at, InArray | InObject) and self._takes_others(at.what, at.inside)

    def _is_endless(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether the innermost part surely can be finished in endlessly many ways.

        Or in more than any array has items: by what may come where it is, or later around that.
        """
        part, _, (*frames, _) = _innermost(stack, memory)
        at = self._automaton.place(state)
        if not self._automaton.recalling.isdisjoint(frames):
            return False
        is_endless = self._may_begin_many(at)
        if isinstance(at, Value):
            frames.append(at.frame)
        elif isinstance(at, InLexeme):
            lexemes, text = at.lexer.lexemes, memory.text
            if isinstance(lexemes, Numbers):
                is_endless = _are_endless(lexemes, _number_at_end(text))
            else:
                pushed = self._automaton.meaning_of_frame(stack.state)
                allowed = -1
                if isinstance(pushed, NameOf):
                    allowed = pushed.what.allowed(pushed.inside)
                is_endless = _go_on_endlessly(lexemes, at.key, allowed)
                if isinstance(pushed, ItemOf) and not (is_endless or frames):
                    scalars = self._scalars_in(pushed.what)
                    begun = memory.text[part.start :]
                    is_endless = scalars is not None and scalars.begin_endlessly(begun)
        return is_endless or any(map(self._is_followed, frames))

    @remembered
    def _is_followed(self, frame: int) -> bool:
        """Return whether after a name or a value another part may come as :meth:`_takes_others`."""
        pushed = self._automaton.meaning_of_frame(frame)
        if isinstance(pushed, ItemOf):
            items, inside = pushed
            goal = items.goal(inside)
            return (
                isinstance(items, PlainItems)
                and goal is not None
                and self._takes_others(items, items.after(inside, goal, 0))
            )
        if not isinstance(pushed, NameOf | PropertyOf):
            return False
        members, inside = pushed[:2]
        if members.takes_more or not isinstance(members, PlainMembers):
            return members.takes_more
        tags = (
            [pushed.tag] if isinstance(pushed, PropertyOf) else members_of(members.allowed(inside))
        )
        for tag in tags:
            goal = members.goal(inside, tag)
            if isinstance(pushed, NameOf):
                if tag >= members.n_listed:  # other names may have come
                    return False
                if self._are_many_of(goal):
                    continue
            if not self._takes_others(members, members.after(inside, tag, goal, 0)):
                return False
        return True

    def _has_parts(self, state: int, n: int) -> bool:
        """Return whether more than `n` different parts may begin where one has to begin."""
        at = self._automaton.place(state)
        if type(at) is Value and self._are_many_of(at.goal):
            return True
        known, is_all = self._n_ways.get((state,), (0, False))
        if known <= n and not is_all:
            if isinstance(at, NameDue):
                members, allowed = at.what, at.what.allowed(at.inside)
                tags = members_of(allowed)
                if tags and tags[0] < members.n_listed:
                    return True  # a listed name that is allowed has not come
                texts: Iterator[bytes]
                texts = chain.from_iterable(self._names(members, tag, _NOTHING) for tag in tags)
            else:
                assert isinstance(at, Value), "no other part has to begin"
                texts = (each.text for each in self._values(at.goal))
            known = _n_different(texts, 2 * n + 1)
            self._n_ways[state,] = known, known <= 2 * n
        return known > n

    def is_between(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether the next part of what is open may begin, or has to."""
        if memory.opens[-1].height <= stack.height:
            return False
        at = self._automaton.place(state)
        return not isinstance(at, Value) or at.frame in self._automaton.recalling

    def _has_to_begin(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether another part has to begin, of an array or object that has had some."""
        innermost = memory.opens[-1]
        if innermost.start != BETWEEN or innermost.height != stack.height + 1:
            return False
        at = self._automaton.place(state)
        if type(at) is Value:
            return at.frame in self._automaton.recalling
        return isinstance(at, NameDue)

    # -- parts that are being read ----------------------------------------------------------

    def endings(self, state: int, stack: Stack, memory: SeenParts) -> Iterator[bytes]:
        """Yield what finishes the outermost part that is being read.

        If none is being read, what finishes the array or object where another has to begin.
        """
        outermost = memory.outermost
        limit = memory.opens[-1].height - 1 if outermost is None else outermost.height
        n = len(memory.text)
        for _, _, after in self._finished(state, stack, memory, limit):
            yield after.text[n:]

    def closings(
        self, state: int, stack: Stack, memory: SeenParts, *, is_needed: bool = False
    ) -> Iterator[Closing]:
        """Yield what closes all that remembers its parts, and where that leads.

        As far as it is found in so many steps; in any number if it is needed.
        """
        limit = memory.opens[0].height - 1
        n = len(memory.text)
        with suppress(_TooLongError), self._bounded(is_needed=is_needed):
            for then, below, after in self._finished(state, stack, memory, limit):
                yield Closing(after.text[n:], then, below)

    def _finished(
        self, state: int, stack: Stack, memory: SeenParts, limit: int
    ) -> Iterator[_Place]:
        """Yield where a text may be, with all of it, when the stack is lower than a limit."""
        pending: list[Iterator[_Place]] = [iter(((state, stack, memory),))]
        while pending:  # no recursion: stacks are as high as texts are nested
            place = next(pending[-1], None)
            if place is None:
                pending.pop()
                continue
            self._step()
            if place[1].height < limit:
                yield place
            else:
                pending.append(self._following(*place))

    def _following(self, state: int, stack: Stack, memory: SeenParts) -> Iterator[_Place]:
        """Yield where a text may be after what comes next: a value, or the end of a part."""
        automaton, layout = self._automaton, self._automaton.layout
        at = automaton.meaning(state)
        if isinstance(at, Mark):
            yield at.then, stack, _longer(memory, at.text[at.place :])
        elif isinstance(at, Shut):
            yield from self._popped(b"", at.bracket, at.tag, stack, memory)
        elif isinstance(at, Value):
            memory = _longer(memory, layout.colon) if isinstance(at, Colon) else memory
            for written in self._values(at.goal):
                after, is_repeated = self._with_part(at.frame, written, stack, memory)
                # A value that has come before may still be allowed, but it leads elsewhere.
                if is_repeated:
                    then = automaton.follow_repeated(at.frame, written.tag)
                else:
                    then = automaton.follow(at.frame, written.tag)
                if then != DEAD:
                    yield then, stack, after
        elif isinstance(at, InLexeme):
            for text, tag in self._ends(at.lexer, at.key, stack, memory):
                yield from self._popped(text, b"", tag, stack, memory)
        elif isinstance(at, InObject | InArray):
            has_some = isinstance(at, ItemEnded | PropertyEnded)
            used = _NOTHING
            if memory.opens and memory.opens[-1].height == stack.height + 1:
                used = memory.opens[-1].used
            for text, tag in self._inside(at, used):
                # Without text the array or object ends here, and no comma may come.
                text = layout.comma + text if text and has_some else text
                yield from self._popped(text, brackets_of(at)[1:], tag, stack, memory)

    def _popped(
        self, text: bytes, bracket: bytes, tag: int, stack: Stack, memory: SeenParts
    ) -> Iterator[_Place]:
        """Yield where a text is after the end of what the topmost frame was pushed for."""
        automaton, frame = self._automaton, stack.state
        memory = _longer(memory, text + bracket)
        memory, is_repeated = popped(automaton, memory, stack, tag, len(memory.text))
        if is_repeated:
            then = automaton.follow_repeated(frame, tag)
        else:
            then = automaton.follow(frame, tag)
        if then != DEAD:
            yield then, stack.pop(1), memory

    def _with_part(
        self, frame: int, written: Written, stack: Stack, memory: SeenParts
    ) -> tuple[SeenParts, bool]:
        """Return the memory with a value, and whether it has come before."""
        if not is_recalling(self._automaton, frame, memory):
            return _longer(memory, written.text), False
        begun = memory.begun(stack.height + 1, len(memory.text))
        part = self._automaton.part(frame, written.tag, written.text)
        return _longer(begun, written.text).ended(part)

    def _inside(self, at: Inside, used: frozenset[Hashable]) -> Iterator[Written]:
        """Yield what finishes an array or object in which some parts have come.

        It has no bracket.
        """
        if isinstance(at, InArray):
            return self._items(at.what, at.inside, used)
        return self._members(at.what, at.inside, used, is_some=isinstance(at, NameDue))

    # -- values -----------------------------------------------------------------------------

    def _values(self, goal: Goal) -> Iterator[Written]:
        """Yield values that meet a goal: a shortest one, then all, or endless many."""
        shortest = self.shortest.of(goal)
        if shortest is not None:
            yield shortest
        options = self._automaton.options(goal)
        lexemes = [self._scalars(*each) for each in options.lexers]
        yield from _by_length([*lexemes, *map(self._enclosed, options.enclosed)])

    def _scalars(self, lexer: Lexer, quote: bytes) -> Iterator[Written]:
        """Yield the scalars of a kind, the shortest first."""
        for end in self._lexemes(lexer.lexemes, lexer.lexemes.start):
            yield Written(quote + end.text, lexer.tags[end.tag])

    def _enclosed(self, begun: Inside) -> Iterator[Written | int]:
        """Yield arrays or objects; before, how long the shortest one is."""
        brackets = brackets_of(begun)
        yield len(brackets)  # to find out how long it is may take longer than anything else
        least = self.shortest.inside(begun)
        yield LONGEST if least is None else len(brackets) + len(least.text)
        for text, tag in self._inside(begun, _NOTHING):
            yield Written(brackets[:1] + text + brackets[1:], tag)

    def _different(self, items: Items, state: Any) -> Written | None:
        """Return the items that an array still needs, where they are to be different."""
        with self._bounded(is_needed=True):
            return next(self._items(items, state, _NOTHING), None)

    def _named(self, members: Members, state: Any) -> Written | None:
        """Return the properties that an object still needs, where they are counted."""
        with self._bounded(is_needed=True):
            return self._needed(members, state, _NOTHING)

    def _items(self, items: Items, state: Any, used: frozenset[Hashable]) -> Iterator[Written]:
        """Yield the items that may still come, and the tag of the array then."""
        self._step()
        are_different = items.are_different(state)
        if items.ending(state) != DEAD_END:
            yield Written(b"", items.ending(state))
        else:
            written = self._needed_items(items, state, used)
            if written is not None:
                yield written
        goal = items.goal(state)
        if goal is None:
            return
        for text, tag in self._values(goal):
            after = items.after(state, goal, tag)
            following = used | {value_of(text)} if are_different else used
            if are_different and following == used:
                after = items.after_repeated(state, goal, tag)
            if after is not None:
                for rest in self._items(items, after, following):
                    yield self._joined(text, rest)

    def _needed_items(self, items: Items, state: Any, used: frozenset[Hashable]) -> Written | None:
        """Return the items that have to come, and the tag of the array then."""
        if not items.are_different(state):
            return self.shortest.items(items, state)
        texts = []
        ways: dict[object, Iterator[Written]] = {}  # each yields what it has not yielded yet
        for goal in items.path(state, self.shortest.length) or ():
            found = ways.setdefault(goal, self._values(goal))
            written = next((each for each in found if value_of(each.text) not in used), None)
            if written is None:
                return None
            texts.append(written.text)
            used |= {value_of(written.text)}
            state = items.after(state, goal, written.tag)
        if items.ending(state) == DEAD_END:
            return None
        return Written(self._automaton.layout.comma.join(texts), items.ending(state))

    def _members(
        self,
        members: Members,
        state: Any,
        used: frozenset[Hashable],
        *,
        first: int = 0,
        is_some: bool = False,
    ) -> Iterator[Written]:
        """Yield the properties that may still come, and the tag of the object then.

        Listed names come in their order, those from a first one on, and then the others.
        """
        self._step()
        if members.ending(state) == DEAD_END:
            written = self._needed(members, state, used)
            if written is not None:
                yield written
        elif not is_some:
            yield Written(b"", members.ending(state))
        yield from self._with_other_names(members, state, used)
        allowed = members.allowed(state)
        for tag in range(first, members.n_tags):
            if not allowed >> tag & 1 or not members.may_skip(state, first, tag):
                continue
            for name in self._names(members, tag, used):
                goal = members.goal(state, tag)
                for text, value_tag in self._values(goal):
                    after = members.after(state, tag, goal, value_tag)
                    following = min(tag + 1, members.n_listed)
                    text = name + self._automaton.layout.colon + text
                    now = used | {value_of(name)}
                    for rest in self._members(members, after, now, first=following):
                        yield self._joined(text, rest)

    def _with_other_names(
        self, members: Members, state: Any, used: frozenset[Hashable]
    ) -> Iterator[Written]:
        """Yield one way to go on for each name that is not listed: often there are endless many."""
        allowed = members.allowed(state)
        for tag in range(members.n_listed, members.n_tags):
            if not allowed >> tag & 1:
                continue
            goal = members.goal(state, tag)
            value = self.shortest.of(goal)
            if value is None:
                continue
            after: Any = members.after(state, tag, goal, value.tag)
            for name in self._names(members, tag, used):
                text = name + self._automaton.layout.colon + value.text
                if members.ending(after) != DEAD_END:
                    yield Written(text, members.ending(after))
                    continue
                rest = self._needed(members, after, used | {value_of(name)})
                if rest is None:
                    break
                yield self._joined(text, rest)

    def _needed(self, members: Members, state: Any, used: frozenset[Hashable]) -> Written | None:
        """Return the properties that have to come, and the tag of the object then."""
        path = self.shortest.path(members, state)
        if not path:
            return None
        texts, tags = [], []
        n_left = LONGEST
        names: dict[int, Iterator[bytes]] = {}  # each yields what it has not yielded yet
        for tag, goal in path:
            name = next(names.setdefault(tag, self._names(members, tag, used)), None)
            written = self.shortest.of(goal)
            if name is None or written is None:
                return None
            texts.append(name + self._automaton.layout.colon + written.text)
            tags.append(written.tag)
            if (n_left := n_left - len(texts[-1])) < 0:
                return None
        ending = ending_after(members, state, path, tags)
        return Written(self._automaton.layout.comma.join(texts), ending)

    def _names(self, members: Members, tag: int, used: frozenset[Hashable]) -> Iterator[bytes]:
        """Yield the names with a tag that have not come."""
        if tag < members.n_listed:
            name = self.shortest.name(members, tag)
            if name is not None:
                yield name
            return
        lexemes, _ = members.lexemes_for(1 << tag)
        number = 0
        while True:
            # What is interrupted here is not put back: half a step of a search is of no use.
            begun: _Begun = ([], self._texts(lexemes, lexemes.start, 1 << tag))
            found, texts = self._begun.pop((members, tag), begun)
            if number < len(found):
                self._step(found[number][2])  # as many as the first time: no answer rests on others
            before = self._n_steps
            for end in islice(texts, max(number + 1 - len(found), 0)):
                name = b'"' + end.text
                found.append((name, value_of(name), self._n_steps - before))
                before = self._n_steps
            self._begun[members, tag] = found, texts
            if number >= len(found):
                return
            name, value, _ = found[number]
            number += 1
            if value not in used:
                yield name

    def _joined(self, text: bytes, rest: Written) -> Written:
        if not rest.text:
            return Written(text, rest.tag)
        return Written(text + self._automaton.layout.comma + rest.text, rest.tag)

    # -- lexemes ----------------------------------------------------------------------------

    def _ends(self, lexer: Lexer, key: Any, stack: Stack, memory: SeenParts) -> Iterator[Written]:
        """Yield the ends of a lexeme."""
        pushed, bits = self._automaton.meaning_of_frame(stack.state), -1
        if isinstance(pushed, NameOf):
            bits = pushed.what.allowed(pushed.inside)
        ends = self._lexemes(lexer.lexemes, key, bits, memory.text)
        return (Written(end.text, lexer.tags[end.tag]) for end in ends)

    def _lexemes(
        self, lexemes: ScalarAutomaton, key: Any, bits: int = -1, text: bytes = b""
    ) -> Iterator[Written]:
        """Yield the ends of a lexeme; a number has begun at the end of a text."""
        if not isinstance(lexemes, Numbers):
            return self._texts(lexemes, key, bits)
        return self._numbers(lexemes, key, _number_at_end(text))

    def _texts(self, lexemes: ScalarAutomaton, first: Any, tags: int) -> Iterator[Written]:
        """Yield the ends of a lexeme, the shortest first."""
        return self.shortest.lexemes.ends(lexemes, first, tags, self._step)

    def _numbers(self, lexemes: Numbers, key: Any, begun: bytes) -> Iterator[Written]:
        """Yield ends of a number: a shortest one, and those after which it is written in one way.

        All other ends make numbers that are equal to one of these.
        """
        end = self.shortest.lexemes.end(lexemes, key)
        if end is not None:
            yield end
        if b"e" in begun.lower():
            if number_of(begun.lower().partition(b"e")[0].decode()) != number_of("0"):
                yield from self._with_ends(lexemes, key)
            return
        if isinstance(lexemes, ListedNumbers):
            for rest, tag in lexemes.ends(begun.decode()):
                self._step()
                yield Written(rest.encode(), tag)
            return
        for tag, language in enumerate(lexemes.languages):
            canonical = canonical_numbers(language)
            state = canonical.start
            for character in begun.decode():
                state = canonical.after(state, character)
            for word in words_from(canonical, state):
                self._step()
                yield Written(word.encode(), tag)

    def _with_ends(self, lexemes: Any, key: Any) -> Iterator[Written]:
        """Yield the ends of an exponent: more and more digits."""
        pending = [(b"", key)]
        for text, here in pending:  # grows while it is walked
            self._step()
            tag = lexemes.traits(here).ending
            if tag >= 0:
                yield Written(text, tag)
            for byte, after in lexemes.row(here).entries():
                if not is_end(after):
                    pending.append((text + bytes((byte,)), after))


def _innermost(stack: Stack, memory: SeenParts) -> tuple[Open, list[Open], list[int]]:
    """Return the innermost part that is being read, what is open in it, and the frames to it."""
    place = max(number for number, each in enumerate(memory.opens) if each.start != BETWEEN)
    part, *inner = memory.opens[place:]
    return part, inner, list(islice(stack, stack.height - part.height + 1))


def _recalls(at: Place) -> bool:
    """Return whether a part has ended of an array or object in which none may come twice."""
    if isinstance(at, ItemEnded):
        return at.what.are_different(at.inside)
    return isinstance(at, PropertyEnded) and at.what.n_tags > at.what.n_listed


def _at(stack: Stack, height: int) -> Stack:
    return stack.pop(stack.height - height)


def _has_many_scalars(goal: Goal) -> bool:
    """Return whether all numbers, or more strings than any array has, meet a goal."""
    if not goal.is_every:
        return False
    values = goal.values
    numbers = values.numbers if values.nodes_for("number") is not None else None
    strings = values.strings if values.nodes_for("string") is not None else None
    return (numbers is not None and are_endless(numbers.language)) or (
        strings is not None and are_many(strings)
    )


def _go_on_endlessly(lexemes: ScalarAutomaton, key: Any, tags: int) -> bool:
    """Return whether surely endlessly many texts begin like this, of some tags if it is a name."""
    if isinstance(lexemes, PropertyNames):
        tags >>= lexemes.n_names
        key = key[-1] if key[0] == "n" else key  # beside the listed names
        if key is None:
            return False
        lexemes = lexemes.others
    return isinstance(lexemes, Strings) and any(
        tags >> tag & 1 and isinstance(language, Language) and language.longest(each) == inf
        for _, state in lexemes.opened(key)
        for tag, (each, language) in enumerate(zip(state, lexemes.texts.languages, strict=True))
        if each
    )


def _number_at_end(text: bytes) -> bytes:
    return text[len(text.rstrip(_OF_NUMBERS)) :]


def _are_endless(numbers: Numbers, begun: bytes) -> bool:
    """Return whether a number that has begun surely has endlessly many values left."""
    languages = () if isinstance(numbers, ListedNumbers) else numbers.languages
    return any(are_endless(language, begun.decode()) for language in languages)


def _n_different(texts: Iterable[bytes], most: int) -> int:
    """Return of how many values some texts are, or `most`; no more are looked for."""
    found: set[Hashable] = set()
    for text in texts:
        found.add(value_of(text))
        if len(found) >= most:
            break
    return len(found)


def _n_texts(most: int, least: int) -> float:
    """Return of how many texts of any characters at least there are ends."""
    if most < 0:
        return inf
    return _N_CHARACTERS if most > 1 and least <= most else 0


def _longer(memory: SeenParts, text: bytes) -> SeenParts:
    return memory._replace(text=memory.text + text)


def _by_length(kinds: Iterable[Iterator[Written | int]]) -> Iterator[Written]:
    """Yield what several iterators do, of their next texts a shortest one.

    A number instead of a text says that nothing shorter follows.
    """
    pending: list[tuple[int, int, Written | None, Iterator[Written | int]]]
    pending = [(0, place, None, each) for place, each in enumerate(kinds)]
    while pending:
        _, place, text, each = heappop(pending)
        if text is not None:
            yield text
        following = next(each, None)
        if isinstance(following, int):
            heappush(pending, (following, place, None, each))
        elif following is not None:
            heappush(pending, (len(following.text), place, following, each))
