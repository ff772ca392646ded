"""The grammar of a JSON Schema: a pushdown automaton to write with, and a text to read.

In: the nodes of a schema and the options of :func:`cfgguide.json_schema`. Out: a
:class:`SchemaGrammar`. :func:`cfgguide.compile` takes its automaton, which is made as texts are
read. Its text, in Lark's language, is written only if somebody asks for it: to read it, to have it
judged by Lark, or to make it a part of another grammar.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cfgguide.base import archive
from cfgguide.base.collector import collector_off
from cfgguide.base.limits import Limits, Steps
from cfgguide.base.locks import new_lock
from cfgguide.engine.byte_machine.byte_machine import ByteMachine, Source
from cfgguide.errors import SchemaError, shown
from cfgguide.grammar.grammar import Grammar, GrammarOnRequest
from cfgguide.schema.automaton import JsonLayout, SchemaAutomaton
from cfgguide.schema.completions import new_automaton
from cfgguide.schema.solver.classes import ValueClasses
from cfgguide.schema.solver.nodes import Node, reachable
from cfgguide.schema.solver.search import Search
from cfgguide.schema.writer import SchemaWriter, Whitespace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from cfgguide.engine.index.index import Index
    from cfgguide.engine.machine.partial import Reading
    from cfgguide.engine.vocabulary.vocabulary import Vocabulary

VERSION = 1  # of what the masks mean
#: White space characters that are counted.
MAX_SPACE = 1_000_000
#: Characters of a separator: each is a state, between all items and members.
MAX_SEPARATOR = 1_000
#: How ``json.dumps`` writes.
SEPARATORS = (", ", ": ")
_SPACE = " \t\n\r"  # of JSON
#: What every JSON string may need: ASCII without control characters, and what goes on characters.
#: Characters that begin with other bytes can be escaped.
JSON_BYTES = frozenset(range(0x20, 0xC0))


@dataclass(frozen=True)
class SchemaOptions:
    """Options of :func:`cfgguide.json_schema`, which documents them.

    Attributes
    ----------
    excludes : str
        A pattern of what no string and no name has inside, as Python's ``re`` has them: where
        something else than JSON is around a value, what ends that. Empty if nothing is excluded.
    """

    order: str | None = None
    max_whitespace: int | None = None
    separators: tuple[str, str] | None = None
    formats: bool = True
    best_effort: bool = False
    registry: str = "{}"  # as JSON
    max_seconds: float = 5.0
    max_memory: int | None = None
    tidy: bool | None = False  # None, of messages: where a model writes
    closed: bool = False
    excludes: str = ""

    @property
    def layout(self) -> JsonLayout:
        """How values are written."""
        separators, is_tidy = self.separators, bool(self.tidy)
        if is_tidy and separators is None and self.max_whitespace is None:
            separators = SEPARATORS
        if separators is None:
            return JsonLayout(self.max_whitespace, is_tidy=is_tidy)
        comma, colon = (each.encode() for each in separators)
        return JsonLayout(0, comma, colon, is_tidy)

    def check(self) -> None:
        """Raise an error if one is of a wrong type.

        Raises
        ------
        SchemaError
            It names the option.
        """
        if self.order is not None and not (
            isinstance(self.order, str) and self.order in ("any", "declared")
        ):
            raise SchemaError(f"order is {shown(self.order)}; it is 'any' or 'declared'")
        space = self.max_whitespace
        is_count = (
            # True is an int as well, but says nothing about how much white space there is.
            isinstance(space, int) and not isinstance(space, bool) and 0 <= space <= MAX_SPACE
        )
        if space is not None and not is_count:
            raise SchemaError(f"max_whitespace is {shown(space)}; it is 0 to {MAX_SPACE}")
        for name in ("formats", "best_effort", "tidy", "closed"):
            value = getattr(self, name)
            if not isinstance(value, bool) and (name != "tidy" or value is not None):
                raise SchemaError(f"{name} is {shown(value)}; it is True or False")
        if self.separators is not None and not _are_separators(self.separators):
            raise SchemaError(
                f"separators is {shown(self.separators)}; it is two texts, a comma and a colon, "
                f'each with or without white space, such as (", ", ": "), of {MAX_SEPARATOR} '
                "characters at most"
            )


def _are_separators(given: object) -> bool:
    return (
        isinstance(given, tuple | list)
        and len(given) == 2
        and all(isinstance(text, str) and len(text) <= MAX_SEPARATOR for text in given)
        and [text.strip(_SPACE) for text in given] == [",", ":"]
    )


class SchemaGrammar(GrammarOnRequest):
    """A grammar of the JSON texts that a schema allows.

    Parameters
    ----------
    schema : str
        The schema as JSON; grammars with equal schemas and options are equal.
    options : SchemaOptions
        How it was read.
    root : Node
        Of the whole schema.
    left_out : tuple of (str, str)
        What is not enforced: the path of each keyword, and why.
    steps : Steps, optional
        What bounds each step; by default those of the options.

    Raises
    ------
    SchemaError
        If the schema allows no value, or none that is known to be short enough.
    """

    def __init__(
        self,
        schema: str,
        options: SchemaOptions,
        root: Node,
        left_out: tuple[tuple[str, str], ...] = (),
        steps: Steps | None = None,
    ) -> None:
        limits = Limits(max_seconds=options.max_seconds, max_memory=options.max_memory)
        vars(self).update(
            schema=schema,
            options=options,
            root=root,
            left_out=left_out,
            _steps=steps or Steps(limits),
            _lock=new_lock(),
        )
        made = self._new_automaton()
        if not made.has_sentence:
            raise SchemaError(_why_nothing(root, made.search))
        made.check_alternatives()
        made.check_values()
        vars(self)["_made"] = made

    has_tables = False
    schema: str
    options: SchemaOptions
    root: Node  # of the whole schema
    left_out: tuple[tuple[str, str], ...]

    def _key(self) -> Hashable:
        return self.schema, self.options

    def __repr__(self) -> str:
        shown = self.schema if len(self.schema) <= 60 else f"{self.schema[:60]}..."
        return f"{type(self).__name__}({shown})"

    def __copy__(self) -> SchemaGrammar:
        return self  # it never changes

    def __deepcopy__(self, _memo: object) -> SchemaGrammar:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """For `pickle`: what it was read from."""
        from cfgguide.schema.json_schema import read_again

        return read_again, (self.schema, asdict(self.options))

    def parse(self, text: str) -> Any:
        """Return the value of a text; raises a ValueError if it is not JSON."""
        return json.loads(text)

    def reader(self) -> Reading:
        """Return what reads a text as it is written."""
        from cfgguide.schema.json_reading import JsonReading

        return JsonReading()

    def own_machine(
        self, vocabulary: Vocabulary, compile: Callable[[Grammar, Vocabulary], Index]
    ) -> ByteMachine | None:
        """Return a machine with the schema's automaton.

        None if the vocabulary lacks bytes that strings need: then all that it cannot spell has to
        be found out first.
        """
        if not vocabulary.spelling.spells_any_of(JSON_BYTES):
            return None
        with collector_off():
            return self._source(vocabulary).machine()

    def _source(self, vocabulary: Vocabulary) -> Source:
        return SchemaSource(self)

    def automaton(self) -> SchemaAutomaton:
        """Return an automaton that nobody else has: it changes as it reads."""
        with self._lock:
            made: SchemaAutomaton | None = vars(self).pop("_made", None)
        return self._new_automaton() if made is None else made

    def _new_automaton(self) -> SchemaAutomaton:
        is_ordered = self.options.order == "declared"
        layout = self.options.layout
        return new_automaton(self.root, layout, is_ordered=is_ordered, steps=self._steps)

    def _written(self) -> str:
        """Return the grammar in Lark's language.

        Raises
        ------
        SchemaError
            If it would be too large, or Lark's language cannot say it.
        """
        is_ordered, layout = self.options.order == "declared", self.options.layout
        try:
            value_classes = ValueClasses(self.root, is_ordered, is_tidy=layout.is_tidy)
            writer = SchemaWriter(value_classes, Whitespace.of(layout))
            text = writer.text(frozenset(value_classes.root))
        except RecursionError:
            raise SchemaError("the schema is nested too deeply; use $ref") from None
        if writer.problems:
            path, problem = next(iter(writer.problems))
            raise SchemaError(f"at {path}: the text of a grammar cannot say that: {problem}")
        return text


class SchemaSource(NamedTuple):
    """What the machine of a schema is made from: its grammar."""

    grammar: SchemaGrammar

    @property
    def digest(self) -> str:
        """Of the schema and the options."""
        grammar = self.grammar
        # Not their `repr`: once a thread was stopped in the middle of it, that is "..." for good.
        return archive.digest({}, [VERSION, grammar.schema, asdict(grammar.options)])

    def packed(self) -> dict[str, object]:
        """Return the schema and its options."""
        options = asdict(self.grammar.options)
        return {"schema": {"schema": self.grammar.schema, "options": options}}

    def machine(self) -> ByteMachine:
        """Return a machine that nobody else has."""
        return ByteMachine(self.grammar.automaton(), self)


def _why_nothing(root: Node, search: Search) -> str:
    """Return a message that names a part of a schema which allows no value."""
    for node in reversed(reachable(root)):
        if node.is_false or node.is_trivial or any(o.is_false for o in node.in_place):
            continue
        search.begin()
        try:
            has_value = search.has_value(search.values.of([node]))
        except SchemaError:
            break
        if not has_value:
            return (
                f"at {node.path or '/'}: no value is allowed: its keywords contradict each other, "
                "or only an infinite value could meet them"
            )
    return "at /: no value is allowed: the schemas contradict each other"
