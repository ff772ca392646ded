"""What is drawn for the engine to read: one set of generators, for `same`, `fuzz` and `hostile`.

``draw(kind, seed)`` returns the :class:`Input` of a seed: a schema, a pattern, a grammar, ...
A part of each kind comes from the tables of :mod:`hostile.tables`, the rest from
:mod:`fuzz.grammars`, :mod:`fuzz.lone_patterns` and the other modules here.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from fuzz.features import EARLEY_FEATURES, FEATURES
from fuzz.grammars import earley_grammars, grammars
from fuzz.lone_patterns import lone_patterns
from hostile.tables import TABLES
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as with_seed

from support.message_judge import WORDS as TAG_WORDS
from support.message_judge import random_spec
from support.schemas import OLDER_DRAFTS, large_schema, of_draft, scarce_schema, varied_schema
from support.sql_schemas import random_schema

#: What Python and ECMA-262 read differently, so that `jsonschema` is no judge of it.
UNLIKE = re.compile(r"\\\\|\(\?|\$(?!defs|ref)|\^|\.[*+]|Ref")
_BATCH = 50  # of what Hypothesis draws from one seed
FORMATS = (
    *("qwen", "llama3", "mistral", "mistral_v11", "harmony", "deepseek_v31", "deepseek_v32"),
    *("kimi_k2", "qwen3_coder", "glm45", "glm47", "minimax_m2", "gemma4", "functiongemma"),
)
SCHEMA_OPTIONS: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {"tidy": True}, {"tidy": True, "closed": True}, {"order": "declared"}),
    *({"max_whitespace": 1}, {"separators": [", ", ": "]}),
)


@dataclass(frozen=True)
class Input:
    """What is compiled.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    form : str
        What the text is: ``schema``, ``regex``, ``lark``, ``gbnf``, ``tag``, ``runs_on``, ...
    text : str
        The text; JSON for what is no text.
    options : dict
        Beside it.
    """

    kind: str
    form: str
    text: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> dict[str, Any]:
        """The same without classes, for other processes."""
        return asdict(self)


def draw(kind: str, seed: int) -> Input:
    """Return the input of a seed."""
    return KINDS[kind](random.Random(f"{kind} {seed}"), seed)


# --- Schemas and patterns -------------------------------------------------------------------------


def random_json_schema(rng: random.Random, *, is_judged: bool = False) -> Any:
    """Return a schema of one of the ways to draw one; if it is to be judged, with like patterns."""
    kind = rng.random()
    if kind < 0.2:
        schema = table_schema(rng)
        while is_judged and UNLIKE.search(json.dumps(schema)):
            schema = table_schema(rng)
        return schema
    if kind < 0.55:
        return scarce_schema(rng)
    schema = varied_schema(rng, rng.choice((1, 2, 2, 3)))
    if kind < 0.62:
        return of_draft(rng, schema, rng.choice(list(OLDER_DRAFTS)))
    return large_schema(rng) if kind < 0.7 else schema


def table_schema(rng: random.Random) -> Any:
    """Return a schema of pairs and triples of keywords, as hostile ones are."""
    return json.loads(TABLES["schema"].draw(rng).text)


def _schemas(rng: random.Random, seed: int) -> Input:
    options = dict(rng.choice(SCHEMA_OPTIONS))
    if rng.random() < 0.5:
        options["formats"] = False
    return Input("schemas", "schema", json.dumps(random_json_schema(rng)), options)


def _patterns(rng: random.Random, seed: int) -> Input:
    how = rng.random()
    if how < 0.15:
        letters = rng.choice(("ab", "abc", "ab é", "aA1"))
        words = {
            "".join(rng.choices(letters, k=rng.randrange(1, 9)))
            for _ in range(rng.randrange(1, 30))
        }
        return Input("patterns", "choice", json.dumps(sorted(words)))
    if how < 0.5:
        return Input("patterns", "regex", TABLES["pattern"].draw(rng).text)
    lone = _sampled("patterns", seed)
    try:
        return Input("patterns", "regex", lone.regex.pattern)
    except Exception:  # Lark or `re` refuses it
        return Input("patterns", "lark", lone.grammar)


# --- Grammars -------------------------------------------------------------------------------------


@cache
def _batch(kind: str, number: int) -> list[Any]:
    """Return what Hypothesis draws from a seed."""
    strategy = {
        "grammars": lambda: grammars(tuple(FEATURES)),
        "earley": lambda: earley_grammars(tuple(EARLEY_FEATURES)),
        "patterns": lambda: lone_patterns(tuple(FEATURES)),
    }[kind]()
    found: list[Any] = []

    @with_seed(number)
    @settings(
        max_examples=_BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(drawn: Any) -> None:
        found.append(drawn)

    collect()
    return found


def _sampled(kind: str, seed: int) -> Any:
    batch = _batch(kind, seed // _BATCH)
    return batch[seed % _BATCH % len(batch)]


#: Those without an indenter.
_BUNDLED = (
    *(["json"] * 8 + ["sql"] * 2),
    *("sql_select", "c", "java", "javascript", "lua", "go", "rust", "rust2021", "pascal"),
    *("verilog", "postgresql"),
)


def _grammars(rng: random.Random, seed: int) -> Input:
    how = rng.random()
    if how < 0.2:
        return Input("grammars", "bundled", rng.choice(_BUNDLED), {"tidy": rng.random() < 0.3})
    if how < 0.35:
        return Input("grammars", "lark", TABLES["grammar"].draw(rng).text)
    if how < 0.42:
        return Input("grammars", "llguidance", TABLES["llguidance"].draw(rng).text)
    drawn = _sampled("grammars", seed)
    return Input("grammars", "lark", drawn.text, {"parser": "lalr", "lexer": drawn.lexer})


def _earley(rng: random.Random, seed: int) -> Input:
    if rng.random() < 0.4:
        form = rng.choice(("ebnf", "gbnf", "w3c"))
        return Input("earley", form, TABLES[form].draw(rng).text)
    drawn = _sampled("earley", seed)
    return Input("earley", "lark", drawn.text, {"parser": "earley", "lexer": drawn.lexer})


def _indented(rng: random.Random, seed: int) -> Input:
    if rng.random() < 0.06:
        name = rng.choice(("python", "python", "python312"))
        return Input("indented", "bundled", name, {"tidy": rng.random() < 0.3})
    return Input("indented", "indented", TABLES["indented"].draw(rng).text)


# --- Messages and monitors ------------------------------------------------------------------------


def _messages(rng: random.Random, seed: int) -> Input:
    makers: tuple[Callable[[random.Random], Input], ...] = (_tag, _tag, _tools, _parts, _thinking)
    return rng.choice(makers)(rng)


def _tag(rng: random.Random) -> Input:
    if rng.random() < 0.4:
        return Input("messages", "tag", TABLES["tag"].draw(rng).text)
    return Input("messages", "tag", _tag_text(rng))


def _tag_text(rng: random.Random) -> str:
    tag = {"type": "structural_tag", "format": random_spec(rng, rng.choice((1, 2, 3)))}
    return json.dumps(tag)


def _tools(rng: random.Random) -> Input:
    names = rng.sample(("add", "find", "find_all", "a", "go"), rng.randrange(1, 4))
    given = [{"name": name, "parameters": _parameters(rng)} for name in names]
    options = {
        "format": rng.choice(FORMATS),
        "choice": rng.choice(("auto", "required", "required", names[0])),
        "parallel": rng.random() < 0.6,
    }
    return Input("messages", "tools", json.dumps(given), options)


def _parameters(rng: random.Random) -> Any:
    names = rng.sample(("a", "b", "city", "x1"), rng.randrange(3))
    properties = {name: _member(rng) for name in names}
    found = {"type": "object", "properties": properties}
    return found | ({"required": names[:1]} if rng.random() < 0.5 else {})


def _member(rng: random.Random) -> Any:
    simple = ({"type": "string"}, {"type": "integer"}, {"enum": ["a", "ab"]}, {"type": "boolean"})
    return rng.choice(simple) if rng.random() < 0.6 else varied_schema(rng, 1)


def _thinking(rng: random.Random) -> Input:
    answer = rng.choice((varied_schema(rng, 1), {"enum": [1, "a"]}, ["yes", "no"]))
    options: dict[str, Any] = {"is_open": rng.random() < 0.3, "is_optional": rng.random() < 0.3}
    if rng.random() < 0.5:
        options["max_tokens"] = rng.choice((1, 3, 8))
    return Input("messages", "thinking", json.dumps(answer), options)


def _parts(rng: random.Random) -> Input:
    return Input("messages", "parts", json.dumps(_part(rng, rng.choice((1, 2)), is_first=True)))


def _part(rng: random.Random, depth: int, *, is_first: bool = False) -> Any:
    if not depth or (not is_first and rng.random() < 0.3):
        return _single_part(rng)
    how = rng.choice(("concat", "concat", "either", "repeat", "optional"))
    if how == "repeat":
        least = rng.randrange(3)
        most = rng.choice((None, least + 1, least + 3))
        return ["repeat", _part(rng, depth - 1), least, most]
    if how == "optional":
        return ["optional", _part(rng, depth - 1)]
    return [how, *(_part(rng, depth - 1) for _ in range(rng.randrange(2, 4)))]


def _single_part(rng: random.Random) -> Any:
    how = rng.randrange(6)
    if how == 0:
        return ["free", {"until": rng.sample(("\n", "END", "</a>"), rng.randrange(1, 3))}]
    if how == 1:
        return ["source", _schemas(rng, 0).source]
    if how == 2:
        return ["source", Input("patterns", "regex", TABLES["pattern"].draw(rng).text).source]
    if how == 3:
        return ["source", Input("grammars", "lark", TABLES["grammar"].draw(rng).text).source]
    return rng.choice([word for word in TAG_WORDS if word] + [" ", ", ", "a\n"])


def _monitors(rng: random.Random, seed: int) -> Input:
    how = rng.random()
    if how < 0.3:
        database = random_schema(rng.getrandbits(20), rng.choice((1, 2, 3, 6)))
        options = {"statements": rng.choice(("select", "select", "write", "all"))}
        return Input("monitors", "runs_on", database, options)
    if how < 0.36:
        database = random_schema(rng.getrandbits(20), rng.choice((1, 2, 6)))
        return Input("monitors", "with_schema", database)
    if how < 0.42:
        names = rng.choice((None, ["print", "len"], ["a", "ab", "b"]))
        return Input("monitors", "python_names", json.dumps(names))
    monitor = rng.choice(("different", "known"))
    return Input("monitors", "watched", TABLES["watched"].draw(rng).text, {"monitor": monitor})


def beside_the_table(kind: str, rng: random.Random, first: int) -> str | None:
    """Return a text of one of the kinds of :mod:`hostile.tables` that no table draws.

    What Hypothesis draws is from a few batches, from one with a seed on: each takes a second.
    """
    seed = first + rng.randrange(4 * _BATCH)
    if kind == "schema":
        return json.dumps(random_json_schema(rng))
    if kind == "tag":
        return _tag_text(rng)
    if kind == "pattern":
        drawn = _patterns(rng, seed)
        return drawn.text if drawn.form == "regex" else None
    return _sampled("grammars", seed).text if kind == "grammar" else None


#: What makes the inputs of each kind.
KINDS: dict[str, Callable[[random.Random, int], Input]] = {
    "schemas": _schemas,
    "patterns": _patterns,
    "grammars": _grammars,
    "earley": _earley,
    "indented": _indented,
    "messages": _messages,
    "monitors": _monitors,
}
