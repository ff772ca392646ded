"""The stages from a grammar in Lark's language to what decides whether a sentence can follow.

What needs no vocabulary comes first, and its result is a :class:`Liveness` for texts in any bytes,
which holds the recogniser. The user's cache stands around all of it. What a vocabulary can spell
restricts that liveness afterwards. ::

    Grammar -> CompiledGrammar -> Scanner -> Recognizer -> Liveness
            Lark's tables      automata   both, checked   is there a sentence?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.limits import Budget
from cfgguide.engine.liveness import always_live_cache
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.grammar_cache import CachedGrammar
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.errors import GrammarError, VocabularyError
from cfgguide.grammar.grammar import Grammar

if TYPE_CHECKING:
    from cfgguide.grammar.lark_frontend import CompiledGrammar


def load_grammar(grammar: Grammar, *, budget: Budget) -> CompiledGrammar:
    """Load the grammar with Lark, which takes long to import: compiled grammars do without it."""
    budget.begin("Lark's tables")
    with budget.unwatched():
        from cfgguide.grammar import lark_frontend

    return lark_frontend.load(grammar, budget=budget)


def liveness_of(compiled: CompiledGrammar, *, budget: Budget) -> Liveness:
    """Return the liveness of a grammar whose sentences may be written in any bytes.

    Raises
    ------
    GrammarError, PatternError, LimitError
        As :func:`compile_recognizer`.
    """
    from cfgguide.engine.lexer import scanner
    from cfgguide.grammar import lark_frontend

    budget.begin("automata")
    recognizer = Recognizer(
        compiled.parse_table,
        scanner.build(compiled, budget=budget),
        compiled.indentation_rules,
        budget=budget,
    )
    if compiled.lexer not in scanner.DYNAMIC:  # those join nothing
        lark_frontend.check_joined(compiled)
    lark_frontend.check_width(compiled)
    budget.begin("liveness")
    liveness = Liveness(recognizer, Spelling.of_all_bytes(), budget=budget)
    if not liveness.is_live(recognizer.initial):
        start = compiled.definitions.start
        raise GrammarError(
            f"no text at all is a sentence of the grammar (start rule {start!r}): either "
            "each rule needs another one first, or a terminal matches no text, or the lexer reads "
            "neighbouring terminals as one"
        )
    return liveness


def byte_liveness(grammar: Grammar, *, budget: Budget, use_cache: bool) -> Liveness:
    """Load the grammar with Lark and build its liveness, or take both from the cache."""
    if use_cache:
        return _loaded_or_made(grammar, budget=budget)
    return _with_endings(liveness_of(load_grammar(grammar, budget=budget), budget=budget), budget)


def _loaded_or_made(grammar: Grammar, *, budget: Budget) -> Liveness:
    cached_grammar = CachedGrammar(grammar, budget.limits)
    tables = cached_grammar.load()
    if tables is not None:  # that the grammar has a sentence was checked before it was stored
        recognizer = Recognizer(*tables, budget=budget)
        return _with_cached_table(recognizer, Spelling.of_all_bytes(), budget=budget)
    compiled = load_grammar(grammar, budget=budget)
    liveness = _with_endings(liveness_of(compiled, budget=budget), budget)
    recognizer = liveness.recognizer
    cached_grammar.store(
        compiled.parse_table, recognizer.scanner, compiled.indentation_rules, compiled.imported
    )
    always_live_cache.store(recognizer, Spelling.of_all_bytes(), liveness.always_live)
    return liveness


def _with_endings(liveness: Liveness, budget: Budget) -> Liveness:
    """Return the liveness of a grammar with what finds endings, if that takes long to make."""
    made = liveness.recognizer, liveness.spelling
    always_live = always_live_cache.with_endings(*made, liveness.always_live)
    return Liveness(*made, budget=budget, always_live=always_live)


def _with_cached_table(recognizer: Recognizer, spelling: Spelling, *, budget: Budget) -> Liveness:
    """Return the liveness for a spelling; a large grammar's table comes from the cache."""
    always_live = always_live_cache.load_or_make(recognizer, spelling)
    return Liveness(recognizer, spelling, budget=budget, always_live=always_live)


def restrict_to_spelling(
    byte_liveness: Liveness, spelling: Spelling, *, budget: Budget, use_cache: bool
) -> Liveness:
    """Return the liveness of a grammar whose sentences are written with a vocabulary.

    Parameters
    ----------
    byte_liveness : Liveness
        The same for texts in any bytes.
    spelling : Spelling
        What the vocabulary can spell.
    budget : Budget
        What deciding may cost.
    use_cache : bool
        Whether to use the user's cache.

    Raises
    ------
    VocabularyError
        If no sentence can be spelled.
    """
    recognizer = byte_liveness.recognizer
    if spelling.spells_any_of(recognizer.scanner.used_bytes()):
        return byte_liveness
    make = _with_cached_table if use_cache else Liveness
    liveness = make(recognizer, spelling, budget=budget)
    if not liveness.is_live(recognizer.initial):
        unspellable = unspellable_terminals(byte_liveness, liveness)
        raise VocabularyError(
            "the vocabulary can spell no sentence of the grammar: "
            + what_is_missing(recognizer, spelling, unspellable)
        )
    return _with_endings(liveness, budget)


def unspellable_terminals(byte_liveness: Liveness, liveness: Liveness) -> tuple[str, ...]:
    """Return the names of the terminals of which only other bytes could spell a lexeme."""
    if liveness is byte_liveness:
        return ()
    lost = byte_liveness.spellable_terminals() - liveness.spellable_terminals()
    names = liveness.recognizer.parse_table.terminals
    return tuple(names[terminal] for terminal in sorted(lost))


def what_is_missing(
    recognizer: Recognizer, spelling: Spelling, unspellable: tuple[str, ...]
) -> str:
    """Describe what a vocabulary lacks, and what to do."""
    missing_bytes = sorted(recognizer.scanner.used_bytes() - spelling.reachable_bytes)
    parts = []
    if unspellable:
        parts.append(f"it has no tokens for the terminals {', '.join(unspellable)}")
    if missing_bytes:
        parts.append(f"it has no token with the bytes {', '.join(map(hex, missing_bytes))}")
    parts = parts or ["no sequence of its tokens spells one"]
    return " and ".join(parts) + "; use a tokenizer with a token for every byte"
