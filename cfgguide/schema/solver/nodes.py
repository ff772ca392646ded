"""The nodes of a JSON Schema: what each schema in it requires of a value.

A :class:`Node` has the keywords of one schema, and the other nodes that see the same value
(`in_place`) or the values inside it (`inner`). Conditions on numbers and strings are languages.
:mod:`cfgguide.schema.reader` makes nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

from cfgguide.automata.language import Language, TextAutomaton, accepts
from cfgguide.base.derived import derived
from cfgguide.base.limits import check_step
from cfgguide.base.sets import reached_from
from cfgguide.engine.byte_machine.scalars import Bounds, is_within
from cfgguide.schema.equality import hashable, kind_of

KINDS = ("null", "true", "false", "number", "string", "array", "object")
UNBOUNDED = KINDS[3:]  # of all others there is one value each
_OF_OBJECTS = {
    *("kinds", "properties", "patterns", "additional", "names", "required", "needs"),
    *("n_properties", "unevaluated"),
}
_MOST_IN_CONTEXTS = 500_000  # nodes, half a second; of 188 schemas of SchemaStore the most is 1,518


class Condition:
    """What is required of a number or a string.

    Parameters
    ----------
    language : TextAutomaton or callable
        The spellings of the numbers, or the texts; or what returns them when they are needed.
    text : str or callable, optional
        A pattern of the same language, shorter than one made from the automaton; or what returns
        it.
    parts, without : tuple of Condition
        If known, conditions whose intersection this one is, and conditions to be left out of it.
    is_wider : bool
        Whether only the parts are exact, and the language has more texts.
    bounds : (int, int or None), optional
        The least and the most characters, if nothing else is required.
    words : frozenset of str, optional
        The texts, if they were listed.
    is_met : bool
        Whether some text surely meets it; known without the language.
    asserted : str, optional
        A pattern that tells the numbers of this condition among those of its one part.
    """

    def __init__(
        self,
        language: TextAutomaton | Callable[[], Language],
        text: str | Callable[[], str | None] | None = None,
        parts: tuple[Condition, ...] = (),
        without: tuple[Condition, ...] = (),
        *,
        is_wider: bool = False,
        bounds: Bounds | None = None,
        words: frozenset[str] | None = None,
        is_met: bool = False,
        asserted: str | None = None,
    ) -> None:
        self.made = language
        self.asserted = asserted
        self._text = text
        self.parts = parts
        self.without = without
        self.is_wider = is_wider
        self.bounds = bounds
        self.words = words
        self.is_met = is_met

    @derived
    def text(self) -> str | None:
        """A shorter pattern of the same language, if there is one."""
        return self._text() if callable(self._text) else self._text

    def of_words(self) -> Language:
        """Return the language, for whoever asks for it later."""
        return self.language

    @derived
    def language(self) -> Language:
        """The spellings of the numbers, or the texts; raises SchemaError if it is too large."""
        return self.made() if callable(self.made) else self.made.language

    @property
    def automaton(self) -> TextAutomaton:
        """The same, as it is read."""
        return self.language if callable(self.made) else self.made

    @property
    def n_states(self) -> int:
        """About how many states the language has; those of lengths are not made for it."""
        if self.bounds is not None:
            return max(self.bounds[0], self.bounds[1] or 0) + 2
        return len(self.language.rows)

    def meets(self, text: str) -> bool:
        """Return whether a text meets the condition."""
        if self.bounds is not None:
            return is_within(len(text), self.bounds)
        return text in self.words if self.words is not None else accepts(self.automaton, text)


#: A value that a schema lists, and the node of an array or object that only it meets.
Constant = tuple[Any, "Node | None"]
Constants = Mapping[str, Mapping[Hashable, Constant]]  # by kind, and by what is equal
_NOTHING: Mapping[Hashable, Constant] = MappingProxyType({})


@dataclass(frozen=True)
class ListedValues:
    """The values of an enumeration, by their types."""

    constants: frozenset[str]  # of "null", "true", "false"
    numbers: Condition | None
    strings: Condition | None
    nodes: tuple[Node, ...] = ()  # one for each array and object
    nested: tuple[Any, ...] = ()  # arrays and objects
    scalars: tuple[Any, ...] = ()  # all others

    @derived
    def by_kind(self) -> dict[str, dict[Hashable, Constant]]:
        """The values, by kind and by what is equal for equal ones."""
        found: dict[str, dict[Hashable, Constant]] = {}
        nodes = (*(None for _ in self.scalars), *self.nodes)
        for each in zip((*self.scalars, *self.nested), nodes, strict=True):
            check_step()
            found.setdefault(kind_of(each[0]), {}).setdefault(hashable(each[0]), each)
        return found

    def of(self, kinds: Collection[str]) -> Mapping[Hashable, Constant]:
        """Return the values of some kinds, by what is equal for equal ones."""
        found = [each for kind, each in self.by_kind.items() if kind in kinds]
        if len(found) < 2:
            return found[0] if found else _NOTHING
        return {key: value for each in found for key, value in each.items()}


@dataclass(eq=False, slots=True)
class Node:
    """What one schema requires of a value.

    There are thousands of them, and most require little. So they have no `__dict__`, and what is
    empty is one tuple for all: Python's collector has nothing else to look at.
    """

    path: str
    is_false: bool = False
    kinds: frozenset[str] = frozenset(KINDS)
    values: ListedValues | None = None
    numbers: tuple[Condition, ...] = ()
    strings: tuple[Condition, ...] = ()
    # Applied to the same value.
    all_of: tuple[Node, ...] = ()
    any_of: tuple[Node, ...] | None = None
    one_of: tuple[Node, ...] | None = None
    negated: Node | None = None
    conditional: tuple[Node, Node | None, Node | None] | None = None
    dependent: dict[str, Node] = field(default_factory=dict)
    # Arrays.
    prefix: tuple[Node, ...] = ()
    items: Node | None = None
    contains: Node | None = None
    n_contains: Bounds = (1, None)
    n_items: Bounds = (0, None)
    is_unique: bool = False
    unevaluated_items: Node | None = None
    contains_evaluates: bool = True
    # Objects.
    properties: dict[str, Node] = field(default_factory=dict)
    patterns: tuple[tuple[Language, Node], ...] = ()
    additional: Node | None = None
    names: Node | None = None
    required: tuple[str, ...] = ()
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    n_properties: Bounds = (0, None)
    unevaluated: Node | None = None
    # What follows from these, once it was asked for.
    _is_trivial: bool | None = field(default=None, init=False)
    _meant: Node | None = field(default=None, init=False)
    _constants: Constants | None = field(default=None, init=False)
    #: Answers of `cfgguide.schema.solver.values.may_hold`, by kind.
    may_hold: dict[str, bool] = field(default_factory=dict, init=False)

    def keywords(self) -> dict[str, Any]:
        """Return what it requires, by keyword; of the others, nothing is said."""
        check_step()
        return {
            name: found
            for name, default in _DEFAULTS.items()
            if (found := getattr(self, name)) != default
        }

    @property
    def is_trivial(self) -> bool:
        """Whether it allows every value."""
        if self._is_trivial is None:
            self._is_trivial = not self.keywords()
        return self._is_trivial

    @property
    def is_alone(self) -> bool:
        """Whether it holds or not whatever others do that see the same value."""
        has_branches = self.any_of is not None or self.one_of is not None
        has_others = self.negated is not None or self.conditional is not None
        return not (self.all_of or self.dependent or has_branches or has_others)

    @property
    def is_of_objects(self) -> bool:
        """Whether every value of its kinds meets it that is no object."""
        return self.keywords().keys() <= _OF_OBJECTS

    @property
    def only(self) -> Mapping[Hashable, Constant] | None:
        """The values that meet it, by what is equal for equal ones, if it does nothing but list."""
        if self.values is None or not self.keywords().keys() <= {"values", "kinds"}:
            return None
        return self.values.of(self.kinds)

    @property
    def constants(self) -> Constants:
        """For each kind of which it lists the values all that may meet it, and perhaps others."""
        if self._constants is None:
            found = {kind: each for kind in UNBOUNDED if (each := self._listed(kind)) is not None}
            self._constants = found if any(found.values()) else _listing_none(frozenset(found))
        return self._constants

    def _listed(self, kind: str) -> Mapping[Hashable, Constant] | None:
        """Return the values of a kind that may meet it; None if they are not listed."""
        if self.is_false or kind not in self.kinds:
            return _NOTHING
        if self.values is not None:
            return self.values.of((kind,))
        found = [each.constants[kind] for each in self.all_of if kind in each.constants]
        for branches in (self.any_of, self.one_of):
            if branches is not None and all(kind in each.constants for each in branches):
                listed: dict[Hashable, Constant] = {}
                for each in branches:
                    listed |= each.constants[kind]
                found.append(listed)
        return min(found, key=len, default=None)

    @property
    def meant(self) -> Node:
        """The node that this one means: another one, if it only refers to that."""
        if self._meant is None:
            refers = len(self.all_of) == 1 and self.keywords().keys() == {"all_of"}
            self._meant = self.all_of[0].meant if refers else self
        return self._meant

    def excludes(self, other: Node) -> bool:
        """Return whether no value meets this node and another one, as their lists and kinds tell.

        Examples
        --------
        >>> null, text = Node("", kinds=frozenset(["null"])), Node("", kinds=frozenset(["string"]))
        >>> null.excludes(text), null.excludes(null)
        (True, False)
        """
        if self.is_false or other.is_false or self.kinds.isdisjoint(other.kinds):
            return True
        mine, others = self.values, other.values
        if mine is None or others is None:
            return False
        return (
            mine.constants.isdisjoint(others.constants)
            and (mine.numbers is None or others.numbers is None)
            and (not mine.nodes or not others.nodes)
            and _are_disjoint(mine.strings, others.strings)
        )

    def bounds_of(self, kind: str) -> Bounds:
        """Return how many items or properties it lets an array or object have."""
        return self.n_items if kind == "array" else self.n_properties

    def rest_of(self, kind: str) -> Node | None:
        """Return what it applies to items or properties that are not evaluated."""
        return self.unevaluated_items if kind == "array" else self.unevaluated

    def of_item(self, index: int) -> list[Node]:
        """Return the nodes that it applies to an item."""
        if index < len(self.prefix):
            return [self.prefix[index]]
        return [] if self.items is None else [self.items]

    def of_property(self, name: str) -> list[Node]:
        """Return the nodes that it applies to a property."""
        found = [self.properties[name]] if name in self.properties else []
        found += [child for language, child in self.patterns if language.accepts(name)]
        if not found and self.additional is not None:
            found.append(self.additional)
        return found

    @property
    def in_place(self) -> Iterator[Node]:
        """The nodes that see the same value."""
        yield from self.all_of
        yield from self.any_of or ()
        yield from self.one_of or ()
        if self.negated is not None:
            yield self.negated
        yield from (node for node in self.conditional or () if node is not None)
        yield from self.dependent.values()
        if self.values is not None:
            yield from self.values.nodes

    @property
    def inner(self) -> Iterator[Node]:
        """The nodes that see the items, names or properties of the value."""
        yield from self.prefix
        singles = (self.items, self.contains, self.unevaluated_items, self.additional)
        yield from (node for node in (*singles, self.names, self.unevaluated) if node is not None)
        yield from self.properties.values()
        yield from (node for _, node in self.patterns)


#: What a node has of each keyword that says nothing.
_DEFAULTS = {
    each.name: getattr(Node(""), each.name)
    for each in fields(Node)
    if each.init and each.name != "path"
}


@cache
def _listing_none(kinds: frozenset[str]) -> Constants:
    """Return the constants of nodes that list no value of some kinds: one object for all nodes."""
    return dict.fromkeys(kinds, _NOTHING)


@cache
def kinds_of(kinds: frozenset[str]) -> frozenset[str]:
    """Return a set of kinds: one object for all that are equal; there are at most 128."""
    return kinds


@lru_cache(maxsize=8)  # one value after another is asked about
def by_value(branches: tuple[Node, ...]) -> tuple[Counter[Hashable], list[Node]]:
    """Return how many branches do nothing but list each value, and the other branches."""
    counts: Counter[Hashable] = Counter()
    others = []
    for each in branches:
        listed = each.meant.only
        if listed is None:
            others.append(each)
        else:
            counts.update(listed.keys())
    return counts, others


def _are_disjoint(one: Condition | None, other: Condition | None) -> bool:
    """Return whether no text is in two lists of texts."""
    if one is None or other is None:
        return True
    return one.words is not None and other.words is not None and one.words.isdisjoint(other.words)


def is_typed(nodes: Iterable[Node]) -> bool:
    """Return whether one of the nodes that see a value says of what kind it is."""
    return any(len(node.kinds) < len(KINDS) for node in nodes)


def reachable(root: Node) -> list[Node]:
    """Return a node and all others that it refers to, the nearest first."""
    return list(reached_from([root], _referred))


def _referred(node: Node) -> tuple[Node, ...]:
    return (*node.in_place, *node.inner)


def wanted_to_fail(root: Node) -> set[Node]:
    """Return the nodes whose failure may let a value through."""
    queue: list[Node] = []
    for node in reachable(root):
        queue += [node.negated] if node.negated is not None else []
        queue += node.one_of or ()
        queue += [node.conditional[0]] if node.conditional is not None else []
        if node.contains is not None and node.n_contains[1] is not None:
            queue.append(node.contains)
    return set(reached_from(queue, _referred))


def closable(root: Node) -> list[Node]:
    """Return the nodes with properties that may have no others, and still the schema holds.

    They do not say what others may be; no schema has to fail for them; what they require they
    declare; and no other node sees the same object, or has anything to say of it.
    """
    nodes, failing = reachable(root), wanted_to_fail(root)
    shared: set[Node] = set()  # nodes that may see an object together with others
    for node in nodes:
        parts = list(node.in_place)
        is_shared = len(parts) > 1 and tuple(parts) != node.any_of
        if parts and (is_shared or _says_more(node)):
            shared.update(*map(closure_of, parts))
        # A declared name may match a pattern as well: its value sees both nodes.
        if node.patterns:
            named = (*node.properties.values(), *(each for _, each in node.patterns))
            shared.update(*map(closure_of, named))
        if node.contains is not None or node.unevaluated_items is not None:
            shared.update(*map(closure_of, filter(None, (*node.prefix, node.items, node.contains))))
    return [
        node
        for node in nodes
        if node.properties
        and node.additional is None
        and node.unevaluated is None
        and not node.patterns
        and not any(node.in_place)
        and node.properties.keys() >= {*node.required, *node.needs}.union(*node.needs.values())
        and node.n_properties[0] <= len(node.properties)
        and node not in failing
        and node not in shared
    ]


def closure_of(node: Node) -> set[Node]:
    """Return a node and all that see the same value because of it."""
    return set(reached_from([node], lambda each: each.in_place))


def _says_more(node: Node) -> bool:
    """Return whether a node says anything of objects beside other nodes that see the same value."""
    return not node.keywords().keys() <= {"any_of", "all_of", "kinds"}


def _tells_apart(node: Node) -> bool:
    """Return whether a node may be met in several ways, or needs to know what is inside."""
    return (
        any((node.any_of, node.one_of, node.negated, node.conditional, node.dependent))
        or (node.values is not None and bool(node.values.nodes))
        or any((node.contains, node.unevaluated_items))
        or any((node.names, node.needs, node.unevaluated))
        or node.n_properties != (0, None)
    )


class Contexts:
    """Sets of nodes that may see one value together, for each place in a value.

    A place is reached by names and items from the whole value. Nodes that a definition is referred
    to from are not together because of it: each place has the definition and its own nodes.

    Parameters
    ----------
    root : Node
        Of the whole schema.
    """

    def __init__(self, root: Node) -> None:
        self.nodes = reachable(root)
        #: By context, in the order of the places; with the contexts inside its values.
        self._inside: dict[Context, list[Context]] = {}
        left = _MOST_IN_CONTEXTS
        queue = [Context([root])]
        for context in queue:  # grows while it is walked
            if context in self._inside:
                continue
            left -= len(context)
            self._inside[context] = inside = [] if left < 0 else list(context.inside())
            queue += inside
        if left < 0:  # too many to be told apart: any node may see any value
            whole = Context(self.nodes)
            self._inside = {whole: [whole]}

    def not_only_read(self) -> dict[Context, None]:
        """Return the contexts whose values may have to be told apart, and perhaps others.

        The strings of all others are only read, or counted up to a few: what is required of them is
        never asked for as a whole. Where values are told apart, so are items, names and properties;
        where items are to be different, they are told apart if they are strings, and else counted.
        """
        apart = [each for each in self._inside if any(map(_tells_apart, each))]
        found = dict.fromkeys(reached_from(apart, self._inside.__getitem__))
        for context, inside in self._inside.items():
            items = {
                item
                for node in context
                if node.is_unique
                for item in (node.items, *node.prefix)
                if item is not None
            }
            found |= dict.fromkeys(each for each in inside if not items.isdisjoint(each))
        return found

    def conditions(self, kind: str) -> Iterator[list[tuple[Node, Condition]]]:
        """Yield groups of conditions of which an automaton may have to be made together.

        Parameters
        ----------
        kind : str
            "number", "string" or "name": what they are about. Strings belong together only where
            they may have to be told apart, and lengths are counted apart.
        """
        known: set[frozenset[int]] = set()
        for context in self.not_only_read() if kind == "string" else self._inside:
            found = {
                id(condition.made): (node, condition)
                for node in context
                for condition in _conditions(node, kind)
            }
            if frozenset(found) in known or not (len(found) > 1 or (found and kind == "name")):
                continue
            known.add(frozenset(found))
            yield list(found.values())


class Context(tuple[Node, ...]):
    """Nodes that may see one value together, in the order in which they are found; a set."""

    _nodes: frozenset[Node]

    def __new__(cls, nodes: Iterable[Node]) -> Context:
        """Return the context of some nodes, and of all that see the same value because of them."""
        return super().__new__(cls, reached_from(nodes, lambda each: each.in_place))

    def __init__(self, _: Iterable[Node]) -> None:
        check_step()
        self._nodes = frozenset(self)

    def __hash__(self) -> int:
        return hash(self._nodes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._nodes == other._nodes

    def inside(self) -> Iterator[Context]:
        """Yield the contexts of items, properties and names of the values."""
        places: dict[str | None, list[Node]] = {}
        for node in self:
            singles = (node.items, node.contains, node.unevaluated_items)
            places.setdefault(None, []).extend([*node.prefix, *filter(None, singles)])
        general: list[Node] = []
        others = [node for node in self if node.properties or node.additional or node.patterns]
        has_patterns = any(node.patterns for node in others)
        # One node alone gives each property a single schema, unless a name matches a pattern too.
        for node in others if len(others) > 1 or has_patterns else ():
            for name, below in node.properties.items():
                places.setdefault(f"/{name}", []).append(below)
            general += [below for _, below in node.patterns]
            general += [node.additional] if node.additional is not None else []
        # They may see any property, so one that asks nothing would be with all for no reason.
        general = [node for node in general if not _asks_nothing(node)]
        joined = [[*nodes, *general] for nodes in places.values() if nodes] or [general]
        seen = {node for nodes in joined for node in nodes}
        alone = [[node] for each in self for node in each.inner if node not in seen]
        yield from map(Context, filter(None, [*joined, *alone]))


def _conditions(node: Node, kind: str) -> Sequence[Condition]:
    """Return conditions of a node on numbers, on strings, or on names, without lengths."""
    if kind != "name" and kind not in node.kinds:
        return []  # none of them meets it anyway
    if kind == "number":
        return node.numbers
    if kind == "string":
        return [each for each in node.strings if each.bounds is None]
    found = [Condition(language) for language, _ in node.patterns]
    for inner in reachable(node.names) if node.names is not None else ():
        found += inner.strings
    return found


def _asks_nothing(node: Node) -> bool:
    """Return whether a node has nothing to do with strings, nor with what is inside."""
    has_others = any(node.in_place) or any(node.inner)
    return not (has_others or node.strings or _tells_apart(node))
