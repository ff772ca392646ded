"""Reads a JSON Schema into nodes, one for each schema in it, and follows all references.

In: a schema as ``json.load`` returns it. Out: the :class:`~cfgguide.schema.solver.nodes.Node` of
its root. ``$schema`` tells drafts 4, 6, 7, 2019-09 and 2020-12 apart, and keywords that the draft
does not know are ignored; without it, 2020-12 is assumed, and keywords of all drafts are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any

from cfgguide.automata import numbers
from cfgguide.automata.ecma_patterns import (
    is_surely_found,
    later_language,
    pattern_language,
    pattern_text,
)
from cfgguide.automata.json_spelling import spelled
from cfgguide.automata.language import Language, is_small_together
from cfgguide.automata.pattern_automaton import GrowingAutomaton
from cfgguide.automata.pattern_notations import with_common_spaces
from cfgguide.automata.pattern_reader import MAX_CHARACTERS
from cfgguide.automata.pieces import PieceAutomaton
from cfgguide.automata.string_formats import (
    FORMATS,
    LONGEST,
    PARTS,
    format_pattern,
    later_format,
)
from cfgguide.base.limits import check_step
from cfgguide.errors import SchemaError, shown
from cfgguide.schema.keywords import (
    APPLICATORS,
    CONDITIONS,
    FINITE,
    OF_ARRAYS,
    OF_NUMBERS,
    OF_OBJECTS,
    OF_STRINGS,
    OPENAPI_FORMATS,
    OWN_KEYWORDS,
    QUOTE,
    TYPES,
    UNCHECKED,
    WHOLE,
    Keywords,
    meant_keyword,
    meant_members,
    meant_type,
    unknown_keywords,
)
from cfgguide.schema.quoted_strings import Quote
from cfgguide.schema.references import (
    NO_SIBLINGS,
    OLD_ITEMS,
    REFERENCES,
    WRITTEN_WHOLE,
    Alike,
    Location,
    References,
)
from cfgguide.schema.solver.listed_values import check_text, scalar_values, shape
from cfgguide.schema.solver.nodes import (
    Condition,
    Contexts,
    ListedValues,
    Node,
    closable,
    kinds_of,
    reachable,
    wanted_to_fail,
)
from cfgguide.schema.solver.scalars import of_lengths
from cfgguide.schema.solver.values import ask_for_any

Schema = Mapping[str, Any] | bool

MAX_NODES = 20_000
_MANY_LISTED = 5_000  # values
#: Of what is asked of one value: states of the automaton of all, and of those for each of the ways
#: in which values meet that. Numbers have few letters.
_MOST_TOGETHER = {"number": (20_000, 400_000), "string": (5_000, 200_000), "name": (5_000, 200_000)}
TOO_LARGE = (
    "with what else is asked of the same values it needs too large an automaton; use smaller "
    "bounds or fewer patterns for one value"
)
_NAMING = frozenset(["title", "description"])


class SchemaReader:
    r"""Makes the nodes of one schema.

    Parameters
    ----------
    schema : mapping or bool
        The root.
    formats : bool
        Whether ``format`` is a condition; otherwise it is a comment.
    best_effort : bool
        Whether conditions that cannot be guaranteed are left out with a warning.
    registry : mapping of str to schema
        Other documents that references name, by their URIs.
    has_common_spaces : bool
        Whether ``\s`` is written as white space of JSON alone, where a string is to match.
    is_closed : bool
        Whether objects have declared properties only, where the schema says nothing of others.
    excludes : str
        A pattern of what no string and no name has inside, as Python's ``re`` has them.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        formats: bool,
        best_effort: bool,
        registry: Mapping[str, Any] = MappingProxyType({}),
        has_common_spaces: bool = False,
        is_closed: bool = False,
        excludes: str = "",
    ) -> None:
        self._is_closed = is_closed
        self._excludes = excludes
        self._has_common_spaces = has_common_spaces
        self._spaced: list[tuple[Node, str, str]] = []  # patterns, and where they stand
        #: What is not enforced, or read otherwise than it says: the path of each keyword, and why.
        self.left_out: list[tuple[str, str]] = []
        #: What the user has to be told of that.
        self.warnings: list[str] = []
        self._references = References(schema, registry, note=self._note, warn=self.warnings.append)
        self._formats = formats
        self._best_effort = best_effort
        self._nodes: dict[object, Node] = {}
        self._alike = Alike()
        #: Formats of which a part is written, where they stand, and the conditions.
        self._parts: list[tuple[Node, str, str, list[Condition]]] = []
        self._unread: list[tuple[Node, Location]] = []
        #: Conditions whose automaton may be too large, the node of each, and where it stands.
        self._growing: list[tuple[Node, str, Condition]] = []
        #: About what there are conditions whose automata may be too large together.
        self._together: dict[str, None] = {}

    def root(self) -> Node:
        """Return the node of the whole schema.

        Raises
        ------
        SchemaError
            If the schema is invalid, or requires what cannot be guaranteed.
        """
        root = self._node(self._references.root)
        for node, location in self._unread:
            check_step()
            self._read(node, location)
        _check_references(root)
        for node in closable(root) if self._is_closed else ():
            node.additional = Node(f"{node.path}/additionalProperties", is_false=True)
        failing = wanted_to_fail(root) if self._spaced or self._parts else ()
        for node, path, name, conditions in self._parts:
            if node in failing:  # what is no part of it may be another text of it
                node.strings = _without(node.strings, conditions)
                self.give_up(path, f"the format {shown(name)} is not regular")
            else:
                self._warn(path, f"of the format {name!r}, only {PARTS[name]!r} is written")
        for node, path, pattern in self._spaced:
            written = pattern if node in failing else with_common_spaces(pattern)
            self._add_pattern(node, path, written)
        if self._growing or self._together:
            self._check_large(Contexts(root))
        ask_for_any(root)
        # Only now: it sees all values, and so all nodes would be together.
        return self._joined(root) if self._excludes else root

    def _joined(self, root: Node) -> Node:
        """Return what a root requires, and that no string and no name has what is excluded."""
        texts = pattern_language(rf"^(?![^]*(?:{self._excludes}))")
        node = Node(
            "", strings=(Condition(texts, is_met=True),), additional=Node("", is_false=True)
        )
        node.items, node.patterns = node, ((texts, node),)
        return Node(root.path, all_of=(root, node))

    def _check_large(self, contexts: Contexts) -> None:
        """Check that automata that have to be made as a whole are not too large.

        An error is raised now, not in the middle of a text.
        """
        apart = contexts.not_only_read() if self._growing else ()
        asked = {node for context in apart for node in context}
        for node, path, condition in self._growing:
            if node in asked:
                try:
                    _ = condition.language
                except SchemaError as error:
                    node.strings = _without(node.strings, [condition])
                    self.give_up(path, str(error.args[0]))
        for kind in self._together:
            for group in contexts.conditions(kind):
                self._check_together(group, kind)

    def _check_together(self, group: list[tuple[Node, Condition]], kind: str) -> None:
        """Leave out conditions until an automaton of the others is small enough."""
        languages = [numbers.decimals()] if kind == "number" else list[Language]()
        for node, condition in group:
            try:
                if is_small_together([*languages, condition.language], *_MOST_TOGETHER[kind]):
                    languages.append(condition.language)
                    continue
                problem = TOO_LARGE
            except SchemaError as error:
                problem = str(error.args[0])
            self.give_up(f"{node.path}/{_leave_out(node, condition, kind)}", problem)

    def give_up(self, path: str, problem: str) -> None:
        """Warn that a condition cannot be guaranteed.

        Raises
        ------
        SchemaError
            Instead of the warning, unless the user wants `best_effort`.
        """
        if not self._best_effort:
            raise SchemaError(f"at {path or '/'}: {problem}; best_effort=True leaves it out")
        self._note(path or "/", problem)
        self.warnings.append(f"at {path or '/'}: {problem}; it is left out")

    def _note(self, path: str, problem: str) -> None:
        self.left_out.append((path, problem))

    def _warn(self, path: str, problem: str) -> None:
        """Note what is not enforced, and tell the user, who did not expect it."""
        self._note(path or "/", problem)
        self.warnings.append(f"at {path or '/'}: {problem}")

    def _node(self, location: Location) -> Node:
        check_step()
        location = self._references.entered(location)
        schema = location.schema
        # Whatever it is called, it asks for the same: hundreds of kinds have members in common.
        if isinstance(schema, Mapping) and not _NAMING.isdisjoint(schema):
            schema = {key: schema[key] for key in schema if key not in _NAMING}
        key = (location.base, location.scope, location.dialect, self._alike.key(schema))
        if key not in self._nodes:
            if len(self._nodes) >= MAX_NODES:
                raise SchemaError(f"the schema has more than {MAX_NODES} schemas; split it")
            self._nodes[key] = Node(location.path)
            self._unread.append((self._nodes[key], location))
        return self._nodes[key]

    def _read(self, node: Node, location: Location) -> None:
        schema = location.schema
        if isinstance(schema, bool):
            node.is_false = not schema
            return
        if not isinstance(schema, Mapping):
            named = isinstance(schema, str) and schema in TYPES
            hint = f'; write {{"type": "{schema}"}}' if named else ""
            raise SchemaError(
                f"at {location.path or '/'}: a schema is an object or a truth value{hint}"
            )
        schema = self._known_part(location)
        reads = Keywords(schema, location.path)
        if "$ref" in schema and location.dialect in NO_SIBLINGS:
            node.all_of += (self._node(self._references.target(location, "$ref")),)
            return
        for keyword in REFERENCES:
            if keyword in schema:
                node.all_of += (self._node(self._references.target(location, keyword)),)
        self._read_values(node, location, reads)
        if not OWN_KEYWORDS.isdisjoint(schema):
            self._read_types(node, reads)
        if not schema.keys().isdisjoint(APPLICATORS):
            self._read_applicators(node, location, reads)
        if not schema.keys().isdisjoint(OF_NUMBERS):
            self._read_numbers(node, location, reads)
        if not schema.keys().isdisjoint(OF_STRINGS):
            self._read_strings(node, reads)
        if not schema.keys().isdisjoint(OF_ARRAYS):
            self._read_array(node, location, reads)
        if not schema.keys().isdisjoint(OF_OBJECTS):
            self._read_object(node, location, reads)

    def _known_part(self, location: Location) -> Mapping[str, Any]:
        """Return a schema without what its draft ignores, which is noted."""
        schema: Mapping[str, Any] = location.schema
        draft = f"draft {location.dialect}"
        if "$ref" in schema and location.dialect in NO_SIBLINGS:
            ignored = [keyword for keyword in schema if keyword in CONDITIONS]
            why = f"{draft} ignores what stands beside $ref"
        else:
            ignored = unknown_keywords(schema, location.dialect)
            why = f"{draft} does not know it"
        for keyword in ignored:
            self._note(f"{location.path}/{keyword}", why)
        for keyword in schema:
            meant = meant_keyword(keyword)
            if meant is not None:
                path = f"{location.path}/{keyword}"
                self._warn(path, f"it is no keyword; did you mean {meant!r}?")
        if isinstance(schema.get("required"), bool):
            self._warn(
                f"{location.path}/required",
                "a truth value says nothing: the object around it lists the names that it requires",
            )
        for name, meant in meant_members(schema):
            self._warn(
                f"{location.path}/required", f"{shown(name)} is no member; did you mean {meant!r}?"
            )
        return {key: schema[key] for key in schema if key not in ignored} if ignored else schema

    def _below(self, location: Location, *steps: str | int) -> Node:
        return self._node(self._references.below(location, *steps))

    def _read_values(self, node: Node, location: Location, reads: Keywords) -> None:
        names = reads.schema.get("type")
        if "type" in reads.schema:
            listed = [names] if isinstance(names, str) else names
            if (
                not isinstance(listed, list)
                or not listed
                or not all(isinstance(name, str) and name in TYPES for name in listed)
            ):
                meant = meant_type(names)
                reads.fail("type", f"is one or more of {', '.join(TYPES)}{meant}")
            node.kinds = kinds_of(frozenset(kind for name in listed for kind in TYPES[name]))
            # Types are alternatives: beside "number" an integer is nothing more.
            if "integer" in listed and "number" not in listed:
                is_written = location.dialect in WRITTEN_WHOLE
                whole = numbers.written_whole if is_written else numbers.later_multiples(Decimal(1))
                node.numbers += (Condition(whole),)
        listed = reads.listed("enum") if "enum" in reads.schema else None
        if listed is not None:
            node.values = self._values(location, listed)
        if "const" in reads.schema:
            found = self._values(location, [reads.schema["const"]])
            if node.values is None:
                node.values = found
            else:
                # A node has one list; both lists have to have the value.
                extra = Node(f"{location.path}/const", values=found)
                node.all_of += (extra,)

    def _read_types(self, node: Node, reads: Keywords) -> None:
        """Read what the schema of a type says, and no other."""
        schema = reads.schema
        if UNCHECKED in schema:
            self._warn(reads.path, f"{schema[UNCHECKED]}; texts may be refused after all")
        if not self._has_common_spaces:  # tidy numbers are whole and finite anyway
            if WHOLE in schema:
                node.numbers += (Condition(numbers.written_whole),)
            if FINITE in schema:
                node.numbers += (Condition(numbers.finite),)
        if QUOTE in schema:
            quote = reads.check(QUOTE, Quote.of_keyword, schema[QUOTE])
            condition = Condition(quote.pieces, is_met=True)
            node.strings += (condition,)
            self._together["string"] = None
            self._growing.append((node, f"{reads.path}/{QUOTE}", condition))

    def _values(self, location: Location, values: list[Any]) -> ListedValues:
        nested, scalars = list[Any](), list[Any]()
        for value in values:
            check_step(0)
            (nested if isinstance(value, list | Mapping) else scalars).append(value)
        nodes = [self._node(self._references.constant(location, shape(value))) for value in nested]
        found = replace(scalar_values(scalars), nodes=tuple(nodes), nested=tuple(nested))
        if len(scalars) > _MANY_LISTED and found.numbers is not None:
            _ = found.numbers.language  # takes long; an error is raised now, not in a text
        return found

    def _read_applicators(self, node: Node, location: Location, reads: Keywords) -> None:
        def listed(keyword: str) -> tuple[Node, ...] | None:
            if keyword not in reads.schema:
                return None
            schemas = reads.listed(keyword)
            if not schemas:
                reads.fail(keyword, "has at least one schema")
            return tuple(self._below(location, keyword, n) for n in range(len(schemas)))

        node.all_of += listed("allOf") or ()
        node.any_of = listed("anyOf")
        node.one_of = listed("oneOf")
        if "not" in reads.schema:
            node.negated = self._below(location, "not")
        if "if" in reads.schema:
            then, other = (
                self._below(location, keyword) if keyword in reads.schema else None
                for keyword in ("then", "else")
            )
            node.conditional = (self._below(location, "if"), then, other)
        for name in reads.mapping("dependentSchemas"):
            node.dependent[name] = self._below(location, "dependentSchemas", name)
        for name, value in reads.mapping("dependencies").items():
            if isinstance(value, list):
                node.needs[name] = reads.names(f"dependencies/{name}", value)
            else:
                node.dependent[name] = self._below(location, "dependencies", name)

    def _read_numbers(self, node: Node, location: Location, reads: Keywords) -> None:
        bounds = (
            ("minimum", "exclusiveMinimum", numbers.at_least),
            ("maximum", "exclusiveMaximum", numbers.at_most),
        )
        for keyword, exclusive, make in bounds:
            is_old = location.dialect == "4"  # in which the exclusive ones are truth values
            found = reads.schema.get(exclusive)
            # In draft 4 it stands beside the bound and says that the bound itself is left out.
            is_strict = found is True or (is_old and bool(found))
            if is_old and not isinstance(found, bool | None):
                self._note(f"{reads.path}/{exclusive}", "draft 4 knows truth values only")
            for name, strict in ((keyword, is_strict), (exclusive, True)):
                is_number = not isinstance(reads.schema.get(name), bool)
                is_number = is_number and not (is_old and name == exclusive)
                bound = reads.number(name) if is_number else None
                if bound is not None:
                    reads.check(name, numbers.check_digits, bound)
                    node.numbers += (Condition(partial(make, bound, is_strict=strict)),)
        divisor = reads.number("multipleOf")
        if divisor is not None:
            if divisor <= 0:
                reads.fail("multipleOf", "is a number above 0")
            self._together["number"] = None
            node.numbers += self._guarded(f"{reads.path}/multipleOf", _multiples_of, divisor)

    def _guarded(
        self, path: str, make: Callable[[Any], Condition], argument: Any
    ) -> tuple[Condition, ...]:
        """Return a condition; give up if it cannot be made: then there is none."""
        try:
            return (make(argument),)
        except SchemaError as error:
            self.give_up(path, str(error.args[0]))
            return ()

    def _read_strings(self, node: Node, reads: Keywords) -> None:
        least, most = reads.count("minLength") or 0, reads.count("maxLength")
        if least or most is not None:
            node.strings += (of_lengths(least, most),)
        pattern = reads.schema.get("pattern")
        if pattern is not None:
            if not isinstance(pattern, str):
                reads.fail("pattern", "is a regular expression")
            reads.check("pattern", check_text, pattern)
            self._together["string"] = None
            if self._has_common_spaces and r"\s" in pattern:
                # It is read once all nodes are known: where it may have to fail, `\s` keeps its
                # meaning.
                self._spaced.append((node, f"{reads.path}/pattern", pattern))
            else:
                self._add_pattern(node, f"{reads.path}/pattern", pattern)
        name = reads.schema.get("format")
        if not isinstance(name, str | None):
            self._warn(f"{reads.path}/format", "it is no name of a format, so any text may come")
        if self._formats and isinstance(name, str):
            written = PARTS.get(name, name)
            if written in FORMATS:
                self._together["string"] = None
                text = partial(pattern_text, format_pattern(written), spelled)
                found = [Condition(later_format(written), text, is_met=True)]
                if written in LONGEST:
                    found.append(of_lengths(0, LONGEST[written]))
                node.strings += tuple(found)
                if name in PARTS:
                    self._parts.append((node, f"{reads.path}/format", name, found))
            elif name not in OPENAPI_FORMATS:
                self._warn(f"{reads.path}/format", f"the format {shown(name)} is not known")

    def _add_pattern(self, node: Node, path: str, pattern: str) -> None:
        """Add the condition that a string matches a pattern; give up if it cannot be made."""
        for condition in self._guarded(path, partial(_pattern_condition, is_late=True), pattern):
            node.strings += (condition,)
            if isinstance(condition.made, GrowingAutomaton) and not condition.made.is_deterministic:
                self._growing.append((node, path, condition))

    def _read_array(self, node: Node, location: Location, reads: Keywords) -> None:
        is_old = location.dialect in OLD_ITEMS
        first = "items" if isinstance(reads.schema.get("items"), list) else "prefixItems"
        if first == "items" or not is_old:
            node.prefix = tuple(
                self._below(location, first, number) for number in range(len(reads.listed(first)))
            )
        rest = "additionalItems" if first == "items" else "items"
        if rest in reads.schema:
            node.items = self._below(location, rest)
        if "contains" in reads.schema:
            node.contains = self._below(location, "contains")
            least = reads.count("minContains")
            node.n_contains = (1 if least is None else least, reads.count("maxContains"))
            node.contains_evaluates = not is_old
        node.n_items = (reads.count("minItems") or 0, reads.count("maxItems"))
        is_unique = reads.schema.get("uniqueItems", False)
        if not isinstance(is_unique, bool):
            self._warn(
                f"{reads.path}/uniqueItems", "it is neither true nor false, so items may repeat"
            )
        node.is_unique = is_unique is True
        if "unevaluatedItems" in reads.schema:
            node.unevaluated_items = self._below(location, "unevaluatedItems")

    def _read_object(self, node: Node, location: Location, reads: Keywords) -> None:
        for name in reads.checked_names("properties"):
            node.properties[name] = self._below(location, "properties", name)
        if "patternProperties" in reads.schema or "propertyNames" in reads.schema:
            self._together["name"] = None
        for pattern in reads.checked_names("patternProperties"):
            path = f"{reads.path}/patternProperties"
            for condition in self._guarded(path, _pattern_condition, pattern):
                below = self._below(location, "patternProperties", pattern)
                node.patterns += ((condition.language, below),)
        if "additionalProperties" in reads.schema:
            node.additional = self._below(location, "additionalProperties")
        if "propertyNames" in reads.schema:
            node.names = self._below(location, "propertyNames")
        if not isinstance(reads.schema.get("required"), bool):  # draft 3 has truth values
            node.required = reads.names("required", reads.listed("required"))
        for name, needed in reads.mapping("dependentRequired").items():
            node.needs[name] = reads.names(f"dependentRequired/{name}", needed)
        node.n_properties = (reads.count("minProperties") or 0, reads.count("maxProperties"))
        if "unevaluatedProperties" in reads.schema:
            node.unevaluated = self._below(location, "unevaluatedProperties")


def _without(
    conditions: Sequence[Condition], left_out: Collection[Condition]
) -> tuple[Condition, ...]:
    return tuple(each for each in conditions if each not in left_out)


def _leave_out(node: Node, condition: Condition, kind: str) -> str:
    """Remove a condition from a node; return the keyword that asks for it."""
    if kind == "number":
        node.numbers = _without(node.numbers, [condition])
        return "multipleOf"
    if kind == "string":
        node.strings = _without(node.strings, [condition])
        return QUOTE if isinstance(condition.made, PieceAutomaton) else "pattern"
    left = tuple(each for each in node.patterns if each[0] is not condition.made)
    if len(left) == len(node.patterns):
        node.names = None
        return "propertyNames"
    node.patterns = left
    return "patternProperties"


def _pattern_condition(pattern: str, *, is_late: bool = False) -> Condition:
    if len(pattern) > MAX_CHARACTERS:
        raise SchemaError(
            f"a pattern has {len(pattern)} characters, more than {MAX_CHARACTERS}; list texts as "
            "enum"
        )
    made, is_met = later_language(pattern, is_late=is_late), is_surely_found(pattern)
    return Condition(made, partial(pattern_text, pattern, spelled), is_met=is_met)


def _multiples_of(divisor: Decimal) -> Condition:
    return Condition(numbers.later_multiples(divisor))


def _check_references(root: Node) -> None:
    """Check that no schema refers to itself for the same value.

    Raises
    ------
    SchemaError
        If one does.
    """
    nodes = reachable(root)
    try:
        TopologicalSorter({node: node.in_place for node in nodes}).prepare()
    except CycleError as error:
        first = next(node for node in nodes if node in error.args[1])
        raise SchemaError(
            f"at {first.path or '/'}: the schema refers to itself before anything of the value is "
            "looked at; it never ends"
        ) from None
