"""The rules of a JSON Schema, for a grammar in Lark's language that it becomes a part of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cfgguide.automata.preference import is_longest_first
from cfgguide.base.limits import Limits
from cfgguide.errors import GrammarError
from cfgguide.grammar.fragments import Rules, TerminalText, ended, rules_of
from cfgguide.schema.json_schema import json_schema

_NUMBER_ENDS = "(?![-+.0-9eE])"  # as schemas have it; what follows the value may begin so
_OPTIONS = "x-guidance"  # llguidance's own keyword, at the top of a schema
_ESCAPES = "json_allow_general_unicode_escapes"  # they are allowed anyway
_SPACE = "whitespace_pattern"  # which guidance writes as null where nothing is asked for
_KNOWN = (
    "item_separator",
    "key_separator",
    "whitespace_flexible",
    _SPACE,
    "coerce_one_of",
    "lenient",
    _ESCAPES,
)


def rules_of_schema(
    schema: Any, limits: Limits, *, is_tidy: bool = False, has_ignored: bool = False
) -> tuple[Rules, tuple[tuple[str, str], ...], bool]:
    """Return rules for the values of a schema, what is left out, and whether they take white space.

    There is no white space before or after the value. Properties come in the order in which they
    are declared. Tidy values take none but that of ``json.dumps``, and where Lark ignores some, one
    character.

    Raises
    ------
    GrammarError, LimitError
        If a grammar cannot guarantee the schema.
    """
    schema, options = _divided(schema)
    if is_tidy and has_ignored and "separators" not in options:
        options["max_whitespace"] = 1
    grammar = json_schema(schema, order="declared", limits=limits, tidy=is_tidy, **options)
    rules = rules_of(grammar)
    inner = [
        each for each in rules.productions if each.left == rules.start and len(each.right) == 1
    ]
    kept = [each for each in rules.productions if each.left != rules.start or each in inner]
    terminals = tuple(map(_without_guard, rules.terminals))
    rules = replace(rules, productions=tuple(kept), terminals=terminals)
    return ended(_used(rules)), grammar.left_out, grammar.options.layout.space != 0


def _divided(schema: Any) -> tuple[Any, dict[str, Any]]:
    """Return a schema without llguidance's options, and what they say in ours."""
    given = schema.get(_OPTIONS) if isinstance(schema, Mapping) else None
    if given is None:
        return schema, {}
    if not isinstance(given, Mapping) or not {*given} <= {*_KNOWN}:
        raise GrammarError(f"{_OPTIONS} may have {', '.join(_KNOWN)}, and nothing else")
    if given.get(_SPACE) is not None:
        raise GrammarError(
            f'{_OPTIONS}: {_SPACE} is null; for none write "whitespace_flexible": false'
        )
    plain = {name: value for name, value in schema.items() if name != _OPTIONS}
    options: dict[str, Any] = {}
    if given.get("lenient"):
        options["best_effort"] = True
    separators = (given.get("item_separator", ","), given.get("key_separator", ":"))
    if not given.get("whitespace_flexible", True):
        options["separators"] = separators
    elif separators != (",", ":"):
        raise GrammarError(
            f'{_OPTIONS}: separators of one\'s own go with "whitespace_flexible": false'
        )
    return plain, options


def _without_guard(terminal: TerminalText) -> TerminalText:
    """Return a terminal for numbers that may stand before anything, if it is greedy anyway."""
    pattern = terminal.value.removesuffix(_NUMBER_ENDS)
    if pattern == terminal.value or re.search(r"\(\?[!=<]", pattern) is not None:
        return terminal
    return replace(terminal, value=pattern) if is_longest_first(pattern) else terminal


def _used(rules: Rules) -> Rules:
    """Return rules without terminals that none of them uses."""
    used = {each.name for production in rules.productions for each in production.right}
    return replace(rules, terminals=tuple(each for each in rules.terminals if each.name in used))
