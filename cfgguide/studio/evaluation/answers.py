"""Answers of a model beside what is right: examples with references, and fields that are compared.

In: lines of JSON, and texts that a model wrote. Out: an :class:`Example` for each line, the value
of a text (:class:`AnswerReading`), and whether each field of it is right (:func:`right_fields`). A
field is a path to what is no object; a reference that is none has one field::

    {"name": "Ann", "home": {"city": "Nice"}, "tags": ["a"]}     name  home.city  tags
    "billing"                                                    answer
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from cfgguide.compiler import compile_machine
from cfgguide.errors import EvaluationError, GenerationError, shown
from cfgguide.output_types import output_type
from cfgguide.schema.schema_grammar import SchemaGrammar

WHOLE = "answer"  # the field of a reference that is no object
#: How a field is compared: exactly, as a set, or as a number that may be off by so much.
Match = Literal["exact", "set"] | float
#: Compares an answer with a reference: one verdict, or one for each field.
Score = Callable[[Any, Any], bool | Mapping[str, bool]]

_FENCE = "```"
_NOTHING = object()


class Example(NamedTuple):
    """A prompt and what is right.

    Attributes
    ----------
    line : int
        Its line in the file, from 1 on.
    prompt : str or list of messages
        As :func:`cfgguide.generate` takes it.
    reference : object
        JSON: the right answer, or those fields of it that are compared.
    """

    line: int
    prompt: Any
    reference: Any


def examples_of(lines: Iterable[str]) -> list[Example]:
    """Return the examples in lines of JSON; empty lines are left out.

    Parameters
    ----------
    lines : iterable of str
        Each an object with ``prompt``, a text, or ``messages``, a chat; and ``reference``.

    Raises
    ------
    EvaluationError
        If a line is something else; the message says which. Or if there is none.

    Examples
    --------
    >>> examples_of(['{"prompt": "1 + 1 = ", "reference": 2}'])
    [Example(line=1, prompt='1 + 1 = ', reference=2)]
    """
    found = [_example(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise EvaluationError("there are no examples")
    return found


def _example(number: int, line: str) -> Example:
    def fail(said: str) -> EvaluationError:
        return EvaluationError(f"line {number}: {said}")

    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise fail(f"it is not JSON: {error}") from None
    if not isinstance(given, dict) or "reference" not in given:
        raise fail('it is an object with "reference", and "prompt" or "messages"')
    if ("prompt" in given) == ("messages" in given):
        raise fail('it has either "prompt", a text, or "messages", a chat')
    prompt = given.get("prompt", given.get("messages"))
    if "prompt" in given and not isinstance(prompt, str):
        raise fail(f'"prompt" is a text, not {shown(prompt)}')
    if "messages" in given and not _is_chat(prompt):
        raise fail(
            f'"messages" is a list of objects with "role" and "content", not {shown(prompt)}'
        )
    return Example(number, prompt, given["reference"])


def _is_chat(value: Any) -> bool:
    return (
        isinstance(value, list)
        and value != []
        and all(isinstance(each, dict) and "role" in each for each in value)
    )


class AnswerReading:
    """Finds the value of a text that a model wrote with a mask or without.

    A text is read as it is; else what is before its first block of code, or in it; else, for JSON,
    what begins at the first bracket. It is valid if the type takes it: a model of Pydantic may read
    more than a mask lets a model write.

    Parameters
    ----------
    what : type, mapping, Grammar, ...
        What was to be written.

    Examples
    --------
    >>> reading = AnswerReading({"type": "object", "properties": {"a": {"type": "integer"}}})
    >>> reading.read('Sure! {"a":1} is it.'), reading.read("none")
    (({'a': 1}, True), (None, False))
    """

    def __init__(self, what: object) -> None:
        self._known = output_type(what)
        self._machine = compile_machine(self._known.grammar)
        self.is_json = isinstance(self._known.grammar, SchemaGrammar)

    def read(self, text: str) -> tuple[Any, bool]:
        """Return the value of a text, and whether it is valid.

        Of JSON the value is None unless it is. What is not JSON is a text, valid or not.
        """
        texts = list(self._texts(text))
        for each in texts:
            value = self._json(each) if self.is_json else self._text(each)
            if value is not _NOTHING:
                return value, True
        return (None if self.is_json else texts[0]), False

    def _texts(self, text: str) -> Iterator[str]:
        yield text.strip()
        before, fence, block = text.partition(_FENCE)
        if fence:
            yield before.strip()  # the block may have begun in the prompt
            yield block.partition("\n")[2].partition(_FENCE)[0].strip()
        begin = min((at for at in map(text.find, "[{") if at >= 0), default=None)
        if self.is_json and begin is not None:
            try:
                end = json.JSONDecoder().raw_decode(text, begin)[1]
            except (ValueError, RecursionError):
                return
            yield text[begin:end]

    def _json(self, text: str) -> Any:
        try:
            value = self._known.parse(text)
        except (ValueError, RecursionError, GenerationError):  # of JSON, and of a type
            return _NOTHING
        if isinstance(value, dict | list | str | int | float | None):
            # Pydantic's word stands; a schema is asked about the same value as it would be written.
            plain = json.dumps(json.loads(text), ensure_ascii=False)
            is_read = self._known.parse is not json.loads or self._is_sentence(plain)
            return value if is_read else _NOTHING
        from pydantic_core import to_jsonable_python

        return to_jsonable_python(value)

    def _text(self, text: str) -> Any:
        return text if self._is_sentence(text) else _NOTHING

    def _is_sentence(self, text: str) -> bool:
        try:
            read = self._machine.read(self._machine.initial, text.encode())
        except UnicodeEncodeError:
            return False
        return read is not None and self._machine.is_sentence(read)


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a value by their paths.

    Examples
    --------
    >>> fields_of({"name": "Ann", "home": {"city": "Nice"}}), fields_of(7)
    ({'name': 'Ann', 'home.city': 'Nice'}, {'answer': 7})
    """
    if not isinstance(value, Mapping):
        return {WHOLE: value}
    found: dict[str, Any] = {}
    for name, each in value.items():
        if isinstance(each, Mapping) and each:
            found |= {f"{name}.{path}": below for path, below in fields_of(each).items()}
        else:
            found[name] = each
    return found


def right_fields(value: Any, reference: Any, match: Mapping[str, Match]) -> dict[str, bool]:
    """Return whether each field of a reference is in a value.

    Parameters
    ----------
    value, reference : object
        JSON.
    match : mapping of str to {"exact", "set"} or float
        How a field is compared: exactly, unless it says otherwise.

    Examples
    --------
    >>> value, reference = {"price": 9.99, "tags": ["b", "a"]}, {"price": 10, "tags": ["a", "b"]}
    >>> right_fields(value, reference, {"price": 0.05, "tags": "set"})
    {'price': True, 'tags': True}
    """
    found = fields_of(value)
    return {
        path: path in found and _is_equal(found[path], wanted, match.get(path, "exact"))
        for path, wanted in fields_of(reference).items()
    }


def _is_equal(value: Any, wanted: Any, match: Match) -> bool:
    if match == "set":
        lists = [each if isinstance(each, list) else [each] for each in (value, wanted)]
        sets = [{json.dumps(each, sort_keys=True) for each in items} for items in lists]
        return sets[0] == sets[1]
    if isinstance(match, float) and _is_number(value) and _is_number(wanted):
        return bool(abs(value - wanted) <= match)
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return bool(value == wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_match(match: Mapping[str, object], fields: Sequence[str]) -> None:
    """Check how fields are to be compared.

    Raises
    ------
    EvaluationError
        If a field is not there, or cannot be compared so.
    """
    for path, how in match.items():
        if path not in fields:
            there = ", ".join(fields)
            raise EvaluationError(f"no reference has the field {shown(path)}; there is {there}")
        is_tolerance = isinstance(how, float) and how >= 0
        if how not in ("exact", "set") and not is_tolerance:
            raise EvaluationError(
                f'{path} is compared by {shown(how)}; it is "exact", "set" or a float from 0 up'
            )
