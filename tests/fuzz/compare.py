"""The engine against the definition of the mask, for one case.

A token is allowed after a text iff tokens can complete the two to a text that Lark parses; EOS is
allowed iff Lark parses the text. The judge tries every text that the tokens spell, up to a number,
and the texts of the case. This proves that tokens are allowed. A token that the engine allows
without such a proof is followed by the engine's own masks until EOS, and Lark judges the text that
was reached; where no end is found within a bound the token counts as unresolved.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import random
import re
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from support.oracle import spelled_texts

import cfgguide
from cfgguide.diagnostics.diagnosis import diagnose
from cfgguide.engine.liveness.liveness import Liveness
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.recognizer import Configuration
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.errors import (
    BudgetError,
    CfgGuideError,
    GrammarError,
    LimitError,
    PatternError,
    VocabularyError,
)
from fuzz import judge
from fuzz.case import Case
from fuzz.judge import Judge, LarkRefusal

#: How many texts that the tokens spell Lark judges at most, and of how many bytes, by its parser.
BOUNDS = {"lalr": (1200, 12), "earley": (600, 9)}
MAX_COMPARED = 70  # of those, and all prefixes of the case's texts
MAX_DIAGNOSED = 4  # of the case's texts
MAX_SENTENCES = 2_000  # with which an ending is compared, the shortest of those that are known
MAX_ENDED = 10  # configurations of a case for which endings and budgets are compared
ENOUGH = 1 << 20  # tokens: a budget that rules nothing out
MAX_FOLLOWED = 3000  # configurations on the way to a sentence
MAX_BRANCHES = 12  # tokens tried at each
SECONDS = 20  # for one case

#: What the engine says it cannot do.
STATED_REFUSALS = (
    "a backreference",
    "a conditional group",
    "an atomic group",
    "a possessive quantifier",
    "a look-ahead, \\b or $ inside a look-behind",
)
STATED_OF_COMPLETE = "looks at the text around it, which Lark's lexer 'dynamic_complete' cuts off"


class Disagreement(AssertionError):
    """The engine is wrong about a case; a class for each kind, for Hypothesis to tell them apart.

    Attributes
    ----------
    case : Case or None
        The case, where it is not the one that was given.
    """

    def __init__(self, message: str, case: Case | None = None) -> None:
        super().__init__(message)
        self.case = case

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()


class Soundness(Disagreement):
    """What the engine lets end is no sentence."""


class Completeness(Disagreement):
    """A token on the way to a sentence is not allowed."""


class DeadEnd(Disagreement):
    """What the engine allows leads nowhere."""

    kind = "liveness"


class TwoMasks(Disagreement):
    """One text has two masks."""

    kind = "spelling"


class Endings(Disagreement):
    """A live configuration has no ending, or a budget keeps out what fits."""


class Answers(Disagreement):
    """Two ways to ask the engine have two answers."""


class Diagnosis(Disagreement):
    """The place of an error is wrong."""


class Refusal(Disagreement):
    """Lark and the engine do not take the same grammars."""


class Crash(Disagreement):
    """An error that is none of the engine's."""


class _Lost(Exception):
    """A text has more readings than are followed: the rest of its case is not compared."""


class TooSlow(BaseException):
    """Not an Exception, which Lark or the engine might catch."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TooSlow after so much time of the processor: others may be busy."""

    def stop(signal_number: int, frame: object) -> None:
        raise TooSlow

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 0.5)  # again, should one get lost in a callback
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def compare(case: Case, counts: Counter[str], *, written_by: str | None = None) -> None:
    """Compare the engine with Lark, and count what was compared.

    Parameters
    ----------
    case : Case
        What to compare.
    counts : Counter
        Is added to, also when something is wrong.
    written_by : str, optional
        A grammar that the engine gets instead, to see whether the comparison finds a difference.

    Raises
    ------
    Disagreement
        The first that is found.
    """
    counts["grammars"] += 1
    with comparing(counts):
        _Comparison(case, counts, written_by or case.grammar).run()


@contextmanager
def comparing(counts: Counter[str]) -> Iterator[None]:
    """Count what takes too long, and make other people's errors a Crash."""
    _load_all()
    try:
        with at_most(SECONDS), warnings.catch_warnings(action="ignore"):
            yield
    except TooSlow as error:
        frames = traceback.walk_tb(error.__traceback__)
        is_judge = any(frame.f_code.co_filename == judge.__file__ for frame, _ in frames)
        counts["too slow for Lark" if is_judge else "too slow"] += 1
    except (Disagreement, KeyboardInterrupt):
        raise
    except LimitError as error:
        if "(max_hypotheses)" not in str(error):
            raise Crash(f"{type(error).__name__}: {error}") from error
        counts["too many hypotheses"] += 1  # which an ambiguous grammar may have
    except Exception as error:
        raise Crash(f"{type(error).__name__}: {error}") from error


@functools.cache
def _load_all() -> None:
    """Load all that a guide calls: no case is to blame for the time that takes."""
    vocabulary = cfgguide.Vocabulary([b"a", None], eos_token_ids=1)
    guide = cfgguide.Guide(cfgguide.compile(cfgguide.Grammar('start: "a"'), vocabulary))
    guide.allowed_token_ids()
    guide.advance(0)


class _Comparison:
    def __init__(self, case: Case, counts: Counter[str], grammar: str) -> None:
        self.case = case
        self.counts = counts
        self.rng = random.Random(len(case.grammar))
        self.grammar = cfgguide.Grammar(grammar, **case.lark_options)
        self.n_tokens = len(case.tokens)
        self.guides: dict[bytes, cfgguide.Guide] = {}

    def run(self) -> None:
        try:
            self.judge = Judge(
                self.case.grammar, self.case.lexer, self.case.tokens, self.case.parser
            )
        except LarkRefusal as refusal:
            self._must_be_refused(refusal)
            return
        max_texts, max_bytes = BOUNDS[self.case.parser]
        spelled = spelled_texts(self.case.tokens, max_bytes)
        for text in itertools.chain(itertools.islice(spelled, max_texts), self.case.texts):
            self.judge.is_sentence(text)
        try:
            self.index = self._compiled(self.case.tokens)
        except CfgGuideError as error:
            self._must_be_right(error)
            return
        lexing_error = self.judge.lexing_error()
        if lexing_error:
            raise Refusal(f"Lark cannot lex any text, the engine compiles: {lexing_error}")
        self.counts["compiled"] += 1
        self.counts["texts"] += len(self.case.texts)
        try:
            self._compare_masks()
            self._compare_diagnoses()
        except _Lost:
            self.counts["more readings than are followed"] += 1

    def _compiled(self, tokens: tuple[bytes, ...]) -> cfgguide.Index:
        vocabulary = cfgguide.Vocabulary([*tokens, None], eos_token_ids=len(tokens))
        return cfgguide.compile(self.grammar, vocabulary)

    # --- What is refused --------------------------------------------------------------------------

    def _must_be_refused(self, refusal: LarkRefusal) -> None:
        self.counts["refused: by Lark"] += 1
        try:
            self._compiled(self.case.tokens)
        except CfgGuideError:
            return
        if str(refusal).startswith("Rules defined twice"):
            # What of many ways through a rule are the same twice, is not so once it is shortened.
            self.counts["refused: by Lark, for rules that are shortened here"] += 1
            return
        raise Refusal(f"Lark refuses the grammar, the engine compiles it: {refusal}")

    def _must_be_right(self, error: CfgGuideError) -> None:
        """Check an error of the engine, for a grammar that Lark takes."""
        message = str(error)
        kind = _kind_of_refusal(error)
        self.counts[f"refused: {kind}"] += 1
        if is_stated(error):
            return
        if kind == "no lexing" and self.judge.lexing_error():
            return
        if kind == "no sentence":
            if not self.judge.n_sentences:
                return
            raise Completeness(f"there are sentences, but the engine says: {message}")
        if kind == "not spelled":
            if b"" not in self.judge.live:
                return
            raise Completeness(f"tokens spell sentences, but the engine says: {message}")
        raise Refusal(f"Lark takes the grammar, but the engine says: {message}")

    # --- Masks ------------------------------------------------------------------------------------

    def _compare_masks(self) -> None:
        wanted = sorted(self.judge.live, key=lambda text: (len(text), text))
        chosen = set(wanted[:MAX_COMPARED])
        chosen.update(text[:end] for text in self.case.texts for end in range(len(text) + 1))
        self.guides[b""] = cfgguide.Guide(self.index)
        self._check_mask(b"")
        for text in wanted:
            if text and text in chosen:
                self._reach(text)
        ended = self.rng.sample(sorted(self.guides), min(len(self.guides), MAX_ENDED))
        for text in ended:
            check_endings(self.guides[text], self.judge, self.case.tokens)
        self.counts["endings"] += len(ended)  # of none of a case that took too long

    def _reach(self, text: bytes) -> None:
        """Compare at a text that tokens spell, in two ways if there are two; else do nothing."""
        ways = [
            (text[: -len(token)], token_id)
            for token_id, token in enumerate(self.case.tokens)
            if text.endswith(token) and text[: -len(token)] in self.guides
        ]
        self.rng.shuffle(ways)
        masks = []
        for before, token_id in ways[:2]:
            guide = self.guides[before].copy()
            guide.advance(token_id)
            masks.append(_bitmask(guide))
            self.guides[text] = guide
        if len(masks) == 2 and masks[0] != masks[1]:
            raise TwoMasks(f"two spellings of {text!r} have two masks: {ways[:2]}")
        if ways:
            self._check_mask(text)

    def _check_mask(self, text: bytes) -> None:
        guide = self.guides[text]
        one_by_one = [i for i in range(self.n_tokens + 1) if guide.accepts(i)]
        allowed = guide.allowed_token_ids().tolist()
        self.counts["configurations"] += 1
        self.counts["tokens"] += self.n_tokens + 1
        if not one_by_one == allowed == _ids(_bitmask(guide)):
            raise Answers(f"after {text!r} accepts says {one_by_one}, the mask {allowed}")
        if not allowed:
            raise DeadEnd(f"nothing may follow {text!r}")
        self._check_end(guide)
        for token_id, token in enumerate(self.case.tokens):
            is_live = text + token in self.judge.live
            if is_live and token_id not in allowed:
                self._must_be_lost(*self._missing(text, token))
            if not is_live and token_id in allowed:
                self._resolve(guide, token_id)

    def _missing(self, text: bytes, token: bytes) -> tuple[bytes, str]:
        rest = next(t for t in sorted(self.judge.live, key=len) if self._is_end(t, text + token))
        return rest, f"{token!r} is not allowed after {text!r}; Lark parses {rest!r}"

    def _must_be_lost(self, sentence: bytes, message: str) -> None:
        """Raise an error unless a sentence has more readings on the way than are followed."""
        recognizer = self.index.machine.recognizer
        after: Configuration | None = recognizer.initial
        n_readings = 0
        try:
            for byte in sentence if recognizer.is_open else b"":
                after = recognizer.read(after, bytes([byte])) if after is not None else None
                n_readings = max(n_readings, len(after.hypotheses) if after is not None else 0)
        except LimitError:
            n_readings = recognizer.n_followed + 1
        if n_readings <= recognizer.n_followed:
            raise Completeness(message)
        raise _Lost

    def _is_end(self, sentence: bytes, start: bytes) -> bool:
        return sentence.startswith(start) and self.judge.is_sentence(sentence)

    def _check_end(self, guide: cfgguide.Guide) -> None:
        """Compare whether the text may end."""
        text, expected = guide.text, self.judge.is_sentence(guide.text)
        if guide.is_accepting != guide.accepts(self.n_tokens):
            raise Answers(f"EOS after {text!r}: is_accepting is {guide.is_accepting}")
        if expected and not guide.is_accepting:
            message = f"EOS is not allowed after {text!r}, which Lark parses"
            self._must_be_lost(text, message)
        if guide.is_accepting and not expected:
            raise Soundness(f"EOS is allowed after {text!r}, which Lark does not parse")

    # --- What the engine allows without a proof ---------------------------------------------------

    def _resolve(self, guide: cfgguide.Guide, token_id: int) -> None:
        first = guide.copy()
        first.advance(token_id)
        if self._leads_to_a_sentence(first) is None:
            self.counts["unresolved"] += 1

    def _leads_to_a_sentence(self, first: cfgguide.Guide) -> bool | None:
        """Follow the masks, short texts first; None if nothing was found within the bound."""
        pending = [(len(first.text), 0, first)]
        seen = {first.configuration}
        is_cut = False
        while pending:
            _, _, guide = heapq.heappop(pending)
            self._check_end(guide)
            if guide.text in self.judge.live or guide.is_accepting:
                return True
            if len(seen) > MAX_FOLLOWED:
                return None
            ids = guide.allowed_token_ids().tolist()
            if not ids:
                raise DeadEnd(f"nothing may follow {guide.text!r}")
            is_cut |= len(ids) > MAX_BRANCHES
            for token_id in self._likely_first(guide, ids)[:MAX_BRANCHES]:
                after = guide.copy()
                after.advance(token_id)
                if after.configuration not in seen:
                    seen.add(after.configuration)
                    heapq.heappush(pending, (len(after.text), len(seen), after))
        if is_cut:
            return None
        raise DeadEnd(f"the masks after {first.text!r} never come to an end")

    @staticmethod
    def _likely_first(guide: cfgguide.Guide, ids: list[int]) -> list[int]:
        """Sort printable bytes to the front, where the vocabulary is that of all bytes."""
        tokens = guide.index.vocabulary.tokens
        return sorted(ids, key=lambda i: (tokens[i] or b"") not in _FIRST_BYTES)

    # --- The place of an error --------------------------------------------------------------------

    def _compare_diagnoses(self) -> None:
        if not self.case.texts:
            return
        index = self._compiled(_ALL_BYTES)
        liveness = Liveness(index.machine.recognizer, Spelling.of_all_bytes())
        machine = LrMachine.of(liveness)
        for text in self.case.texts[:MAX_DIAGNOSED]:
            diagnosis = diagnose(machine, text)
            self.counts["diagnoses"] += 1
            if diagnosis.is_sentence != self.judge.is_sentence(text):
                raise Diagnosis(f"{text!r} is a sentence: {diagnosis.is_sentence}")
            self._check_place(index, text, diagnosis.offset)

    def _check_place(self, index: cfgguide.Index, text: bytes, offset: int) -> None:
        """Compare the first byte after which no sentence can follow."""
        proved = max((e for e in range(len(text) + 1) if text[:e] in self.judge.starts), default=0)
        if offset < proved:
            raise Diagnosis(f"{text!r} is refused at {offset}, but {text[:proved]!r} is live")
        guide = cfgguide.Guide(index)
        for place, byte in enumerate(text):
            if not guide.accepts(byte):
                break
            if place == offset:
                raise Diagnosis(f"{text!r} is refused at {offset}, where the mask goes on")
            guide.advance(byte)
        if len(guide.text) < offset:
            raise Diagnosis(f"{text!r} is refused at {offset}, but by the mask earlier")
        if text[:offset] not in self.judge.starts and self._ends(guide) is None:
            self.counts["unresolved"] += 1

    def _ends(self, guide: cfgguide.Guide) -> bool | None:
        """Follow the masks of single bytes to a sentence."""
        n_tokens, self.n_tokens = self.n_tokens, len(_ALL_BYTES)
        try:
            return self._leads_to_a_sentence(guide)
        finally:
            self.n_tokens = n_tokens


def check_endings(guide: cfgguide.Guide, judge: Judge, tokens: Sequence[bytes]) -> None:
    """Compare endings and budgets with their definition.

    An ending is tokens after which Lark parses the text. The masks within a budget grow with it,
    from the length of the shortest ending on, to the plain mask; no known sentence is shorter.
    """
    text, allowed = guide.text, guide.allowed_token_ids().tolist()
    try:
        shortest = guide.shortest_completion()
    except BudgetError as error:
        raise Endings(f"{text!r} is live, and has no ending: {error}") from error
    n = len(shortest)
    ending = text + b"".join(tokens[token_id] for token_id in shortest[:-1])
    if not judge.is_sentence(ending):
        raise Endings(f"{ending!r} is the ending of {text!r}, and no sentence")
    fewest = _fewest_tokens(text, judge, tokens)
    if min(fewest.values(), default=n) < n:
        raise Endings(f"{text!r} ends in {n} tokens: {ending!r}; but there are {fewest}")
    masks: list[set[int]] = []
    for budget in (*range(n - 1, n + 4), ENOUGH):
        try:
            masks.append(set(guide.allowed_within(budget).tolist()))
        except BudgetError:
            masks.append(set())
        known = {first for first, length in fewest.items() if length <= budget}
        if not known <= masks[-1]:
            raise Endings(f"within {budget} tokens {known - masks[-1]} are lost after {text!r}")
    if masks[0] or not masks[1]:
        raise Endings(f"{text!r} ends in {n} tokens, but within {n - 1} {masks[0]} may come")
    if not all(fewer <= more for fewer, more in itertools.pairwise(masks)):
        raise Endings(f"the masks from {n} tokens on do not grow after {text!r}: {masks}")
    if masks[-1] != set(allowed):
        raise Endings(f"{set(allowed) - masks[-1]} never fit after {text!r}")


def _fewest_tokens(text: bytes, judge: Judge, tokens: Sequence[bytes]) -> dict[int, int]:
    """Return the fewest tokens, EOS included, of the sentences that Lark is known to parse.

    By the first of these tokens; EOS is the one after the last.
    """
    fewest: dict[int, int] = {}
    known = (sentence for sentence in judge.sentences() if sentence.startswith(text))
    for sentence in heapq.nsmallest(MAX_SENTENCES, known, key=len):
        if sentence == text:
            fewest[len(tokens)] = 1
        needed = {len(sentence): 1}
        for start in range(len(sentence) - 1, len(text) - 1, -1):
            for token_id, token in enumerate(tokens):
                rest = needed.get(start + len(token))
                if rest is not None and sentence.startswith(token, start):
                    needed[start] = min(needed.get(start, rest + 1), rest + 1)
                    if start == len(text):
                        fewest[token_id] = min(fewest.get(token_id, rest + 1), rest + 1)
    return fewest


_ALL_BYTES = cfgguide.Vocabulary.of_bytes().tokens[:256]
_FIRST_BYTES = frozenset(bytes([byte]) for byte in b"abcAB1 \n\xc3\xa9")


def _bitmask(guide: cfgguide.Guide) -> bytes:
    out = np.empty(guide.index.vocabulary.n_words, dtype=np.int32)
    guide.fill_bitmask(out)
    return out.tobytes()


def _ids(bitmask: bytes) -> list[int]:
    bits = np.unpackbits(np.frombuffer(bitmask, dtype=np.uint8), bitorder="little")
    return np.flatnonzero(bits).tolist()


def is_stated(error: CfgGuideError) -> bool:
    """Return whether an error is about what the engine says that it cannot do."""
    return _kind_of_refusal(error) in ("not supported", "limit")


def _kind_of_refusal(error: CfgGuideError) -> str:
    """Return why the engine does not take a grammar, in two words."""
    message = str(error)
    if isinstance(error, LimitError):
        return "limit"
    if isinstance(error, VocabularyError):
        return "not spelled"
    is_stated = any(f"uses {what}" in message for what in STATED_REFUSALS)
    is_stated |= STATED_OF_COMPLETE in message
    if isinstance(error, PatternError) and is_stated:
        return "not supported"
    if isinstance(error, GrammarError):
        if "no text at all is a sentence" in message:
            return "no sentence"
        if re.search("Lark cannot use", message):
            return "no lexing"
    return "other"
