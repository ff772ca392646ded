r"""Macros of XGrammar's EBNF: ``Regex(...)``, ``Substring(...)`` and ``TagDispatch(...)``.

In: what stands in the brackets (:func:`arguments`). Out: expressions, and for ``TagDispatch`` rules
that it needs. Its text is read by the automaton of Aho and Corasick 1975, "Efficient string
matching", whose states are beginnings of the texts that are looked for; each is a rule::

    TagDispatch(("<t>", r))      0 ::= ([^<] 0 | "<" 1)?      1 ::= ([^<t] 0 | "<" 1 | "t" 2)?
                                 2 ::= ([^<>] 0 | "<" 1 | ">" r 0)?
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from cfgguide.automata import ecma_notation, pattern_tree
from cfgguide.automata.charset import CharacterClass
from cfgguide.errors import CfgGuideError, GrammarError, LimitError
from cfgguide.grammar.notations.character_cursor import Cursor
from cfgguide.grammar.rules.tree import (
    Characters,
    Choice,
    Expression,
    Name,
    Repeated,
    Row,
    Rule,
    Text,
    expression_of,
)

#: Characters of the texts that one TagDispatch looks for, of one of them, and of all texts of one
#: Substring.
MAX_CHARACTERS = 10_000
MAX_TEXT = 1_000
MAX_SUBSTRINGS = 40_000
_MAX_NESTING = 2  # of lists
_NAME = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*+")
_DISPATCH = ("loop_after_dispatch", "excludes", "stop_eos", "stop_str")

Value = str | bool | Name | tuple["Argument", ...]


@dataclass(frozen=True)
class Argument:
    """What is given to a macro: a text, true or false, the name of a rule, or several of these."""

    at: int
    value: Value


@dataclass
class Arguments:
    """All that is given to a macro, and where the macro stands."""

    at: int
    cursor: Cursor
    positional: list[Argument] = field(default_factory=list)
    named: dict[str, Argument] = field(default_factory=dict)

    def fail(self, said: str, argument: Argument | None = None) -> NoReturn:
        """Raise an error about an argument, or about the macro."""
        self.cursor.fail(said, self.at if argument is None else argument.at)

    def is_true(self, name: str, *, default: bool) -> bool:
        """Return a named truth value."""
        argument = self.named.get(name)
        if argument is None:
            return default
        if not isinstance(argument.value, bool):
            self.fail(f"{name} is true or false", argument)
        return argument.value

    def texts(self, name: str) -> list[str]:
        """Return a named list of texts, none of which is empty."""
        argument = self.named.get(name)
        if argument is None:
            return []
        if not isinstance(argument.value, tuple):
            self.fail(f'{name} is a list of texts, such as ("a", "b")', argument)
        return [self.text(each) for each in argument.value]

    def text(self, argument: Argument) -> str:
        """Return an argument that has to be a text and not empty."""
        if not isinstance(argument.value, str) or not argument.value:
            self.fail("expected a text in double quotes that is not empty", argument)
        return argument.value


def arguments(
    cursor: Cursor, at: int, read_text: Callable[[int], str], skip_blanks: Callable[[], None]
) -> Arguments:
    """Return what stands in the brackets after a macro's name, which come next.

    Raises
    ------
    GrammarError
        If that is no list of arguments.
    """
    found = Arguments(at, cursor)
    inside: list[int] = []  # where the lists begin that are open

    def value() -> Argument:
        skip_blanks()
        begin = cursor.at
        if cursor.took('"'):
            return Argument(begin, read_text(begin))
        if cursor.took("("):
            if len(inside) == _MAX_NESTING:
                cursor.fail("no macro takes lists this far inside each other", begin)
            inside.append(begin)
            values = tuple(listed(value))
            inside.pop()
            return Argument(begin, values)
        name = cursor.match(_NAME)
        if name is None:
            cursor.fail(f"expected a text, a name, true, false or a list, not {cursor.shown}")
        is_bool = name[0] in ("true", "false")
        return Argument(begin, name[0] == "true" if is_bool else Name(begin, name[0]))

    def listed(read: Callable[[], Argument]) -> Iterator[Argument]:
        skip_blanks()
        while not cursor.took(")"):
            yield read()
            skip_blanks()
            if not cursor.took(","):
                cursor.expect(")", "or , after an argument")
                return
            skip_blanks()

    def argument() -> Argument:
        first = value()
        skip_blanks()
        if not (isinstance(first.value, Name) and cursor.took("=")):
            found.positional.append(first)
            return first
        if first.value.name in found.named:
            found.fail(f"{first.value.name} is given twice", first)
        found.named[first.value.name] = value()
        return first

    cursor.expect("(", "after the name of a macro")
    for _ in listed(argument):
        pass
    return found


def _no_others(given: Arguments, macro: str, known: tuple[str, ...]) -> None:
    for name, argument in given.named.items():
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none with a name"
            given.fail(f"{macro} has no argument {name}; {has}", argument)


def regex(given: Arguments) -> Expression:
    """Return the texts of ``Regex("...")``, whose notation is ECMA's, with ``.`` any character.

    Raises
    ------
    GrammarError, LimitError
        If it is no such pattern, or looks around.
    """
    _no_others(given, "Regex", ("json_string",))
    if len(given.positional) != 1:
        given.fail("Regex takes one pattern, in double quotes")
    if given.is_true("json_string", default=False):
        given.fail(
            "json_string=true, a pattern of what a JSON string says, is not supported; give a JSON "
            "Schema with this pattern instead"
        )
    [argument] = given.positional
    pattern = given.text(argument)
    inside = pattern.removeprefix("^")
    without = inside.removesuffix("$")
    if (len(without) - len(without.rstrip("\\"))) % 2 == 0:  # else a backslash hides the sign
        inside = without
    try:
        ecma_notation.read(inside)
        nodes = ecma_notation.read(f"(?s:{inside})")
    except CfgGuideError as error:
        kind = LimitError if isinstance(error, LimitError) else GrammarError
        raise given.cursor.error(str(error.args[0]), argument.at, kind) from None

    def refuse(node: pattern_tree.Node) -> NoReturn:
        said = (
            "this pattern looks around, or has ^ or $ inside, and here it is a part of a text; "
            "write it without"
        )
        if isinstance(node, pattern_tree.Characters):
            said = "a class of this pattern has no character"
        given.fail(said, argument)

    return expression_of(nodes, argument.at, refuse)


def substring(given: Arguments) -> Expression:
    """Return some of the given texts in a row, or none; XGrammar takes each of them whole.

    Raises
    ------
    GrammarError, LimitError
        If there is no text, or it is too long.
    """
    _no_others(given, "Substring", ())
    chunks = [given.text(each) for each in given.positional]
    if not chunks:
        given.fail("Substring takes a text, or several, in double quotes")
    if sum(map(len, chunks)) * len(chunks) > MAX_SUBSTRINGS:
        said = f"the texts of this Substring have more than {MAX_SUBSTRINGS} characters; shorten it"
        raise given.cursor.error(said, given.at, LimitError)
    trie: dict[str, dict[str, object]] = {}
    for begin in range(len(chunks)):
        node = trie
        for chunk in chunks[begin:]:
            node = node.setdefault(chunk, {})  # type: ignore[assignment]
    return _of_trie(given.at, trie)


def _of_trie(at: int, trie: dict[str, dict[str, object]]) -> Expression:
    """Return the texts of a trie and all their beginnings, made from the leaves on."""
    made: dict[int, Expression] = {}
    order, pending = list[dict[str, dict[str, object]]](), [trie]
    while pending:
        order.append(pending.pop())
        pending.extend(order[-1].values())  # type: ignore[arg-type]
    for node in reversed(order):
        rows = [
            Row(at, (Text(at, text), made[id(after)])) if after else Text(at, text)
            for text, after in node.items()
        ]
        made[id(node)] = Repeated(at, rows[0] if len(rows) == 1 else Choice(at, tuple(rows)), 0, 1)
    return made[id(trie)]


def tag_dispatch(given: Arguments, name: Callable[[int], str]) -> tuple[Expression, list[Rule]]:
    """Return ``TagDispatch(...)``: text, and after each tag in it the rule of this tag.

    The text holds no tag, no text that is excluded and none that stops it. It ends anywhere, or
    after a text that stops it.

    Parameters
    ----------
    given : Arguments
        What it is given.
    name : callable
        Returns the name for a rule by its number.

    Raises
    ------
    GrammarError, LimitError
        If that is no list of tags with rules, one text that it looks for is a part of another, or
        they are too many.
    """
    _no_others(given, "TagDispatch", _DISPATCH)
    rules = dict(_pair(given, argument) for argument in given.positional)
    excluded, stops = given.texts("excludes"), given.texts("stop_str")
    loops = given.is_true("loop_after_dispatch", default=True)
    if len(rules) < len(given.positional):
        given.fail("a tag stands here twice; make one rule of its rules")
    if stops and rules and not loops:
        given.fail("stop_str with loop_after_dispatch=false is not supported; write rules for it")
    excluded = [
        text for text in excluded if not any(each in text for each in excluded if each != text)
    ]
    texts = list(dict.fromkeys([*rules, *excluded, *stops]))
    if len(texts) < len(rules) + len({*excluded}) + len({*stops}):
        given.fail("a text stands both among tags, excludes and stop_str, and can be one of these")
    if sum(map(len, texts)) > MAX_CHARACTERS or max(map(len, texts), default=0) > MAX_TEXT:
        said = (
            f"the texts of this TagDispatch have more than {MAX_CHARACTERS} characters, or one has "
            f"more than {MAX_TEXT}"
        )
        raise given.cursor.error(said, given.at, LimitError)
    for text in texts:
        for other in texts:
            if text != other and text in other:
                given.fail(f"{text!r} is a part of {other!r}, so one of them hides the other")
    ends: dict[str, Expression | None] = dict.fromkeys(excluded)
    ends |= dict.fromkeys(stops, Row(given.at, ()))
    again: tuple[Expression, ...] = (Name(given.at, name(0)),) if loops else ()
    ends |= {tag: Row(given.at, (rule, *again)) for tag, rule in rules.items()}
    may_end = given.is_true("stop_eos", default=not stops)
    if not may_end and not stops:
        given.fail("stop_eos=false needs stop_str: otherwise no text ends")
    return Name(given.at, name(0)), _states(given.at, ends, name, may_end=may_end)


def _pair(given: Arguments, argument: Argument) -> tuple[str, Name]:
    pair = argument.value
    if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1].value, Name):
        given.fail('TagDispatch takes pairs of a tag and a rule: ("<call>", call)', argument)
    return given.text(pair[0]), pair[1].value


def _states(
    at: int, ends: dict[str, Expression | None], name: Callable[[int], str], *, may_end: bool
) -> list[Rule]:
    """Return a rule for each beginning of the texts; `ends` is what comes after each whole text."""
    children: dict[str, dict[str, str]] = {"": {}}
    for text in ends:
        for length in range(len(text)):
            begun, longer = text[:length], text[: length + 1]
            children.setdefault(begun, {})[text[length]] = longer
    numbers = {beginning: number for number, beginning in enumerate(children)}
    steps: dict[str, dict[str, str]] = {}  # where characters lead that do not lead to ""
    fallback = {"": ""}  # the longest beginning that ends the text, too
    for beginning in sorted(children, key=len):
        if len(beginning) > 1:
            fallback[beginning] = steps[fallback[beginning[:-1]]].get(beginning[-1], "")
        shorter = fallback.setdefault(beginning, "")
        steps[beginning] = (steps[shorter] if beginning else {}) | children[beginning]
    return [
        Rule(at, name(numbers[beginning]), _state(at, steps[beginning], ends, after, may_end))
        for after in [lambda text: Name(at, name(numbers[text]))]
        for beginning in children
    ]


def _state(
    at: int,
    steps: dict[str, str],
    ends: dict[str, Expression | None],
    after: Callable[[str], Name],
    may_end: bool,
) -> Expression:
    others = CharacterClass.of_characters(map(ord, steps)).complement()
    rows = [Row(at, (Characters(at, others.ranges), after("")))]
    characters: dict[str, list[int]] = {}
    for character, target in steps.items():
        characters.setdefault(target, []).append(ord(character))
    for target, points in characters.items():
        then = ends[target] if target in ends else after(target)
        if then is not None:
            one = Characters(at, CharacterClass.of_characters(points).ranges)
            rows.append(Row(at, (one, then)))
    body = Choice(at, tuple(rows))
    return Repeated(at, body, 0, 1) if may_end else body
