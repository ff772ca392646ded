"""Finds mistakes in a monitor with sentences that it should allow.

In: a grammar with a monitor, and sentences. Out: nothing, or a `MonitorError` that says what is
wrong: a sentence that is refused, a text from which nothing may come, or two texts of which the
monitor says that the same is relevant, although other lexemes may follow.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from cfgguide.compiler import compile
from cfgguide.diagnostics.explainers import explainer_of
from cfgguide.engine.monitors.monitored_grammar import MonitoredGrammar
from cfgguide.engine.monitors.watched_machine import WatchedMachine
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GrammarError, MonitorError, shown


def check_monitor(grammar: MonitoredGrammar, sentences: Iterable[str]) -> None:
    r"""Check that a monitor allows some sentences, and tells the truth about what decides.

    Parameters
    ----------
    grammar : MonitoredGrammar
        What :meth:`cfgguide.Grammar.watched_by` returned.
    sentences : iterable of str
        Texts that grammar and monitor should allow. The more alike their beginnings are, the more
        is found.

    Raises
    ------
    MonitorError
        If something is wrong; the message says where.
    GrammarError
        If it is no grammar with a monitor.

    Examples
    --------
    >>> import cfgguide
    >>> from cfgguide.monitors import Monitor, OneOf
    >>> class OnlyA(Monitor):
    ...     terminals = frozenset({"NAME"})
    ...     def texts(self, terminal):
    ...         return OneOf(["a"])
    ...     def shifted(self, terminal, text):
    ...         return self
    >>> grammar = cfgguide.Grammar('start: NAME+ \n NAME: /[a-z]/').watched_by(OnlyA())
    >>> check_monitor(grammar, ["a", "aa"])
    >>> check_monitor(grammar, ["ab"])
    Traceback (most recent call last):
    cfgguide.errors.MonitorError: [monitor] 'ab' is refused after 'a': the monitor allows ...
    """
    if not isinstance(grammar, MonitoredGrammar):
        raise GrammarError(
            f"check_monitor takes what Grammar.watched_by returns, not {type(grammar).__name__}"
        )
    index = compile(grammar, Vocabulary.of_bytes())
    machine = index.machine
    assert isinstance(machine, WatchedMachine), "the grammar has a monitor"
    recognizer = machine.recognizer
    answers: dict[Hashable, tuple[Hashable, str]] = {}
    for sentence in sentences:
        configuration = recognizer.initial
        text = sentence.encode()
        for place in range(len(text) + 1):
            before = text[:place].decode("utf-8", "replace")
            for hypothesis in configuration.hypotheses:
                relevant, allowed = recognizer.relevant_and_allowed(hypothesis)
                known = answers.setdefault(relevant, (allowed, before))
                if known[0] != allowed:
                    raise MonitorError(
                        f"the monitor says that the same is relevant after {shown(known[1])} and "
                        f"after {shown(before)}, but other lexemes may follow; let `relevant` have "
                        "what tells them apart"
                    )
            if place == len(text):
                break
            after = recognizer.advance(configuration, text[place : place + 1])
            if after is None or not machine.is_live(after):
                reason = explainer_of(index, text[:place], configuration).explain(text[place:])
                raise MonitorError(
                    f"{shown(sentence)} is refused after {shown(before)}: {reason.reason}"
                )
            configuration = after
        if not recognizer.is_sentence(configuration):
            raise MonitorError(f"{shown(sentence)} is not allowed to end")
