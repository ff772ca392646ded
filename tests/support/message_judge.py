"""Judges messages of structural tags, by trying all ways to cut them into parts.

It knows nothing of the code under test: formats are read from the tag itself, patterns are `re`'s,
and values are `jsonschema`'s. A special token is one character of a private use area.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

import jsonschema

Spec = dict[str, Any]
PRIVATE = 0xE000


class Judge:
    """Judges the texts of one structural tag."""

    def __init__(self, spec: Spec, special: list[str]) -> None:
        self.spec = spec
        self.names = {name: chr(PRIVATE + number) for number, name in enumerate(special)}

    def accepts(self, text: str) -> bool:
        """Return whether a text is a message."""
        return len(text) in self.ends(self.spec, text, {0})

    def spelled(self, text: str) -> str:
        """Return a text as a tokenizer reads it."""
        for name in sorted(self.names, key=len, reverse=True):
            text = text.replace(name, self.names[name])
        return text

    def ends(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        """Return where a part can end that begins at one of some places."""
        return getattr(self, f"_{spec['type']}")(spec, text, starts)

    def _exact(self, word: str, text: str, starts: set[int]) -> set[int]:
        word = self.spelled(word)
        return {start + len(word) for start in starts if text.startswith(word, start)}

    def _const_string(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return self._exact(spec["value"], text, starts)

    def _token(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return self._exact(spec["token"], text, starts)

    def _slices(self, text: str, starts: set[int], is_right: Any) -> set[int]:
        return {
            end
            for start in starts
            for end in range(start, len(text) + 1)
            if is_right(text[start:end])
        }

    def _any_text(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        def is_right(part: str) -> bool:
            is_plain = not any(ord(c) - PRIVATE in range(16) for c in part)
            return is_plain and not any(word in part for word in spec.get("excludes", []))

        return self._slices(text, starts, is_right)

    def _regex(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return self._slices(text, starts, re.compile(spec["pattern"]).fullmatch)

    def _json_schema(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        def is_right(part: str) -> bool:
            try:
                value = json.loads(part)
            except ValueError:
                return False
            is_bare = part == part.strip(" \t\n\r")
            return is_bare and jsonschema.Draft202012Validator(spec["json_schema"]).is_valid(value)

        return self._slices(text, starts, is_right)

    def _sequence(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        for each in spec["elements"]:
            starts = self.ends(each, text, starts)
        return starts

    def _or(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return set().union(*(self.ends(each, text, starts) for each in spec["elements"]))

    def _optional(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return starts | self.ends(spec["content"], text, starts)

    def _star(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return self._again(lambda places: self.ends(spec["content"], text, places), starts)

    def _plus(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return self._star(spec, text, self.ends(spec["content"], text, starts))

    def _again(self, once: Any, starts: set[int]) -> set[int]:
        found = set(starts)
        while not (more := once(found)) <= found:
            found |= more
        return found

    def _repeat(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        found: set[int] = set()
        for times in range(spec["max"] + 1):
            if times >= spec["min"]:
                found |= starts
            starts = self.ends(spec["content"], text, starts)
        return found

    def _tag(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        starts = self._exact(spec["begin"], text, starts)
        content = spec["content"]
        if content["type"] == "any_text":
            content = {**content, "excludes": [*content.get("excludes", []), spec["end"]]}
        return self._exact(spec["end"], text, self.ends(content, text, starts))

    def _tags(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        return set().union(*(self._tag(each, text, starts) for each in spec["tags"]))

    def _triggered_tags(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        free = {"excludes": [*spec["triggers"], *spec.get("excludes", [])]}

        def more(places: set[int]) -> set[int]:
            return self._any_text(free, text, self._tags(spec, text, places))

        if spec.get("stop_after_first"):
            if spec.get("at_least_one"):
                return self._tags(spec, text, starts)
            starts = self._any_text(free, text, starts)
            return starts | self._tags(spec, text, starts)
        first = more(starts) if spec.get("at_least_one") else self._any_text(free, text, starts)
        return self._again(more, first)

    def _tags_with_separator(self, spec: Spec, text: str, starts: set[int]) -> set[int]:
        first = self._tags(spec, text, starts)
        found = first
        if not spec.get("stop_after_first"):
            separator = spec["separator"]
            found = self._again(
                lambda places: self._tags(spec, text, self._exact(separator, text, places)), first
            )
        return found if spec.get("at_least_one") else found | starts


SCHEMAS: list[Any] = [
    {"enum": [1, 12, "a<b"]},
    {"type": "array", "items": {"type": "boolean"}, "maxItems": 2},
    {"type": "object", "properties": {"k": {"type": "null"}}, "additionalProperties": False},
    {"type": "integer", "minimum": 8, "maximum": 11},
]
WORDS = ["<a>", "</a>", "<b>", "ab", "a", "}", "é<", "<a>x", ""]


def random_spec(rng: random.Random, depth: int = 3) -> Spec:
    """Return a random format; its JSON has no white space."""
    leaves = ["const_string", "any_text", "json_schema", "regex", "token"]
    nodes = ["sequence", "or", "optional", "star", "plus", "repeat", "tag", "triggered_tags"]
    kind = rng.choice(leaves if depth == 0 else [*leaves[:3], *nodes, "tags_with_separator"])
    match kind:
        case "const_string":
            return {"type": kind, "value": rng.choice(WORDS)}
        case "token":
            return {"type": kind, "token": "<b>"}
        case "any_text":
            return {"type": kind, "excludes": rng.sample(WORDS[:7], rng.randint(0, 2))}
        case "json_schema":
            schema = rng.choice(SCHEMAS)
            return {"type": kind, "json_schema": schema, "max_whitespace_cnt": 0}
        case "regex":
            return {"type": kind, "pattern": rng.choice(["[ab]{0,3}", "x?", "(?:<a>|é)+"])}
        case "sequence" | "or":
            elements = [random_spec(rng, depth - 1) for _ in range(rng.randint(1, 3))]
            return {"type": kind, "elements": elements}
        case "repeat":
            least = rng.randint(0, 2)
            most = least + rng.randint(0, 2)
            content = random_spec(rng, depth - 1)
            return {"type": kind, "min": least, "max": most, "content": content}
        case "tag":
            return _random_tag(rng, depth)
        case "triggered_tags":
            flags = {"at_least_one": rng.random() < 0.3, "stop_after_first": rng.random() < 0.3}
            tags = [_random_tag(rng, depth, "<a>") for _ in range(rng.randint(1, 2))]
            return {"type": kind, "triggers": ["<a>"], "tags": tags, **flags}
        case "tags_with_separator":
            flags = {"at_least_one": rng.random() < 0.3, "stop_after_first": rng.random() < 0.3}
            tags = [_random_tag(rng, depth) for _ in range(rng.randint(1, 2))]
            return {"type": kind, "tags": tags, "separator": rng.choice([",", ""]), **flags}
    return {"type": kind, "content": random_spec(rng, depth - 1)}


def _random_tag(rng: random.Random, depth: int, begin: str = "") -> Spec:
    return {
        "type": "tag",
        "begin": begin + rng.choice(["<a>", "<b>", "x", "{"]),
        "content": random_spec(rng, depth - 1),
        "end": rng.choice(["</a>", "}", "x</a>"]),
    }
