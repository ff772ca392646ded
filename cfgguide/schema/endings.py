"""Short texts that complete a text of a schema, by what its states mean.

In: a :class:`~cfgguide.schema.automaton.SchemaAutomaton`, and a state and a stack of it. Out: bytes
after which the text is a sentence: the rest of the lexeme, then what the object or array still
asks for, each with a short value, then what those around it ask for. ::

    {"name": "a     `"`, `,"tags":[]` since it is required, `}`

Nothing is read to find it. The shortest value of a schema may need values of others; where schemas
refer to each other, all are made shorter until none becomes shorter (Knuth, "A generalization of
Dijkstra's algorithm", 1977, for the idea of shortest derivations). What is remembered changes no
answer, so an ending is a function of the state and the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import islice
from typing import Any

from cfgguide.base import sets
from cfgguide.base.limits import LONGEST, check_step
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.byte_machine.seen_parts import BETWEEN, ByteConfiguration
from cfgguide.engine.byte_machine.short_ends import Written
from cfgguide.errors import SchemaError
from cfgguide.grammar.lr.stack import Stack
from cfgguide.schema.automaton import TOO_DEEP, SchemaAutomaton
from cfgguide.schema.completions import MemoryCompletions
from cfgguide.schema.members import DEAD_END, Members, TrackedItems, TrackedMembers
from cfgguide.schema.places import (
    Colon,
    End,
    InLexeme,
    Inside,
    ItemEnded,
    ItemOf,
    Lexer,
    Mark,
    NameOf,
    Part,
    PropertyEnded,
    PropertyOf,
    Shut,
    Value,
    brackets_of,
)
from cfgguide.schema.solver.goals import Goal

_MAX_BYTES = 20_000_000  # of endings that are remembered, about
_OVERHEAD = 500  # bytes of what is remembered beside a text
_MAX_NAMES = 8  # that are compared where a name has begun
_MAX_NEEDED = 2_000  # properties that come after those names, in all
_MAX_CLASSES = 8  # that are compared where a lexeme has begun
_NO_ENDING = "no value is known that completes the text; use fewer schemas for one value"
_MAX_FRAMES = 50  # of a text in which ways to end what has begun are compared
_MAX_AROUND = 16  # arrays and objects around what has begun that say what it is to be
_MAX_LEFT_OUT = 32  # items of which each may be the one that has come

_TRACKED = (TrackedItems, TrackedMembers)
_Place = tuple[int, Stack]  # a state and a stack


class NoShortEndingError(Exception):
    """No value is known that comes next: each is very long."""


class SchemaEndings:
    """Finds short endings of a schema's texts.

    Parameters
    ----------
    automaton : SchemaAutomaton
        Of the schema; it is changed as states are made.
    used : frozenset of int
        The bytes that occur in tokens.
    n_tokens : callable, optional
        Returns how many tokens a text has: of several texts that may end others, the one with the
        most is an ending of all. By default, how many bytes.

    Examples
    --------
    >>> import cfgguide
    >>> schema = {"properties": {"a": {"type": "array"}}, "required": ["b"], "type": "object"}
    >>> index = cfgguide.compile(cfgguide.json_schema(schema), cfgguide.Vocabulary.of_bytes([]))
    >>> endings = SchemaEndings(index.machine.pushdown, frozenset(range(256)))
    >>> endings.of(index.machine.advance(index.machine.initial, b'{"a": [1, {"b": "x'))
    b'"}],"b":0}'
    """

    def __init__(
        self,
        automaton: SchemaAutomaton,
        used: frozenset[int],
        n_tokens: Callable[[bytes], int | None] = len,
    ) -> None:
        self._automaton = automaton
        self._reader = ByteMachine(automaton)
        self._n_tokens = n_tokens
        self._completions = MemoryCompletions(automaton, used)
        self._values = self._completions.shortest
        self._known: dict[_Place, bytes] = {}
        self._n_bytes = 0

    def of(self, configuration: ByteConfiguration) -> bytes | None:
        """Return bytes after which the text is a sentence; None if only very long ones are.

        Raises
        ------
        SchemaError
            If it takes more than a step may take, or nothing is known that completes it.
        """
        state, stack, memory = configuration[:3]
        with self._automaton.lock, self._automaton.steps.begun():
            try:
                place = (state, stack)
                ending = self._closed(configuration) if memory.opens else self._ending(place)
                return ending if len(ending) <= LONGEST else None
            except NoShortEndingError:
                return None
            except RecursionError:
                raise SchemaError(TOO_DEEP) from None

    def _closed(self, configuration: ByteConfiguration) -> bytes:
        """Return an ending of a text that remembers what has come.

        Of one that stands for others, too, so long an ending that none of them needs a longer one:
        what has come refuses at most as many as that. Of one that does not, the ending as if
        nothing had come, if that is shorter, and nothing that has come refuses it.
        """
        state, stack, memory = configuration[:3]
        n = 1
        if configuration.stands_for_others and any(each.used for each in memory.opens):
            n += sum(len(each.used) + (each.start != BETWEEN) for each in memory.opens)
        longest = self._after_closings(configuration, n)
        with nullcontext() if longest is None else suppress(NoShortEndingError):
            plain = self._ending((state, stack))  # if that is too long, no other is shorter
            is_shorter = longest is None or len(plain) < len(longest)
            is_candidate = is_shorter and not configuration.stands_for_others
            if is_candidate and self._completes(configuration, plain):
                return plain
        longest = longest or self._after_closings(configuration, n, is_needed=True)
        if longest is None:
            raise SchemaError(_NO_ENDING)
        return longest

    def _after_closings(
        self, configuration: ByteConfiguration, n: int, *, is_needed: bool = False
    ) -> bytes | None:
        """Return the longest ending after the first closings of all that remembers its parts."""
        closings = islice(self._completions.closings(*configuration[:3], is_needed=is_needed), n)
        endings = [each.text + self._ending((each.state, each.stack)) for each in closings]
        return max(endings, key=len, default=None)

    def _completes(self, configuration: ByteConfiguration, ending: bytes) -> bool:
        after = self._reader.read(configuration, ending)
        return after is not None and self._reader.is_sentence(after)

    def _ending(self, place: _Place) -> bytes:
        texts: list[tuple[_Place, bytes]] = []
        ending = self._known.get(place)
        while ending is None:
            check_step()
            text, then = self._step(*place)
            texts.append((place, text))
            if then is None:
                ending = b""
            else:
                place = then
                ending = self._known.get(place)
        for place, text in reversed(texts):
            ending = text + ending
            self._remember(place, ending)
        return ending

    def _remember(self, place: _Place, ending: bytes) -> None:
        if self._n_bytes > _MAX_BYTES:
            self._known.clear()
            self._n_bytes = 0
        self._known[place] = ending
        self._n_bytes += _OVERHEAD + len(ending)

    def _step(self, state: int, stack: Stack) -> tuple[bytes, _Place | None]:
        """Return some bytes of the ending, and where they lead; None for the end."""
        at = self._automaton.meaning(state)
        if isinstance(at, InLexeme):
            return self._lexeme(at.lexer, at.key, stack)
        if isinstance(at, End):
            return b"", None
        if isinstance(at, Mark):
            return at.text[at.place :], (at.then, stack)
        if isinstance(at, Shut):
            return at.bracket, self._popped(stack, at.tag)
        if isinstance(at, Value):
            colon = self._automaton.layout.colon if isinstance(at, Colon) else b""
            pushed = self._automaton.meaning_of_frame(at.frame)
            if isinstance(pushed, PropertyOf) and at.goal.values.listed is None:
                known = self._values.after_known_name(*pushed)
                if known is not None:
                    text = known.text if colon else known.text[len(self._automaton.layout.colon) :]
                    return text + b"}", self._popped(stack, known.tag)
            ways = [
                (colon + written.text, (self._automaton.follow(at.frame, written.tag), stack))
                for written in self._values.of_each_case(at.goal, self._wanted(at.frame, stack))
            ]
            return self._shortest(ways)
        assert not isinstance(at, Part), "a message knows what follows it"
        return self._inside(at, stack)

    def _shortest(self, ways: list[tuple[bytes, _Place]]) -> tuple[bytes, _Place]:
        """Return the way after which the whole ending is shortest."""
        if len(ways) == 1:
            return ways[0]
        if not ways:
            raise NoShortEndingError
        return min(ways, key=lambda way: len(way[0] + self._ending(way[1])))

    def _inside(self, at: Inside, stack: Stack) -> tuple[bytes, _Place]:
        """Return the end of an object or array, before or after which something has come."""
        ways = []
        # Each way is followed to the end: in text that is nested deeply, only the shortest.
        n_ways = None if stack.height <= _MAX_FRAMES else 1
        wanted = self._wanted(stack.state, stack.pop(1)) if n_ways is None else None
        for written in islice(self._values.inside_for(at, wanted), n_ways):
            if written.tag == DEAD_END:
                raise SchemaError(_NO_ENDING)
            is_next = isinstance(at, PropertyEnded | ItemEnded) and written.text
            comma = self._automaton.layout.comma if is_next else b""
            text = comma + written.text + brackets_of(at)[1:]
            ways.append((text, self._popped(stack, written.tag)))
        return self._shortest(ways)

    def _wanted(self, frame: int, stack: Stack) -> Goal | None:
        """Return what a short way on asks of the value for which a frame is pushed on a stack.

        What is around asks for it as it is asked for by what is around that, up to some levels.
        """
        around: list[ItemOf | PropertyOf] = []  # no recursion: texts may be nested deeply
        while len(around) < _MAX_AROUND:
            pushed = self._automaton.meaning_of_frame(frame)
            if not isinstance(pushed, ItemOf | PropertyOf) or not isinstance(pushed.what, _TRACKED):
                break
            around.append(pushed)
            frame, stack = stack.state, stack.pop(1)
        wanted: Goal | None = None
        for pushed in reversed(around):
            what: Any = pushed.what
            asked = None if wanted is None else what.asked_for(wanted)
            what = what if asked is None else asked[0]
            if isinstance(pushed, ItemOf):
                items = self._values.items_path(what, pushed.inside)
                wanted = items[0] if items else None
            else:
                path = what.path_from(pushed.inside, pushed.tag)
                wanted = path[0][1] if path else None
        return wanted

    def _popped(self, stack: Stack, tag: int) -> _Place:
        return self._automaton.follow(stack.state, tag), stack.pop(1)

    def _lexeme(self, lexer: Lexer, key: Any, stack: Stack) -> tuple[bytes, _Place]:
        """Return the end of a lexeme."""
        pushed = self._automaton.meaning_of_frame(stack.state)
        if isinstance(pushed, NameOf):
            return self._name(lexer, key, stack, *pushed)
        ends = self._ends(lexer, key)
        ways = [(end.text, self._popped(stack, lexer.tags[end.tag])) for end in ends if end]
        return self._shortest(ways)

    def _ends(self, lexer: Lexer, key: Any) -> list[Written | None]:
        """Return the nearest end of a lexeme; where what follows depends on its class, of each."""
        nearest = self._values.lexemes.end(lexer.lexemes, key)
        classes = dict.fromkeys(lexer.tags)
        if len(classes) == 1 or nearest is None:
            return [nearest]
        below = lexer.lexemes.below(key)
        bits = dict.fromkeys(classes, 0)
        for number, tag in enumerate(lexer.tags):
            bits[tag] |= (1 if below is None else below >> number & 1) << number
        bits[lexer.tags[nearest.tag]] = 0
        others = [each for each in bits.values() if each][:_MAX_CLASSES]
        return [nearest, *(self._values.lexemes.end(lexer.lexemes, key, tags=t) for t in others)]

    def _name(
        self, lexer: Lexer, key: Any, stack: Stack, members: Members, inside: Any
    ) -> tuple[bytes, _Place]:
        """Return the end of a name, and of its object where a way on from there is known."""
        end = self._end_of_name(lexer, key, members, inside)
        if end is None:
            raise NoShortEndingError
        rest = self._values.after_known_name(members, inside, end.tag)
        if rest is None:
            return end.text, self._popped(stack, lexer.tags[end.tag])
        return end.text + rest.text + b"}", self._popped(stack.pop(1), rest.tag)

    def _end_of_name(self, lexer: Lexer, key: Any, members: Members, inside: Any) -> Written | None:
        """Return the end of a name: the nearest, one that has to come anyway, or any of a few."""
        allowed = members.allowed(inside)
        nearest = self._values.lexemes.end(lexer.lexemes, key, tags=allowed)
        found: dict[int, Written | None] = {} if nearest is None else {nearest.tag: nearest}
        below = lexer.lexemes.below(key)
        bits = allowed if below is None else allowed & below
        most = _MAX_NAMES
        if bits.bit_count() <= _MAX_NAMES:
            others = sets.members(bits)
        else:
            path = self._values.path(members, inside)
            others = [tag for tag, _ in path or ()]
            most = max(1, min(most, _MAX_NEEDED // (len(others) + 1)))  # after each come the others
            # Any other name comes in addition to these: there is no need to look at it.
            if any(bits >> tag & 1 for tag in others):
                found.clear()
        others = [tag for tag in others if bits >> tag & 1 and tag not in found]
        for tag in others[:most]:
            found[tag] = self._values.lexemes.end(lexer.lexemes, key, tags=1 << tag)
        if len(found) == 1:
            return next(iter(found.values()))
        costs = {}
        for tag, end in found.items():
            rest = self._values.after_name(members, inside, tag)
            if end is not None and rest is not None:
                costs[tag] = len(end.text) + len(rest.text)
        if not costs:
            raise NoShortEndingError
        return found[min(costs, key=lambda tag: (costs[tag], tag))]
