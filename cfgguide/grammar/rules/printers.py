r"""Rules of the tree in GBNF and in W3C's EBNF.

In: rules by name, without what only llguidance's dialect has. Out: a text that is read as the same
language (:func:`printed`). What the other notation cannot say is an error about its place::

    root ::= "a"{2,3} | [^b]     ->  GBNF   root ::= "a"{2,3} | [^b]
                                     W3C    root ::= "a" "a" "a"? | [^b]
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NoReturn

from cfgguide.automata.charset import MAX_CODE_POINT, CharacterClass
from cfgguide.errors import CfgGuideError, GrammarError, LimitError
from cfgguide.grammar.rules.facts import ordered
from cfgguide.grammar.rules.names import NameAllocator
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import (
    Characters,
    Choice,
    Expression,
    Minus,
    Name,
    Ranges,
    Repeated,
    Row,
    Rule,
    Special,
    Text,
    folded,
)

#: Of the text that is written.
MAX_CHARACTERS = 10_000_000
_MAX_COUNTED = 1_000  # of a part that is written out as often as a count says
_ATOM, _REPEATED, _MINUS, _ROW, _CHOICE = range(5)  # how tightly a written part holds together

# Characters that are written by number in W3C's EBNF, and runs without one kind of quotes.
_CONTROL = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_RUNS = re.compile(f"""([^"{_CONTROL}]+)|([^'{_CONTROL}]+)|(.)""", re.DOTALL)

Written = tuple[str, int]
#: Returns an expression without the A - B that one is, or None if none can be found.
WithoutMinus = Callable[[Minus], Expression | None]


def printed(
    source: Source,
    rules: Mapping[str, Rule],
    root: str,
    target: str,
    without_minus: WithoutMinus = lambda minus: None,
) -> str:
    r"""Return rules in a notation, that of the start rule first.

    Parameters
    ----------
    source : Source
        Their text, for errors.
    rules : mapping of str to Rule
        Those that are needed, by name.
    root : str
        The rule with which the grammar starts.
    target : {"gbnf", "w3c"}
        The notation.
    without_minus : callable, optional
        Returns an expression with the same texts as one ``A - B``, for GBNF.

    Raises
    ------
    GrammarError
        If the notation cannot say something; the message points to the place.
    LimitError
        If the text would be too long.

    Examples
    --------
    >>> body = Row(0, (Text(0, "a\n"), Repeated(0, Name(0, "r"), 0, 2)))
    >>> rules = {"r": Rule(0, "r", body)}
    >>> print(printed(Source("", ""), rules, "r", "gbnf"))
    # r is root here
    root ::= "a\n" root{0,2}
    >>> print(printed(Source("", ""), rules, "r", "w3c"))
    r ::= "a" #xA (r r?)?
    """
    return _PRINTERS[target](source, rules, root, without_minus).text()


class _Printer(ABC):
    """Writes rules in one notation."""

    comment: ClassVar[str]

    def __init__(
        self,
        source: Source,
        rules: Mapping[str, Rule],
        root: str,
        without_minus: WithoutMinus,
    ) -> None:
        self._source = source
        self._rules = rules
        self._root = root
        self._without_minus = without_minus
        allocator = NameAllocator()
        first = [root, *(name for name in rules if name != root)]
        self._names = {name: allocator.new(self.name(name)) for name in first}

    def text(self) -> str:
        """Return all rules, with a comment where a name is not that of the rule."""
        lines = self.notes()
        size = 0
        for name, mine in self._names.items():
            if mine != name:
                lines.append(self.comment.format(f"{name} is {mine} here"))
            body, _ = folded(self._rules[name].body, self._written)
            lines.append(f"{mine} ::= {body}".rstrip())
            size += len(lines[-1])
            if size > MAX_CHARACTERS:
                self.fail(
                    self._rules[name].at,
                    f"the grammar has more than {MAX_CHARACTERS} characters in this notation, "
                    "which writes counts out",
                    LimitError,
                )
        return "\n".join(lines)

    def notes(self) -> list[str]:
        """Return comments about the whole."""
        return []

    def fail(self, at: int, said: str, kind: type[CfgGuideError] = GrammarError) -> NoReturn:
        """Raise an error about a place."""
        raise self._source.error(at, said, kind)

    def _written(self, node: Expression, parts: list[Written]) -> Written:
        match node:
            case Text(ignores_case=True):
                raise self._source.error(node.at, "list the characters of a text in any case")
            case Text():
                return self.literal(node)
            case Characters():
                return self.characters(node.ranges), _ATOM
            case Name():
                return self._names[node.name], _ATOM
            case Special():
                return self.tokens(node)
            case Row():
                return self.row(parts)
            case Choice():
                return self.choice(parts)
            case Repeated():
                return self.repeated(node, parts[0])
            case Minus():
                return self.minus(node, parts)
            case _:
                raise self._source.error(node.at, "this cannot be said in this notation")

    def row(self, parts: Sequence[Written]) -> Written:
        """Return parts one after the other."""
        kept = [part for part in parts if part[0] != self.empty]
        if len(kept) < 2:
            return kept[0] if kept else (self.empty, _ATOM)
        return " ".join(grouped(part, _ROW) for part in kept), _ROW

    def choice(self, parts: Sequence[Written]) -> Written:
        """Return one of some parts."""
        kept = list(dict.fromkeys(parts))
        return kept[0] if len(kept) == 1 else (" | ".join(text for text, _ in kept), _CHOICE)

    def marked(self, part: Written, mark: str) -> Written:
        """Return a part with a count."""
        return f"{grouped(part, _ATOM)}{mark}", _REPEATED

    def repeated(self, node: Repeated, part: Written) -> Written:
        """Return a part several times."""
        marks = {(0, 1): "?", (0, None): "*", (1, None): "+"}
        bounds = (node.least, node.most)
        if bounds == (1, 1):
            return part
        if node.most == 0 or part[0] == self.empty:
            return self.empty, _ATOM
        return self.marked(part, marks[bounds]) if bounds in marks else self.counted(node, part)

    empty: ClassVar[str] = '""'

    @abstractmethod
    def name(self, name: str) -> str:
        """Return a name as the notation has them."""

    @abstractmethod
    def literal(self, node: Text) -> Written:
        """Return a text."""

    @abstractmethod
    def characters(self, ranges: Ranges) -> str:
        """Return a class."""

    @abstractmethod
    def tokens(self, node: Special) -> Written:
        """Return one token of some."""

    @abstractmethod
    def counted(self, node: Repeated, part: Written) -> Written:
        """Return a part as often as no mark says."""

    @abstractmethod
    def minus(self, node: Minus, parts: list[Written]) -> Written:
        """Return ``A - B``."""


class _Gbnf(_Printer):
    comment = "# {}"
    _ESCAPES: ClassVar[dict[str, str]] = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}

    def name(self, name: str) -> str:
        plain = re.sub("[^A-Za-z0-9]+", "_", name).strip("_") or "rule"
        if name == self._root:
            return "root"
        return "rule_root" if plain == "root" else plain

    def notes(self) -> list[str]:
        left = sorted(self._names[name] for name in _left_recursive(self._rules))
        said = f"llama.cpp refuses rules that call themselves at the left end: {', '.join(left)}"
        return [self.comment.format(said)] if left else []

    def literal(self, node: Text) -> Written:
        return f'"{self._spelled(node.text, chr(34))}"', _ATOM

    def _spelled(self, text: str, escaped: str) -> str:
        return "".join(
            self._ESCAPES.get(each)
            or (f"\\{each}" if each in escaped else each if each.isprintable() else _number(each))
            for each in text
        )

    def characters(self, ranges: Ranges) -> str:
        others = CharacterClass(ranges).complement().ranges
        if not others:
            return "[\\x00-\\U0010FFFF]"
        is_negated = ranges[-1][1] == MAX_CODE_POINT
        members = [
            self._spelled(chr(first), "[]-")
            + ("" if first == last else "-" * (last > first + 1) + self._spelled(chr(last), "[]-"))
            for first, last in (others if is_negated else ranges)
        ]
        written = "".join(members)
        if written[0] == "^" and not is_negated:
            written = f"\\x5E{written[1:]}"
        return f"[{'^' * is_negated}{written}]"

    def tokens(self, node: Special) -> Written:
        written = [
            (f"<[{token}]>" if isinstance(token, int) else str(token), _ATOM)
            for token in sorted(node.tokens, key=lambda token: (isinstance(token, int), token))
        ]
        for text, _ in written:
            if not re.fullmatch(r"<\[[0-9]{1,9}\]>|<(?!\[)[^<>\r\n]+>", text):
                self.fail(node.at, f"GBNF has tokens by id and as <name>, and this is {text!r}")
        return self.choice(written)

    def counted(self, node: Repeated, part: Written) -> Written:
        most = "" if node.most is None else node.most
        return self.marked(
            part, f"{{{node.least}}}" if node.least == node.most else f"{{{node.least},{most}}}"
        )

    def minus(self, node: Minus, parts: list[Written]) -> Written:
        found = self._without_minus(node)
        if found is None:
            self.fail(
                node.at, "A - B cannot be said in GBNF, and what this leaves is no short pattern"
            )
        return folded(found, self._written)


class _W3c(_Printer):
    comment = "/* {} */"

    def name(self, name: str) -> str:
        plain = re.sub("[^A-Za-z0-9_.]+", "_", name)
        return plain if re.match("[A-Za-z_]", plain) else f"rule_{plain}"

    def literal(self, node: Text) -> Written:
        return self.row(
            [
                (
                    f'"{single}"' if single else f"'{double}'" if double else f"#x{ord(other):X}",
                    _ATOM,
                )
                for single, double, other in _RUNS.findall(node.text)
            ]
        )

    def characters(self, ranges: Ranges) -> str:
        others = CharacterClass(ranges).complement().ranges
        is_negated = bool(others) and ranges[-1][1] == MAX_CODE_POINT
        members = others if is_negated else ranges
        if not is_negated and len(members) == 1 and members[0][0] == members[0][1]:
            return f"#x{members[0][0]:X}"
        written = [
            _hex_range(first, last, is_plain=all(map(_is_plain, members)))
            for first, last in members
        ]
        return f"[{'^' * is_negated}{''.join(written)}]"

    def tokens(self, node: Special) -> Written:
        self.fail(node.at, "W3C's EBNF has no tokens; write GBNF, or leave them out")

    def counted(self, node: Repeated, part: Written) -> Written:
        if len(part[0]) * max(node.least, node.most or 0) > _MAX_COUNTED:
            said = "W3C's EBNF has no counts, and this one is too large to be written out"
            self.fail(node.at, said, LimitError)
        row = [part] * node.least
        if node.most is None:
            return self.row([*row[1:], self.marked(part, "+")])
        rest: Written | None = None
        for _ in range(node.most - node.least):
            rest = self.marked(part if rest is None else self.row([part, rest]), "?")
        return self.row([*row, rest] if rest is not None else row)

    def minus(self, node: Minus, parts: list[Written]) -> Written:
        return " - ".join(grouped(part, _REPEATED) for part in parts), _MINUS


_PRINTERS: dict[str, type[_Printer]] = {"gbnf": _Gbnf, "w3c": _W3c}
TARGETS = tuple(_PRINTERS)


def grouped(part: Written, level: int) -> str:
    """Return a part, in brackets if it holds together more loosely than it may."""
    return f"({part[0]})" if part[1] > level else part[0]


def _number(character: str) -> str:
    point = ord(character)
    if point < 0x100:
        return f"\\x{point:02X}"
    return f"\\u{point:04X}" if point < 0x10000 else f"\\U{point:08X}"


def _is_plain(bounds: tuple[int, int]) -> bool:
    return all(chr(point).isascii() and chr(point).isalnum() for point in bounds)


def _hex_range(first: int, last: int, *, is_plain: bool) -> str:
    ends = [chr(point) if is_plain else f"#x{point:X}" for point in (first, last)]
    return ends[0] if first == last else "-".join(ends)


def _left_recursive(rules: Mapping[str, Rule]) -> list[str]:
    """Return the rules that may begin with themselves, as if no rule had the empty text."""
    firsts = {
        name: Rule(rule.at, name, Row(rule.at, tuple(_firsts(rule.body))))
        for name, rule in rules.items()
    }
    return [name for name, is_cyclic in ordered(firsts) if is_cyclic]


def _firsts(expression: Expression) -> list[Name]:
    """Return the names with which an expression may begin; rules are taken for not empty."""

    def found(node: Expression, parts: list[tuple[list[Name], bool]]) -> tuple[list[Name], bool]:
        match node:
            case Name():
                return [node], False
            case Row():
                names: list[Name] = []
                for mine, is_optional in parts:
                    names += mine
                    if not is_optional:
                        return names, False
                return names, True
            case Choice():
                return [name for mine, _ in parts for name in mine], any(e for _, e in parts)
            case Repeated():
                return parts[0][0], parts[0][1] or node.least == 0
            case Text():
                return [], not node.text
            case _:
                return [], False

    return folded(expression, found)[0]
