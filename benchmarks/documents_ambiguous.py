"""Texts of the three ambiguous grammars, made from seeds: formulas, statements, and questions.

In: a random generator. Out: one document. They stay within `formulas.cfgguide.lark`,
`statements.cfgguide.lark` and `queries.cfgguide.lark`. Words that could be read as one stand apart,
so engines with and without a lexer read the same.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

SHORTEST, LONGEST = 150, 900  # characters

_NAMES_OF_CODE = """
    total rate price quantity returned width height index count result value item limit internal
    doubled iffy forward node left right buffer size whiled structure n i j x y
"""
_NAMES_OF_FUNCTIONS = "sum min max average round if lookup concat len count_if and_all today"
_NOUNS = "orders customers invoices products notes notices shipments shops employees"
_NOUNS_OF_VALUES = "name price date status state weight amount country number"
_WORDS_BEFORE = "in of with within without by for from to under per on over"
_WORDS_OF_KIND = "new open overdue paid unpaid large largest late active inactive total"
_NAMES, _FUNCTIONS = _NAMES_OF_CODE.split(), _NAMES_OF_FUNCTIONS.split()
_ENTITIES, _ATTRIBUTES = _NOUNS.split(), _NOUNS_OF_VALUES.split()
_PREPOSITIONS, _ADJECTIVES = _WORDS_BEFORE.split(), _WORDS_OF_KIND.split()
_TEXTS = ["open", "n/a", "Zürich", "10 %", "it's", "a-b", "", "x = 1"]
_PLACES = ["Paris", "New York", "Zurich", "'A-17'", "'it''s here'", "Anna Lee", "today"]
_VERBS = ["contain", "include", "included", "belong to", "came from", "mention", "have"]
_QUANTIFIERS = ["the", "all", "any", "these", "their", "every", "the", "first 10", "last 3"]


def formulas(rng: Random) -> str:
    """Return a few formulas as of spreadsheets."""
    return _until_long(rng, lambda: f"= {_formula(rng, rng.randrange(2, 5))}", ";\n")


def statements(rng: Random) -> str:
    """Return functions and statements as of C."""
    return _until_long(rng, lambda: _item(rng), "\n")


def queries(rng: Random) -> str:
    """Return questions about orders and customers, in English."""
    return _until_long(rng, lambda: _question(rng), " ")


def _until_long(rng: Random, make: Callable[[], str], separator: str) -> str:
    """Return parts, as many as make a text of a random length."""
    length = rng.randrange(SHORTEST, LONGEST)
    text = make()
    while len(text) < length:
        text += separator + make()
    return text


def _formula(rng: Random, depth: int) -> str:
    if depth <= 0:
        return _operand(rng)
    deeper = depth - 1
    space = rng.choice([" ", " ", ""])
    kinds: list[Callable[[], str]] = [
        lambda: _operand(rng),
        lambda: _infix(rng, ["+", "-", "*", "/", "^", "&"], space, lambda: _formula(rng, deeper)),
        lambda: _infix(rng, ["+", "-", "*", "/"], space, lambda: _operand(rng)),
        lambda: _infix(
            rng, ["=", "<>", "<", "<=", ">", ">="], " ", lambda: _formula(rng, deeper), 2
        ),
        lambda: _called(rng, rng.choice(_FUNCTIONS), lambda: _formula(rng, deeper)),
        lambda: _called(rng, rng.choice(_FUNCTIONS), lambda: _range(rng)),
        lambda: f"-{_formula(rng, deeper)}",
        lambda: f"({_formula(rng, deeper)})",
        lambda: f"({_formula(rng, deeper)})%",
        lambda: " ? ".join(_formula(rng, deeper) for _ in range(2)),
        lambda: f"{_formula(rng, deeper)} ? {_formula(rng, deeper)} : {_formula(rng, deeper)}",
    ]
    return rng.choice(kinds)()


def _infix(
    rng: Random, operators: list[str], space: str, operand: Callable[[], str], most: int = 4
) -> str:
    text = operand()
    for _ in range(rng.randrange(1, most)):
        text += f"{space}{rng.choice(operators)}{space}{operand()}"
    return text


def _called(rng: Random, name: str, argument: Callable[[], str]) -> str:
    return f"{name}({', '.join(argument() for _ in range(rng.randrange(4)))})"


def _operand(rng: Random) -> str:
    kind = rng.randrange(10)
    if kind < 4:
        return _cell(rng)
    if kind < 7:
        return _number(rng) + rng.choice(["", "", "", "%"])
    if kind < 8:
        return rng.choice(_NAMES)
    return rng.choice([f'"{rng.choice(_TEXTS)}"', '"say ""no"""', "TRUE", "FALSE"])


def _cell(rng: Random) -> str:
    fixed = rng.choice(["", "", "", "$"])
    return f"{fixed}{rng.choice('ABCDXZ')}{rng.choice(['', '', 'A'])}{fixed}{rng.randrange(1, 200)}"


def _range(rng: Random) -> str:
    return f"{_cell(rng)}:{_cell(rng)}"


def _number(rng: Random) -> str:
    return str(rng.choice([rng.randrange(10), rng.randrange(5000), rng.randrange(10_000) / 100]))


def _item(rng: Random) -> str:
    if rng.random() < 0.4:
        return _statement(rng, 2, "")
    parameters = ", ".join(f"{_type(rng)} {rng.choice(_NAMES)}" for _ in range(rng.randrange(4)))
    return f"{_type(rng)} {rng.choice(_NAMES)}({parameters}) {_block(rng, 2, '')}"


def _block(rng: Random, depth: int, indent: str) -> str:
    lines = [_statement(rng, depth, indent + "  ") for _ in range(rng.randrange(1, 4))]
    return "\n".join(["{", *(f"{indent}  {line}" for line in lines), indent + "}"])


def _statement(rng: Random, depth: int, indent: str) -> str:
    simple: list[Callable[[], str]] = [
        lambda: f"{_declaration(rng)};",
        lambda: f"{_reference(rng)} {rng.choice(['=', '=', '+=', '-=', '*='])} {_value(rng, 2)};",
        lambda: f"{_called(rng, rng.choice(_NAMES), lambda: _value(rng, 1))};",
        lambda: f"{rng.choice(_NAMES)}++;",
        lambda: rng.choice(["return;", "break;", "continue;", f"return {_value(rng, 2)};"]),
    ]
    if depth <= 0 or rng.random() < 0.5:
        return rng.choice(simple)()
    deeper = depth - 1
    test = _value(rng, 1)
    body = _statement(rng, deeper, indent) if rng.random() < 0.6 else _block(rng, deeper, indent)
    name = rng.choice("ijn")
    kinds = [
        lambda: f"if ({test}) {body}",
        lambda: f"if ({test}) {body}",
        lambda: f"if ({test}) {body} else {_statement(rng, deeper, indent)}",
        lambda: f"while ({test}) {body}",
        lambda: f"do {body} while ({test});",
        lambda: f"for (int {name} = 0; {name} < {_value(rng, 0)}; ++{name}) {body}",
        lambda: _block(rng, deeper, indent),
    ]
    return rng.choice(kinds)()


def _declaration(rng: Random) -> str:
    name = rng.choice(_NAMES)
    values = ", ".join(_value(rng, 0) for _ in range(rng.randrange(1, 4)))
    kinds = [
        f"{name}",
        f"{name} = {_value(rng, 2)}",
        f"{name} = {_value(rng, 1)}, {rng.choice(_NAMES)}",
        f"{name}[{rng.randrange(1, 100)}] = {{{values}}}",
    ]
    return f"{_type(rng)} {rng.choice(kinds)}"


def _type(rng: Random) -> str:
    base = rng.choice(["int", "int", "char", "double", "bool", f"struct {rng.choice(_NAMES)}"])
    return rng.choice(["", "", "", "const "]) + base + rng.choice(["", "", " *"])


def _value(rng: Random, depth: int) -> str:
    if depth <= 0:
        return _atom(rng)
    deeper = depth - 1
    kinds: list[Callable[[], str]] = [
        lambda: _infix(rng, ["+", "-", "*", "/", "%"], " ", lambda: _value(rng, deeper)),
        lambda: _infix(
            rng, ["<", "<=", ">", ">=", "==", "!="], " ", lambda: _value(rng, deeper), 2
        ),
        lambda: _infix(
            rng, ["&&", "||", "&", "|", "<<", ">>"], " ", lambda: _value(rng, deeper), 3
        ),
        lambda: f"{rng.choice('-!*')}{_value(rng, deeper)}",
        lambda: f"({_value(rng, deeper)})",
        lambda: f"({_type(rng)}) {_value(rng, deeper)}",
        lambda: f"{_value(rng, deeper)} ? {_value(rng, deeper)} : {_value(rng, deeper)}",
        lambda: _called(rng, rng.choice(_NAMES), lambda: _value(rng, deeper)),
        lambda: _reference(rng),
    ]
    return rng.choice(kinds)()


def _reference(rng: Random) -> str:
    name, other = rng.choice(_NAMES), rng.choice(_NAMES)
    return rng.choice([name, name, f"{name}.{other}", f"{name}->{other}", f"{name}[{_atom(rng)}]"])


def _atom(rng: Random) -> str:
    kind = rng.randrange(10)
    if kind < 5:
        return rng.choice(_NAMES)
    if kind < 8:
        return _number(rng)
    return rng.choice(
        [f'"{rng.choice(_TEXTS)}"', r'"%d\n"', "'x'", r"'\n'", "true", "false", "sizeof(int)"]
    )


def _question(rng: Random) -> str:
    phrase = _phrase(rng, rng.randrange(1, 4))
    order = f" sorted by {rng.choice(_ATTRIBUTES)}{rng.choice(['', ' descending'])}"
    kinds = [
        f"{rng.choice(['show', 'show me', 'list', 'find', 'count'])} {phrase}",
        f"show {phrase}{order}",
        f"list {phrase}{order} limited to {rng.randrange(1, 100)}",
        f"how many {phrase} are there",
        f"how many {phrase} were there in {_thing(rng)}",
        f"what is the {rng.choice(_ATTRIBUTES)} of {phrase}",
        f"which are {phrase}",
    ]
    return rng.choice(kinds) + rng.choice("?!;")


def _phrase(rng: Random, n: int) -> str:
    """Return a thing and so many others that are said of it, or of one another."""
    return " ".join([_thing(rng), *(_more(rng) for _ in range(n))])


def _more(rng: Random) -> str:
    thing = _thing(rng)
    named = f"whose {rng.choice(_ATTRIBUTES)} {rng.choice(['is', 'is', 'was', 'is not'])}"
    relation = rng.choice(["more than", "less than", "at least", "equal to", "before", "like"])
    kinds = [
        *[f"{rng.choice(_PREPOSITIONS)} {thing}"] * 4,
        *[f"{rng.choice(['and', 'and', 'or', 'but not'])} {thing}"] * 2,
        f"that {rng.choice(['', 'do not '])}{rng.choice(_VERBS)} {thing}",
        f"{named} {relation} {_value_of(rng)}",
        f"{named} between {_value_of(rng)} and {_value_of(rng)}",
        f"{named} {rng.choice(['known', 'missing'])}",
    ]
    return rng.choice(kinds)


def _thing(rng: Random) -> str:
    if rng.random() < 0.2:
        return _value_of(rng)
    words = [rng.choice(_QUANTIFIERS)] * (rng.random() < 0.5)
    words += [rng.choice(_ADJECTIVES)] * (rng.random() < 0.4)
    return " ".join([*words, rng.choice(rng.choice([_ENTITIES, _ENTITIES, _ATTRIBUTES]))])


def _value_of(rng: Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(_PLACES)
    return _number(rng) + rng.choice(["", "", " days", " dollars", "%"])
