r"""Grammars of JSON strings whose values are the sentences of another grammar.

In: a grammar, such as that of SQL. Out: the grammar of its sentences as ``json.dumps(sentence,
ensure_ascii=False)`` writes them. No code of a character begins another one's, so a pattern is
rewritten character by character, and matches the codes of what it matched before::

    a        a                  "        \\"
    [^;]     [^;"\\\x00-\x1f]|\\(?:["\\bfnrt]|u00(?:...))

So does look-ahead, to which the closing quote is the end of the text. Looking back is harder: of an
``n`` one cannot tell, from a bounded part of the text, a letter from the end of a line break.

Which terminal wins must not change. Lark sorts them by the width and length of their patterns too,
and :func:`~cfgguide.grammar.terminal_order.replaced` gives them priorities where that would matter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cfgguide.automata import syntax
from cfgguide.automata.charset import CharacterClass, characters_of
from cfgguide.automata.rewrite import escaped, pattern_of, rewritten
from cfgguide.automata.syntax import (
    Alternation,
    Anchor,
    Category,
    Character,
    CharacterSet,
    Dot,
    Group,
    Literal,
    Look,
    Node,
    Nodes,
    Repeat,
    Unsupported,
)
from cfgguide.errors import GrammarError
from cfgguide.grammar.combinators.ignoring import ignoring_nothing
from cfgguide.grammar.combinators.parts import Composed, Embedded, Regular, Sequence
from cfgguide.grammar.combinators.patterns import literal, regular
from cfgguide.grammar.combinators.sequence import grammar_of_part, part_of
from cfgguide.grammar.fragments import Rules, TerminalText, rules_of
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.terminal_order import replaced

#: The characters that JSON strings escape, and how: the code of each.
CODES = {
    point: json.dumps(chr(point), ensure_ascii=False)[1:-1]
    for point in [*range(0x20), ord('"'), ord("\\")]
}
_ESCAPED = ((0, 0x1F), (ord('"'), ord('"')), (ord("\\"), ord("\\")))
#: The plain characters with which codes of others end.
_LAST = {ord(code[-1]) for point, code in CODES.items() if point not in map(ord, '"\\')}
_FLAGS = {"a": re.A, "i": re.I, "m": re.M, "s": re.S, "u": re.U, "x": re.X}


def json_string(part: str | Grammar) -> Composed:
    r"""Return the grammar of the JSON strings whose values are the sentences of another grammar.

    Each has one spelling: that of ``json.dumps(sentence, ensure_ascii=False)``. JSON knows others,
    such as ``\u0041`` and ``\/``, which are no sentences of the result.

    Parameters
    ----------
    part : str or Grammar
        As for :func:`concat`.

    Raises
    ------
    GrammarError
        If the grammar cannot be a part, has special terminals, or looks back at what escapes hide.

    Examples
    --------
    >>> from cfgguide import regex
    >>> print(json_string(regex('["a-z]+')).text)
    start: TEXT
    TEXT: /\x22(?:\\\x22|[a-z])+\x22/
    """
    inner = part_of(part)
    if isinstance(inner, Regular) and not inner.looks:
        text = inner.text
        if text is not None:
            return grammar_of_part(literal(json.dumps(text, ensure_ascii=False)))
        pattern, _ = rewritten(f'"(?:{escaped_pattern(inner.pattern)})"')
        return grammar_of_part(regular(pattern))
    grammar = part if isinstance(part, Grammar) else grammar_of_part(inner)
    if grammar.special:
        raise GrammarError(
            "a grammar with special tokens cannot stand in a JSON string, whose value is a text"
        )
    body = Grammar(f"start: body\n{_escaped_rules(rules_of(grammar)).text('body')}")
    return grammar_of_part(Sequence((literal('"'), Embedded(body), literal('"'))))


def _escaped_rules(rules: Rules) -> Rules:
    """Return the rules for the same sentences, as they stand in a JSON string."""
    rules = ignoring_nothing(rules)
    return replaced(rules, {each.name: _terminal(each) for each in rules.terminals})


def _terminal(terminal: TerminalText) -> TerminalText:
    if terminal.is_string:
        value = json.dumps(terminal.value, ensure_ascii=False)[1:-1]
        if "i" in terminal.flags and set(terminal.value) & set(map(chr, range(0x20))):
            raise GrammarError(
                f"the terminal {terminal.name} is a text in any case that holds a control "
                "character, which cannot stand in a JSON string; write it as a pattern"
            )
        return replace(terminal, value=value)
    flags = 0
    for letter in terminal.flags:
        flags |= _FLAGS.get(letter, 0)
    try:
        value = escaped_pattern(terminal.value, flags)
    except GrammarError as error:
        raise GrammarError(f"the terminal {terminal.name}: {error.args[0]}") from None
    return replace(terminal, value=value, flags=terminal.flags.replace("x", ""))


def escaped_pattern(pattern: str, flags: int = 0) -> str:
    r"""Return a pattern for the codes of the texts that a pattern matches.

    Parameters
    ----------
    pattern : str
        A pattern that Lark could read.
    flags : int
        The flags of ``re`` around it, which stay around the result.

    Raises
    ------
    GrammarError
        If it looks back at what escapes hide.

    Examples
    --------
    >>> print(escaped_pattern(r'[a"]*?[a\n\x01](?!\n)'))
    (?:a|\\")*?(?:a|\\(?:n|u0001))(?!\\n)
    """
    tree = syntax.parse(pattern, flags)
    written = pattern_of(tuple(_nodes(tree.nodes, tree.flags)))
    added = tree.flags & ~flags & ~re.UNICODE & ~re.VERBOSE
    letters = "".join(letter for letter, flag in _FLAGS.items() if added & flag)
    return f"(?{letters}:{written})" if letters else written


def _nodes(nodes: Nodes, flags: int, before: Nodes = ()) -> Iterator[Node]:
    """Yield nodes for the codes of what others match, which come after some nodes."""
    for number, node in enumerate(nodes):
        seen = (*before, *nodes[:number])
        match node:
            case Alternation():
                yield Alternation(tuple(tuple(_nodes(each, flags, seen)) for each in node.branches))
            case Group():
                inside = node.flags_inside(flags)
                seen = () if inside != flags else seen  # which means other characters there
                yield replace(node, body=tuple(_nodes(node.body, inside, seen)))
            case Repeat():
                yield replace(node, body=tuple(_nodes(node.body, flags)))
            case Look(is_behind=True):
                yield from _behind(node, flags)
            case Look():
                yield replace(node, body=tuple(_nodes(node.body, flags)))
            case Anchor():
                yield from _anchor(node, seen, flags)
            case Unsupported():
                raise GrammarError(f"it uses {node.what}, which is not supported; {node.way_out}")
            case _:
                yield from _character(node, flags)


# --- Characters ----------------------------------------------------------------------------------


def _character(node: Character, flags: int) -> Iterator[Node]:
    characters = characters_of(node, flags)
    points = [point for point in CODES if point in characters]
    if not points:
        yield node
        return
    codes = _exactly(syntax.parse(_codes(points)).nodes, flags)
    plain = _plain(node, characters, flags)
    if plain is None:
        yield from codes
    else:
        yield Group((Alternation(((plain,), codes)),))


def _exactly(nodes: Nodes, flags: int) -> Nodes:
    """Return nodes whose letters match in their own case only."""
    return (Group(nodes, removed=re.I),) if flags & re.I else nodes


def _plain(node: Character, characters: CharacterClass, flags: int) -> Node | None:
    """Return a node for the characters of another one that are not escaped."""
    if isinstance(node, Dot):
        return CharacterSet(tuple(_members(_ESCAPED)), is_negated=True)
    if node.is_negated:
        members = node.members if isinstance(node, CharacterSet) else (node.code_point,)
        return CharacterSet((*members, *_members(_ESCAPED)), is_negated=True)
    rest = CharacterClass.of([*characters.complement().ranges, *_ESCAPED]).complement()
    if not rest.ranges:
        return None
    members = tuple(_members(rest.ranges))
    only = members[0] if len(members) == 1 else None
    found = Literal(only) if isinstance(only, int) else CharacterSet(members)
    return _exactly((found,), flags)[0]


def _members(ranges: Iterable[tuple[int, int]]) -> Iterator[int | tuple[int, int]]:
    for low, high in ranges:
        yield low if low == high else (low, high)


def _codes(points: list[int]) -> str:
    """Return the pattern of the codes of some characters."""
    short = "".join(CODES[point][1] for point in points if len(CODES[point]) == 2)
    rest = {CODES[point][4:] for point in points if len(CODES[point]) == 6}
    branches = [_one_of(short)] if short else []
    tens = [
        first + _one_of("".join(sorted(each[1] for each in rest if each[0] == first)))
        for first in sorted({each[0] for each in rest})
    ]
    if tens:
        branches.append(f"u00(?:{'|'.join(tens)})")
    return rf"\\(?:{'|'.join(branches)})"


def _one_of(characters: str) -> str:
    return f"[{re.escape(characters)}]" if len(characters) > 1 else re.escape(characters)


# --- Conditions ----------------------------------------------------------------------------------


def _behind(look: Look, flags: int) -> Iterator[Node]:
    """Yield what looks back at the codes of characters.

    A look-behind has one width in ``re``, so one at a set is one for each kind of code.
    """
    branches = [look.body]
    while len(branches[0]) == 1 and isinstance(branches[0][0], Alternation | Group):
        (node,) = branches[0]
        branches = [*syntax.branches_of(node)]
        if len(branches) > 1:
            break
    seen = [each for branch in branches for each in _seen(branch, flags)]
    looks = tuple(Look(each, is_behind=True, is_negated=look.is_negated) for each in seen)
    if look.is_negated or len(looks) == 1:
        yield from looks
    else:
        yield Group((Alternation(tuple((each,) for each in looks)),))


def _seen(branch: Nodes, flags: int) -> list[Nodes]:
    """Return the codes of what a branch of a look-behind matches, each of one width."""
    found: list[Nodes] = [()]
    for node in branch:
        if not isinstance(node, Literal | Dot | CharacterSet):
            raise _hidden()
        characters = characters_of(node, flags)
        points = [point for point in CODES if point in characters]
        if any(point in characters for point in _LAST) or any(point < 0x20 for point in points):
            raise _hidden()
        codes: list[Nodes] = [syntax.parse(escaped(CODES[point])).nodes for point in points]
        plain = _plain(node, characters, flags) if points else node
        codes += [] if plain is None else [(plain,)]
        found = [(*before, *code) for before in found for code in codes]
    return found


def _anchor(anchor: Anchor, before: Nodes, flags: int) -> Iterator[Node]:
    r"""Yield what stands for an anchor: the quotes are the ends of the text.

    ``\b`` is a look-ahead where a letter stands before it.
    """
    lines = flags & re.M
    if anchor == Anchor.TEXT_END or (anchor == Anchor.LINE_END and lines):
        pattern = f'(?=")|(?={re.escape(CODES[10])})' if anchor == Anchor.LINE_END else '(?=")'
    elif anchor == Anchor.LINE_END:
        pattern = f'(?=(?:{re.escape(CODES[10])})?")'
    elif anchor == Anchor.TEXT_START or (anchor == Anchor.LINE_START and not lines):
        pattern = r'(?<=")(?<!\\")'
    elif anchor == Anchor.BOUNDARY and before and _is_word(before[-1], flags):
        pattern = r"(?!\w)"
    else:
        raise _hidden()
    yield Group(syntax.parse(pattern).nodes)


def _is_word(node: Node, flags: int) -> bool:
    """Return whether all that a node matches ends with a character of a word."""
    match node:
        case Group():
            return bool(node.body) and _is_word(node.body[-1], node.flags_inside(flags))
        case Repeat():
            return node.min_count > 0 and bool(node.body) and _is_word(node.body[-1], flags)
        case Alternation():
            return all(bool(each) and _is_word(each[-1], flags) for each in node.branches)
        case Literal() | CharacterSet():
            word = CharacterSet((Category("w"),), is_negated=True)
            others = characters_of(word, flags).ranges
            mine = characters_of(node, flags)
            return not any(low in mine for low, _ in others) and _is_apart(mine, others)
        case _:
            return False


def _is_apart(characters: CharacterClass, ranges: Iterable[tuple[int, int]]) -> bool:
    return all(
        high < low or last < first for low, last in characters.ranges for first, high in ranges
    )


def _hidden() -> GrammarError:
    return GrammarError(
        "it looks back, in a JSON string, at what cannot be seen there: after an n one cannot tell "
        "a letter from the end of an escaped line break; look ahead instead, or back at other "
        "characters than digits, control characters and the letters a to f, n, r and t"
    )
