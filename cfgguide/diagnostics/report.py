"""A report on a grammar: how large it is, and what in it is probably a mistake.

In: what :mod:`cfgguide.diagnostics.inspection` found. Out: a :class:`Report`, a plain value; as a
text it is what ``cfgguide check`` prints. None of this makes a grammar unusable; whatever does is
an error when the grammar is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from html import escape

from cfgguide.diagnostics.overlaps import Overlap, Overlaps

_COLUMNS = 100
_MAX_SHOWN = 40  # characters of a pattern


@dataclass(frozen=True)
class Sizes:
    """How large the parts of a compiled grammar are, and how long it took to compile."""

    terminals: int
    productions: int
    parse_states: int
    terminal_sets: int
    scanner_states: int
    byte_classes: int
    table_bytes: int
    seconds: float


@dataclass(frozen=True)
class NeverMatched:
    """A terminal that a rule uses and that Lark never reads, and why."""

    terminal: str
    reason: str


@dataclass(frozen=True)
class Unbounded:
    """A terminal of insignificant text that may go on for ever.

    Attributes
    ----------
    terminal : str
        The terminal.
    pattern : str
        Its pattern.
    is_ignored : bool
        Whether it is ignored, and so may be repeated; otherwise it matches whitespace only.
    is_endless : bool
        Whether one lexeme of it can have any length.
    """

    terminal: str
    pattern: str
    is_ignored: bool
    is_endless: bool


@dataclass(frozen=True)
class Unspellable:
    """What a vocabulary cannot spell.

    Attributes
    ----------
    terminals : tuple of str
        Terminals of which it can spell no lexeme.
    bytes : tuple of int
        Bytes that the grammar's lexemes may hold and no token has.
    """

    terminals: tuple[str, ...]
    bytes: tuple[int, ...]


@dataclass(frozen=True)
class Report:
    """What to know about a grammar before using it.

    Attributes
    ----------
    parser, lexer : str
        Lark's, with which the grammar is read; "none" for schemas and messages, which are read
        byte by byte.
    is_chosen : bool
        Whether the parser was left open (``parser="auto"``).
    sizes : Sizes or None
        How large it is; None if it has no tables.
    overlaps : Overlaps
        Terminals that match the same text.
    never_matched : tuple of NeverMatched
        Terminals that rules use and Lark never reads.
    unused_terminals, unreachable_rules : tuple of str
        What is defined and never used.
    endless_rules : tuple of str
        Rules that derive no finite text.
    unbounded : tuple of Unbounded
        Insignificant text that may go on for ever.
    n_conflicts : int
        Number of shift/reduce conflicts, in which Lark shifts without a word.
    conflicts : tuple of str
        The first of them, with a shortest text and its two readings.
    is_without_space : bool
        Whether no text holds a space, a tab or a line break.
    needs_indenter : tuple of str
        Terminals for blocks that only an indenter could feed, if there is none.
    unspellable : Unspellable, optional
        What the vocabulary cannot spell, if one was given.
    left_out : tuple of (str, str)
        What the grammar asks for and does not guarantee, and why.
    """

    parser: str
    lexer: str
    is_chosen: bool
    sizes: Sizes | None
    overlaps: Overlaps
    never_matched: tuple[NeverMatched, ...]
    unused_terminals: tuple[str, ...]
    unreachable_rules: tuple[str, ...]
    endless_rules: tuple[str, ...]
    unbounded: tuple[Unbounded, ...]
    n_conflicts: int = 0
    conflicts: tuple[str, ...] = ()
    is_without_space: bool = False
    needs_indenter: tuple[str, ...] = ()
    unspellable: Unspellable | None = None
    left_out: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return "\n\n".join("\n".join(section) for section in _sections(self))

    def _repr_html_(self) -> str:
        """For notebooks: the text, section by section."""
        return "".join(f"<pre>{escape(chr(10).join(section))}</pre>" for section in _sections(self))


# -- as a text ------------------------------------------------------------------------------------


def _sections(report: Report) -> Iterator[list[str]]:
    """Yield the sections of the report, each a headline and the lines below it."""
    yield [_parser_line(report), *(_size_lines(report.sizes) if report.sizes else [])]
    if report.left_out:
        yield ["left out:", *(f"  {path}: {why}" for path, why in report.left_out)]
    if report.conflicts:
        yield _conflict_lines(report)
    if report.needs_indenter:
        yield [
            f"{' and '.join(report.needs_indenter)}: only an indenter feeds these terminals; give",
            "the grammar one (`Grammar(..., postlex=...)`, or `--indenter MODULE:CLASS`)",
        ]
    if report.is_without_space:
        yield [
            "no text of this grammar holds a space, a tab or a line break",
            '(`%ignore " "` lets spaces stand between words)',
        ]
    if report.overlaps.shown or not report.overlaps.is_complete:
        yield _overlap_lines(report.overlaps)
    if report.overlaps.keywords:
        counts = [f"{len(words)} in {name}" for name, words in report.overlaps.keywords]
        yield [f"keywords, which win over the terminals that match them too: {', '.join(counts)}"]
    if report.never_matched:
        width = max(len(found.terminal) for found in report.never_matched)
        yield [
            "terminals that are never read:",
            *(f"  {found.terminal:<{width}}  {found.reason}" for found in report.never_matched),
        ]
    yield from _lists(report)
    if report.unbounded:
        yield _unbounded_lines(report.unbounded)
    if report.unspellable is not None:
        yield from _unspellable_lines(report.unspellable)


def _parser_line(report: Report) -> str:
    if report.sizes is None:
        return "read byte by byte, as values of JSON: it has no terminals that could overlap"
    line = f"read as by Lark with parser={report.parser!r}, lexer={report.lexer!r}"
    if report.is_chosen and report.parser == "earley":
        line += "; LALR does not take it"
    if report.is_chosen and report.parser == "lalr":
        line += "; parser='earley' is Lark's own default"
    return line


def _size_lines(sizes: Sizes) -> list[str]:
    rows = [(field.name.replace("_", " "), getattr(sizes, field.name)) for field in fields(sizes)]
    return [
        f"{name:<15} {value:>12.2f}" if isinstance(value, float) else f"{name:<15} {value:>12,}"
        for name, value in rows
    ]


def _conflict_lines(report: Report) -> list[str]:
    lines = [
        "places with two readings: Lark's LALR parser takes the second, and refuses texts that",
        "only the first would read; parser='earley' takes both, or write rules that leave one:",
    ]
    for shown in report.conflicts:
        lines += [f"  {line}" for line in shown.splitlines()]
    if report.n_conflicts > len(report.conflicts):
        lines.append(f"  and {report.n_conflicts - len(report.conflicts)} more")
    return lines


def _overlap_lines(found: Overlaps) -> list[str]:
    rows = [(" ".join(each.terminals), repr(each.example), _won(each)) for each in found.shown]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    lines = [
        "terminals that match the same text, and how Lark reads it",
        "(give the one that should win a priority, as in `NAME.2: ...`):",
    ]
    lines += [f"  {pair:<{widths[0]}}  {text:<{widths[1]}}  {won}" for pair, text, won in rows]
    if found.n_more:
        lines.append(f"  and {found.n_more} more")
    if not found.is_complete:
        lines.append("  not all pairs were compared: there are too many")
    return lines


def _won(overlap: Overlap) -> str:
    part = "" if overlap.lexeme == overlap.example else f", only {overlap.lexeme!r},"
    sets = "1 terminal set" if overlap.n_sets == 1 else f"{overlap.n_sets} terminal sets"
    return f"{overlap.winner}{part} in {sets}"


def _lists(report: Report) -> Iterator[list[str]]:
    for headline, names in [
        ("terminals that no rule uses:", report.unused_terminals),
        (
            "rules that the start rule never asks for (each could be another start):",
            report.unreachable_rules,
        ),
        ("rules that derive no finite text:", report.endless_rules),
    ]:
        if names:
            yield [headline, *_wrapped(names)]


def _wrapped(words: Sequence[str]) -> list[str]:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 3 > _COLUMNS:
            lines.append("")
        lines[-1] += f" {word}"
    return [f" {line}" for line in lines]


def _unbounded_lines(found: tuple[Unbounded, ...]) -> list[str]:
    names = [f"{each.terminal} {_short(each.pattern)}" for each in found]
    width = max(map(len, names))
    lines = ["text without meaning that may go on for ever, which small models like to write"]
    lines.append(
        "(max_ignored=n bounds what is ignored; docs/own-grammar.md says how to bound the rest):"
    )
    for name, each in zip(names, found, strict=True):
        ways = ["of any length"] * each.is_endless
        ways += ["ignored, so that one may follow the other"] * each.is_ignored
        lines.append(f"  {name:<{width}}  {'; '.join(ways)}")
    return lines


def _short(pattern: str) -> str:
    shown = "".join(each if each.isprintable() else repr(each)[1:-1] for each in pattern)
    return f"/{shown}/" if len(shown) <= _MAX_SHOWN else f"/{shown[: _MAX_SHOWN - 3]}.../"


def _unspellable_lines(found: Unspellable) -> Iterator[list[str]]:
    if not found.terminals and not found.bytes:
        yield ["the vocabulary can spell every terminal, and every byte of them"]
    if found.terminals:
        yield ["terminals that the vocabulary cannot spell:", *_wrapped(found.terminals)]
    if found.bytes:
        shown = [f"0x{byte:02x}" for byte in found.bytes]
        yield ["bytes of lexemes that no token of the vocabulary has:", *_wrapped(shown)]
