r"""Pictures of automata over bytes: regular expressions, terminals, scanners.

In: an :class:`~cfgguide.automata.dfa.Fsm`, or the table of a
:class:`~cfgguide.engine.lexer.scanner.Scanner`. Out: a picture of the states that can be reached.
The dead state is left out. Those of an FSM are numbered breadth-first from 0; those of a scanner
keep their numbers, which configuration tries and configurations have too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.dfa import DEAD, N_BYTES, Fsm
from cfgguide.base.numbered import Numbered
from cfgguide.compiler import compile_machine
from cfgguide.engine.index.index import Index
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.errors import DrawingError, shown
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lr.table import START_STATE
from cfgguide.output_types import output_type
from cfgguide.studio.draw.byte_labels import label_of
from cfgguide.studio.draw.graph import Arrow, Graph, State, wrapped
from cfgguide.studio.draw.picture import DEFAULT_MAX_STATES, Picture, check_options, picture_of

_MAX_NAMES = 20  # in an error
_NO_TABLES = "schemas and messages are read byte by byte: no scanner or parser can be drawn"
_QUESTIONS = ("looks for", "if found", "if not")


@dataclass(frozen=True)
class _Machine:
    """What is read of a machine: moves, assertions, and what stands in a state."""

    row: Callable[[int], Sequence[int]]  # next state by byte
    targets: Callable[[int], Sequence[int]]  # the same, each at least once
    assertion: Callable[[int], tuple[int, int, int] | None]
    state: Callable[[int, int], State]  # of a state, and its number in the picture


def fsm(
    pattern: str | re.Pattern[str] | Fsm,
    *,
    flags: int = 0,
    layout: str = "auto",
    max_states: int = DEFAULT_MAX_STATES,
) -> Picture:
    r"""Return the picture of the FSM of a regular expression.

    The FSM is over bytes, minimal, and matches as Python's ``re`` does, match preference included:
    the last final state marks the match.

    Parameters
    ----------
    pattern : str, re.Pattern or Fsm
        For Python's ``re``.
    flags : int
        Of ``re``; a compiled pattern has its own.
    layout : {"auto", "dot", "layers"}
        Whether Graphviz's ``dot`` finds the places, or our own layout; "auto" takes ``dot`` where
        it is installed.
    max_states : int
        Of larger machines only the first states are drawn, and the picture says so.

    Raises
    ------
    PatternError, LimitError
        If it cannot be an FSM, or one too large.
    DrawingError
        If an argument is none of those above.

    Examples
    --------
    >>> from cfgguide import draw
    >>> picture = draw.fsm(r"([0-9]*)?\.?[0-9]*", layout="layers")
    >>> picture.svg.count("<circle")  # two final states, each with a double line
    4
    """
    check_options(layout, max_states)
    if isinstance(pattern, Fsm):
        return picture_of(_of_fsm(pattern, "FSM", max_states), layout=layout, max_states=max_states)
    written: object = pattern
    if isinstance(pattern, re.Pattern):
        written, flags = pattern.pattern, pattern.flags & ~re.UNICODE
    if not isinstance(written, str):
        raise DrawingError(f"a regular expression is a str, not {shown(written)}")
    machine = fsm_of_pattern(written, name="PATTERN", flags=flags)
    return picture_of(
        _of_fsm(machine, f"/{written}/", max_states), layout=layout, max_states=max_states
    )


def terminal(
    grammar: object, name: str, *, layout: str = "auto", max_states: int = DEFAULT_MAX_STATES
) -> Picture:
    """Return the picture of the FSM of one terminal of a grammar.

    Parameters
    ----------
    grammar : Grammar, or anything that :func:`cfgguide.compile` takes
        The grammar.
    name : str
        The terminal.
    layout, max_states
        As for :func:`fsm`.

    Raises
    ------
    GrammarError, PatternError, LimitError
        As :func:`cfgguide.compile`.
    DrawingError
        If the grammar has no such terminal, or one without a pattern, or an argument is wrong.

    Examples
    --------
    >>> import cfgguide
    >>> picture = cfgguide.draw.terminal(cfgguide.Grammar.bundled("json"), "NUMBER")
    >>> "NUMBER" in picture.svg
    True
    """
    check_options(layout, max_states)
    from cfgguide.grammar import lark_frontend  # Lark takes long to import

    compiled = lark_frontend.load(grammar_of(grammar))
    found = {each.name: each for each in compiled.patterns}
    if name not in found:
        raise DrawingError(f"the grammar has no terminal {shown(name)}; {_there_is(found, name)}")
    if found[name].symbol is not None:
        raise DrawingError(
            f"the terminal {name} is a token of the model and has no pattern to draw"
        )
    title = f"{name}: /{found[name].pattern}/"
    machine = _of_fsm(compiled.fsms[name], title, max_states)
    return picture_of(machine, layout=layout, max_states=max_states)


def scanner(
    grammar: object,
    *,
    parse_state: int | None = None,
    terminals: Iterable[str] | None = None,
    layout: str = "auto",
    max_states: int = DEFAULT_MAX_STATES,
) -> Picture:
    r"""Return the picture of the union FSMs of a grammar's terminal sets.

    Union FSMs share their states; each has a start of its own. A final state names the terminal
    that wins if the text is cut there.

    Parameters
    ----------
    grammar : Grammar, or anything that :func:`cfgguide.compile` takes
        The grammar.
    parse_state : int, optional
        Only the set that the lexer looks for in this state of the parser.
    terminals : iterable of str, optional
        Only the sets that can match all of these terminals.
    layout, max_states
        As for :func:`fsm`.

    Raises
    ------
    GrammarError, PatternError, LimitError
        As :func:`cfgguide.compile`.
    DrawingError
        If there is no such state, or no such set, or an argument is wrong.

    Examples
    --------
    >>> import cfgguide
    >>> grammar = cfgguide.Grammar('start: "(" start ")" | A\nA: /a+/')
    >>> "start of set 1" in cfgguide.draw.scanner(grammar, layout="layers").svg
    True
    """
    check_options(layout, max_states)
    recognizer = recognizer_of(grammar)
    union, table = recognizer.scanner, recognizer.parse_table
    names = (*table.terminals, "(ignored)", "(not allowed)")
    sets = list(range(len(union.starts)))
    if parse_state is not None:
        if type(parse_state) is not int or not 0 <= parse_state < table.n_states:
            raise DrawingError(
                f"no parse state is {shown(parse_state)}; there are 0 to {table.n_states - 1}"
            )
        sets = [int(table.set_of_state[parse_state])]
    if terminals is not None:
        wanted = {*terminals}
        sets = [each for each in sets if wanted <= _names_in(recognizer, each, names)]
        if not sets:
            unknown = next((each for each in sorted(map(str, wanted)) if each not in names), None)
            said = "ask for fewer" if unknown is None else _there_is(names[1:-2], unknown)
            raise DrawingError(
                f"no terminal set has all of {', '.join(sorted(map(str, wanted)))}; {said}"
            )
    notes: tuple[str, ...] = ()
    is_chosen = parse_state is not None or terminals is not None
    if not is_chosen and union.n_states > max_states and len(sets) > 1:
        notes = (f"1 of {len(sets):,} terminal sets; parse_state=... draws another",)
        sets = [int(table.set_of_state[START_STATE])]
    starts = {each: int(union.starts[each, 0]) for each in sets}
    marked: dict[int, list[int]] = {}
    for each, start in starts.items():
        marked.setdefault(start, []).append(each)
    rows, classes = union.transitions.tolist(), union.byte_classes.tolist()
    match: list[int] = union.match.tolist()
    questions: list[list[int]] = union.assertions.tolist()

    def state(number: int, _: int) -> State:
        lines = [str(number)]  # by which tries and configurations name it
        if number in marked:
            lines.append(_sets(marked[number]))
        is_match = match[number] != NO_MATCH
        if is_match:
            lines.append(names[match[number]])
        tone = "question" if any(questions[number]) else ""
        if is_match and match[number] >= union.ignored:
            tone = "ignored"
        return State(tuple(lines), number in marked, is_match, tone)

    machine = _Machine(
        lambda number: [rows[number][each] for each in classes],
        rows.__getitem__,
        lambda number: _asked(questions[number]),
        state,
    )
    title = "scanner" if len(sets) > 1 else f"scanner of terminal set {sets[0]}"
    graph = _graph(machine, [*marked], title, max_states)
    return picture_of(replace(graph, notes=notes), layout=layout, max_states=max_states)


def grammar_of(grammar: object) -> Grammar:
    """Return the grammar of whatever stands for one."""
    return output_type(grammar).grammar


def recognizer_of(grammar: object) -> Recognizer:
    """Return the recogniser of a grammar, of an index, or of whatever stands for a grammar."""
    if isinstance(grammar, Index):
        machine: object = grammar.machine
    else:
        written = grammar_of(grammar).for_tokens({})
        machine = compile_machine(written, progress=None) if written.has_tables else None
    if not isinstance(machine, LrMachine):
        raise DrawingError(_NO_TABLES)
    return machine.plain.recognizer


def _names_in(recognizer: Recognizer, number: int, names: Sequence[str]) -> set[str]:
    start = int(recognizer.scanner.starts[number, 0])
    return {names[each] for each in recognizer.scanner.terminal_ids_ahead(start)}


def _there_is(names: Iterable[str], asked: object) -> str:
    """Return which terminals there are, those first that are spelled alike."""
    alike = difflib.get_close_matches(str(asked).upper(), listed := sorted(names), n=3)
    if alike:
        return f"is it {' or '.join(alike)}?"
    n_more = len(listed) - _MAX_NAMES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"it has {', '.join(listed[:_MAX_NAMES]) or 'none'}{more}"


def _sets(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"start of set {numbers[0]}"
    return f"start of {len(numbers)} sets"


def _asked(question: Sequence[int]) -> tuple[int, int, int] | None:
    return (question[0], question[1], question[2]) if any(question) else None


def _of_fsm(machine: Fsm, title: str, most: int) -> Graph:
    rows = machine.after_bytes(slice(None)).tolist()
    starts = [start for start in dict.fromkeys(machine.starts.tolist()) if start != DEAD]

    def state(number: int, shown_as: int) -> State:
        tone = "question" if number in machine.questions else ""
        return State((str(shown_as),), number in starts, bool(machine.is_final[number]), tone)

    graph = _graph(
        _Machine(rows.__getitem__, rows.__getitem__, machine.questions.get, state),
        starts,
        title,
        most,
    )
    if not graph.states:
        return Graph(title, (State(("0",), is_start=True),), (), ("matches nothing",))
    if len(starts) > 1:
        said = f"{len(starts)} starts: where the match begins depends on the text before it"
        return Graph(title, graph.states, graph.arrows, (said, *graph.notes))
    return graph


def _graph(machine: _Machine, starts: Sequence[int], title: str, most: int) -> Graph:
    """Return the states that can be reached from some, numbered breadth-first.

    Only those that are drawn, the first `most`, have arrows.
    """
    numbers = Numbered[int](*starts)
    arrows: list[Arrow] = []
    for here in numbers.order:  # grows while it is walked
        asked = machine.assertion(here)
        if numbers[here] >= most:
            for target in dict.fromkeys(asked or machine.targets(here)):
                if target != DEAD:
                    numbers[target]
            continue
        if asked is not None:
            labels: dict[int, list[str]] = {}
            for word, target in zip(_QUESTIONS, asked, strict=True):
                if target != DEAD:
                    labels.setdefault(target, []).append(word)
            for target, words in labels.items():
                arrows.append(Arrow(numbers[here], numbers[target], tuple(words), "goto"))
            continue
        row = machine.row(here)
        members: dict[int, list[int]] = {}
        for byte in range(N_BYTES):
            if row[byte] != DEAD:
                members.setdefault(row[byte], []).append(byte)
        for target, mine in members.items():
            others = [byte for each, them in members.items() if each != target for byte in them]
            label = label_of(mine, others)
            lines, number = wrapped(label), numbers[target]
            tip = label if lines != (label,) else ""
            arrows.append(Arrow(numbers[here], number, lines, tip=tip))
    states = tuple(machine.state(state, number) for state, number in numbers.items())
    return Graph(title, states, tuple(arrows))
