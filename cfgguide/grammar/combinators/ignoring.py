r"""Grammars that ignore nothing, and have the sentences of grammars that do.

Lark follows an ``%ignore`` everywhere in a text, so a grammar that has one does not go well with
others. In: the rules of a grammar. Out: rules in which each lexeme takes what is ignored after it,
and a terminal of its own takes what comes before the first::

    start: A B           start: [IGNORED] start_
    A: /a/               start_: A B
    B: /b/               A.2: /a(?: )*/
    %ignore " "          B.1: /b(?: )*/

That is the same if text is ignored wherever it can be: no other terminal that may match there comes
first. Strings that Lark takes out of the matches of a pattern would be patterns too, so a grammar
that has such strings stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from cfgguide.automata.charset import common_ranges
from cfgguide.automata.preference import first_characters
from cfgguide.grammar.fragments import (
    Production,
    Rules,
    Symbol,
    TerminalText,
)
from cfgguide.grammar.terminal_order import may_be_taken_out, replaced

_LEADING = "IGNORED"


def ignoring_nothing(rules: Rules) -> Rules:
    r"""Return rules for the same sentences without `ignored`; the same rules if there are none.

    Examples
    --------
    >>> from cfgguide import Grammar
    >>> from cfgguide.grammar.fragments import rules_of
    >>> rules = rules_of(Grammar('start: "a" "b"' + "\n%ignore / /"))
    >>> print(ignoring_nothing(rules).text("x"))
    x: x_ignored_start
    x_ignored_start: X_IGNORED x_start
        | x_start
    x_start: X_A X_B
    X_A.0: /(?:a)(?:(?: ))*/
    X_B.0: /(?:b)(?:(?: ))*/
    X_IGNORED.1: /(?:(?: ))+/
    """
    if not rules.ignored or not _is_always_ignored(rules):
        return rules
    ranked = sorted(rules.terminals, key=lambda each: each.rank)
    ignored = "|".join(each.pattern for each in ranked if each.name in rules.ignored)
    kept = [each for each in ranked if each.name not in rules.ignored]
    longer = {
        each.name: replace(each, value=f"{each.pattern}(?:{ignored})*", is_string=False, flags="")
        for each in kept
    }
    made = replaced(replace(rules, terminals=tuple(kept), ignored=()), longer)
    name = _LEADING
    while any(name in (each.name, each.name.lower()) for each in rules.terminals):
        name += "_"
    start = f"{name.lower()}_{rules.start}"
    priority = 1 + max((each.priority for each in made.terminals), default=0)
    leading = TerminalText(name, f"(?:{ignored})+", False, "", priority)
    begins = (
        Production(start, (Symbol(name, True), Symbol(rules.start, False)), None),
        Production(start, (Symbol(rules.start, False),), None),
    )
    return replace(
        made,
        start=start,
        productions=(*begins, *made.productions),
        terminals=tuple(sorted((*made.terminals, leading), key=lambda each: each.name)),
    )


def _is_always_ignored(rules: Rules) -> bool:
    """Return whether text is ignored wherever it can be, and terminals may become patterns."""
    if any(symbol.name in rules.ignored for each in rules.productions for symbol in each.right):
        return False
    ranked = sorted(rules.terminals, key=lambda each: each.rank)
    begins = {each.name: first_characters(each.pattern).ranges for each in ranked}
    for first, second in combinations(ranked, 2):
        if first.priority == second.priority and may_be_taken_out(first, second):
            return False
        is_beaten = second.name in rules.ignored and first.name not in rules.ignored
        if is_beaten and common_ranges(begins[first.name], begins[second.name]):
            return False
    return True
