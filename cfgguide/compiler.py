"""The whole recipe: what is to be written and a vocabulary in, an index out.

Some grammars go through no tables of Lark's: regular expressions and lists of texts
(:mod:`cfgguide.engine.byte_machine.pattern_pushdown`), JSON Schemas and messages
(:mod:`cfgguide.schema.schema_grammar`), and grammars that a monitor follows
(:mod:`cfgguide.engine.monitors.monitored_grammar`). For all others
:mod:`cfgguide.engine.liveness.stages` has the stages that need no vocabulary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

from cfgguide.base.archive import Arrays
from cfgguide.base.limits import Budget, Limits
from cfgguide.base.progress import run_within_limits
from cfgguide.engine.byte_machine.pattern_pushdown import pattern_machine
from cfgguide.engine.index.index import Index
from cfgguide.engine.liveness import stages
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.protocol import AnyMachine, Reader
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import CfgGuideError, IndexFormatError, VocabularyWarning
from cfgguide.grammar.grammar import Grammar
from cfgguide.output_types import output_type
from cfgguide.quotes import quotes_again

Result = TypeVar("Result")
Symbols = Mapping[str, tuple[str | int, ...]]  # tokens of special terminals, by names


class CompileOptions(NamedTuple):
    """What compiling may cost, and who watches it; :func:`compile` documents them."""

    limits: Limits | None = None
    use_cache: bool = True
    progress: bool | None = False
    cancelled: Callable[[], bool] | None = None

    def run(self, work: Callable[..., Result]) -> Result:
        """Return what a function returns that takes a `budget`, and is held to it."""
        return run_within_limits(
            lambda budget: work(budget=budget), self.limits, self.progress, self.cancelled
        )


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
    >>> index.subset(index.machine.initial).token_ids().tolist()
    [0, 1]
    """
    chosen = output_type(grammar)
    vocabulary = Vocabulary.of(tokenizer_or_vocabulary)
    written = chosen.grammar.for_tokens(vocabulary.special_tokens)
    vocabulary = vocabulary.with_symbols(written.symbols_in(vocabulary.special_tokens))
    options = CompileOptions(limits, use_cache, progress, cancelled)
    machine = _own_machine(written, vocabulary, options)
    if machine is None:
        machine = _machine_of_tables(written, vocabulary, options)
    index = Index(machine, vocabulary, max_bytes=max_bytes)
    if use_cache:
        index.load_cached()
    elif index.masks.files is not None:
        index.masks.files.prepare(None)
    index.output_type = chosen
    return index


def _own_machine(
    grammar: Grammar, vocabulary: Vocabulary, options: CompileOptions
) -> AnyMachine | None:
    """Return the machine of a grammar that goes through no tables of Lark's; None of others."""
    pattern = grammar.whole_pattern

    def made(budget: Budget) -> AnyMachine | None:
        budget.begin("the grammar")
        own = grammar.own_machine(vocabulary, partial(compile, **options._asdict()))
        if own is None and pattern is not None:
            own = pattern_machine(pattern, vocabulary, options.limits)
        return own

    return options._replace(progress=False).run(made)


def _machine_of_tables(
    grammar: Grammar, vocabulary: Vocabulary, options: CompileOptions
) -> LrMachine:
    """Return the machine of a grammar in Lark's language."""
    spelling, use_cache = vocabulary.spelling, options.use_cache

    def compiled(budget: Budget) -> tuple[Liveness, Liveness]:
        in_bytes = stages.byte_liveness(grammar, budget=budget, use_cache=use_cache)
        budget.begin("vocabulary")
        return in_bytes, stages.restrict_to_spelling(
            in_bytes, spelling, budget=budget, use_cache=use_cache
        )

    in_bytes, liveness = options.run(compiled)
    unspellable = stages.unspellable_terminals(in_bytes, liveness)
    if unspellable:
        warnings.warn(
            "some sentences cannot be written with this vocabulary: "
            + stages.what_is_missing(in_bytes.recognizer, spelling, unspellable),
            VocabularyWarning,
            stacklevel=3,
        )
    return LrMachine(in_bytes.recognizer, liveness)


def compile_recognizer(
    grammar: object,
    *,
    limits: Limits | None = None,
    use_cache: bool = True,
    progress: bool | None = False,
    cancelled: Callable[[], bool] | None = None,
) -> Reader[Any]:
    """Return what reads the texts of a grammar; it needs no vocabulary.

    That is the :class:`~cfgguide.engine.machine.recognizer.Recognizer` of a grammar in Lark's
    language, and the machine of any other.

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
    machine = compile_machine(
        grammar, limits=limits, use_cache=use_cache, progress=progress, cancelled=cancelled
    )
    return machine.recognizer if isinstance(machine, LrMachine) else machine


def compile_machine(
    grammar: object,
    *,
    limits: Limits | None = None,
    use_cache: bool = True,
    progress: bool | None = False,
    cancelled: Callable[[], bool] | None = None,
) -> AnyMachine:
    """Return the machine of a grammar for texts in any bytes.

    Parameters and errors are those of :func:`compile_recognizer`.
    """
    written = output_type(grammar).grammar.for_tokens({})
    options = CompileOptions(limits, use_cache, progress, cancelled)
    own = _own_machine(written, Vocabulary.of_bytes(), options)
    if own is not None:
        return own
    return LrMachine.of(options.run(partial(stages.byte_liveness, written, use_cache=use_cache)))


def load_machine(
    arrays: Arrays, value: dict[str, Any], vocabulary: Vocabulary, symbols: Symbols
) -> tuple[AnyMachine, Vocabulary]:
    """Return the machine that :meth:`Machine.packed` has put into a file, and its vocabulary.

    Raises
    ------
    IndexFormatError
        If the file is wrong.
    VocabularyError
        If the vocabulary lacks a token of the messages.
    """
    if "pattern" in value:
        return _pattern_again(value["pattern"], vocabulary), vocabulary
    if "schema" not in value:
        vocabulary = vocabulary.with_symbols(symbols)
        return LrMachine.unpacked(arrays, value, vocabulary.spelling), vocabulary
    from cfgguide.schema.messages.message_grammar import grammar_of

    found = compile(grammar_of(value["schema"]), vocabulary)
    return found.machine, found.vocabulary


def _pattern_again(pattern: object, vocabulary: Vocabulary) -> AnyMachine:
    try:
        if not isinstance(pattern, str):
            return quotes_again(pattern)
        machine = pattern_machine(pattern, vocabulary)
    except (CfgGuideError, TypeError, ValueError):
        machine = None
    if machine is None:
        raise IndexFormatError("the index cannot be used: its pattern is wrong; make it again")
    return machine
