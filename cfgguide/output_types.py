"""What a model is to write, in whatever form a caller has it.

In: a type, a schema, a pattern, a list of texts, the name of a bundled grammar, or a grammar. Out:
an :class:`OutputType`: the grammar of its texts, and what makes a value of a text. Everything that
takes a grammar takes these too: :func:`cfgguide.compile`, :func:`cfgguide.generate`,
:class:`cfgguide.Guide` and :class:`cfgguide.LogitsProcessor`.

=============================================  ===========================================
what                                           value of a text
=============================================  ===========================================
a Pydantic model, a dataclass, a ``TypedDict``,  an instance, validated by Pydantic
``Literal``, ``list[Model]``, any other type
a function: JSON of its arguments              a call, which can be run
a list of functions: a name and arguments      a call, which can be run
a mapping or its JSON: a JSON Schema           what ``json.loads`` makes of it
``re.compile(...)``; a list or tuple of texts  the text
``"json"``                                     what ``json.loads`` makes of it
``"sql"``, ``"python"`` and the like           Lark's tree
the text of a grammar, with a rule `start`     Lark's tree
``"my.lark"``, a path: a file that exists      as what it holds: a grammar or a JSON Schema
a :class:`~cfgguide.grammar.grammar.Grammar`   Lark's tree; the text, if it was made of parts
:func:`cfgguide.json_schema`                   what ``json.loads`` makes of it
:func:`cfgguide.tools`                         a :class:`~cfgguide.schema.messages.message.Message`
:func:`cfgguide.thinking`                      that of the answer
=============================================  ===========================================
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfgguide.base.limits import Budget, Limits
from cfgguide.base.progress import run_within_limits
from cfgguide.engine.machine.partial import Reading, TextReading, WholeReading
from cfgguide.errors import GenerationError, GrammarError, SchemaError, shown
from cfgguide.grammar.grammar import AUTO, NOTATIONS, Grammar
from cfgguide.schema.functions import is_function

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_ACCEPTED = (
    "a type (a Pydantic model, a dataclass, list[...], Literal[...]), a function, a JSON Schema as "
    "a dict, re.compile(...), a list of texts, the name of a bundled grammar, the path of a file, "
    "or a cfgguide.Grammar"
)
_N_KEPT = 64
_MAKERS = ("cfgguide.grammar.", "cfgguide.schema.")  # where functions make grammars
_JSON = {"type": ["object", "array"]}  # what "json" means
#: Where bundled grammars begin: models write statements, not whole scripts.
STARTS = {"sql": "statement", "postgresql": "statement"}
_SCHEMA = ".json"
#: A string with one of these at its end names a file, if there is one.
_ENDINGS = (".lark", _SCHEMA, *NOTATIONS)
_START = re.compile(r"^[ \t]*+[?!]?start(?:\.[0-9]++)?[ \t]*+(?::(?!:)|::=)", re.MULTILINE)


@dataclass(frozen=True)
class OutputType:
    """What a model is to write.

    Attributes
    ----------
    grammar : Grammar
        Of its texts.
    parse : callable
        From a text to its value.
    reading : callable
        Begins to read a text that is being written, for its value so far.
    """

    grammar: Grammar
    parse: Callable[[str], Any]
    reading: Callable[[], Reading] = TextReading

    def value(self, text: str, data: bytes | None) -> Any:
        """Return the value of a text; `data` are its bytes, if it has symbols in it."""
        if data is not None and isinstance(self.parse, TreeParser):
            return self.parse(data)
        return self.parse(text)

    def thinking_of(self, text: str) -> str:
        """Return the thinking before the answer in a text, of :func:`cfgguide.thinking`."""
        reading = getattr(self.grammar, "reading", None)  # of messages
        return "" if reading is None else str(reading.split(text)[0])


def output_type(what: object) -> OutputType:
    """Return what a caller means; the table above tells the forms.

    JSON of types and of schemas has the separators of ``json.dumps``, and objects of types have no
    members but those declared, unless the type says ``extra="allow"``. Bundled grammars are `tidy`,
    and those of SQL begin with `statement`; give a Grammar for the whole language.

    Raises
    ------
    GrammarError
        If it is none of these, or a type is given and Pydantic is not installed.
    SchemaError
        If a type or a schema cannot be guaranteed.

    Examples
    --------
    >>> import re, typing
    >>> output_type(typing.Literal["yes", "no"]).parse('"no"')
    'no'
    >>> output_type(re.compile("[0-9]+")).parse("12"), output_type(["a", "b"]).parse("a")
    ('12', 'a')
    """
    if isinstance(what, Grammar):  # equal ones may call different functions
        return _made(what)
    if isinstance(what, os.PathLike) or _is_file(what):  # which may change
        return _of_file(Path(typing.cast(str, what)))
    try:
        hash(what)
    except Exception:  # lists and mappings have no hash, and others may raise what they like
        return _made(what)
    # The past and the future of a type are those of a day.
    return _kept(what, date.today(), datetime.now(UTC).date())


@functools.lru_cache(maxsize=_N_KEPT)
def _kept(what: object, *_: date) -> OutputType:
    return _made(what)


def _made(what: object) -> OutputType:
    if type(what) is Grammar:
        return OutputType(what, TreeParser(what), WholeReading)
    if isinstance(what, str):
        return _of_text(what)
    if isinstance(what, Mapping):
        return _of_schema(what)
    if isinstance(what, Grammar | re.Pattern | list | tuple):
        return _of_parts(what)
    if is_function(what):
        return _of_own(what) if _is_own(what) else _of_function(what)
    if isinstance(what, type | typing.NewType) or typing.get_origin(what) or _is_alias(what):
        return _of_type(what)
    raise GrammarError(f"{shown(what)} does not say what to write; give {_ACCEPTED}")


def _is_alias(what: object) -> bool:
    """Return whether something is ``type X = ...``, of Python or of an extension of `typing`."""
    return type(what).__name__ == "TypeAliasType"


# What is imported below takes a tenth of a second, and whoever has a grammar needs none of it.


def _of_schema(schema: Mapping[str, Any]) -> OutputType:
    from cfgguide.schema.json_reading import JsonReading
    from cfgguide.schema.json_schema import json_schema
    from cfgguide.schema.keywords import is_of_schema, meant_keyword, unwrapped

    schema = unwrapped(schema)
    if not is_of_schema(schema):
        meant = next(filter(None, map(meant_keyword, schema)), None)
        hint = f"did you mean {meant!r}?" if meant else "an object with a member is "
        hint += "" if meant else '{"type": "object", "properties": {"name": {"type": "string"}}}'
        raise SchemaError(
            f"{shown(dict(schema))} has no keyword of JSON Schema, so it would allow any value; "
            + hint
        )
    return OutputType(json_schema(schema, tidy=True), json.loads, JsonReading)


def _of_parts(what: Any) -> OutputType:
    from cfgguide.grammar.combinators.parts import Composed
    from cfgguide.grammar.combinators.patterns import choice, regex

    if isinstance(what, Grammar):
        otherwise = str if isinstance(what, Composed) else TreeParser(what)
        reading = TextReading if isinstance(what, Composed) else WholeReading
        # Messages have both.
        return OutputType(what, getattr(what, "parse", otherwise), getattr(what, "reader", reading))
    if isinstance(what, re.Pattern):
        return OutputType(regex(what), str)
    if what and all(map(is_function, what)):
        return _of_functions(what)
    if not what or not all(isinstance(text, str) for text in what):
        raise GrammarError(
            "a list is a choice among texts, of which there is at least one; for one of several "
            "types give `A | B`, and call once for each type: all prompts of a call share one"
        )
    return OutputType(choice(what), str)


def plain_schema(what: object) -> Any:
    """Return the schema that a caller gave as a mapping, as its JSON text, or in a file; or None.

    Raises
    ------
    SchemaError
        If it is not JSON.
    """
    from cfgguide.schema.keywords import unwrapped

    if isinstance(what, os.PathLike) or _is_file(what):
        path = Path(typing.cast(str, what))
        return _schema_of(_read(path)) if path.suffix == _SCHEMA else None
    if isinstance(what, str) and what.lstrip().startswith("{"):
        return _schema_of(what)
    return unwrapped(what) if isinstance(what, Mapping) else None


def _is_file(what: object) -> bool:
    """Return whether something is the name of a file with a grammar or a schema."""
    return isinstance(what, str) and what.endswith(_ENDINGS) and os.path.isfile(what)


def _of_file(path: Path) -> OutputType:
    return _made(Grammar.open(path)) if path.suffix != _SCHEMA else _of_schema(plain_schema(path))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise GrammarError(f"cannot read the schema file {str(path)!r}: {error}") from None


def _schema_of(text: str) -> Mapping[str, Any]:
    """Return the schema that a JSON text holds."""
    from cfgguide.schema.json_schema import parsed_schema
    from cfgguide.schema.keywords import unwrapped

    schema = parsed_schema(text)
    if not isinstance(schema, Mapping):
        raise SchemaError(f"a schema is a JSON object, not {shown(text)}")
    return unwrapped(schema)


def _of_text(text: str) -> OutputType:
    """Return what a name means, or the text of a schema or of a grammar."""
    if text == "json":
        return _of_schema(_JSON)
    if text in Grammar.bundled_names():
        grammar = Grammar.bundled(text, start=STARTS.get(text, "start"), tidy=True)
        return OutputType(grammar, TreeParser(grammar), WholeReading)
    if text.lstrip().startswith("{"):
        return _of_schema(_schema_of(text))
    if _START.search(text):
        return _made(Grammar(text, parser=AUTO))
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    what = "file" if text.endswith(_ENDINGS) else "bundled grammar"
    raise GrammarError(
        f"there is no {what} {shown!r}; there are "
        f"{', '.join(Grammar.bundled_names())}. cfgguide.Grammar(text) takes the text of a "
        "grammar, cfgguide.Grammar.open(path) a file, cfgguide.json_schema(text) a schema and "
        "cfgguide.regex(pattern) a pattern"
    )


def _of_type(what: Any) -> OutputType:
    from cfgguide.schema.json_schema import json_schema
    from cfgguide.schema.pydantic_models import errors_of_pydantic, schema_of_adapter
    from cfgguide.schema.typed_reading import Shape, TypedReading

    with errors_of_pydantic(shown(what)):
        from pydantic import TypeAdapter

        adapter = TypeAdapter(what)
        schema = schema_of_adapter(adapter)
    grammar = json_schema(schema, order="declared", tidy=True)
    reading = functools.partial(TypedReading, Shape.of(adapter.core_schema))
    return OutputType(grammar, functools.partial(_validated, adapter), reading)


def _is_own(what: Callable[..., Any]) -> bool:
    """Return whether a function is one that makes a grammar here, as ``cfgguide.integer``."""
    return str(getattr(what, "__module__", "")).startswith(_MAKERS)


def _of_own(what: Callable[..., Any]) -> OutputType:
    """Return what such a function means where its caller left the parentheses out."""
    parameters = inspect.signature(what).parameters.values()
    needed = [each.name for each in parameters if each.default is each.empty]
    if not needed:
        return _made(what())
    call = f"{what.__qualname__}({', '.join(needed)})"
    raise GrammarError(f"cfgguide.{what.__qualname__} has to be called: give cfgguide.{call}")


def _of_function(what: Callable[..., Any]) -> OutputType:
    from cfgguide.schema.functions import read_call, tool_of
    from cfgguide.schema.json_reading import JsonReading
    from cfgguide.schema.json_schema import json_schema

    grammar = json_schema(tool_of(what)["parameters"], order="declared", tidy=True)
    return OutputType(grammar, functools.partial(read_call, what), JsonReading)


def _of_functions(functions: Sequence[Callable[..., Any]]) -> OutputType:
    from cfgguide.schema.functions import call_of, name_of, tool_of
    from cfgguide.schema.json_reading import JsonReading
    from cfgguide.schema.json_schema import json_schema

    named = {name_of(each): each for each in functions}
    if len(named) < len(functions):
        raise GrammarError(f"two of the functions have one name: {', '.join(named)}; rename one")
    calls = [
        {
            "type": "object",
            # The `$id` makes the parameters a document of their own, to which their `$ref`s belong.
            "properties": {
                "name": {"const": name},
                "arguments": {"$id": f"cfgguide:{name}", **tool_of(each)["parameters"]},
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for name, each in named.items()
    ]
    grammar = json_schema({"anyOf": calls}, order="declared", tidy=True)
    return OutputType(grammar, lambda text: call_of(named, json.loads(text)), JsonReading)


def _validated(adapter: TypeAdapter[Any], text: str) -> Any:
    """Return the value that Pydantic makes of a text.

    Raises
    ------
    GenerationError
        If a validator refuses it, which no grammar can foresee: there was a warning.
    """
    try:
        return adapter.validate_json(text)
    except (ValueError, OSError) as error:
        raise GenerationError(f"the type refuses {shown(text)}: {error}") from error


@dataclass(frozen=True)
class TreeParser:
    """Makes Lark's trees of the sentences of a grammar.

    Lexemes are found in time linear in the text, and LALR trees made of them. Lark's Earley parser
    may take any time for the tree of a text with many readings.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    limits : Limits, optional
        What making a tree may cost, in time and memory.
    """

    grammar: Grammar
    limits: Limits | None = None

    def __call__(self, text: str | bytes) -> Any:
        """Return the tree of a sentence; of bytes, with symbols (:mod:`cfgguide.base.symbols`).

        Raises
        ------
        lark.exceptions.LarkError
            If it is no sentence.
        GrammarError, PatternError, LimitError
            As :func:`cfgguide.compile`; and if the tree would exceed the limits.
        """
        from cfgguide.grammar import lark_frontend

        def tree(_: Budget) -> Any:
            parser = _lark(self.grammar)
            if isinstance(text, bytes):
                return lark_frontend.tree_of(parser, self.grammar, text)
            return parser.parse(text)

        return run_within_limits(tree, self.limits, False)


@functools.lru_cache(maxsize=_N_KEPT)
def _lark(grammar: Grammar) -> Any:
    from cfgguide.grammar.lark_frontend import tree_parser_of

    return tree_parser_of(grammar)
