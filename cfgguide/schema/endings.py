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

from typing import Any

from cfgguide.parser.stack import Stack
from cfgguide.pushdown.automaton import DEAD
from cfgguide.pushdown.lexemes import Lexemes
from cfgguide.pushdown.shortest import ShortestLexemes, Written
from cfgguide.recognizer.recognizer import Configuration
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.schema.members import DEAD_END, Items, Members
from cfgguide.schema.unique import FRESH, REPEATED, UniqueItems, Used, value_of
from cfgguide.value_classes.tracked import Classes
from cfgguide.value_classes.values import Values

_MAX_BYTES = 20_000_000  # of endings that are remembered, about
_OVERHEAD = 500  # bytes of what is remembered beside a text
_MAX_NAMES = 8  # that are compared where a name has begun
_SHORT = 2  # bytes: no array or object is shorter

_Key = tuple[Values, Classes | None]
_Place = tuple[int, Stack]  # a state and a stack


class ShortestValues:
    """Writes short values, and what arrays and objects still need.

    Parameters
    ----------
    automaton : SchemaAutomaton
        Of the schema.
    used : frozenset of int
        The bytes that may be written.
    """

    def __init__(self, automaton: SchemaAutomaton, used: frozenset[int]) -> None:
        self._automaton = automaton
        self.lexemes = ShortestLexemes(used)
        self._known: dict[_Key, Written | None] = {}
        self._best: dict[_Key, Written] = {}  # of those that are being looked for
        self._visited: dict[_Key, None] | None = None  # in this round; None: nothing is looked for
        self._is_changed = False
        self._members: dict[tuple[Members, Any, bool], Written | None] = {}
        self._items: dict[tuple[Items, Any], Written | None] = {}

    def of(self, values: Values, wanted: Classes | None) -> Written | None:
        """Return a shortest value and the tag of its class; None if none is known yet."""
        if wanted == (values.every,):
            wanted = None
        key = (values, wanted)
        if key in self._known:
            return self._known[key]
        if self._visited is None:
            return self._settled(key)
        if key not in self._visited:
            self._visited[key] = None
            self._look_for(key)
        return self._best.get(key)

    def _settled(self, key: _Key) -> Written | None:
        """Look for a value, and for all that it needs, until none becomes shorter."""
        self._is_changed = True
        try:
            while self._is_changed:
                self._is_changed = False
                self._visited = {key: None}
                self._look_for(key)
            self._known |= {each: self._best.get(each) for each in self._visited or ()}
        finally:
            self._visited = None
            self._best = {}
        return self._known[key]

    def _look_for(self, key: _Key) -> None:
        found = self._shortest(*key)
        if found is not None and (key not in self._best or _is_less(found, self._best[key])):
            self._best[key] = found
            self._is_changed = True

    def _shortest(self, values: Values, wanted: Classes | None) -> Written | None:
        options = self._automaton.options(values, wanted)
        found: list[Written] = []
        for lexer, quote in (
            (options.constants, b""),
            (options.numbers, b""),
            (options.strings, b'"'),
        ):
            if lexer is not None:
                end = self.lexemes.end(lexer.lexemes, lexer.lexemes.start)
                if end is not None:
                    found.append(Written(quote + end.text, lexer.tags[end.tag]))
        if any(len(each.text) <= _SHORT for each in found):
            return _least(found)
        if options.items is not None:
            items = self.items(options.items, options.items.start)
            if items is not None:
                found.append(Written(b"[" + items.text + b"]", items.tag))
        if options.unique is not None:
            unique = self.different(options.unique, options.unique.start)
            if unique is not None:
                found.append(Written(b"[" + unique.text + b"]", unique.tag))
        if options.members is not None:
            members = self.members(options.members, options.members.start)
            if members is not None:
                found.append(Written(b"{" + members.text + b"}", members.tag))
        return _least(found)

    # -- arrays and objects -----------------------------------------------------------------

    def items(self, items: Items, state: Any) -> Written | None:
        """Return the items that still have to come, and the tag of the array then."""
        key = (items, state)
        if key in self._items:
            return self._items[key]
        found = self._items_after(items, state)
        if self._visited is None:
            self._items[key] = found
        return found

    def _items_after(self, items: Items, state: Any) -> Written | None:
        path = items.path(state, self.length)
        if path is None:
            return None
        texts = []
        for wanted in path:
            values = items.values(state)
            assert values is not None, "there is such an item"
            written = self.of(values, wanted)
            if written is None:
                return None
            texts.append(written.text)
            state = items.after(state, wanted, written.tag)
        return Written(self._automaton.layout.comma.join(texts), items.ending(state))

    def different(
        self, items: UniqueItems, state: Used, *, is_some: bool = False
    ) -> Written | None:
        """Return the different items that still have to come, and the tag of the array then."""
        texts: list[bytes] = []
        while items.ending(state) == DEAD_END or (is_some and not texts):
            found = []
            for kind, lexemes, tags in items.lexemes(state):
                quote = b'"' if kind == "strings" else b""
                end = self.fresh(lexemes, lexemes.start, tags)
                if end is not None:
                    found.append(Written(quote + end.text, kind == "strings"))
            item = _least(found)
            if item is None:
                return None
            texts.append(item.text)
            after = items.after(state, value_of(item.text, is_string=bool(item.tag)))
            assert after is not None, "it has not come before"
            state = after
        return Written(self._automaton.layout.comma.join(texts), items.ending(state))

    def fresh(self, lexemes: Lexemes, key: Any, tags: list[int]) -> Written | None:
        """Return the end of an item that is unlike those before."""
        bits = sum(1 << number for number, tag in enumerate(tags) if tag != REPEATED)
        return self.lexemes.end(lexemes, key, tags=bits)

    def members(self, members: Members, state: Any, *, is_some: bool = False) -> Written | None:
        """Return the properties that still have to come, and the tag of the object then.

        With `is_some`, there is at least one.
        """
        key = (members, state, is_some)
        if key in self._members:
            return self._members[key]
        path = members.path(state, self.length)
        if path is None:
            found = None
        elif path or not is_some:
            found = self._written(members, state, path)
        else:
            found = self._any(members, state)
        if self._visited is None:
            self._members[key] = found
        return found

    def _written(
        self, members: Members, state: Any, path: list[tuple[int, Classes | None]]
    ) -> Written | None:
        """Return the properties of a path."""
        texts = []
        for tag, wanted in path:
            written = self.of(members.values(state, tag), wanted)
            if written is None:
                return None
            texts.append(self._name(members, tag) + self._automaton.layout.colon + written.text)
            state = members.after(state, tag, wanted, written.tag)
        return Written(self._automaton.layout.comma.join(texts), members.ending(state))

    def _any(self, members: Members, state: Any) -> Written | None:
        """Return a short property, and what has to follow, where none has to come."""
        allowed = members.allowed(state)
        tags = [tag for tag in range(members.n_tags) if allowed >> tag & 1]
        found = []
        for tag in [*tags[:_MAX_NAMES], *tags[_MAX_NAMES:][-1:]]:
            rest = self.after_name(members, state, tag)
            if rest is not None:
                found.append(Written(self._name(members, tag) + rest.text, rest.tag))
        return _least(found)

    def _name(self, members: Members, tag: int) -> bytes:
        """Return the name with a tag, in quotes."""
        lexemes, _ = members.lexemes_for(1 << tag)
        end = self.lexemes.end(lexemes, lexemes.start, tags=1 << tag)
        assert end is not None, "it can be written"
        return b'"' + end.text

    def after_name(self, members: Members, state: Any, tag: int) -> Written | None:
        """Return what follows a name: colon, value, and the properties that still have to come."""
        wanted = members.wanted(state, tag)
        written = self.of(members.values(state, tag), wanted)
        if written is None:
            return None
        rest = self.members(members, members.after(state, tag, wanted, written.tag))
        if rest is None:
            return None
        layout = self._automaton.layout
        more = layout.comma + rest.text if rest.text else b""
        return Written(layout.colon + written.text + more, rest.tag)

    def length(self, values: Values, wanted: Classes | None) -> int | None:
        """Return the length of a shortest value; None if none is known yet."""
        written = self.of(values, wanted)
        return None if written is None else len(written.text)


def _is_less(one: Written, other: Written) -> bool:
    return (len(one.text), one.text) < (len(other.text), other.text)


def _least(found: list[Written]) -> Written | None:
    return min(found, key=lambda each: (len(each.text), each.text), default=None)


class SchemaEndings:
    """Finds short endings of a schema's texts.

    Parameters
    ----------
    automaton : SchemaAutomaton
        Of the schema; it is changed as states are made.
    used : frozenset of int
        The bytes that occur in tokens.

    Examples
    --------
    >>> import cfgguide
    >>> schema = {"properties": {"a": {"type": "array"}}, "required": ["b"], "type": "object"}
    >>> index = cfgguide.compile(cfgguide.json_schema(schema), cfgguide.Vocabulary.of_bytes([]))
    >>> endings = index.endings()
    >>> endings.of(index.recognizer.advance(index.recognizer.initial, b'{"a": [1, {"b": "x'))
    b'"}],"b":0}'
    """

    def __init__(self, automaton: SchemaAutomaton, used: frozenset[int]) -> None:
        self._automaton = automaton
        self._values = ShortestValues(automaton, used)
        self._known: dict[_Place, bytes] = {}
        self._n_bytes = 0

    def of(self, configuration: Configuration) -> bytes | None:
        """Return bytes after which the text is a sentence."""
        ((state, _, stack, _),) = configuration.hypotheses
        with self._automaton.lock:
            return self._ending((state, stack))

    def _ending(self, place: _Place) -> bytes:
        texts: list[tuple[_Place, bytes]] = []
        ending = self._known.get(place)
        while ending is None:
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
        kind, *rest = self._automaton.meaning(state)
        if not isinstance(kind, str):
            return self._lexeme(kind, rest[0], stack)
        if kind == "end":
            return b"", None
        if kind == "text":
            text, place, then = rest
            return text[place:], (then, stack)
        if kind == "shut":
            bracket, tag = rest[:2]
            return bracket, self._popped(stack, tag)
        if kind in ("value", "colon"):
            colon = self._automaton.layout.colon if kind == "colon" else b""
            values, wanted, frame = rest[:3]
            written = self._values.of(values, wanted)
            assert written is not None, "there is a value"
            return colon + written.text, (self._automaton.follow(frame, written.tag), stack)
        return self._inside(kind, rest[0], rest[1], stack)

    def _inside(self, kind: str, what: Any, inside: Any, stack: Stack) -> tuple[bytes, _Place]:
        """Return the end of an object or array, before or after which something has come."""
        if kind in ("different", "unused", "used"):
            written, bracket = self._values.different(what, inside, is_some=kind == "unused"), b"]"
        elif kind in ("items", "next"):
            written, bracket = self._values.items(what, inside), b"]"
        else:
            written = self._values.members(what, inside, is_some=kind == "name")
            bracket = b"}"
        assert written is not None, "it can end"
        assert written.tag != DEAD_END, "it ends there"
        is_next = kind in ("more", "next", "used") and written.text
        comma = self._automaton.layout.comma if is_next else b""
        return comma + written.text + bracket, self._popped(stack, written.tag)

    def _popped(self, stack: Stack, tag: int) -> _Place:
        return self._automaton.follow(stack.state, tag), stack.pop(1)

    def _lexeme(self, lexer: Any, key: Any, stack: Stack) -> tuple[bytes, _Place]:
        """Return the end of a lexeme."""
        frame_kind, *frame = self._automaton.meaning_of_frame(stack.state)
        if frame_kind == "unique":
            return self._item(lexer, key, stack, is_string=frame[2])
        if frame_kind == "name":
            end = self._name(lexer, key, *frame)
        else:
            end = self._values.lexemes.end(lexer.lexemes, key)
        assert end is not None, "there is an end"
        return end.text, self._popped(stack, lexer.tags[end.tag])

    def _item(self, lexer: Any, key: Any, stack: Stack, *, is_string: bool) -> tuple[bytes, _Place]:
        """Return the end of an item of an array of different ones.

        After a walk, it is not known how the item begins; so neither is what has come with it.
        """
        end = self._values.fresh(lexer.lexemes, key, lexer.tags)
        assert end is not None, "there is an end"
        text = self._automaton.text_of(stack.state) + end.text
        if not text or (is_string and text[:1] != b'"'):
            return end.text, self._popped(stack, FRESH)
        after = self._automaton.follow_text(stack.state, FRESH, text)
        if after == DEAD:
            after = self._automaton.follow(stack.state, FRESH)
        return end.text, (after, stack.pop(1))

    def _name(self, lexer: Any, key: Any, members: Members, inside: Any) -> Written | None:
        """Return the end of a name: the nearest, or one that has to come anyway."""
        allowed = members.allowed(inside)
        nearest = self._values.lexemes.end(lexer.lexemes, key, tags=allowed)
        found: dict[int, Written | None] = {} if nearest is None else {nearest.tag: nearest}
        below = lexer.lexemes.traits(key).below
        bits = allowed if below is None else allowed & below[0]
        path = members.path(inside, self._values.length) or []
        needed = [tag for tag, _ in path if bits >> tag & 1 and tag not in found]
        for tag in needed[:_MAX_NAMES]:
            found[tag] = self._values.lexemes.end(lexer.lexemes, key, tags=1 << tag)
        if len(found) == 1:
            return nearest
        costs = {}
        for tag, end in found.items():
            rest = self._values.after_name(members, inside, tag)
            if end is not None and rest is not None:
                costs[tag] = len(end.text) + len(rest.text)
        return found[min(costs, key=lambda tag: (costs[tag], tag))]
