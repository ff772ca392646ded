"""Whole grammars inside a grammar.

In: a :class:`~cfgguide.grammar.grammar.Grammar`. Out: its rules and terminals in Lark's language,
under names that begin with a prefix; :mod:`cfgguide.schema.embedded_rules` has those of schemas.
Rules for the end of a sentence are separate (:func:`cfgguide.grammar.fragments.ended`), so that
what comes next is never tried inside of it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from cfgguide.errors import GrammarError
from cfgguide.grammar.fragments import Rules, ended, rules_of
from cfgguide.grammar.grammar import Grammar


def rules_of_grammar(grammar: Grammar) -> Rules:
    """Return rules for the sentences of a grammar but the empty one.

    Raises
    ------
    GrammarError
        If Lark rejects the grammar, or it cannot be a part of another one.
    """
    rules = rules_of(grammar)
    if rules.ignored:
        raise GrammarError(
            "it has an %ignore, which would hold in the whole text; put what is ignored into its "
            "rules"
        )
    found = ended(rules)
    if rules.start not in rules.optional:
        return found
    return replace(found, start=found.start.removesuffix("__end"))


def can_be_empty(grammar: Grammar) -> bool:
    """Return whether the empty text is a sentence; raises as :func:`rules_of_grammar`."""
    rules = rules_of(grammar)
    return rules.start in rules.optional


def one_of_schemas(schemas: list[Any]) -> Any:
    """Return a schema of what any of some allow; each keeps its own references.

    >>> one_of_schemas([{"type": "null"}, {"$ref": "#/$defs/a"}])["anyOf"][1]
    {'$id': 'urn:llguidance:1', '$ref': '#/$defs/a'}
    """
    named = [
        {"$id": f"urn:llguidance:{number}", **schema}
        if isinstance(schema, dict) and "$ref" in json.dumps(schema) and "$id" not in schema
        else schema
        for number, schema in enumerate(schemas)
    ]
    return {"anyOf": named}
