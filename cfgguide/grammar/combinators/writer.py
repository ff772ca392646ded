"""Writes the grammar of a sequence of parts.

In: a :class:`~cfgguide.grammar.combinators.parts.Part` that is not regular as a whole. Out: its
text in Lark's language. First and follow positions are computed as for a regular expression. What
Lark could not tell apart is an error.

Source: Glushkov 1961 (first and follow positions).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cfgguide.errors import GrammarError
from cfgguide.grammar.combinators.alternatives import check_apart, may_follow_rest
from cfgguide.grammar.combinators.boundaries import END, Guards, Position
from cfgguide.grammar.combinators.parts import (
    Either,
    Embedded,
    Part,
    Regular,
    Repeated,
    Sequence,
    Special,
    special_terminals,
    terminals_of,
    token_sets,
)
from cfgguide.grammar.fragments import Rules, ended, rules_of
from cfgguide.grammar.literals import pattern_literal


def text_of(part: Part) -> str:
    """Return the grammar of a part in Lark's language.

    Raises
    ------
    GrammarError
        If a part cannot stand where it is.
    """
    return _Writer(part).text()


@dataclass
class _Span:
    """A part within the whole: its rule, and the positions where it may begin and end."""

    written: str
    first: set[int]
    last: set[int]
    is_optional: bool


@dataclass
class _Writer:
    """Writes the grammar of parts that are not all regular."""

    part: Part
    positions: list[Position] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    either: list[str] = field(default_factory=list)
    alternatives: list[list[list[Position]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.special = special_terminals(token_sets(self.part))

    def text(self) -> str:
        """Return the grammar in Lark's language."""
        whole = self._span(self.part)
        for number in whole.last:
            self.follow[number].add(END)
        first = whole.first | ({END} if whole.is_optional else set())
        self._check(first, None)
        for position in self.positions:
            self._check(self.follow[position.number], position)
        for alternatives in self.alternatives:
            check_apart(alternatives, self.positions, self.follow)
        guards = Guards(self.positions, first, self.follow)
        priority = max(
            (
                each.priority
                for position in self.positions
                if position.rules
                for each in position.rules.terminals
            ),
            default=0,
        )
        lines = [f"start: {whole.written}", *self.repeated, *self.either]
        for position in self.positions:
            if position.rules is not None:
                rules = guards.without_ignored(self._rules(position, position.rules))
                lines += self._written_rules(f"part{position.number}", rules)
            rank = max(priority, 0) + len(self.positions) - position.number
            for name, pattern in zip(_names(position), position.patterns, strict=True):
                lines.append(f"{name}.{rank}: {pattern_literal(guards.guarded(position, pattern))}")
        if self.special:
            lines.append(f"%declare {' '.join(self.special)}")
        return "\n".join(lines)

    def _written_rules(self, prefix: str, rules: Rules) -> list[str]:
        """Return the rules of a grammar; its special terminals are those of the whole."""
        special, lines = {}, []
        for number, (name, tokens) in enumerate(rules.special):
            names = terminals_of(tokens, self.special.items())
            if len(names) > 1:
                lines.append(f"{prefix}_special{number}: {' | '.join(names)}")
                names = [f"{prefix}_special{number}"]
            special[name] = names[0]
        return [rules.text(prefix, special), *lines]

    def _span(self, part: Part) -> _Span:
        if isinstance(part, Sequence):
            return self._sequence(part)
        if isinstance(part, Repeated):
            return self._repeated(part)
        if isinstance(part, Either):
            return self._either(part)
        number = len(self.positions)
        rules = rules_of(part.grammar) if isinstance(part, Embedded) else None
        position = Position(number, part, rules)
        self.positions.append(position)
        self.follow.append(set())
        names = _names(position)
        if isinstance(part, Special):
            names = terminals_of(part.tokens, self.special.items())
        written = f"part{number}" if rules is not None else " | ".join(names)
        if position.is_optional and rules is None:
            written = f"[{written}]"
        elif len(names) > 1:
            written = f"({written})"
        return _Span(written, {number}, {number}, position.is_optional)

    def _sequence(self, part: Sequence) -> _Span:
        spans = [self._span(each) for each in part.parts]
        whole = spans[0]
        for span in spans[1:]:
            for position in whole.last:
                self.follow[position] |= span.first
            whole = _Span(
                f"{whole.written} {span.written}",
                whole.first | span.first if whole.is_optional else whole.first,
                whole.last | span.last if span.is_optional else span.last,
                whole.is_optional and span.is_optional,
            )
        return whole

    def _either(self, part: Either) -> _Span:
        spans = [self._span(each) for each in part.parts]
        self.alternatives.append(
            [[self.positions[each] for each in sorted(span.first)] for span in spans]
        )
        if sum(span.is_optional for span in spans) > 1:
            raise GrammarError(
                "two of the parts of either may be empty, and Lark could not tell which; write "
                "optional(either(...)), of parts that are not empty"
            )
        name = f"either{len(self.either)}"
        self.either.append(f"{name}: {' | '.join(span.written for span in spans)}")
        return _Span(
            name,
            set[int]().union(*(span.first for span in spans)),
            set[int]().union(*(span.last for span in spans)),
            any(span.is_optional for span in spans),
        )

    def _repeated(self, part: Repeated) -> _Span:
        body = self._span(part.part)
        if body.is_optional:
            if (part.least, part.most) == (0, 1):
                return body
            raise GrammarError(
                "the repeated part may be empty, so Lark could not tell how often it occurs; "
                "write repeat(x) instead of repeat(optional(x))"
            )
        if part.most is None or part.most > 1:
            for position in body.last:
                self.follow[position] |= body.first
        name = f"repeated{len(self.repeated)}"
        self.repeated.append(f"{name}: {body.written}")
        return _Span(
            f"{name}{_times(name, part.least, part.most)}", body.first, body.last, part.least == 0
        )

    def _check(self, following: set[int], position: Position | None) -> None:
        """Raise an error if Lark would read a position otherwise than meant.

        Raises
        ------
        GrammarError
        """
        if position is not None and isinstance(position.part, Regular) and position.part.looks:
            raise GrammarError(
                f"{position} looks around, and in a sequence it would see the parts beside it; "
                "leave out look-around, anchors and \\b"
            )
        if position is not None and position.is_rest:
            for each in sorted(following - {END}):
                if not may_follow_rest(self.positions[each], position):
                    raise GrammarError(
                        f"{self.positions[each]} follows free text, which goes on to the end, so "
                        "nothing can follow it; say where it stops: free_text(until=...), or "
                        "without=... a text that follows; or let a special token follow"
                    )
        grammars = [self.positions[each] for each in sorted(following) if self._is_grammar(each)]
        if position is not None and self._is_grammar(position.number) and grammars:
            raise GrammarError(
                f"{grammars[0]} comes right after {position}: Lark could not tell where the "
                "first one ends; put a text between them"
            )
        if len(grammars) > 1:
            raise GrammarError(
                f"either {grammars[0]} or {grammars[1]} may come next, and Lark could not tell "
                "them apart; put a text before one of them"
            )

    def _is_grammar(self, number: int) -> bool:
        return number != END and isinstance(self.positions[number].part, Embedded)

    def _rules(self, position: Position, rules: Rules) -> Rules:
        """Return the rules of a grammar, with a separate end if the next part might match there."""
        following = self.follow[position.number] - {END}
        if any(_may_be_read(self.positions[each], rules) for each in following):
            return ended(rules)
        return rules


def _names(position: Position) -> list[str]:
    return [f"PART{position.number}{f'_{n}' if n else ''}" for n in range(len(position.patterns))]


def _times(name: str, least: int, most: int | None) -> str:
    if most is None:
        return {0: "*", 1: "+"}.get(least, f"~{least} {name}*")
    return "?" if (least, most) == (0, 1) else f"~{least}..{most}"


def _may_be_read(position: Position, rules: Rules) -> bool:
    """Return whether a part may match where a terminal of a grammar does."""
    if position.is_cut:
        return False
    if not isinstance(position.part, Regular) or position.part.text is None:
        return True
    text = position.part.text
    return any(each.may_begin(text) for each in rules.terminals)
