"""The pushdown automaton of the JSON texts that a schema allows, made as texts are read.

In: the nodes of a schema, and where white space may stand. Out: a :class:`SchemaAutomaton`. Its
states between lexemes are keys such as "after a value of this object, in this state", and a row of
one says which punctuation, which names and which values may come. What an object or array has had
so far stands in the key (:mod:`cfgguide.schema.members`), so nothing is made of what no text
reaches.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from cfgguide.automata.ecma_patterns import pattern_language
from cfgguide.automata.numbers import NUMBER, decimal_text
from cfgguide.automata.pieces import PieceAutomaton
from cfgguide.base.limits import LONGEST, Steps, check_step, within_work
from cfgguide.base.sets import reached_from
from cfgguide.engine.byte_machine.automaton import TextPushdown
from cfgguide.engine.byte_machine.byte_views import DEAD, END, IS_END, POP, PUSH
from cfgguide.engine.byte_machine.property_names import (
    ListedNumbers,
    PropertyNames,
    Words,
)
from cfgguide.engine.byte_machine.scalars import (
    Bounded,
    Bounds,
    Constants,
    Numbers,
    ScalarAutomaton,
    Target,
    any_strings,
    ended,
    numbers_in,
    strings_in,
)
from cfgguide.engine.byte_machine.seen_parts import (
    ByteConfiguration,
    KnowsParts,
    RefusesRepeated,
    SeenParts,
)
from cfgguide.errors import SchemaError
from cfgguide.grammar.lr.stack import Stack
from cfgguide.schema.equality import value_of
from cfgguide.schema.members import (
    DEAD_END,
    Items,
    ListedItems,
    ListedMembers,
    Members,
    PlainItems,
    PlainMembers,
    TrackedItems,
    TrackedMembers,
)
from cfgguide.schema.places import (
    ArrayBegun,
    Colon,
    End,
    InLexeme,
    Inside,
    ItemEnded,
    ItemOf,
    Lexer,
    Mark,
    NameDue,
    NameOf,
    ObjectBegun,
    Place,
    PropertyEnded,
    PropertyOf,
    Pushed,
    Root,
    Shut,
    Spaced,
    Value,
    brackets_of,
)
from cfgguide.schema.solver.counts import Enough, plain_array_bounds
from cfgguide.schema.solver.goals import Goal
from cfgguide.schema.solver.listed_values import decimal_of
from cfgguide.schema.solver.nodes import (
    KINDS,
    UNBOUNDED,
    Condition,
    Constant,
    Node,
    wanted_to_fail,
)
from cfgguide.schema.solver.search import Search
from cfgguide.schema.solver.tracked_values import Tracked
from cfgguide.schema.solver.truth import surely_hold
from cfgguide.schema.solver.values import CONSTANTS, AllValues, Scalars, Values

if TYPE_CHECKING:
    from cfgguide.engine.byte_machine.byte_machine import ByteMachine
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary
    from cfgguide.schema.completions import MemoryCompletions

_SPACES = b" \t\n\r"
TOO_FEW = "items that have to come have so few values that it is not known whether they suffice"
TOO_DEEP = "alternatives are nested too deeply to find out which values the schema allows"
_ANY_BOUNDS: Bounds = (0, None)
_MAX_COMBINED = 15_000  # choices, to tell apart what many alternatives ask of one property
_MANY_ALTERNATIVES = 5  # for one value: of fewer there are few combinations
_MANY_TO_PREPARE = 32  # alternatives
_MOST_WORK = 100_000  # to find a short value when a schema is read: a second at most
_MOST_LISTED = (
    500  # beside an open alternative: the square counts, and 500 objects take 2.4 s a mask
)


@dataclass(frozen=True)
class JsonLayout:
    """How values are written: where white space may stand, and how numbers are spelled.

    Attributes
    ----------
    space : int or None
        The most characters around each punctuation mark; None for any number.
    comma, colon : bytes
        The exact texts of separators.
    is_tidy : bool
        Whether numbers have tidy spellings only (:func:`cfgguide.automata.numbers.tidy`).
    """

    space: int | None = None
    comma: bytes = b","
    colon: bytes = b":"
    is_tidy: bool = False


class TooFewError(SchemaError):
    """Items that are to be different may have too few values."""


class _Keys:
    """Turns keys into tuples of numbers, and back.

    Most keys repeat parts of others. Each part that is not a number is kept once, and a negative
    number stands for it: Python's collector looks at no tuple that has nothing but numbers.
    """

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._numbers: dict[Any, int] = {}  # from -1 down

    def packed(self, key: Iterable[Any]) -> tuple[int, ...]:
        """Return a key as numbers; those in it are not negative."""
        known = self._numbers.get
        return tuple(
            [part if type(part) is int else known(part) or self._added(part) for part in key]
        )

    def _added(self, part: Any) -> int:
        self._parts.append(part)
        self._numbers[part] = number = -len(self._parts)
        return number

    def unpacked(self, numbers: Iterable[int]) -> tuple[Any, ...]:
        """Return the key that `packed` has turned into numbers."""
        parts = self._parts
        return tuple([parts[~number] if number < 0 else number for number in numbers])


@dataclass(slots=True)
class _Options:
    """What may be written where a value is wanted; tags are those of the values' classes."""

    constants: Lexer | None = None
    numbers: Lexer | None = None
    strings: Lexer | None = None
    members: Members | None = None
    items: Items | None = None

    @property
    def lexers(self) -> list[tuple[Lexer, bytes]]:
        """The automata of scalars, each with the quote that begins it."""
        kinds = ((self.constants, b""), (self.numbers, b""), (self.strings, b'"'))
        return [(lexer, quote) for lexer, quote in kinds if lexer is not None]

    @property
    def enclosed(self) -> list[Inside]:
        """Where objects and arrays begin."""
        found: list[Inside] = []
        if self.members is not None:
            found.append(ObjectBegun(self.members, self.members.start, None))
        if self.items is not None:
            found.append(ArrayBegun(self.items, self.items.start, None))
        return found


_MARKS = {
    "{": "LBRACE",
    "}": "RBRACE",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ":": "COLON",
    "t": "TRUE",
    "f": "FALSE",
    "n": "NULL",
    '"': "STRING",
}
_LEXEMES = ((Numbers, "NUMBER"), (PropertyNames, "NAME"), (Constants, "CONSTANT"))


def _name(byte: int) -> str:
    """Return the name of what begins with a byte."""
    return _MARKS.get(chr(byte), "NUMBER")


@cache
def _any_numbers() -> Numbers:
    return Numbers([pattern_language(f"^(?:{NUMBER})$")])


class SchemaAutomaton(TextPushdown):
    """Reads the JSON texts of the values that a schema allows.

    Parameters
    ----------
    roots : sequence of Node
        Of the whole schema; of each schema, if a subclass has several.
    layout : JsonLayout
        How values are written.
    is_ordered : bool
        Whether properties come in the order in which they are declared.
    steps : Steps, optional
        Bounds what making a state may take.

    Attributes
    ----------
    roots : list of Values
        The values of each schema.

    Raises
    ------
    SchemaError
        If the schema allows no value, or it takes too long to find out.
    """

    def __init__(
        self,
        roots: Sequence[Node],
        layout: JsonLayout,
        *,
        is_ordered: bool,
        steps: Steps | None = None,
    ) -> None:
        super().__init__()
        self.layout = layout
        #: Bounds the making of a row, and the search for an ending.
        self.steps = steps or Steps()
        self.is_ordered = is_ordered
        self._all_values = AllValues(is_tidy=layout.is_tidy)
        self.search = Search(
            self._all_values,
            is_ordered=is_ordered,
            wanted_to_fail=set().union(*map(wanted_to_fail, roots)),
        )
        # All keys are packed; of states and frames, a key is there before its number.
        self._packing = _Keys()
        self._keys: dict[int, tuple[int, ...]] = {}  # of states
        self._numbers: dict[tuple[int, ...], int] = {}
        self._frame_keys: dict[int, tuple[int, ...]] = {}
        self._frame_numbers: dict[tuple[int, ...], int] = {}
        self._value_frames: dict[Goal, set[int]] = {}  # which have room for all of its classes
        self.search.make_room = self._make_room
        self._lexers: dict[tuple[int, ...], Lexer] = {}
        self._blocks: list[Lexer] = []  # whose states were made at once, by the first state
        self.recalling: set[int] = set()
        self.recalling_inside: set[int] = set()
        #: Knows how texts that remember what has come can be finished.
        self.completions: MemoryCompletions
        #: Whether it is an error if it is not known whether there are enough different items; while
        #: texts are read, it is found out as they go on.
        self.refuses_few = False
        self._options: dict[Goal, _Options] = {}
        self.roots = [self._all_values.of([root]) for root in roots]
        self.start = self._begun()

    def _begun(self) -> int:
        """Return the state before anything."""
        return self._wanted(self.search.goal(self.roots[0]), self._frame(Root(), 1))

    def _wanted(self, goal: Goal, frame: int) -> int:
        return self._state(Value(goal, frame, self.layout.space))

    @property
    def has_sentence(self) -> bool:
        """Whether each schema allows some value."""
        return all(map(self.search.has_value, self.roots))

    def check_values(self) -> None:
        """Check that a value is known which can be written: no budget would be enough for others.

        Of most schemas counting tells that there is a short one, and none is looked for. Of many
        alternatives inside each other the search may take much longer than all masks of a text: it
        goes on when an ending is asked for.

        Raises
        ------
        SchemaError
            If there is none.
        """
        enough = Enough(self.search, len(self.layout.comma), len(self.layout.colon))
        with self.lock, self.steps.begun():
            for values in self.roots:
                if enough.of(values) > LONGEST and not within_work(
                    _MOST_WORK, partial(self._has_short, values), True
                ):
                    path = next((node.path for node in values.nodes if node.path), "/")
                    raise SchemaError(
                        f"at {path}: no value is known that has {LONGEST} bytes at most, and no "
                        "model writes a longer one; use smaller bounds, or fewer schemas for one "
                        "value"
                    )

    def _has_short(self, values: Values) -> bool:
        """Return whether a value is known."""
        self.search.begin()
        return self.completions.shortest.of(self.search.goal(values)) is not None

    def check_alternatives(self) -> None:
        """Check that values in which many alternatives have to hold at once can be told apart.

        Of `n` alternatives about one property there are up to 2 ** n combinations: if these are too
        many, that is found out now, not in the middle of a text.

        Raises
        ------
        SchemaError
            If it takes too long.
        """
        nodes = dict.fromkeys(node for root in self.roots for node in root.nodes)
        for node in reached_from(nodes, lambda each: (*each.in_place, *each.inner)):
            check_step()
            _check_listed(node)
            if len(node.any_of or ()) >= _MANY_TO_PREPARE:
                self._prepare(node)
            if len(node.all_of) < 2:  # quickly: of most nodes nothing else is asked
                continue
            n = sum(map(_has_branches, surely_hold([node], "object")))
            if n < _MANY_ALTERNATIVES:
                continue
            try:
                self._tell_apart(node)
            except SchemaError as error:
                raise SchemaError(
                    f"at {node.path or '/'}: {n} alternatives have to hold for one value, and what "
                    "they ask of what is inside has too many combinations; use fewer of them "
                    f"({error.args[0]})"
                ) from None

    def _prepare(self, node: Node) -> None:
        """Find out what may come first in an object of many kinds: no step has to wait for that."""
        values = self.search.values.of([node])
        with self.lock, self.steps.begun():
            self.search.begin()
            members: Any = self.options(self.search.goal(values)).members
            if isinstance(members, TrackedMembers):
                self._names(members, members.start)
                for tag in members.first_planned:
                    if members.values(members.start, tag).listed is not None:  # a tag of kinds
                        members.goal(members.start, tag)

    def _tell_apart(self, node: Node) -> None:
        """Find out which classes the first item and each property may have."""
        values = self.search.values.of([node])
        with self.lock, self.steps.begun():
            self.search.begin(_MAX_COMBINED)
            options = self.options(self.search.goal(values))
            if isinstance(options.members, TrackedMembers):
                self._tell_properties_apart(options.members, options.members.start)
            if options.items is not None:
                first: Any = options.items.start
                self.search.begin(_MAX_COMBINED)
                options.items.goal(first)

    def _tell_properties_apart(self, members: TrackedMembers, start: Any) -> None:
        for tag in range(members.n_tags):
            self.search.begin(_MAX_COMBINED)
            if len(members.values(start, tag).nodes) >= _MANY_ALTERNATIVES:
                members.goal(start, tag)

    def meaning(self, state: int) -> Place:
        """Return what a state means."""
        key = self._keys.get(state)
        if key is None:
            return self._key_in_block(state)
        kind, *parts = self._packing.unpacked(key)
        place: Place = kind._make(parts)
        return place

    def place(self, state: int) -> Place:
        """Return what a state means, or inside of a punctuation mark the one after it."""
        place = self.meaning(state)
        while isinstance(place, Mark):
            place = self.meaning(place.then)
        return place

    def is_in_string(self, state: int) -> bool:
        """Return whether a state is inside a string or a name."""
        place = self.meaning(state)
        return isinstance(place, InLexeme) and not isinstance(
            place.lexer.lexemes, Numbers | Constants
        )

    def is_in_lexeme(self, state: int) -> bool:
        """Return whether a state is inside a string, a name, a number or a constant."""
        return isinstance(self.meaning(state), InLexeme)

    def is_listed(self, state: int) -> bool:
        """Return whether a state is inside a string that is one of a list of texts."""
        place = self.meaning(state)
        return isinstance(place, InLexeme) and isinstance(place.lexer.lexemes, Words)

    def meaning_of_frame(self, frame: int) -> Pushed:
        """Return what a frame was pushed for."""
        kind, *parts = self._packing.unpacked(self._frame_keys[frame])
        pushed: Pushed = kind._make(parts)
        return pushed

    # -- numbers ----------------------------------------------------------------------------

    def _state(self, place: Place, *, is_end: bool = False) -> int:
        packed = self._packing.packed((type(place), *place))
        state = self._numbers.get(packed)
        if state is None:
            if isinstance(place, InLexeme):
                state = self._new_lexer_state(*place)
            else:
                state = self.new_state(is_end=is_end)
            self._keys[state] = packed
            self._numbers[packed] = state
        return state

    def _frame(self, pushed: Pushed, n_tags: int, allowed: int | None = None) -> int:
        packed = self._packing.packed((type(pushed), *pushed))
        frame = self._frame_numbers.get(packed)
        if frame is None:
            frame = self.new_frame(n_tags, allowed=allowed)
            self._frame_keys[frame] = packed
            self._frame_numbers[packed] = frame
        return frame

    def _value_frame(self, pushed: Pushed, goal: Goal) -> int:
        """Return the frame of a value that is to meet a goal; its tags are those of classes."""
        frame, frames = self._frame(pushed, 1), self._value_frames.setdefault(goal, set())
        if frame not in frames and not goal.is_every:
            self.add_tags(frame, 0, _room(len(goal.classes)))
            frames.add(frame)
        return frame

    def _make_room(self, goal: Goal, n: int) -> None:
        """Have the frames of a goal have room for one more class, the `n`th."""
        before, now = _room(n - 1), _room(n)
        for frame in self._value_frames.get(goal, ()) if now > before else ():
            self.add_tags(frame, before, now)

    def make_row(self, state: int) -> None:
        """Make the row of a state."""
        place = self.meaning(state)
        self.search.begin()
        try:
            with self.steps.begun():
                self._rows[type(place)](self, state, place)
        except RecursionError:
            raise SchemaError(TOO_DEEP) from None

    def make_follow(self, frame: int, tag: int) -> int:
        """Return the state that follows what a frame was pushed for."""
        pushed = self.meaning_of_frame(frame)
        self.search.begin()
        try:
            with self.steps.begun():
                return self._follows_of[type(pushed)](self, tag, pushed)
        except RecursionError:
            raise SchemaError(TOO_DEEP) from None

    @property
    def parts(self) -> KnowsParts:
        """The automaton, which knows what may come again."""
        return self

    def repeated(self, machine: ByteMachine, vocabulary: Vocabulary) -> RefusesRepeated:
        """Return what removes parts that have come before from masks."""
        from cfgguide.schema.repeated_parts import RepeatedParts

        return RepeatedParts(self, machine, vocabulary)

    def ending(
        self, spelled: frozenset[int], n_tokens: Callable[[bytes], int | None]
    ) -> Callable[[ByteConfiguration], bytes | None]:
        """Return what finds short endings of bytes that are in tokens."""
        from cfgguide.schema.endings import SchemaEndings

        return SchemaEndings(self, spelled, n_tokens).of

    def is_last(self, state: int) -> bool:
        """Return whether a text that may end has, but for white space."""
        return bool(self.memory[0][state, IS_END])

    def expected(self, state: int, frame: int, may_begin: Callable[[int], bool]) -> list[str]:
        """Return the names of what may begin, or go on, in a state."""
        self.need_row(state)
        at = self.meaning(state)
        if isinstance(at, InLexeme):
            lexemes = at.lexer.lexemes
            return [next((name for each, name in _LEXEMES if isinstance(lexemes, each)), "STRING")]
        arrays = self.arrays
        first, number = arrays.states[state, :2].tolist()
        found = set()
        for byte, place in enumerate(arrays.maps[number].tolist()):
            if arrays.operations[first + place] == DEAD or byte in _SPACES:
                continue
            if may_begin(byte):
                is_name = byte == 0x22 and isinstance(at, ObjectBegun | NameDue)
                found.add("NAME" if is_name else _name(byte))
        return sorted(found)

    # -- lexemes ----------------------------------------------------------------------------

    def _lexer(
        self, key: tuple[Any, ...], lexemes: ScalarAutomaton, tags: Sequence[int] = (0,)
    ) -> Lexer:
        """Return the states of an automaton; those under one key share them."""
        packed = self._packing.packed(key)
        if packed not in self._lexers:
            made = Lexer(lexemes, tags)
            if isinstance(lexemes, Words | PropertyNames):
                self._add_texts(made, lexemes)
            self._lexers[packed] = made
        return self._lexers[packed]

    def _add_texts(self, lexer: Lexer, lexemes: Words | PropertyNames) -> None:
        """Make the states of listed texts at once, if each is written in one way."""
        listed = lexemes.listed
        if not listed.texts or not lexemes.are_written_once:
            return
        tags = [lexer.tags[tag] for tag in listed.tags]
        ends = [self.action(POP, tag) for tag in tags]
        is_named = isinstance(lexemes, PropertyNames)
        base = DEAD
        if isinstance(lexemes, PropertyNames) and lexemes.other is not None:
            base = self._state(InLexeme(lexer, lexemes.other))
        lexer.first, lexer.spans = self.add_texts(
            [*map(str.encode, listed.texts)], ends, tags if is_named else [], base
        )
        self._blocks.append(lexer)

    def _key_in_block(self, state: int) -> InLexeme:
        """Return the meaning of a state that was made at once with others."""
        lexer = self._blocks[bisect_right(self._blocks, state, key=attrgetter("first")) - 1]
        lexemes: Any = lexer.lexemes
        span = tuple(lexer.spans[state - lexer.first].tolist())
        return InLexeme(lexer, lexemes.key(span))

    def _new_lexer_state(self, lexer: Lexer, key: Any) -> int:
        ending, below, (shared, shared_tag), is_named, bounds = lexer.lexemes.traits(key)
        return self.new_state(
            ending=lexer.tags[ending] if ending >= 0 else ending,
            below=below,
            shared=(shared, lexer.tags[shared_tag] if shared >= 0 else -1),
            is_named=is_named,
            bounds=bounds,
        )

    def after_text(self, state: int, data: bytes, place: int) -> tuple[int, int]:
        """Return where a text goes on after characters that are read at once, and the state there.

        The state is `DEAD` if they are refused.
        """
        at = self.meaning(state)
        if not isinstance(at, InLexeme):
            return place, state
        with self.lock, self.steps.begun():
            place, after = at.lexer.lexemes.after_text(at.key, data, place)
            return place, DEAD if after is None else self._state(at._replace(key=after))

    def near(self, state: int, n: int) -> int:
        """Return a state after which as many as `n` bytes do what they do after another one."""
        place = self.meaning(state)
        if not isinstance(place, InLexeme) or not place.lexer.lexemes.counts:
            return state
        with self.lock:
            near = place.lexer.lexemes.near(place.key, n)
            return state if near == place.key else self._state(place._replace(key=near))

    def quoted(self, state: int) -> tuple[PieceAutomaton, int] | None:
        """Return the text of which a piece is written in a state, and the state in it."""
        place = self.meaning(state)
        return place.lexer.lexemes.quoted(place.key) if isinstance(place, InLexeme) else None

    def _row_of_lexeme(self, state: int, at: InLexeme) -> None:
        row = at.lexer.lexemes.row(at.key)
        operations = [self._operation(at.lexer, after) for after in row.targets]
        self.set_mapped_row(state, row.places, operations, row.stays, row.loops)

    def _operation(self, lexer: Lexer, after: Target) -> int:
        if after is None:
            return DEAD
        if type(after) is int:
            kind, tag = (POP, after) if after >= 0 else (END, ended(after))
            return self.action(kind, lexer.tags[tag])
        return self._state(InLexeme(lexer, after))

    # -- values -----------------------------------------------------------------------------

    def options(self, goal: Goal) -> _Options:
        """Return what may be written as a value that meets a goal."""
        if goal not in self._options:
            self._options[goal] = (
                self._for_all_nodes(goal) if goal.is_every else self._tracked(goal)
            )
            try:
                if self.refuses_few:
                    self._check_different(goal.values, self._options[goal].items)
            except BaseException:  # also an interruption: they have not been checked
                del self._options[goal]
                raise
        return self._options[goal]

    def _check_different(self, values: Values, items: Items | None) -> None:
        """Check that there are enough items where they are to be different.

        Raises
        ------
        TooFewError
            If it is not known.
        """
        for each in items.few() if items is not None else ():
            if not self.completions.has_items(*each):
                path = next(node.path for node in values.below if node.is_unique)
                raise TooFewError(f"at {path}/uniqueItems: {TOO_FEW}")

    def _for_all_nodes(self, goal: Goal) -> _Options:
        """Return the values for which all nodes hold."""
        search, values = self.search, goal.values
        mixed = values.classed
        # What can be met in several ways is told apart by classes; all else is read without them.
        found = self._tracked(goal, mixed) if mixed else _Options()
        words = [kind for kind in CONSTANTS if values.is_constant(kind)]
        # If one constant is mixed, there is a lexer of all of them by now.
        if words and mixed.isdisjoint(CONSTANTS):
            found.constants = self._lexer(tuple(words), Constants(dict.fromkeys(words, 0)))
        # Listed numbers are looked up; as a language, each would cost as much as all bounds do.
        listed = goal.constants("number") if "number" not in mixed else None
        if listed is not None:
            if listed:
                self._add_listed(found, "number", values, [(each, 0) for each, _ in listed])
        elif values.numbers is not None:
            found.numbers = self._number_lexer([(values.numbers, 0)])
        if values.strings is not None:
            found.strings = self._string_lexer([(values.strings, 0)])
        if values.has_plain_objects and search.has_plain_object(values):
            found.members = PlainMembers(values, search, is_ordered=self.is_ordered)
        if (values.has_different_items and search.has_different_items(values)) or (
            values.has_plain_arrays and plain_array_bounds(values, search) is not None
        ):
            found.items = PlainItems(values, search)
        return found

    def _tracked(self, goal: Goal, kinds: frozenset[str] = frozenset(KINDS)) -> _Options:
        """Return the values that meet a goal, as far as they are of some kinds."""
        search, found, values = self.search, _Options(), goal.values
        tracked = search.tracked(values)
        if not kinds.isdisjoint(CONSTANTS):
            of_words = tracked.constants().items()
            words = {
                kind: tag for kind, each in of_words if (tag := goal.tag(each, kind)) is not None
            }
            if words:
                constants = Constants(words)
                found.constants = self._lexer(tuple(words.items()), constants, _tags_to(words))
        for kind in [each for each in UNBOUNDED if each in kinds]:
            listed = goal.constants(kind)
            if listed is None:
                self._add_tracked(found, kind, tracked, goal)
            elif listed:
                tagged = [(each, goal.tag(of, kind) or 0) for each, of in listed]
                self._add_listed(found, kind, values, tagged)
        return found

    def _add_tracked(self, found: _Options, kind: str, tracked: Tracked, goal: Goal) -> None:
        """Add the values of a kind that meet a goal."""
        search = self.search
        if kind == "number" and (parts := _scalar_parts(tracked, goal, kind)):
            found.numbers = self._number_lexer(parts)
        if kind == "string" and (parts := _scalar_parts(tracked, goal, kind)):
            found.strings = self._string_lexer(parts)
        if kind == "object" and search.ends(goal, kind, tracked.objects.start):
            found.members = TrackedMembers(search, goal)
        if kind == "array" and search.ends(goal, kind, tracked.arrays.start):
            found.items = TrackedItems(search, goal)

    def _add_listed(
        self, found: _Options, kind: str, values: Values, listed: list[tuple[Constant, int]]
    ) -> None:
        """Add listed values of a kind, each with its tag."""
        if kind == "object":
            found.members = ListedMembers(values, listed, self.search)
        elif kind == "array":
            found.items = ListedItems(listed, self.search)
        elif kind == "string":
            words = {text: tag for (text, _), tag in listed}
            key = ("words", tuple(words.items()))
            found.strings = self._lexer(key, Words(list(words), words), _tags_to(words))
        else:
            texts = {decimal_text(decimal_of(number)): tag for (number, _), tag in listed}
            lexemes = ListedNumbers(texts, is_tidy=self.layout.is_tidy)
            key = ("numbers", tuple(texts.items()))
            found.numbers = self._lexer(key, lexemes, _tags_to(texts))

    def _number_lexer(self, parts: list[tuple[Scalars, int]]) -> Lexer:
        languages = [scalars.language for scalars, _ in parts]
        tags = tuple([tag for _, tag in parts])
        key = ("number", *map(id, languages), *tags)
        if languages == [None]:
            return self._lexer(key, _any_numbers(), tags)
        return self._lexer(
            key, numbers_in(tuple(each for each in languages if each is not None)), tags
        )

    def _string_lexer(self, parts: list[tuple[Scalars, int]]) -> Lexer:
        tags = tuple([tag for _, tag in parts])
        key = ("string", tuple([(each.key, each.bounds, tag) for each, tag in parts]))
        known = self._lexers.get(self._packing.packed(key))
        if known is not None:
            return known
        if len(parts) == 1:
            ((scalars, _),) = parts
            return self._lexer(key, _strings(scalars), tags)
        return self._lexer(key, _several_strings([each for each, _ in parts]), tags)

    def _row_of_value(self, state: int, at: Value) -> None:
        """Make the row of where a value is wanted."""
        self.set_row(state, [*self._values(at.goal, at.frame), *self._spaces(at)])

    def _values(self, goal: Goal, frame: int) -> list[tuple[Iterable[int], int]]:
        """Return the bytes that begin a value."""
        options = self.options(goal)
        entries: list[tuple[Iterable[int], int]] = []
        for lexer, quote in options.lexers:
            entries += [self._quote(lexer, frame)] if quote else self._beginnings(lexer, frame)
        for begun in options.enclosed:
            start = self._state(begun._replace(space=self.layout.space))
            entries.append((brackets_of(begun)[:1], self.action(PUSH, frame, start)))
        return entries

    def _beginnings(self, lexer: Lexer, frame: int) -> list[tuple[Iterable[int], int]]:
        """Return the bytes that begin a lexeme without quotes."""
        return [
            ((byte,), self.action(PUSH, frame, self._state(InLexeme(lexer, after))))
            for byte, after in lexer.lexemes.row(lexer.lexemes.start).entries()
        ]

    def _quote(self, lexer: Lexer, frame: int) -> tuple[Iterable[int], int]:
        """Return the quote that begins a string or a name."""
        start = lexer.first or self._state(InLexeme(lexer, lexer.lexemes.start))
        return b'"', self.action(PUSH, frame, start)

    def _after_root(self, _tag: int, _pushed: Root) -> int:
        return self._state(End(self.layout.space), is_end=True)

    def _row_of_end(self, state: int, at: End) -> None:
        self.set_row(state, self._spaces(at))

    # -- punctuation ------------------------------------------------------------------------

    def _spaces(self, at: Spaced) -> list[tuple[Iterable[int], int]]:
        """Return white space, after which the same may come."""
        if at.space == 0:
            return []
        after = at if at.space is None else at._replace(space=at.space - 1)
        return [(_SPACES, self._state(after, is_end=isinstance(at, End)))]

    def _end(self, bracket: bytes, tag: int) -> list[tuple[Iterable[int], int]]:
        """Return the bracket that ends an object or array, if it may end with a tag."""
        return [] if tag == DEAD_END else [(bracket, self.action(POP, tag))]

    def _end_of_nothing(
        self, bracket: bytes, tag: int, space: int | None
    ) -> list[tuple[Iterable[int], int]]:
        """Return the end of what is empty, and more white space: there is some before that, too."""
        entries = self._end(bracket, tag)
        if entries and space == 0 and self.layout.space:
            shut = self._state(Shut(bracket, tag, self.layout.space - 1))
            entries.append((_SPACES, shut))
        return entries

    def _row_of_shut(self, state: int, at: Shut) -> None:
        """Make the row of where only white space may stand before the end."""
        self.set_row(state, [*self._end(at.bracket, at.tag), *self._spaces(at)])

    def _mark(self, text: bytes, then: int, place: int = 0) -> tuple[Iterable[int], int]:
        """Return a byte of a punctuation mark, and the state after it."""
        is_last = place + 1 == len(text)
        after = then if is_last else self._state(Mark(text, place + 1, then))
        return text[place : place + 1], after

    def _row_of_mark(self, state: int, at: Mark) -> None:
        self.set_row(state, [self._mark(at.text, at.then, at.place)])

    # -- objects ----------------------------------------------------------------------------

    def _row_of_object(self, state: int, at: ObjectBegun) -> None:
        """Make the row of where an object has begun."""
        nothing = self._end_of_nothing(b"}", at.what.ending(at.inside), at.space)
        self.set_row(state, [*self._names(at.what, at.inside), *self._spaces(at), *nothing])

    def _row_of_name(self, state: int, at: NameDue) -> None:
        """Make the row of where a name has to come."""
        self.set_row(state, [*self._names(at.what, at.inside), *self._spaces(at)])

    def _row_of_property(self, state: int, at: PropertyEnded) -> None:
        """Make the row of where a property has ended."""
        entries = [*self._end(b"}", at.what.ending(at.inside)), *self._spaces(at)]
        if at.what.allowed(at.inside):
            then = self._state(NameDue(at.what, at.inside, self.layout.space))
            entries.append(self._mark(self.layout.comma, then))
        self.set_row(state, entries)

    def _names(self, members: Members, inside: Any) -> list[tuple[Iterable[int], int]]:
        allowed = members.allowed(inside)
        if not allowed:
            return []
        frame = self._frame(NameOf(members, inside), members.n_tags, allowed)
        if members.n_tags > members.n_listed:
            (self.recalling if members.are_counted else self.recalling_inside).add(frame)
        lexemes, tags = members.lexemes_for(allowed)
        return [self._quote(self._lexer(("name", lexemes), lexemes, tags), frame)]

    def _after_name(self, tag: int, pushed: NameOf) -> int:
        members, inside = pushed
        if not members.allowed(inside) >> tag & 1:
            return DEAD
        goal = members.goal(inside, tag)
        frame = self._value_frame(PropertyOf(members, inside, tag), goal)
        return self._state(Colon(goal, frame, self.layout.space))

    def _row_of_colon(self, state: int, at: Colon) -> None:
        """Make the row of where a name has ended."""
        then = self._wanted(at.goal, at.frame)
        self.set_row(state, [self._mark(self.layout.colon, then), *self._spaces(at)])

    def _after_property(self, class_tag: int, pushed: PropertyOf) -> int:
        members, inside, tag = pushed
        after = members.after(inside, tag, members.goal(inside, tag), class_tag)
        return self._state(PropertyEnded(members, after, self.layout.space))

    # -- arrays -----------------------------------------------------------------------------

    def _row_of_array(self, state: int, at: ArrayBegun) -> None:
        """Make the row of where an array has begun."""
        nothing = self._end_of_nothing(b"]", at.what.ending(at.inside), at.space)
        found = self._item(at.what, at.inside)
        values = [] if found is None else self._values(*found)
        self.set_row(state, [*self._spaces(at), *nothing, *values])

    def _row_of_item(self, state: int, at: ItemEnded) -> None:
        """Make the row of where an item has ended."""
        entries = [*self._end(b"]", at.what.ending(at.inside)), *self._spaces(at)]
        found = self._item(at.what, at.inside)
        if found is not None:
            entries.append(self._mark(self.layout.comma, self._wanted(*found)))
        self.set_row(state, entries)

    def _item(self, items: Items, inside: Any) -> tuple[Goal, int] | None:
        """Return what the next item is to be, and its frame; None if there may be none."""
        goal = items.goal(inside)
        if goal is None:
            return None
        frame = self._value_frame(ItemOf(items, inside), goal)
        if items.are_different(inside):
            self.recalling.add(frame)
        return goal, frame

    def _after_item(self, class_tag: int, pushed: ItemOf) -> int:
        items, inside = pushed
        after = items.after(inside, _asked(items, inside), class_tag)
        return self._state(ItemEnded(items, after, self.layout.space))

    #: What makes the row of a state of each kind, and what follows each kind of frame.
    _rows: ClassVar[dict[type, Callable[..., None]]] = {
        InLexeme: _row_of_lexeme,
        Value: _row_of_value,
        End: _row_of_end,
        Shut: _row_of_shut,
        Mark: _row_of_mark,
        ObjectBegun: _row_of_object,
        NameDue: _row_of_name,
        PropertyEnded: _row_of_property,
        Colon: _row_of_colon,
        ArrayBegun: _row_of_array,
        ItemEnded: _row_of_item,
    }
    _follows_of: ClassVar[dict[type, Callable[..., int]]] = {
        Root: _after_root,
        NameOf: _after_name,
        PropertyOf: _after_property,
        ItemOf: _after_item,
    }

    # -- memory -----------------------------------------------------------------------------

    def follow_repeated(self, frame: int, tag: int) -> int:
        """Return the state that follows a part that has come before, `DEAD` if it may not."""
        pushed = self.meaning_of_frame(frame)
        if not isinstance(pushed, ItemOf):
            return DEAD
        items, inside = pushed
        with self.lock:
            after = items.after_repeated(inside, _asked(items, inside), tag)
            if after is None:
                return DEAD
            return self._state(ItemEnded(items, after, self.layout.space))

    def part(self, frame: int, tag: int, text: bytes) -> Hashable | None:
        """Return the value of a part that is to be different; None if it may come again.

        Names that are listed never do, and are known by their tags.
        """
        pushed = self.meaning_of_frame(frame)
        if isinstance(pushed, NameOf) and tag < pushed.what.n_listed:
            return None
        return value_of(text)

    def narrowed(self, memory: SeenParts) -> SeenParts:
        """Return a memory that knows what the parts that are being read can become no more."""
        return self.completions.narrowed(memory)

    def can_go_on(self, state: int, stack: Stack, memory: SeenParts) -> bool:
        """Return whether a text can be finished by parts that are different."""
        with self.lock:
            return self.completions.can_go_on(state, stack, memory)

    def is_free(self, before: ByteConfiguration, token: bytes, after: ByteConfiguration) -> bool:
        """Return whether a part can be finished in more ways than have come, however it began."""
        with self.lock:
            return self.completions.is_free(before, token, after)


def _room(n: int) -> int:
    """Return for how many classes there is room, where there are some."""
    return 1 << max(n - 1, 3).bit_length()


def _asked(items: Items, inside: Any) -> Goal:
    """Return what an item is to be that has begun."""
    goal = items.goal(inside)
    assert goal is not None, "there is such an item"
    return goal


def _scalar_parts(tracked: Tracked, goal: Goal, kind: str) -> list[tuple[Scalars, int]]:
    """Return the numbers or strings that meet a goal, with the tags of their classes."""
    return [
        (_scalars(condition), tag)
        for value_class, conditions in tracked.scalars(kind).languages.items()
        if (tag := goal.tag(value_class, kind)) is not None
        for condition in conditions
    ]


def _check_listed(node: Node) -> None:
    """Raise an error if many values are listed beside an alternative that lists none."""
    for branches in (node.any_of or (), node.one_of or ()):
        for kind in ("array", "object"):
            n = sum(len(each.constants.get(kind, ())) for each in branches)
            if n > _MOST_LISTED and not all(kind in each.constants for each in branches):
                raise SchemaError(
                    f"at {node.path or '/'}: {n} {kind}s are listed beside an alternative that "
                    f"lists none, and each has to be told apart from others of it; list "
                    f"{_MOST_LISTED} at most, or leave that alternative out"
                )


def _has_branches(node: Node) -> bool:
    """Return whether values may meet a node in several ways."""
    return len(node.any_of or ()) > 1 or len(node.one_of or ()) > 1 or node.conditional is not None


def _tags_to(tags: dict[str, int]) -> range:
    """Return all tags up to the last one."""
    return range(max(tags.values()) + 1)


def _strings(scalars: Scalars) -> ScalarAutomaton:
    """Return the strings of one class."""
    if scalars.words is not None:
        return Words(scalars.words)
    automaton, bounds = scalars.automaton, scalars.bounds
    if automaton is None:
        return any_strings() if bounds == _ANY_BOUNDS else Bounded([(None, bounds)])
    return strings_in((automaton,)) if bounds == _ANY_BOUNDS else Bounded([(automaton, bounds)])


def _several_strings(parts: Sequence[Scalars]) -> ScalarAutomaton:
    """Return the strings of several classes."""
    if all(scalars.words is not None for scalars in parts):
        tags = {word: tag for tag, scalars in enumerate(parts) for word in scalars.words or ()}
        return Words(list(tags), tags)
    automata = [scalars.automaton for scalars in parts]
    if all(scalars.bounds == _ANY_BOUNDS for scalars in parts):
        return strings_in(tuple(each for each in automata if each is not None))
    return Bounded([(each, scalars.bounds) for each, scalars in zip(automata, parts, strict=True)])


def _scalars(condition: Condition | None) -> Scalars:
    """Return what a condition asks for."""
    if condition is None:
        return Scalars(None)
    if condition.bounds is not None:
        return Scalars(None, condition.bounds)
    if not condition.is_wider:
        words = None if condition.words is None else tuple(sorted(condition.words))
        return Scalars(condition.language if words is None else condition.of_words, words=words)
    bounds = next(part.bounds for part in condition.parts if part.bounds is not None)
    return Scalars(condition.language, bounds)
