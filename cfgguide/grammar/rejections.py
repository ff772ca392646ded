"""Why Lark refuses a grammar, in its words and ours, and a way out.

In: a grammar and the error that Lark raised. Out: the text of our error: Lark's own message; the
place, if Lark gives one; for a conflict a shortest example and both interpretations of it
(:mod:`cfgguide.grammar.conflicts`); and what to do, if anything helps.

Lark keeps nothing of a grammar that it refuses. So for a conflict it reads the grammar once more,
up to its rules and terminals.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from itertools import accumulate
from traceback import walk_tb
from typing import Any

import interegular
import lark
from lark.lexer import BasicLexer, PatternStr
from lark.load_grammar import Grammar as LarkGrammar

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import Fsm
from cfgguide.automata.witness import shortest_text
from cfgguide.base.remembered import remembered
from cfgguide.errors import LimitError, PatternError
from cfgguide.grammar import conflicts, expansions, lr_automaton
from cfgguide.grammar.conflicts import END_NAME, Conflict, Example
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.notations.mixed_up import advice

MAX_SHOWN = 3  # conflicts
MAX_TERMINALS = 30  # of an example, from its end
_MAX_SAID = 4_000  # characters of what Lark says

_REGEX_MODULE = re.compile(r"\\[pPXRKmM]|\[\[:|\(\?(?:R|\d|&|\|)|\{[\w,]*[ids]<=")

_IMPORT = re.compile(r"^[ \t]*+%import\b([^\n]*+)", re.MULTILINE)
_NAME = re.compile(r"\w++\.?")  # a file's has a dot after it

_ONE_RULE = (
    "LALR(1) sees only the next terminal, and a grammar for it must not be ambiguous. Write the "
    "two rules as one, or let them differ before this place; or give one of them a priority, as "
    "in `rule.2: ...`, and Lark takes that one wherever both fit"
)
_TWO_PLACES = (
    "no text has both readings, but LALR(1) treats places alike whose rules look alike so far. "
    "Write the two rules as one, or give the two places rules of their own that begin with "
    "different symbols; a priority, as in `rule.2: ...`, would refuse the texts of the other rule"
)
_SHIFT = (
    "without `strict` Lark shifts, which is the second reading. If that is meant, leave `strict` "
    "out; if not, write the rule so that only the first reading is left"
)

#: What Lark says, and what to do.
_MAX_RULES = 12  # that a message names
_WAYS_OUT = [
    (
        r"^Unexpected input at line 1 column 1\b[^\n]*\n\s*\ufeff",
        "the text begins with a byte order mark (U+FEFF), which Lark does not skip; save the file "
        "as UTF-8 without one",
    ),
    (
        r"\0|null bytes",
        r"a NUL character (U+0000) is written \x00, and stands in strings and patterns only",
    ),
    (
        r"^Unexpected input at line",
        "what stands there is not Lark's language: a rule is `name: ...`, a terminal `NAME: ...`, "
        "an alternative begins with `|`, a statement with `%`, a comment with `//`",
    ),
    (
        r"^(?:Rule|Terminal) \S+ used but not defined",
        "define it, or import it, as in `%import common.INT`; rules have names in lower case, "
        "terminals in upper case",
    ),
    (
        r"zero-width (?:terminals|regexps)",
        "a terminal must match one character or more. Take the `?` or `*` out of the terminal and "
        "write it where a rule uses the terminal, as in `[A]` or `A*`; after %ignore write `+`",
    ),
    (
        r"Empty terminals are not allowed|Terminals cannot be empty",
        'leave the empty string out; `["a"]` or an empty alternative says that something may be '
        "missing",
    ),
    (
        r"Collision between Terminals",
        "`strict` wants the terminals of one priority to have no text in common. Give one of them "
        "a priority, as in `A.2: ...`, or leave `strict` out: the terminal that Lark tries first "
        "wins then",
    ),
]


class _Unparsed(lark.Lark):
    """Lark, up to the rules and terminals of a grammar: it builds no parser."""

    def _build_parser(self) -> Any:
        return None


def explain(error: Exception, grammar: Grammar, rules: LarkGrammar | None = None) -> str:
    """Return the text of the error when Lark has refused a grammar.

    Parameters
    ----------
    error : Exception
        What Lark raised.
    grammar : Grammar
        The grammar.
    rules : lark.load_grammar.Grammar, optional
        What Lark has read of it, if it came so far.
    """
    text = (files_read(error) or [("", grammar.text)])[-1][1]
    if isinstance(error, lark.exceptions.UnexpectedInput):
        excerpt = error.get_context(text)
        way_out = f"\nWay out: {other}." if (other := advice(text, "lark")) else ""
        said = f"line {error.line}, column {error.column}: {error}\n{excerpt}".rstrip()
        return said + way_out
    if isinstance(error, FileNotFoundError):
        return (
            f"there is no file {error.filename} to import\n"
            "Way out: it is looked for in `import_paths`, and, if a dot stands before its name, in "
            "the folder of the grammar that imports it."
        )
    if isinstance(error, UnicodeDecodeError):
        return f"a file that is imported is not UTF-8: {error.reason} at byte {error.start}"
    said = str(error) or type(error).__name__
    if any(isinstance(each, SyntaxError) for each in error.args):  # and Lark shows both as a tuple
        said = f"Python cannot read {error.args[0]!r}: {error.args[-1].msg}"
    if is_of_conflicts(error):
        return _of_conflicts(_Unparsed(rules or grammar.text, **grammar.lark_options), grammar)
    if found := re.match(r"Cannot compile token (\w+): ", said):
        parser = _Unparsed(rules or grammar.text, **grammar.lark_options)
        return f"{said}\n{_no_pattern(parser, found[1], grammar)}"
    if said == f"Using an undefined rule: NonTerminal({grammar.start!r})":
        names = dict.fromkeys(re.findall(r"^[!?]*([a-z_]\w*)\s*[:.{]", grammar.text, re.MULTILINE))
        shown = ", ".join([*names][:_MAX_RULES]) + ", ..." * (len(names) > _MAX_RULES)
        return (
            f"{said}\nthere is no rule {grammar.start!r} to start from; its rules are "
            f"{shown or 'none'}"
        )
    if said.startswith("Collision between Terminals"):
        said = _of_collisions(grammar, rules)
    if re.search(r"\bat line \d+ column \d", said) and (other := advice(text, "lark")):
        return f"{said.rstrip()}\nWay out: {other}."
    found = re.match(r"(?:Rule|Terminal) '(\w+)' used but not defined", said)
    if found and found[1] in _NAME.findall(" ".join(_IMPORT.findall(text))):
        return f"{said}\nWay out: %import names it, but the file has nothing of that name."
    for pattern, way_out in _WAYS_OUT:
        if re.search(pattern, said):
            return f"{said.rstrip()}\nWay out: {way_out}."
    return said


def files_read(error: BaseException) -> list[tuple[str, str]]:
    """Return the imported files that Lark was reading at an error, with their texts.

    The outermost comes first. Lark's errors do not name them: this is what its calls say.
    """
    calls = [frame for frame, _ in walk_tb(error.__traceback__)]
    inside = [each.f_locals for each in calls if each.f_code.co_name == "do_import"]
    return [(str(names["joined_path"]), names["text"]) for names in inside if "text" in names]


def circle_of(error: RecursionError) -> str:
    """Return which file imports itself, if that is why Lark came to no end; else nothing."""
    paths = [path for path, _ in files_read(error)]
    for end, path in enumerate(paths):
        if path in paths[:end]:
            between = ", ".join(paths[paths.index(path) + 1 : end])
            return f"{path} imports itself" + f", by way of {between}" * bool(between)
    return ""


def is_of_conflicts(error: Exception) -> bool:
    """Return whether Lark has refused a grammar for its conflicts, which Earley's parser takes."""
    is_of_grammar = isinstance(error, lark.exceptions.GrammarError)
    return is_of_grammar and re.match(r"\w+/Reduce co", str(error)) is not None


def _of_collisions(grammar: Grammar, rules: LarkGrammar | None) -> str:
    """Return what Lark says about two terminals that collide, always about the same two.

    Lark compares the terminals of each state in the order of a set. Here its lexers are built once
    more, in a fixed order.
    """
    parser = lark.Lark(rules or grammar.text, **(grammar.lark_options | {"strict": False}))
    lexer: Any = parser.parser.lexer
    lexers = [lexer] if grammar.lexer == "basic" else lexer.lexers.values()
    sets = {tuple(sorted(terminal.name for terminal in each.terminals)) for each in lexers}
    conf = copy(parser.lexer_conf)
    conf.strict, conf.skip_validation = True, False
    patterns = {terminal: terminal.pattern.to_regexp() for terminal in parser.terminals}
    comparator = interegular.Comparator.from_regexes(patterns)
    for names in sorted(sets):
        conf.terminals = [parser.get_terminal(name) for name in names]
        try:
            BasicLexer(conf, comparator)
        except lark.exceptions.LexError as error:
            return "\n".join(line.rstrip() for line in str(error).splitlines())
    return "Collision between Terminals"


def _no_pattern(parser: lark.Lark, name: str, grammar: Grammar) -> str:
    """Return why ``re`` refuses a terminal's pattern, and what to do."""
    pattern = parser.get_terminal(name).pattern.to_regexp()
    try:
        re.compile(pattern, grammar.regex_flags)
    except re.error as error:
        reason = f"Python's re says: {error}."
    else:
        return "Way out: write a pattern that Python's re can compile."
    if not _REGEX_MODULE.search(pattern):
        return f"{reason}\nWay out: write a pattern that Python's re can compile."
    return (
        f"{reason}\nWay out: this is syntax of the module `regex`, and terminals are read by "
        r"Python's re here. For \p{L} write [^\W\d_], for \p{N} mostly \d, or list the characters."
    )


def silent_conflicts(grammar: Grammar) -> tuple[int, tuple[str, ...]]:
    """Return how many shift/reduce conflicts Lark resolves without a word, and the first shown.

    Each is shown with a shortest text and its two readings, of which Lark knows only the second.

    Parameters
    ----------
    grammar : Grammar
        A grammar that Lark takes.
    """
    parser = _Unparsed(expansions.read(grammar), **grammar.lark_options)
    automaton, _ = lr_automaton.build(parser.rules, grammar.start, strict=False)
    found = [each for each in conflicts.find(automaton, strict=True) if each.is_shift]
    examples, texts = conflicts.Examples(automaton), _Texts(parser, grammar.regex_flags)
    return len(found), tuple(_shown(each, examples.of(each), texts) for each in found[:MAX_SHOWN])


def n_conflicts(grammar: Grammar) -> int:
    """Return how many conflicts of both kinds a grammar has; 0 if Lark cannot read its rules."""
    try:
        parser = _Unparsed(expansions.read(grammar), **grammar.lark_options)
    except lark.exceptions.LarkError:
        return 0
    automaton, _ = lr_automaton.build(parser.rules, grammar.start, strict=False)
    return len(conflicts.find(automaton, strict=True))


def _of_conflicts(parser: lark.Lark, grammar: Grammar) -> str:
    states, said = lr_automaton.build(parser.rules, grammar.start, strict=grammar.strict)
    found = conflicts.find(states, strict=grammar.strict)
    examples = conflicts.Examples(states)
    texts = _Texts(parser, grammar.regex_flags)
    lines = [line.rstrip() for line in said.splitlines()]
    n_lines = bisect(list(accumulate(map(len, lines))), _MAX_SAID)
    parts = ["\n".join(lines[: max(n_lines, 1)])]
    if n_lines < len(lines):
        parts.append(f"... {len(lines) - n_lines} lines more of Lark's.")
    ways_out = []
    for number, conflict in enumerate(found[:MAX_SHOWN], start=1):
        given = examples.of(conflict)
        parts.append(f"Conflict {number} of {len(found)}: " + _shown(conflict, given, texts))
        is_ambiguous = len(given) < 2
        is_reduced_only = len(conflict.rules) > 1
        ways_out.append((_ONE_RULE if is_ambiguous else _TWO_PLACES) if is_reduced_only else _SHIFT)
    if len(found) > MAX_SHOWN:
        parts.append(f"Not shown: {len(found) - MAX_SHOWN} more.")
    if re.search(r"\b__\w+_(?:star|plus)_\d", "\n".join(parts)):
        parts.append("Names like __rule_star_0 are Lark's, for the `*` and `+` of a rule.")
    parts += [f"Way out: {way_out}." for way_out in dict.fromkeys(ways_out)]
    if grammar.postlex is None:
        parts.append("Or take parser='earley', which follows all readings.")
    return "\n".join(parts)


def _shown(conflict: Conflict, given: Sequence[Example], texts: _Texts) -> str:
    before = f"{conflict.lookahead}{texts.quoted([conflict.lookahead])}"
    if not given:
        return f"before {before} (no example was found within the limit)"
    if len(given) == 1:
        lines = [f"after {_after(given[0], texts)}, before {before}, there are two readings:"]
    else:
        lines = [
            f"before {before}, after {_after(given[0], texts)} and after "
            f"{_after(given[1], texts)}, which one state stands for:"
        ]
    interpretations = [
        interpretation for example in given for interpretation in example.interpretations
    ]
    lines += [
        f"    {number}.  {interpretation}"
        for number, interpretation in enumerate(interpretations, start=1)
    ]
    return "\n".join(lines)


def _after(example: Example, texts: _Texts) -> str:
    names = list(example.terminals)
    if not names:
        return "the beginning of the text"
    cut = ["..."] if len(names) > MAX_TERMINALS else []
    names = names[-MAX_TERMINALS:]
    return " ".join([*cut, *names]) + texts.quoted(names)


class _Texts:
    """Shortest texts of terminals, joined with ignored text where the grammar has any."""

    def __init__(self, parser: lark.Lark, flags: int) -> None:
        self._terminals = {terminal.name: terminal for terminal in parser.terminals}
        self._flags = flags
        ignored = [text for name in parser.ignore_tokens if (text := self._of(name))]
        blanks = [text for text in ignored if text.isspace()]
        self._between = " " if any(self._is_blank(name) for name in parser.ignore_tokens) else ""
        self._between = self._between or min([*blanks, *ignored], key=len, default="")

    def quoted(self, names: Sequence[str]) -> str:
        """Return an example of some terminals in a row, to be put after their names."""
        if list(names) == [END_NAME]:
            return " (the end of the text)"
        texts = [self._of(name) for name in names]
        if any(text is None for text in texts):
            return ""
        return f" ({self._between.join(map(str, texts))!r})"

    def _is_blank(self, name: str) -> bool:
        fsm = self._fsm(name)
        return fsm is not None and fsm.match(b" ") == 1

    def _of(self, name: str) -> str | None:
        if name in self._terminals and type(self._terminals[name].pattern) is PatternStr:
            return str(self._terminals[name].pattern.value)
        fsm = self._fsm(name)
        return None if fsm is None else shortest_text(fsm)

    @remembered
    def _fsm(self, name: str) -> Fsm | None:
        """Return the machine of a terminal; None if it has no pattern, or none that can be read."""
        if name in self._terminals:  # else it was declared without a pattern
            pattern = self._terminals[name].pattern.to_regexp()
            with suppress(PatternError, LimitError, OverflowError):  # Lark looks at it later
                return fsm_of_pattern(pattern, name=name, flags=self._flags)
        return None
