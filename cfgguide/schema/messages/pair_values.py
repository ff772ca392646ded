r"""Values in pairs of a name and a text, read by their types.

In: the schema of arguments, and texts between tags. Out: what each text means: that of a string is
the string, any other is JSON. ::

    <parameter=days>\n3\n</parameter>      3 where an integer may stand, and "3" where a string is

Types are those that vLLM's parsers see, which look at `type`, `enum` and alternatives; we follow
references, too.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cfgguide.engine.machine.partial import Path, until
from cfgguide.errors import SchemaError, shown
from cfgguide.schema.json_reading import NOTHING, JsonReading

Schema = Mapping[str, Any]
STRING = "string"
TYPES = frozenset(["null", "boolean", "integer", "number", STRING, "array", "object"])
#: What says nothing of values.
NOTES = frozenset(["title", "description", "default", "examples", "deprecated", "$comment"])


@dataclass(frozen=True)
class Style:
    """How pairs are written.

    Attributes
    ----------
    begin : str
        What stands before a value; ``NAME`` stands for the name.
    end : str
        What stands after it.
    pair : re.Pattern
        What `begin` matches; its group is the name.
    bad : str
        A pattern of what parsers search the text of a message for: a value, a call or all calls end
        there for them, or another one begins. No string has it inside, and none in JSON.
    says : (str, str)
        What begins a string, and what begins another value, if that is told; ``SAYS`` in `begin`.
    quote : str
        What stands around strings, if values are no JSON: objects are pairs in braces then, with
        commas between them, and lists are in brackets.
    """

    begin: str
    end: str
    pair: re.Pattern[str]
    bad: str
    says: tuple[str, str] = ("", "")
    quote: str = ""


def _style(
    begin: str, end: str, bad: str, says: tuple[str, str] = ("", ""), quote: str = ""
) -> Style:
    pattern = re.escape(begin).replace("NAME", '([^<>"\n]+)').replace("SAYS", "(true|false)")
    return Style(begin, end, re.compile(pattern), bad, says, quote)


_OF_GLM = "</?(?:arg_key|arg_value|tool_call)>"
#: SGLang's parser knows the tags of DeepSeek without their mark, too.
_OF_DEEPSEEK = (
    r"</(?:｜DSML｜)?(?:parameter|invoke|function_calls)>"
    r"|<(?:｜DSML｜)?(?:function_calls>|(?:parameter|invoke)\s+name=)"
)

STYLES = {
    "qwen_xml": _style(
        "<parameter=NAME>\n",
        "\n</parameter>\n",
        r"<\s*/\s*(?:parameter|function)\s*>|<\s*(?:parameter|function)\s*=|</?tool_call>",
    ),
    "glm_xml": _style("<arg_key>NAME</arg_key><arg_value>", "</arg_value>", _OF_GLM),
    "glm45_xml": _style("<arg_key>NAME</arg_key>\n<arg_value>", "</arg_value>\n", _OF_GLM),
    "deepseek_xml": _style(
        '<｜DSML｜parameter name="NAME" string="SAYS">',
        "</｜DSML｜parameter>\n",
        _OF_DEEPSEEK,
        ("true", "false"),
    ),
    "minimax_xml": _style(
        '<parameter name="NAME">',
        "</parameter>\n",
        r"<\s*/\s*(?:parameter|invoke)\s*>|<\s*(?:parameter|invoke)\s+name\s*="
        "|</?minimax:tool_call>",
    ),
    "gemma4": _style("NAME:", "", r'<\|"\|>|<\|?tool_call\|?>', quote='<|"|>'),
    "functiongemma": _style(
        "NAME:", "", "<escape>|<(?:start|end)_function_call>", quote="<escape>"
    ),
}


def resolved(schema: object, root: Schema) -> dict[str, Any]:
    """Return a schema, or what it refers to if it does nothing else."""
    for _ in range(50):
        if not isinstance(schema, Mapping) or set(schema) - NOTES - _OF_ROOT != {"$ref"}:
            break
        schema = _target(schema["$ref"], root)
    return dict(schema) if isinstance(schema, Mapping) else {}


_OF_ROOT = frozenset(["$defs", "definitions", "$schema", "$id"])


def _target(reference: object, root: Schema) -> object:
    """Return what a reference inside of a document means."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise SchemaError(f"in pairs, $ref leads into the same schema, not to {shown(reference)}")
    found: Any = root
    for step in (
        reference.removeprefix("#").removeprefix("/").split("/") if reference != "#" else ()
    ):
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def types_of(schema: object, root: Schema) -> frozenset[str]:
    """Return the types that values may have, for a parser; strings alone if that is not said.

    Examples
    --------
    >>> sorted(types_of({"enum": ["a", None]}, {})), sorted(types_of({}, {}))
    (['null', 'string'], ['string'])
    """
    return _types(schema, root, 20) or frozenset([STRING])


def _types(schema: object, root: Schema, depth: int) -> frozenset[str]:
    part = resolved(schema, root)
    found: frozenset[str] = frozenset()
    said = part.get("type")
    if said is not None:
        return frozenset([said] if isinstance(said, str) else said) & TYPES
    if "const" in part or isinstance(part.get("enum"), list):
        listed = [part["const"]] if "const" in part else part["enum"]
        return frozenset(map(_type_of, listed))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for each in part.get(keyword, ()) if depth else ():
            found |= _types(each, root, depth - 1)
    if "$ref" in part and depth:
        found |= _types({"$ref": part["$ref"]}, root, depth - 1)
    return found


def _type_of(value: Any) -> str:
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: STRING}
    return names.get(type(value), "array" if isinstance(value, list | tuple) else "object")


def value_of(text: str, types: frozenset[str]) -> Any:
    """Return the value of a text in a pair, as vLLM's parsers do, by what types it may have.

    Examples
    --------
    >>> value_of("5", frozenset(["string"])), value_of("5", frozenset(["integer", "string"]))
    ('5', 5)
    """
    if types == {STRING}:
        return text
    if STRING not in types:
        return json.loads(text)
    if "null" in types and text.lower() == "null":
        return None
    for kind, read in (("integer", int), ("number", float)):
        if kind in types:
            try:
                read(text)
                return json.loads(text)
            except ValueError:
                continue
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    if types & {"array", "object"}:
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text


def _is_listed(schema: object, root: Schema, depth: int) -> bool:
    part = resolved(schema, root)
    return not {"enum", "const"}.isdisjoint(part) or any(
        _is_listed(each, root, depth - 1)
        for keyword in ("anyOf", "oneOf", "allOf")
        for each in (part.get(keyword, ()) if depth else ())
    )


def argument_types(parameters: Schema) -> dict[str, dict[str, Any]]:
    """Return for each argument its types, and whether its texts are listed."""
    properties = resolved(parameters, parameters).get("properties", {})
    return {
        name: {
            "types": sorted(types_of(each, parameters)),
            "listed": _is_listed(each, parameters, 20),
        }
        for name, each in properties.items()
    }


class _Reading:
    """Reads arguments that are no JSON: it writes them as JSON, which is read as they come.

    Parameters
    ----------
    style : Style
        How they are written.
    arguments : mapping
        The types of the tool's arguments (:func:`argument_types`).
    """

    def __init__(self, style: Style, arguments: Mapping[str, Any]) -> None:
        self._style = style
        self._arguments = arguments
        self._json = JsonReading()  # of the same in JSON
        self._text = ""  # that is not read yet
        self._kind = ""  # of what is being read

    @property
    def value(self) -> Any:
        """The arguments; `NOTHING` until they are whole."""
        return self._json.value

    @property
    def growing(self) -> Path | None:
        """The way to what is being read; None if all is."""
        return self._json.growing

    def so_far(self, *, is_listed: bool = False) -> Any:
        """Return the arguments so far; of a listed text nothing until it is whole."""
        name, *inner = self.growing or ("",)
        known = self._arguments.get(str(name), {})
        is_hidden = bool(self._style.quote) if inner else known.get("listed", False)
        return self._json.so_far(is_listed=is_listed or is_hidden)

    def read(self, piece: str) -> int:
        """Read a piece up to the end of the arguments; return how many characters that were."""
        self._text += piece
        while self.value is NOTHING and self._text and self._step():
            pass
        return len(piece) - (0 if self.value is NOTHING else min(len(self._text), len(piece)))

    @abstractmethod
    def _step(self) -> bool:
        """Read some of the text; return whether more can be read."""

    def _read_string(self, end: str) -> bool:
        """Read more of a string, in which quotes and backslashes are mere characters.

        Return whether what ends it has come.
        """
        text, self._text, is_whole = until(self._text, end)
        self._json.read(json.dumps(text, ensure_ascii=False)[1:-1] + '"' * is_whole)
        return is_whole


class PairReading(_Reading):
    r"""Reads the pairs of one call as they are written; asked as a :class:`JsonReading` is.

    They end where something else than a pair comes.

    Examples
    --------
    >>> reading = PairReading(STYLES["qwen_xml"], {"a": {"types": ["string"], "listed": False}})
    >>> n_read = reading.read("<parameter=a>\nRome, Ita")
    >>> reading.so_far(), reading.growing
    ({'a': 'Rome, Ita'}, ('a',))
    """

    def __init__(self, style: Style, arguments: Mapping[str, Any]) -> None:
        super().__init__(style, arguments)
        self._json.read("{")
        self._types = frozenset([STRING])

    def _step(self) -> bool:
        end = self._style.end
        if self._kind == "":
            return self._begin()
        if self._kind == "string":
            is_whole = self._read_string(end)
        elif self._kind == "json":
            if self.growing:
                self._text = self._text[self._json.read(self._text, is_member=True) :]
            is_whole = not self.growing and len(self._text) >= len(end)
            self._text = self._text.removeprefix(end) if is_whole else self._text
        else:  # what it is may depend on all of it
            text, found, rest = self._text.partition(end)
            is_whole = bool(found)
            if is_whole:
                self._json.read(json.dumps(value_of(text, self._types)) + "\n")
                self._text = rest
        self._kind = "" if is_whole else self._kind
        return is_whole

    def _begin(self) -> bool:
        """Read what begins a pair, or ends the pairs; return whether a pair has begun."""
        found = self._style.pair.match(self._text)
        if found is None:
            head = self._style.begin.partition("NAME")[0]
            if not self._text.startswith(head) and not head.startswith(self._text):
                self._json.read("}")
            return False
        self._text = self._text[found.end() :]
        name, *said = found.groups()
        self._types = frozenset(self._arguments.get(name, {}).get("types", [STRING]))
        is_json = STRING not in self._types or said == ["false"]
        self._kind = "json" if is_json else "string" if self._types == {STRING} else "text"
        self._json.read(json.dumps(name) + (':"' if self._kind == "string" else ":"))
        return True


class ObjectReading(_Reading):
    r"""Reads an object of bare names as it is written; asked as a :class:`JsonReading` is.

    A string inside of a list or of another object is shown when it is whole: the types of the
    arguments do not say whether it is one of a list of texts.

    Examples
    --------
    >>> reading = ObjectReading(STYLES["gemma4"], {})
    >>> n_read = reading.read('{a:<|"|>Rome, "Ita<|"|>,b:[1,<|"|>')
    >>> reading.so_far(), reading.growing
    ({'a': 'Rome, "Ita', 'b': [1]}, ('b', 1))
    """

    def _step(self) -> bool:
        """Read a name, a string or a character; return whether more can be read."""
        text, quote = self._text, self._style.quote
        if self._kind == "name" and text[0] != "}":
            name, found, rest = text.partition(":")
            if found:
                self._json.read(json.dumps(name) + found)
                self._text, self._kind = rest, ""
            return bool(found)
        if self._kind == "string":
            is_whole = self._read_string(quote)
            self._kind = "" if is_whole else "string"
            return is_whole
        if text.startswith(quote):
            self._json.read('"')
            self._text, self._kind = text.removeprefix(quote), "string"
            return True
        if quote.startswith(text):
            return False  # it may become one
        self._json.read(text[0])
        containers = self._json.containers
        is_in_object = bool(containers) and isinstance(containers[-1].value, dict)
        self._text, self._kind = text[1:], "name" if is_in_object and text[0] in "{," else ""
        return True
