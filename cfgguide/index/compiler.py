"""The whole pipeline: a grammar and a vocabulary in, an index out."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from cfgguide.errors import GrammarError, VocabularyError, VocabularyWarning
from cfgguide.grammar import lark_frontend
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.lark_frontend import CompiledGrammar
from cfgguide.index.index import Index
from cfgguide.lexer import scanner
from cfgguide.limits import Budget, Limits
from cfgguide.liveness import cached as cached_liveness
from cfgguide.liveness.liveness import Liveness
from cfgguide.recognizer.cached import CachedGrammar
from cfgguide.recognizer.recognizer import Recognizer
from cfgguide.vocabulary.spelling import Spelling
from cfgguide.vocabulary.vocabulary import Vocabulary


def compile_recognizer(
    grammar: Grammar, *, limits: Limits | None = None, use_cache: bool = True
) -> Recognizer:
    """Return the recogniser of a grammar: what needs no vocabulary.

    Parameters
    ----------
    grammar : Grammar
        What may be written.
    limits : Limits, optional
        What compiling may cost.
    use_cache : bool
        Whether the user's cache (:mod:`cfgguide.storage.cache`) is asked first, and kept up.

    Raises
    ------
    GrammarError
        If Lark rejects the grammar, or no text is a sentence of it.
    PatternError
        If a terminal cannot be turned into an automaton.
    LimitError
        If the automata become too large.
    """
    budget = Budget(limits)
    everything = _kept_or_decided(grammar, budget=budget, use_cache=use_cache)
    budget.stop_clock()
    return everything.recognizer


def _kept_or_decided(grammar: Grammar, *, budget: Budget, use_cache: bool) -> Liveness:
    """Return what decides for a grammar, from the cache or made anew."""
    with _no_collection():
        return _decided_for(grammar, budget=budget, use_cache=use_cache)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector from running, where it is on.

    Compiling makes many objects and hardly any garbage in cycles; a collection in the midst looks
    at all that the process has loaded, and takes longer than a small grammar.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _decided_for(grammar: Grammar, *, budget: Budget, use_cache: bool) -> Liveness:
    if not use_cache:
        return decided(lark_frontend.load(grammar), budget=budget)
    kept = CachedGrammar(grammar, budget.limits)
    tables = kept.load()
    if tables is not None:  # of a grammar that has a sentence: others are not kept
        recognizer = Recognizer(*tables, budget=budget)
        return _kept_liveness(recognizer, Spelling.of_all_bytes(), budget=budget)
    compiled = lark_frontend.load(grammar)
    everything = decided(compiled, budget=budget)
    recognizer = everything.recognizer
    kept.store(
        compiled.parse_table, recognizer.scanner, compiled.indentation_rules, compiled.imported
    )
    cached_liveness.store(recognizer, Spelling.of_all_bytes(), everything.assurance)
    return everything


def _kept_liveness(recognizer: Recognizer, spelling: Spelling, *, budget: Budget) -> Liveness:
    """Return what decides, with what is assured from the cache, for a large grammar."""
    assurance = cached_liveness.found_or_made(recognizer, spelling)
    return Liveness(recognizer, spelling, budget=budget, assurance=assurance)


def decided(compiled: CompiledGrammar, *, budget: Budget) -> Liveness:
    """Return what decides for a grammar written in any bytes; raises as `compile_recognizer`."""
    machine = scanner.build(compiled, budget=budget)
    recognizer = Recognizer(
        compiled.parse_table, machine, compiled.indentation_rules, budget=budget
    )
    lark_frontend.check_joined(compiled)
    lark_frontend.check_width(compiled)
    everything = Liveness(recognizer, Spelling.of_all_bytes(), budget=budget)
    if not everything.is_live(recognizer.initial):
        start = compiled.definitions.start
        raise GrammarError(
            f"no text at all is a sentence of the grammar (start rule {start!r}): either "
            "each rule needs another one first, or a terminal matches no text, or the lexer reads "
            "neighbouring terminals as one"
        )
    return everything


def compile(
    grammar: Grammar,
    tokenizer_or_vocabulary: object,
    *,
    limits: Limits | None = None,
    max_bytes: int | None = None,
    use_cache: bool = True,
) -> Index:
    """Return the index of a grammar for a tokenizer or vocabulary.

    Parameters
    ----------
    grammar : Grammar
        What may be written.
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer
        What it is written with; a tokenizer goes through :meth:`Vocabulary.from_tokenizer`.
    limits : Limits, optional
        What compiling may cost.
    max_bytes : int, optional
        Most bytes of the index's masks; those used longest ago go first. By default all are kept.
    use_cache : bool
        Whether the user's cache (:mod:`cfgguide.storage.cache`) is asked for the grammar first, and
        kept up; and asked for masks, which :meth:`Index.keep` puts there.

    Raises
    ------
    GrammarError, PatternError, LimitError
        As :func:`compile_recognizer`.
    VocabularyError
        If the vocabulary can spell no sentence, or has no EOS.
    TokenizerError
        If the tokenizer's bytes cannot be read.

    Warns
    -----
    VocabularyWarning
        If the vocabulary can spell some sentences but no lexeme of some terminal.

    Examples
    --------
    >>> vocabulary = Vocabulary([b"yes", b"n", b"o", None], eos_token_ids=3)
    >>> index = compile(Grammar('start: "yes" | "no"'), vocabulary)
    >>> index.subset(index.recognizer.initial).token_ids().tolist()
    [0, 1]
    """
    budget = Budget(limits)
    everything = _kept_or_decided(grammar, budget=budget, use_cache=use_cache)
    vocabulary = Vocabulary.of(tokenizer_or_vocabulary)
    spelling = vocabulary.spelling
    liveness, unspellable = spelled_by(everything, spelling, budget=budget, use_cache=use_cache)
    budget.stop_clock()
    if unspellable:
        warnings.warn(
            "some sentences cannot be written with this vocabulary: "
            + _missing(everything.recognizer, spelling, unspellable),
            VocabularyWarning,
            stacklevel=2,
        )
    index = Index(everything.recognizer, vocabulary, liveness, max_bytes=max_bytes)
    if use_cache:
        index.add_cached()
    return index


def spelled_by(
    everything: Liveness, spelling: Spelling, *, budget: Budget, use_cache: bool
) -> tuple[Liveness, tuple[str, ...]]:
    """Return what decides with a vocabulary, and the terminals that it cannot spell.

    Parameters
    ----------
    everything : Liveness
        What decides for the grammar written in any bytes.
    spelling : Spelling
        What the vocabulary can spell.
    budget : Budget
        What deciding may cost.
    use_cache : bool
        Whether the user's cache is asked, and kept up.

    Raises
    ------
    VocabularyError
        If no sentence can be spelled.
    """
    recognizer = everything.recognizer
    if spelling.spells_any_of(recognizer.scanner.used_bytes()):
        return everything, ()
    liveness = (_kept_liveness if use_cache else Liveness)(recognizer, spelling, budget=budget)
    lost = everything.spellable_terminals() - liveness.spellable_terminals()
    unspellable = tuple(recognizer.parse_table.terminals[terminal] for terminal in sorted(lost))
    if not liveness.is_live(recognizer.initial):
        raise VocabularyError(
            "the vocabulary can spell no sentence of the grammar: "
            + _missing(recognizer, spelling, unspellable)
        )
    return liveness, unspellable


def _missing(recognizer: Recognizer, spelling: Spelling, unspellable: tuple[str, ...]) -> str:
    """Describe what a vocabulary lacks, and what to do."""
    used = recognizer.scanner.used_bytes()
    lacking = sorted(used - spelling.reachable_bytes)
    parts = []
    if unspellable:
        parts.append(f"it has no tokens for the terminals {', '.join(unspellable)}")
    if lacking:
        parts.append(f"it has no token with the bytes {', '.join(map(hex, lacking))}")
    parts = parts or ["its tokens cannot be joined to one"]
    return " and ".join(parts) + "; use a tokenizer with a token for every byte"
