"""Inspects a grammar before it is used.

In: a grammar, and a vocabulary if there is one. Out: a
:class:`~cfgguide.diagnostics.report.Report`. What Lark made of the grammar shows which terminals
and rules are unused; the scanner's automata show which terminals are never read or cannot be
spelled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from cfgguide.automata.determinize import fsm_of_pattern
from cfgguide.automata.witness import is_part_of, is_unbounded
from cfgguide.base.limits import Budget, Limits
from cfgguide.base.progress import run_within_limits
from cfgguide.compiler import compile, compile_recognizer
from cfgguide.diagnostics import overlaps
from cfgguide.diagnostics.overlaps import TerminalTexts
from cfgguide.diagnostics.report import NeverMatched, Report, Sizes, Unbounded, Unspellable
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.liveness.stages import (
    liveness_of,
    load_grammar,
    restrict_to_spelling,
    unspellable_terminals,
)
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.grammar.definitions import Definitions
from cfgguide.grammar.grammar import AUTO, Grammar
from cfgguide.grammar.lark_frontend import CompiledGrammar
from cfgguide.grammar.lr.table import END
from cfgguide.grammar.rejections import silent_conflicts
from cfgguide.grammar.restrictions import Restriction


def inspect(
    grammar: Grammar,
    tokenizer_or_vocabulary: object = None,
    *,
    limits: Limits | None = None,
    progress: bool | None = False,
    cancelled: Callable[[], bool] | None = None,
) -> Report:
    r"""Return a report on a grammar.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    tokenizer_or_vocabulary : Vocabulary or a tokenizer, optional
        What its sentences are to be written with.
    limits : Limits, optional
        What compiling may cost.
    progress : bool, optional
        As for :func:`cfgguide.compile`.
    cancelled : callable, optional
        As for :func:`cfgguide.compile`.

    Raises
    ------
    GrammarError, PatternError, LimitError
        If the grammar cannot be used, as :func:`cfgguide.compile`.
    VocabularyError, TokenizerError
        If the vocabulary can spell no sentence, or its bytes cannot be read.

    Examples
    --------
    >>> report = inspect(Grammar('start: A | B\nA: /a+/\nB: /[ab]/\nC: "c"'))
    >>> report.unused_terminals
    ('C',)
    >>> overlap = report.overlaps.shown[0]
    >>> overlap.terminals, overlap.example, overlap.winner
    (('A', 'B'), 'a', 'A')
    """
    if isinstance(grammar, Grammar) and not grammar.for_tokens({}).has_tables:
        return _of_bytes(grammar, tokenizer_or_vocabulary, limits)
    began = time.perf_counter()

    def loaded(budget: Budget) -> tuple[Budget, CompiledGrammar, Liveness]:
        compiled = load_grammar(grammar, budget=budget)
        return budget, compiled, liveness_of(compiled, budget=budget)

    budget, compiled, byte_liveness = run_within_limits(loaded, limits, progress, cancelled)
    recognizer = byte_liveness.recognizer
    seconds = time.perf_counter() - began
    texts = TerminalTexts(compiled, recognizer.scanner)
    never = _never_matched(compiled, byte_liveness, texts)
    definitions = compiled.definitions
    by_indenter = _known_to_indenter(compiled)
    n_conflicts, conflicts = (
        silent_conflicts(grammar) if compiled.parse_table.conflicts else (0, ())
    )
    unused = tuple(name for name in definitions.unused_terminals() if name not in by_indenter)
    return Report(
        parser=compiled.parser,
        lexer=compiled.lexer,
        is_chosen=grammar.parser == AUTO,
        sizes=_sizes(recognizer, seconds),
        overlaps=overlaps.find(compiled, texts),
        never_matched=never,
        unused_terminals=unused,
        unreachable_rules=definitions.unreachable_rules(),
        endless_rules=definitions.endless_rules(found.terminal for found in never),
        unbounded=_unbounded(compiled, definitions, texts),
        n_conflicts=n_conflicts,
        conflicts=conflicts,
        is_without_space=recognizer.parse_table.n_terminals > 2
        and not recognizer.scanner.used_bytes() & set(b" \t\r\n"),
        needs_indenter=_missing_indenter(compiled),
        unspellable=None
        if tokenizer_or_vocabulary is None
        else _unspellable(byte_liveness, tokenizer_or_vocabulary, budget),
        left_out=getattr(grammar, "left_out", ()),
    )


def _of_bytes(grammar: Grammar, vocabulary: object, limits: Limits | None) -> Report:
    """Return the report on a schema or on messages."""
    unspellable = None
    if vocabulary is None:
        compile_recognizer(grammar, limits=limits)
    else:
        compile(grammar, vocabulary, limits=limits)  # an error if it cannot spell the texts
        unspellable = Unspellable((), ())
    return Report(
        parser="none",
        lexer="none",
        is_chosen=False,
        sizes=None,
        overlaps=overlaps.Overlaps((), 0, is_complete=True, keywords=()),
        never_matched=(),
        unused_terminals=(),
        unreachable_rules=(),
        endless_rules=(),
        unbounded=(),
        unspellable=unspellable,
        left_out=getattr(grammar, "left_out", ()),
    )


def _sizes(recognizer: Recognizer, seconds: float) -> Sizes:
    table, scanner = recognizer.parse_table, recognizer.scanner
    arrays = [getattr(part, field.name) for part in (table, scanner) for field in fields(part)]
    return Sizes(
        terminals=table.n_terminals - 1,
        productions=len(table.productions),
        parse_states=table.n_states,
        terminal_sets=len(scanner.starts),
        scanner_states=scanner.n_states,
        byte_classes=scanner.transitions.shape[1],
        table_bytes=sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)),
        seconds=seconds,
    )


def _known_to_indenter(compiled: CompiledGrammar) -> set[str]:
    """Return the terminals that an indenter feeds or drops, or that it has the lexer always try."""
    if compiled.indentation_rules is None:
        return set()
    names = compiled.indentation_rules.names
    return {names.indent, names.dedent, *names.always, *(name for name, _ in names.roles)}


def _missing_indenter(compiled: CompiledGrammar) -> tuple[str, ...]:
    """Return the terminals of blocks that are declared and used, if there is no indenter."""
    if compiled.indentation_rules is not None:
        return ()
    used = set(compiled.parse_table.terminals) & set(compiled.definitions.declared)
    return tuple(sorted(name for name in used if name.endswith(("INDENT", "DEDENT"))))


def _never_matched(
    compiled: CompiledGrammar, byte_liveness: Liveness, texts: TerminalTexts
) -> tuple[NeverMatched, ...]:
    matched = byte_liveness.spellable_terminals()
    rules = compiled.indentation_rules
    fed = () if rules is None else (rules.indent, rules.dedent)
    found = []
    for terminal_id, name in enumerate(compiled.parse_table.terminals):
        if terminal_id in matched or terminal_id in (END, *fed):
            continue
        if name in compiled.definitions.declared:
            found.append(NeverMatched(name, "declared without a pattern"))
        elif any(each.terminal == name and each.is_total for each in compiled.restrictions):
            found.append(NeverMatched(name, "forbidden by `restrict`"))
        elif name in compiled.definitions.ignored:
            found.append(NeverMatched(name, "ignored, so that no rule ever gets it"))
        else:
            found.append(NeverMatched(name, _why_beaten(name, compiled, texts)))
    return tuple(found)


def _why_beaten(name: str, compiled: CompiledGrammar, texts: TerminalTexts) -> str:
    example = texts.shortest(name)
    for set_number, members in enumerate(compiled.terminal_sets):
        if example is None or all(name not in (m.terminal, *m.retyped) for m in members):
            continue
        if read := texts.lexed(set_number, example):
            winner, lexeme = read
            part = "" if lexeme == example else f" with {lexeme!r}"
            return f"always beaten: {example!r} is read as {winner}{part}"
    return "always beaten by other terminals"


def _unbounded(
    compiled: CompiledGrammar, definitions: Definitions, texts: TerminalTexts
) -> tuple[Unbounded, ...]:
    space = fsm_of_pattern(r"\s+", name="whitespace")
    found = []
    bounded = {each.terminal for each in compiled.restrictions if _is_bounding(each)}
    for terminal in compiled.patterns:
        if terminal.name in bounded:
            continue
        fsm = texts.fsm(terminal.name)
        is_ignored = terminal.name in definitions.ignored
        is_endless = fsm is not None and is_unbounded(fsm)
        if is_ignored or (fsm is not None and is_endless and is_part_of(fsm, space)):
            found.append(Unbounded(terminal.name, terminal.pattern, is_ignored, is_endless))
    return tuple(found)


def _is_bounding(restriction: Restriction) -> bool:
    """Return whether a restriction leaves no lexemes of any length."""
    pattern = restriction.pattern
    return restriction.max_characters is not None or (
        pattern is not None and not is_unbounded(fsm_of_pattern(pattern, name=restriction.terminal))
    )


def _unspellable(
    byte_liveness: Liveness, tokenizer_or_vocabulary: object, budget: Budget
) -> Unspellable:
    spelling = Vocabulary.of(tokenizer_or_vocabulary).spelling
    liveness = restrict_to_spelling(byte_liveness, spelling, budget=budget, use_cache=False)
    terminals = unspellable_terminals(byte_liveness, liveness)
    missing = byte_liveness.recognizer.scanner.used_bytes() - spelling.reachable_bytes
    return Unspellable(terminals, tuple(sorted(missing)))
