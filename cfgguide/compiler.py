"""The whole pipeline: a grammar and a vocabulary in, an index out.

What needs no vocabulary comes first, and its result is a :class:`Liveness` for texts in any bytes
(`byte_liveness`), which holds the recogniser::

    Grammar -> CompiledGrammar -> Scanner -> Recognizer -> byte_liveness
            Lark's tables      automata   both, checked   is there a sentence?

The vocabulary comes second: what it can spell restricts the liveness, and both make the index.
The user's cache stands around the first part (:func:`_byte_liveness`), and holds masks too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from cfgguide.base.collector import collector_off
from cfgguide.base.limits import Budget, Limits
from cfgguide.engine.index.index import Index
from cfgguide.engine.liveness import always_live_cache as cached_liveness
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.grammar_cache import CachedGrammar
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GrammarError, VocabularyError, VocabularyWarning
from cfgguide.grammar.grammar import Grammar
from cfgguide.output_types import output_type

if TYPE_CHECKING:
    from cfgguide.grammar.lark_frontend import CompiledGrammar

Result = TypeVar("Result")

_SHOWN_AFTER = 1.0  # seconds of compiling


def compile(
    grammar: object,
    tokenizer_or_vocabulary: object,
    *,
    limits: Limits | None = None,
    max_bytes: int | None = None,
    use_cache: bool = True,
    progress: bool | None = False,
    cancelled: Callable[[], bool] | None = None,
) -> Index:
    """Return the index of a grammar for a tokenizer or vocabulary.

    Parameters
    ----------
    grammar : Grammar, type, mapping, ...
        What may be written; anything that :func:`cfgguide.output_types.output_type` takes.
    tokenizer_or_vocabulary : Vocabulary, or a tokenizer
        What it is written with; a tokenizer goes through :meth:`Vocabulary.from_tokenizer`.
    limits : Limits, optional
        What compiling may cost. A JSON Schema has limits of its own, given when it is read.
    max_bytes : int, optional
        Most bytes of the index's masks; the least recently used go first. By default all are kept.
    use_cache : bool
        Whether to use the user's cache (:mod:`cfgguide.base.cache`): the compiled grammar is
        read from it or stored there, and masks that :meth:`Index.cache_masks` stored are read.
    progress : bool, optional
        Whether a line on standard error says what is being done, as soon as that has taken a
        second; None for a line if it is a terminal.
    cancelled : callable, optional
        Asked often whether to give up, from another thread too; that is a :class:`LimitError`.

    Raises
    ------
    GrammarError, PatternError, LimitError
        As :func:`compile_recognizer`; or if `grammar` says nothing of what to write.
    SchemaError
        If a schema or a type cannot be guaranteed.
    VocabularyError
        If the vocabulary can spell no sentence, has no EOS, or lacks a special token.
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
    chosen = output_type(grammar)
    vocabulary = Vocabulary.of(tokenizer_or_vocabulary)
    written = chosen.grammar.for_tokens(vocabulary.special_tokens)
    vocabulary = vocabulary.with_symbols(written.symbols_in(vocabulary.special_tokens))
    own_index = written.own_index(
        vocabulary,
        compile,
        max_bytes,
        limits=limits,
        use_cache=use_cache,
        progress=progress,
        cancelled=cancelled,
    )
    if own_index is not None:
        own_index.output_type = chosen
        return own_index
    spelling = vocabulary.spelling

    def compiled(budget: Budget) -> tuple[Liveness, Liveness, tuple[str, ...]]:
        byte_liveness = _byte_liveness(written, budget=budget, use_cache=use_cache)
        budget.begin("vocabulary")
        liveness = restrict_to_spelling(byte_liveness, spelling, budget=budget, use_cache=use_cache)
        return byte_liveness, liveness, unspellable_terminals(byte_liveness, liveness)

    byte_liveness, liveness, unspellable = run_within_limits(compiled, limits, progress, cancelled)
    if unspellable:
        warnings.warn(
            "some sentences cannot be written with this vocabulary: "
            + _what_is_missing(byte_liveness.recognizer, spelling, unspellable),
            VocabularyWarning,
            stacklevel=2,
        )
    made = Index(byte_liveness.recognizer, vocabulary, liveness, max_bytes=max_bytes)
    made.output_type = chosen
    if use_cache:
        made.load_cached()
    return made


def load_schema_index(value: Any, vocabulary: Vocabulary, max_bytes: int | None) -> Index:
    """Return the index of a schema or of messages that :meth:`Index.load` has found in a file.

    Raises
    ------
    IndexFormatError
        If the file is wrong.
    VocabularyError
        If the vocabulary lacks a token of the messages.
    """
    from cfgguide.schema import schema_index
    from cfgguide.schema.messages import message_index

    is_message = isinstance(value, dict) and "tag" in value
    grammar_of = message_index.grammar_of if is_message else schema_index.grammar_of
    found = compile(grammar_of(value), vocabulary, max_bytes=max_bytes)
    found.output_type = None
    return found


def compile_recognizer(
    grammar: object,
    *,
    limits: Limits | None = None,
    use_cache: bool = True,
    progress: bool | None = False,
    cancelled: Callable[[], bool] | None = None,
) -> Recognizer:
    """Return the recogniser of a grammar: what reads texts, and needs no vocabulary.

    Parameters
    ----------
    grammar : Grammar, type, mapping, ...
        What may be written; anything that :func:`cfgguide.output_types.output_type` takes.
    limits : Limits, optional
        What compiling may cost.
    use_cache : bool
        Whether to read the result from the user's cache (:mod:`cfgguide.base.cache`), or store
        it there.
    progress : bool, optional
        Whether a line on standard error says what is being done, as soon as that has taken a
        second; None for a line if it is a terminal.
    cancelled : callable, optional
        As for :func:`compile`.

    Raises
    ------
    GrammarError
        If Lark rejects the grammar, or no text is a sentence of it.
    PatternError
        If a terminal cannot be turned into an automaton.
    LimitError
        If the automata become too large, or it takes more time or memory than the limits allow.
    """
    return compile_for_bytes(
        grammar, limits=limits, use_cache=use_cache, progress=progress, cancelled=cancelled
    )[0]


def compile_for_bytes(
    grammar: object,
    *,
    limits: Limits | None = None,
    use_cache: bool = True,
    progress: bool | None = False,
    cancelled: Callable[[], bool] | None = None,
) -> tuple[Recognizer, Liveness | Index]:
    """Return what reads texts in any bytes, and what tells whether a sentence can follow.

    Parameters and errors are those of :func:`compile_recognizer`.
    """
    chosen = output_type(grammar).grammar.for_tokens({})
    own_index = chosen.own_index(
        Vocabulary.of_bytes(),
        compile,
        None,
        limits=limits,
        use_cache=use_cache,
        progress=progress,
        cancelled=cancelled,
    )
    if own_index is not None:
        return own_index.recognizer, own_index

    def compiled(budget: Budget) -> Liveness:
        return _byte_liveness(chosen, budget=budget, use_cache=use_cache)

    liveness = run_within_limits(compiled, limits, progress, cancelled)
    return liveness.recognizer, liveness


def run_within_limits(
    work: Callable[[Budget], Result],
    limits: Limits | None,
    progress: bool | None,
    cancelled: Callable[[], bool] | None = None,
    *,
    started: float | None = None,
) -> Result:
    """Return what a function that compiles returns; it gets a budget, and is held to it.

    The budget's clock stops at its end. It began to count when the work `started`, by default now.

    Raises
    ------
    LimitError
        If the function takes too long or too much memory, or is cancelled.
    """
    with stages_shown(progress) as show, collector_off():
        budget = Budget(limits, show=show, cancelled=cancelled, started=started)
        found = budget.run(lambda: work(budget))
        budget.stop_clock()
        return found


@contextmanager
def stages_shown(progress: bool | None) -> Iterator[Callable[[str], None] | None]:
    """Yield what a budget calls to show the stages; `progress` is as for :func:`compile`."""
    if progress is False:
        yield None
        return
    from tqdm import tqdm

    with tqdm(
        bar_format="compiling: {desc} [{elapsed}]",
        delay=_SHOWN_AFTER,
        disable=None if progress is None else False,
        leave=False,
    ) as line:

        def show(stage: str) -> None:
            line.set_description_str(stage, refresh=False)
            line.update(0)  # draws the line, if it is time to

        yield show


def build_byte_liveness(compiled: CompiledGrammar, *, budget: Budget) -> Liveness:
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


def _byte_liveness(grammar: Grammar, *, budget: Budget, use_cache: bool) -> Liveness:
    """Load the grammar with Lark and build its liveness, or take both from the cache."""
    if use_cache:
        return _cached_byte_liveness(grammar, budget=budget)
    return build_byte_liveness(load_grammar(grammar, budget=budget), budget=budget)


def load_grammar(grammar: Grammar, *, budget: Budget) -> CompiledGrammar:
    """Load the grammar with Lark, which takes long to import: compiled grammars do without it."""
    budget.begin("Lark's tables")
    with budget.unwatched():
        from cfgguide.grammar import lark_frontend

    return lark_frontend.load(grammar, budget=budget)


def _cached_byte_liveness(grammar: Grammar, *, budget: Budget) -> Liveness:
    cached_grammar = CachedGrammar(grammar, budget.limits)
    tables = cached_grammar.load()
    if tables is not None:  # that the grammar has a sentence was checked before it was stored
        recognizer = Recognizer(*tables, budget=budget)
        return _cached_liveness(recognizer, Spelling.of_all_bytes(), budget=budget)
    compiled = load_grammar(grammar, budget=budget)
    liveness = build_byte_liveness(compiled, budget=budget)
    recognizer = liveness.recognizer
    cached_grammar.store(
        compiled.parse_table, recognizer.scanner, compiled.indentation_rules, compiled.imported
    )
    cached_liveness.store(recognizer, Spelling.of_all_bytes(), liveness.always_live)
    return liveness


def _cached_liveness(recognizer: Recognizer, spelling: Spelling, *, budget: Budget) -> Liveness:
    """Return the liveness for a spelling; a large grammar's table comes from the cache."""
    always_live = cached_liveness.load_or_make(recognizer, spelling)
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
    make = _cached_liveness if use_cache else Liveness
    liveness = make(recognizer, spelling, budget=budget)
    if not liveness.is_live(recognizer.initial):
        unspellable = unspellable_terminals(byte_liveness, liveness)
        raise VocabularyError(
            "the vocabulary can spell no sentence of the grammar: "
            + _what_is_missing(recognizer, spelling, unspellable)
        )
    return liveness


def unspellable_terminals(byte_liveness: Liveness, liveness: Liveness) -> tuple[str, ...]:
    """Return the names of the terminals of which only other bytes could spell a lexeme."""
    if liveness is byte_liveness:
        return ()
    lost = byte_liveness.spellable_terminals() - liveness.spellable_terminals()
    names = liveness.recognizer.parse_table.terminals
    return tuple(names[terminal] for terminal in sorted(lost))


def _what_is_missing(
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
