"""Structural tags: what vLLM, SGLang and XGrammar call the structure of a message.

In: a structural tag, as a mapping or as JSON. Out: the parts of its messages
(:mod:`cfgguide.schema.messages.parts`). ::

    {"type": "triggered_tags", "triggers": ["<call>"], "tags": [{"type": "tag",
     "begin": "<call>", "content": {"type": "json_schema", "json_schema": {}}, "end": "</call>"}]}

    any text without `<call>`, then the tag, then text again

Formats mean what XGrammar 0.2 says, with three rules of our own. The name of an added token in a
text of a tag is that token (elsewhere a model may write it as text, where it is not excluded). Text
that stands directly before the end of a tag does not have that end in it. And nothing is left out:
what cannot be guaranteed is an error. A text that may have `max_tokens` is left on the shortest way
to the end of the message; the token that begins it counts for none. Two options are added, of JSON:
its exact `separators`, and `marks`, which no string and no name in it has inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cfgguide.automata.pattern_notations import read, with_common_spaces
from cfgguide.errors import SchemaError, shown
from cfgguide.schema.json_schema import parsed_schema
from cfgguide.schema.keywords import said_of
from cfgguide.schema.messages.pair_values import STYLES
from cfgguide.schema.messages.pairs import pairs
from cfgguide.schema.messages.parts import (
    NOTHING,
    AnyText,
    Choice,
    Exact,
    Part,
    Pattern,
    Repeat,
    Sequence,
    Token,
    UnsupportedTagError,
    Value,
)
from cfgguide.schema.solver.listed_values import check_text

MAX_DEPTH = 50  # of formats in formats


class TagReader:
    r"""Reads one structural tag.

    Parameters
    ----------
    has_common_spaces : bool
        Whether ``\s`` in patterns is white space of JSON alone.
    formats : bool
        Whether ``format`` is a condition for strings without quotes.
    registry : mapping, optional
        Other schemas, by their URIs.

    Attributes
    ----------
    any_orders : set of bool
        Whether properties of values come in any order.
    spaces : set of int or None
        How much white space values may have.
    separators : set of (str, str) or None
        The exact separators of values.

    Examples
    --------
    >>> TagReader().part({"type": "sequence", "elements": [{"type": "any_text"}]})
    Sequence(parts=(AnyText(excludes=(), max_tokens=None),))
    """

    def __init__(
        self,
        *,
        has_common_spaces: bool = False,
        formats: bool = True,
        registry: Mapping[str, Any] | None = None,
    ) -> None:
        self._has_common_spaces = has_common_spaces
        self._formats = formats
        self._registry = registry
        self.any_orders: set[bool] = set()
        self.spaces: set[int | None] = set()
        self.separators: set[tuple[str, ...] | None] = set()
        self._depth = 0

    def message(self, spec: object) -> Part:
        """Return the part of a whole structural tag.

        Raises
        ------
        SchemaError
            If it is wrong; it says where.
        UnsupportedTagError
            If it asks for what is not supported.
        """
        if not isinstance(spec, Mapping):
            raise SchemaError(f"a structural tag is an object, not {shown(spec)}")
        # The older notation has often no type.
        if spec.get("type") == "structural_tag" or ("structures" in spec and "type" not in spec):
            if "format" in spec:
                return self.part(spec["format"], "/format")
            if "structures" in spec:
                return self.part(_of_old(spec), "")
        return self.part(spec, "")

    def part(self, spec: object, path: str = "") -> Part:
        """Return the part of a format; raises as :meth:`message`."""
        if not isinstance(spec, Mapping) or not isinstance(spec.get("type"), str):
            raise SchemaError(f"at {path or '/'}: a format is an object with a type")
        read_part = _READERS.get(spec["type"])
        if read_part is None:
            why = _NOT_SUPPORTED.get(spec["type"], f"there is {', '.join(_READERS)}")
            raise UnsupportedTagError(f"at {path or '/'}: format {spec['type']!r:.60}: {why}")
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise SchemaError(f"a structural tag is nested more than {MAX_DEPTH} deep")
            return read_part(self, spec, path)
        finally:
            self._depth -= 1

    def _exact(self, spec: Mapping[str, Any], path: str) -> Part:
        return Exact(_text(spec, "value", path))

    def _any_text(self, spec: Mapping[str, Any], path: str) -> AnyText:
        if spec.get("max_chars") is not None:
            raise UnsupportedTagError(f"at {path}/max_chars: characters of text are not counted")
        return AnyText(_texts(spec, "excludes", path), _limit(spec, path))

    def _token(self, spec: Mapping[str, Any], path: str) -> Part:
        token = spec.get("token")
        if isinstance(token, bool) or not isinstance(token, int | str) or token == "":
            raise SchemaError(f"at {path}/token: a token is its name or its id")
        return Token(token)

    def _pattern(self, spec: Mapping[str, Any], path: str) -> Part:
        pattern = _text(spec, "pattern", path)
        with said_of(f"at {path}/pattern"):
            read(pattern)  # as it is written: later it is a part of another one
        return Pattern(with_common_spaces(pattern) if self._has_common_spaces else pattern)

    def _value(self, spec: Mapping[str, Any], path: str) -> Part:
        style = spec.get("style", "json")
        if style != "json" and style not in STYLES:
            raise UnsupportedTagError(
                f"at {path}/style: there is json, {', '.join(STYLES)}, not {shown(style)}: this "
                "model's format is not supported"
            )
        if spec.get("excludes"):
            raise UnsupportedTagError(f"at {path}/excludes: strings of values exclude nothing")
        schema = spec.get("json_schema")
        if not isinstance(schema, Mapping | bool):
            raise SchemaError(f"at {path}/json_schema: a schema is an object or a truth value")
        self.any_orders.add(bool(spec.get("any_order", False)))
        self.spaces.add(spec.get("max_whitespace_cnt"))
        exact = spec.get("separators")
        self.separators.add(None if exact is None else _texts(spec, "separators", path))
        if style != "json":
            if not isinstance(schema, Mapping):
                raise SchemaError(f"at {path}/json_schema: the schema of pairs is an object")
            return pairs(
                schema,
                style,
                f"{path}/json_schema",
                is_tidy=self._has_common_spaces,
                formats=self._formats,
                registry=self._registry,
            )
        try:
            marks = any_of(_texts(spec, "marks", path))
            return Value(json.dumps(schema), f"{path}/json_schema", marks)
        except (TypeError, ValueError, RecursionError) as error:
            raise SchemaError(f"at {path}/json_schema: {error}") from None

    def _sequence(self, spec: Mapping[str, Any], path: str) -> Part:
        return Sequence(self._elements(spec, path))

    def _choice(self, spec: Mapping[str, Any], path: str) -> Part:
        parts = self._elements(spec, path)
        if not parts:
            raise SchemaError(f"at {path}/elements: there is nothing to choose from")
        return Choice(parts)

    def _elements(self, spec: Mapping[str, Any], path: str) -> tuple[Part, ...]:
        elements = _list(spec, "elements", path)
        return tuple(
            self.part(each, f"{path}/elements/{number}") for number, each in enumerate(elements)
        )

    def _several(self, spec: Mapping[str, Any], path: str) -> Part:
        return Repeat(self._content(spec, path), *_TIMES[spec["type"]])

    def _repeat(self, spec: Mapping[str, Any], path: str) -> Part:
        least, most = spec.get("min"), spec.get("max")
        if type(least) is not int or type(most) is not int or least < 0 or -1 != most < least:
            raise SchemaError(f"at {path}: min and max are numbers, and max is -1 or the larger")
        return Repeat(self._content(spec, path), least, None if most == -1 else most)

    def _content(self, spec: Mapping[str, Any], path: str) -> Part:
        return self.part(spec.get("content"), f"{path}/content")

    def _tag(self, spec: Mapping[str, Any], path: str) -> Part:
        begin = self._begin(spec, path)
        end = spec.get("end")
        ends: tuple[Part, ...]
        if isinstance(end, Mapping):
            ends = (self.part(end, f"{path}/end"),)
        else:
            texts = _texts({"end": [end] if isinstance(end, str) else end}, "end", path)
            # XGrammar's tags begin their ends with the line break that our pairs end with.
            begun = "\n" if self._ends_lines(spec.get("content")) else ""
            ends = tuple(Exact(text.removeprefix(begun)) for text in texts)
        if not ends:
            raise SchemaError(f"at {path}/end: a tag has an end")
        content = _without(self._content(spec, path), ends)
        return Sequence((begin, content, ends[0] if len(ends) == 1 else Choice(ends)))

    @staticmethod
    def _ends_lines(spec: object) -> bool:
        """Return whether a format is pairs that each end a line."""
        style = STYLES.get(str(spec.get("style"))) if isinstance(spec, Mapping) else None
        return style is not None and style.end.endswith("\n")

    def _begin(self, spec: Mapping[str, Any], path: str) -> Part:
        begin = spec.get("begin")
        if isinstance(begin, Mapping):
            return self.part(begin, f"{path}/begin")
        return Exact(_text(spec, "begin", path))

    def _tags(self, spec: Mapping[str, Any], path: str) -> tuple[Part, ...]:
        tags = _list(spec, "tags", path)
        if not tags:
            raise SchemaError(f"at {path}/tags: there are no tags")
        return tuple(
            self.part(
                {"type": "tag", **_object(each, f"{path}/tags/{number}")}, f"{path}/tags/{number}"
            )
            for number, each in enumerate(tags)
        )

    def _triggered(self, spec: Mapping[str, Any], path: str) -> Part:
        triggers = _texts(spec, "triggers", path)
        begins = [_text(each, "begin", f"{path}/tags") for each in _list(spec, "tags", path)]
        for begin in begins:
            if not any(begin.startswith(trigger) for trigger in triggers):
                raise SchemaError(f"at {path}/tags: no trigger begins {begin!r:.60}")
        text = AnyText((*triggers, *_texts(spec, "excludes", path)))
        return _in_text(text, Choice(self._tags(spec, path)), spec)

    def _token_triggered(self, spec: Mapping[str, Any], path: str) -> Part:
        if not _list(spec, "trigger_tokens", path):
            raise SchemaError(f"at {path}/trigger_tokens: there are none")
        return _in_text(AnyText(), Choice(self._tags(spec, path)), spec)

    def _separated(self, spec: Mapping[str, Any], path: str) -> Part:
        tag, separator = Choice(self._tags(spec, path)), Exact(_text(spec, "separator", path))
        more = NOTHING if spec.get("stop_after_first") else Repeat(Sequence((separator, tag)))
        return Repeat(Sequence((tag, more)), int(bool(spec.get("at_least_one"))), 1)

    def _dispatch(self, spec: Mapping[str, Any], path: str) -> Part:
        rules = [self._rule(each, f"{path}/rules") for each in _list(spec, "rules", path)]
        if not rules:
            raise SchemaError(f"at {path}/rules: there are none")
        text = AnyText((*(word for word, _ in rules), *_texts(spec, "excludes", path)))
        tag = Choice(tuple(Sequence((Exact(word), content)) for word, content in rules))
        return _in_text(text, tag, {"stop_after_first": not spec.get("loop", True)})

    def _rule(self, rule: object, path: str) -> tuple[str, Part]:
        if not isinstance(rule, list | tuple) or len(rule) != 2 or not isinstance(rule[0], str):
            raise SchemaError(f"at {path}: a rule is a text and a format")
        return rule[0], self.part(rule[1], path)


_TIMES = {"optional": (0, 1), "plus": (1, None), "star": (0, None)}
_Read = Callable[[TagReader, Mapping[str, Any], str], Part]

_READERS: dict[str, _Read] = {
    "const_string": TagReader._exact,
    "any_text": TagReader._any_text,
    "json_schema": TagReader._value,
    "regex": TagReader._pattern,
    "token": TagReader._token,
    "sequence": TagReader._sequence,
    "or": TagReader._choice,
    **dict.fromkeys(("optional", "plus", "star"), TagReader._several),
    "repeat": TagReader._repeat,
    "tag": TagReader._tag,
    "triggered_tags": TagReader._triggered,
    "token_triggered_tags": TagReader._token_triggered,
    "tags_with_separator": TagReader._separated,
    "dispatch": TagReader._dispatch,
}
_NOT_SUPPORTED = {
    "grammar": "a grammar inside of a message is not supported; ask for the grammar alone",
    "exclude_token": "any token is no text; say any_text",
    "any_tokens": "any token is no text; say any_text",
    "token_dispatch": "say token_triggered_tags",
    "qwen_xml_parameter": "values are JSON: this model's format is not supported",
}


def _in_text(text: AnyText, tag: Part, spec: Mapping[str, Any]) -> Part:
    """Return tags with text between them; a first tag that has to come comes at once."""
    if spec.get("stop_after_first"):
        return tag if spec.get("at_least_one") else Sequence((text, Repeat(tag, 0, 1)))
    if spec.get("at_least_one"):
        return Sequence((tag, text, Repeat(Sequence((tag, text)))))
    return Sequence((text, Repeat(Sequence((tag, text)))))


def _without(content: Part, ends: tuple[Part, ...]) -> Part:
    """Return a content that has none of its ends in its text, if it ends with text."""
    words = tuple(end.text for end in ends if isinstance(end, Exact) and end.text)
    if isinstance(content, AnyText):
        return AnyText((*content.excludes, *words), content.max_tokens)
    if isinstance(content, Sequence) and content.parts:
        *before, last = content.parts
        return Sequence((*before, _without(last, ends)))
    return content


def _of_old(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the format of a tag in the older notation: structures and triggers."""
    return {
        "type": "triggered_tags",
        "triggers": spec.get("triggers"),
        "tags": [
            {
                "begin": _object(each, "/structures").get("begin"),
                "content": {"type": "json_schema", "json_schema": _schema(each)},
                "end": each.get("end"),
            }
            for each in _list(spec, "structures", "")
        ],
    }


def _schema(structure: Mapping[str, Any]) -> Any:
    schema = structure.get("schema")
    with said_of("at /structures"):
        return parsed_schema(schema) if isinstance(schema, str) else schema


def _limit(spec: Mapping[str, Any], path: str) -> int | None:
    limit = spec.get("max_tokens")
    if limit is not None and (type(limit) is not int or limit < 0):
        raise SchemaError(f"at {path}/max_tokens: it is a number of tokens, not {shown(limit)}")
    return limit


def any_of(texts: Iterable[str]) -> str:
    """Return a pattern that finds some texts; empty if there are none."""
    return "|".join(map(re.escape, texts))


def _object(value: object, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SchemaError(f"at {path}: that is an object, not {shown(value)}")
    return value


def _list(spec: Mapping[str, Any], name: str, path: str) -> list[Any]:
    value = spec.get(name)
    if not isinstance(value, list | tuple):
        raise SchemaError(f"at {path}/{name}: that is a list, not {shown(value)}")
    return list(value)


def _text(spec: object, name: str, path: str) -> str:
    value = _object(spec, path).get(name)
    if not isinstance(value, str):
        raise SchemaError(f"at {path}/{name}: that is a text, not {shown(value)}")
    with said_of(f"at {path}/{name}"):
        check_text(value)
    return value


def _texts(spec: Mapping[str, Any], name: str, path: str) -> tuple[str, ...]:
    """Return a list of texts; those that exclude nothing or everything are refused."""
    texts = tuple(spec.get(name) or ()) if isinstance(spec.get(name), list | tuple | None) else None
    if texts is None or not all(isinstance(each, str) for each in texts):
        raise SchemaError(f"at {path}/{name}: that is a list of texts")
    with said_of(f"at {path}/{name}"):
        check_text("".join(texts))
    if name != "end" and "" in texts:
        raise SchemaError(f"at {path}/{name}: the empty text is everywhere")
    return texts
