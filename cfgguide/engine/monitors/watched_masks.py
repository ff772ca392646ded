"""Masks of a grammar with a monitor: the grammar's own, without what the monitor refuses.

In: a :class:`~cfgguide.engine.monitors.watched_machine.WatchedMachine`. Out: its masks.

* Tokens that begin where a lexeme ends have the mask of the place after it, which all lexemes there
  share.
* Others are judged at the place where the lexeme began (:mod:`cfgguide.engine.masks.place_masks`).
* Where the text to come decides what a lexeme is, tokens are read as a tree of bytes, with the
  monitor.

Masks are stored by the lexer's part, the stack, and what the monitor says is relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask, Path
from cfgguide.engine.lexer.lookahead import NO_OBLIGATIONS, Obligations
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.recognizer import Configuration, Hypothesis
from cfgguide.engine.machine.watching import watched
from cfgguide.engine.masks.arrays import Int32Array
from cfgguide.engine.masks.beginning import BeginningTokens
from cfgguide.engine.masks.lr_masks import LrMasks
from cfgguide.engine.masks.place_masks import AllowedTokens, KnownKinds, PlaceMasks
from cfgguide.engine.masks.shared_beginnings import accepted
from cfgguide.engine.masks.staying_tokens import StayingTokens
from cfgguide.engine.masks.subset import Subset, bitmask_of, token_ids_in
from cfgguide.engine.masks.text_tokens import TokensOfTexts, VisitedTrie
from cfgguide.engine.monitors.monitor import Monitor
from cfgguide.engine.monitors.watched_walk import WatchedWalker
from cfgguide.errors import MonitorError
from cfgguide.grammar.lr.indentation import Indentation
from cfgguide.grammar.lr.stack import Stack

if TYPE_CHECKING:
    from cfgguide.engine.index.index import Index
    from cfgguide.engine.monitors.watched_machine import WatchedMachine

BoolArray = npt.NDArray[np.bool_]


class WatchedMasks:
    """Makes masks of one grammar with a monitor, for one vocabulary.

    Parameters
    ----------
    machine : WatchedMachine
        What reads.
    base : Index
        Of the grammar alone; its tables are shared.
    """

    files = None

    def __init__(self, machine: WatchedMachine, base: Index) -> None:
        self._machine = machine
        self.recognizer = recognizer = machine.recognizer
        self._base = base
        self.vocabulary = base.vocabulary
        self._liveness = machine.liveness
        shared = base.derived(SharedByMonitors)
        self._ending = shared.ending
        self._lr_masks = LrMasks(machine, base.vocabulary, shared.token_classes)
        self.texts = TokensOfTexts(recognizer, base.vocabulary, shared.visited)
        self.beginning = shared.beginning
        self._place_masks = PlaceMasks(
            recognizer, shared.beginning, shared.staying, shared.kinds, self.texts
        )
        self._eos = base.eos_bitmask
        self.is_at_end = self._lr_masks.is_at_end
        self.are_complete = self._lr_masks.are_complete

    def walker(self, subset: Callable[[Configuration], Subset]) -> WatchedWalker:
        """Return a walker of its own for one thread; it knows the monitor."""
        return WatchedWalker(self, subset, self._lr_masks.new_walker())

    def release_workspace(self) -> None:
        """Free the workspace in which masks are made; the next new mask allocates another."""
        self._lr_masks.release_workspace()

    def shared(self) -> list[object]:
        """Return nothing: only the vocabulary is held by others as well."""
        return []

    def key(self, configuration: Configuration) -> WatchedKey:
        """Return under what the mask of a configuration is remembered."""
        return WatchedKey.of(configuration)

    @staticmethod
    def like(path: Path) -> Hashable:
        """Return what the paths of masks share that are expected to be alike."""
        lexer: Any = path[0]
        parts, _ = lexer
        return tuple(part[:2] for part in parts)

    def mask(self, key: WatchedKey, known: ConfigurationTrie) -> Mask:
        """Make the mask of a key; where others are a part of it, these are asked for first."""
        bitmask = self._made(key.configuration, known)
        if self.recognizer.is_sentence(key.configuration):
            bitmask |= self._eos
        return Mask(0, bitmask)

    def narrowed(self, configuration: Configuration, subset: Subset) -> Subset:
        """Return the subset.

        Raises
        ------
        MonitorError
            If nothing may follow, which the monitor has promised cannot be.
        """
        if not subset.bitmask.any():
            raise MonitorError(_dead_end(configuration, self._machine.monitor))
        return subset

    def _part(self, configuration: Configuration, known: ConfigurationTrie) -> Int32Array:
        return known.subset(self.key(configuration), self).bitmask

    def _made(self, configuration: Configuration, known: ConfigurationTrie) -> Int32Array:
        """Return the tokens that may follow, without EOS, in an array of its own.

        Where lexemes may end, the masks of the places after them tell of all tokens whose first
        byte ends every lexeme that is being read.
        """
        by_stack = self._by_stack(configuration)
        if len(by_stack) > 1:
            masks = [self._part(each, known) for each in by_stack]
            union: Int32Array = np.bitwise_or.reduce(masks)
            return union
        first_bytes, parts = self.parts(configuration)
        bitmask = self._looked_up(configuration, first_bytes)
        for place, tokens in parts:
            bitmask |= self._part(place, known) & tokens
        return bitmask

    def _by_stack(self, configuration: Configuration) -> list[Configuration]:
        """Return the hypotheses of each stack and indentation by themselves.

        Each is a possibility of its own, so a token may follow if it may follow one of them.
        """
        groups: dict[tuple[Stack, Indentation], list[Hypothesis]] = {}
        for hypothesis in configuration.hypotheses:
            groups.setdefault(hypothesis[2:], []).append(hypothesis)
        return [Configuration(tuple(group), configuration.context) for group in groups.values()]

    def parts(
        self, configuration: Configuration
    ) -> tuple[BoolArray | None, list[tuple[Configuration, Int32Array]]]:
        """Return which tokens go on with a lexeme, and those that begin where one ends.

        Returns
        -------
        tuple of (bool, shape (256,) or None, list of (Configuration, int32 array))
            With which bytes the tokens begin of which the configuration itself has to tell, None
            for all; and places after lexemes, each with the tokens of which it tells.
        """
        scanner = self.recognizer.scanner
        is_ending = any(
            scanner.match[hypothesis.scanner_state] != NO_MATCH
            for hypothesis in configuration.hypotheses
        )
        if not is_ending:
            return None, []
        parts: list[tuple[Configuration, Int32Array]] = []
        goes_on = np.ones(256, dtype=np.bool_)
        for hypothesis, ends in zip(
            configuration.hypotheses, self._ending_bytes(configuration), strict=True
        ):
            place = self._after(hypothesis, configuration.context) if ends.any() else None
            if place is None:
                continue
            goes_on &= ~ends
            if place.hypotheses:
                parts.append((place, self.beginning.with_any(ends)))
        return goes_on, parts

    def _after(self, hypothesis: Hypothesis, context: int) -> Configuration | None:
        """Return the configuration where the next lexeme begins; None if there are several.

        It has no hypothesis if the lexeme may not end here.
        """
        recognizer = self.recognizer
        state, _, stack, indentation = hypothesis
        terminal_id = int(recognizer.scanner.match[state])
        starts = []
        for after, unindented in recognizer.shifts(stack, indentation, terminal_id):
            start = recognizer.start(after, context)
            possible = recognizer.lookahead.resolved(start, NO_OBLIGATIONS)
            starts += [Hypothesis(each, owed, after, unindented) for each, owed in possible]
        if len(starts) > 1 or any(each.obligations for each in starts):
            return None
        return Configuration(tuple(starts), context)

    def _ending_bytes(self, configuration: Configuration) -> list[BoolArray]:
        """Return for each hypothesis the bytes before which its lexeme ends, and owes nothing.

        Only bytes with which no lexeme goes on, and none ends that owes something. Shape (256,)
        each.
        """
        key = tuple(each[:2] for each in configuration.hypotheses)
        ends = self._ending.get(key)
        if ends is None:
            scanner, lookahead = self.recognizer.scanner, self.recognizer.lookahead
            n_classes = scanner.transitions.shape[1]
            by_class = np.zeros((len(key), n_classes), dtype=np.bool_)
            for byte_class in range(n_classes):
                is_clean = True
                for number, (state, obligations) in enumerate(key):
                    is_clean &= not lookahead.step(state, obligations, byte_class)
                    if scanner.match[state] != NO_MATCH:
                        after = lookahead.after(lookahead.ending(state, obligations), byte_class)
                        is_clean &= after in ((), (NO_OBLIGATIONS,))
                        by_class[number, byte_class] = bool(after)
                by_class[:, byte_class] &= is_clean
            ends = self._ending[key] = list(by_class[:, scanner.byte_classes])
        return ends

    def _looked_up(self, configuration: Configuration, first_bytes: BoolArray | None) -> Int32Array:
        """Return which tokens may follow, of some or of all, without a walk."""
        stack = watched(configuration.hypotheses[0].stack)
        alone = Configuration(
            tuple(each._replace(stack=stack.place.stack) for each in configuration.hypotheses),
            configuration.context,
        )
        grammatical = self._base.subset(alone)
        if self.texts.is_usable:
            near, judged = self._place_masks.allowed(configuration, grammatical, first_bytes)
        else:  # where a lexeme begins is not known before it is read
            asked = grammatical.bitmask
            if first_bytes is not None:
                asked = asked & self.beginning.with_any(first_bytes)
            near, judged = np.zeros_like(asked), AllowedTokens([], token_ids_in(asked).tolist())
        found, unclear = judged
        tokens = [self.vocabulary.tokens[each] or b"" for each in unclear]
        read = accepted(self.recognizer, configuration, tokens, self._liveness.is_live)
        found += [unclear[each] for each in read]
        return near | bitmask_of(found, len(near)) if found else near.copy()


class SharedByMonitors:
    """What the indexes of one grammar with different monitors share.

    Attributes
    ----------
    ending : dict
        See `WatchedMasks._ending_bytes`.
    visited : VisitedTrie
        Of the vocabulary.
    beginning : BeginningTokens
        Of the vocabulary.
    kinds : KnownKinds
        How tokens are judged.
    staying : StayingTokens
        Of the grammar's lexer.
    token_classes : TokenClasses
        Of the grammar's own masks.
    """

    def __init__(self, base: Index) -> None:
        self.ending: dict[tuple[tuple[int, Obligations], ...], list[BoolArray]] = {}
        masks: object = base.masks
        assert isinstance(masks, LrMasks), "a monitor follows a grammar in Lark's language"
        recognizer = masks.recognizer
        self.visited = VisitedTrie(recognizer, base.vocabulary)
        self.beginning = BeginningTokens(base.vocabulary)
        self.kinds = KnownKinds()
        self.token_classes = masks.token_classes
        self.staying = StayingTokens(recognizer, self.token_classes)


class WatchedKey(NamedTuple):
    """Under what a mask is remembered: the lexer's part, what is relevant, and the stacks."""

    configuration: Configuration
    whole: Path

    @classmethod
    def of(cls, configuration: Configuration) -> WatchedKey:
        """Return the key of a configuration."""
        parts: list[Hashable] = []
        states: list[Hashable] = []
        for state, obligations, stack, indentation in configuration.hypotheses:
            text, place = watched(stack).text, watched(stack).place
            parts.append((state, obligations, indentation, text, place.relevant))
            states.append(place.stack)
        return cls(configuration, ((tuple(parts), configuration.context), *states))

    def candidates(self, depth: int) -> Iterable[Path]:
        """Return the one path under which its mask may be."""
        return (self.whole,)

    def path(self, mask: Mask) -> Path:
        """Return that path."""
        return self.whole


def _dead_end(configuration: Configuration, monitor: Monitor) -> str:
    place = watched(configuration.hypotheses[0].stack).place
    return (
        f"the monitor {type(monitor).__name__} leaves no way on: it allows no terminal after what "
        f"it has followed so far ({place.monitor!r:.300}); let texts() refuse what leads there, "
        "or leave can_finish at None"
    )
