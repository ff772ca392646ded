"""Bad requests to a server of vLLM with the plug-in: what is wrong, and words of its answer."""

from __future__ import annotations

from typing import Any

_SLOW = "(a|b)*a(a|b){40}"


def _json(schema: Any) -> dict[str, Any]:
    return {"structured_outputs": {"json": schema}}


def _grammar(text: str) -> dict[str, Any]:
    return {"structured_outputs": {"grammar": text}}


def _sql(**asked: Any) -> dict[str, Any]:
    return {"cfgguide": {"sql": "sqlite", **asked}}


def _format(schema: Any) -> dict[str, Any]:
    made = {"name": "it", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": made}}


def _tool(parameters: Any, choice: Any) -> dict[str, Any]:
    function = {"name": "save", "parameters": parameters, "strict": True}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}


def _tag(made: Any) -> dict[str, Any]:
    return {"response_format": {"type": "structural_tag", "format": made}}


#: What goes into the body of a request, and what the message of its answer has.
BAD: dict[str, tuple[dict[str, Any], str]] = {
    # Schemas.
    "no such type": (_json({"type": "nothing"}), "type is one or more of"),
    "a type of a part": (_json({"properties": {"a": {"type": "nothing"}}}), "/properties/a"),
    "a text that is no schema": (_json("{"), "JSON"),
    "a schema that is a number": (_json("12"), "schema"),
    "properties are an array": (_json({"properties": []}), "properties"),
    "items are a number": (_json({"items": 3}), "items"),
    "no value to choose": (_json({"enum": []}), "no value is allowed"),
    "required is a text": (_json({"required": "a"}), "required"),
    "a bound is a text": (_json({"minimum": "x"}), "minimum"),
    "multiples of nothing": (_json({"multipleOf": 0}), "multipleOf"),
    "a reference to nowhere": (_json({"$ref": "#/nowhere"}), "nowhere"),
    "a reference to a server": (_json({"$ref": "http://a/b"}), "put the document under"),
    "no value is left": (_json({"type": "integer", "not": {"type": "integer"}}), "no value"),
    "lengths that exclude each other": (
        _json({"type": "string", "minLength": 5, "maxLength": 2}),
        "minLength|no value",
    ),
    "a pattern with an open bracket": (_json({"type": "string", "pattern": "("}), "pattern"),
    "a class that is not there": (_json({"type": "string", "pattern": r"^\p{Foo}$"}), "pattern"),
    "an own keyword of another type": (_json({"x-cfgguide": 3}), "x-cfgguide"),
    "an own keyword misspelt": (_json({"x-cfgguide": {"tidyy": True}}), "x-cfgguide"),
    "separators of letters": (_json({"x-cfgguide": {"separators": ["a", "b"]}}), "separators"),
    "too deep": (_json("[" * 5_000 + "]" * 5_000), "JSON|nest"),
    "white space by a pattern": (
        {"structured_outputs": {"json": {}, "whitespace_pattern": " "}},
        "whitespace_pattern is not followed",
    ),
    # Patterns and choices.
    "a pattern that ends early": ({"structured_outputs": {"regex": "(?P<x>"}}, "regex|pattern"),
    "looks back, any number": ({"structured_outputs": {"regex": "(?<=a+)b"}}, "look-behind"),
    "a back-reference": ({"structured_outputs": {"regex": r"(a*)b\1"}}, "reference|group"),
    "a range turned round": ({"structured_outputs": {"regex": "[z-a]"}}, "range"),
    "counts turned round": ({"structured_outputs": {"regex": "a{5,2}"}}, "repeat|min"),
    "nothing to repeat": ({"structured_outputs": {"regex": "*"}}, "repeat"),
    "choices of nothing": ({"structured_outputs": {"choice": []}}, "choice|text"),
    "choices of numbers": ({"structured_outputs": {"choice": [1, 2]}}, "choice|string"),
    "two kinds at once": (
        {"structured_outputs": {"regex": "a", "choice": ["a"]}},
        "one kind|multiple|either",
    ),
    # Grammars.
    "no such name": (_grammar("cfgguide:pyton"), "did you mean python"),
    "a name that is a path": (_grammar("cfgguide:../../etc/passwd"), "followed by a name"),
    "no such start": (_grammar('cfgguide:python {"start": "nothing"}'), "no rule 'nothing'"),
    "no such option": (_grammar('cfgguide:json {"stat": "value"}'), "did you mean start"),
    "an option of another type": (_grammar('cfgguide:json {"tidy": 1}'), "tidy"),
    "options that end early": (_grammar('cfgguide:json {"tidy":'), "JSON"),
    "tables that are a number": (_grammar('cfgguide:sql {"tables": 3}'), "tables"),
    "tables that are no SQL": (_grammar('cfgguide:sql {"tables": "CREATE TABEL a (b)"}'), "TABEL"),
    "an empty grammar": (_grammar(""), "grammar|start"),
    "no grammar after the mark": (_grammar("cfgguide:\n"), "start|grammar"),
    "a rule that is not there": (_grammar("start: a"), "used but not defined"),
    "a rule defined twice": (_grammar('start: "a"\nstart: "b"'), "more than once|twice"),
    "a grammar without a text": (_grammar("start: a\na: a"), "no |never"),
    "a grammar that explodes": (_grammar(f"start: /{_SLOW}/"), "max_"),
    "a grammar that imports": (_grammar("%import .mine.rule\nstart: rule"), "import"),
    "GBNF without a rule": (_grammar("root ::= a"), "not defined|no rule"),
    "llguidance that ends early": (_grammar("cfgguide:llguidance\nstart: %json {"), "json|JSON"),
    "a marked pattern": (_grammar("cfgguide:regex\n("), "pattern|regex|bracket"),
    "a marked schema": (_grammar("cfgguide:json_schema\n{"), "JSON"),
    "marked choices": (_grammar("cfgguide:choice\n3"), "JSON array"),
    "a marked tag": (_grammar("cfgguide:structural_tag\n{}"), "an object with a type"),
    # SQL.
    "another database": ({"cfgguide": {"sql": "mysql", "schema": "x"}}, "at /sql"),
    "no schema": (_sql(), "schema"),
    "a schema that is no SQL": (_sql(schema="CREATE TABLE"), "schema"),
    "a schema that drops": (_sql(schema="DROP TABLE users"), "schema"),
    "a schema that attaches": (_sql(schema="ATTACH 'mine.db' AS b"), "schema"),
    "an option misspelt": (_sql(schema="CREATE TABLE a (b)", runz=True), "did you mean runs"),
    "parameters of what runs": (_sql(schema="CREATE TABLE a (b)", parameters=True), "parameters"),
    "SQL that is a number": ({"cfgguide": 3}, "an object such as"),
    "SQL that is a name": ({"cfgguide": "json"}, "cfgguide:json"),
    "two ways at once": (
        {**_sql(schema="CREATE TABLE a (b)"), "response_format": {"type": "json_object"}},
        "either cfgguide, or",
    ),
    # As OpenAI's protocol has them.
    "a response format": (_format({"type": "nothing"}), "type is one or more of"),
    "a response format's place": (_format({"properties": {"a": {"items": 3}}}), "/properties/a"),
    "no such response format": ({"response_format": {"type": "yaml"}}, "yaml|response_format"),
    # Which XGrammar reads first, as vLLM's server has it.
    "a tag of no kind": (_tag({"type": "nothing"}), "structural_tag"),
    "a tag with a schema": (
        _tag({"type": "json_schema", "json_schema": {"type": "nothing"}}),
        "structural_tag",
    ),
    "parameters of a tool": (_tool({"type": "nothing"}, "required"), "nothing|type"),
    "a tool that is not there": (
        _tool({}, {"type": "function", "function": {"name": "load"}}),
        "load|tool",
    ),
}
