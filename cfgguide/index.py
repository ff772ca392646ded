"""The index: from configurations to the subsets of the vocabulary that may follow.

In: a compiled grammar's recogniser and a vocabulary. Out: an :class:`Index`, which gives the
:class:`Subset` of a configuration: computed on the first visit, looked up ever after.

What a mask depends on is what the configuration knows of the lexer and as much of its stack, from
the top, as was read when the mask was made. The index is a trie (``pygtrie.Trie``) under just that
path, so one entry serves all stacks that agree as far as it goes, and the longest prefix of a
configuration's path that is in the trie is its entry. No two entries lie on one path: which state
is read next depends only on those read before. Equal masks are stored once. ::

    configuration   ((inside STRING), stack 17 4 0)     path (12, 17, 4, 0)
    read            17 and 4 only                        entry under (12, 17, 4)

Source: Willard & Louf 2023, section 4, "a trie-indexed map"; it is filled from what is visited,
not from the pre-image of the goto function.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable
from itertools import islice, zip_longest

import numpy as np
import pygtrie

from cfgguide.configuration import Configuration, Recognizer
from cfgguide.kernel_types import Int32Array
from cfgguide.liveness import Liveness
from cfgguide.stack import Stack
from cfgguide.subset import Subset
from cfgguide.visits import Visit, Visits
from cfgguide.vocabulary import Vocabulary
from cfgguide.vocabulary_trie import VocabularyTrie
from cfgguide.walk import Outcome, Walker

Path = tuple[Hashable, ...]


class Index:
    """Masks of one grammar for one vocabulary.

    Make one with :func:`cfgguide.compile`. Many guides may use one index, from many threads.

    Attributes
    ----------
    vocabulary : Vocabulary
        Whose tokens the masks are about.
    recognizer : Recognizer
        Reads bytes as the grammar's Lark parser would.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        vocabulary: Vocabulary,
        trie: VocabularyTrie,
        liveness: Liveness,
    ) -> None:
        self.recognizer = recognizer
        self.vocabulary = vocabulary
        self._liveness = liveness
        self._walker = Walker(recognizer, trie, liveness.assurance)
        self._entries: pygtrie.Trie = pygtrie.Trie()
        self._deepest = 1  # how much of a stack some entry depends on
        self._subsets: dict[bytes, Subset] = {}
        self._eos = _packed(vocabulary.eos_token_ids, vocabulary.n_words)
        self._visits = Visits(recognizer.initial)
        self._lock = threading.Lock()

    @property
    def start(self) -> Visit:
        """The visit of the configuration before any token."""
        return self._visits.start

    @property
    def n_entries(self) -> int:
        """Number of entries of the configuration trie."""
        return len(self._entries)

    @property
    def n_subsets(self) -> int:
        """Number of distinct masks."""
        return len(self._subsets)

    @property
    def nbytes(self) -> int:
        """Bytes of all stored masks."""
        return sum(subset.bitmask.nbytes for subset in self._subsets.values())

    def subset(self, configuration: Configuration) -> Subset:
        """Return the tokens that may follow, EOS among them where the text is a sentence."""
        with self._lock:
            step = self._entries.longest_prefix(_path(configuration, self._deepest))
            found: Subset = step.value if step else self._fill(configuration)
        return found

    def allowed(self, visit: Visit) -> Subset:
        """Return the tokens that may follow a visited configuration."""
        if visit.subset is None:
            visit.subset = self.subset(visit.configuration)
        return visit.subset

    def accepts(self, visit: Visit, token_id: int) -> bool:
        """Return whether one token may follow; its mask is not made for that."""
        if visit.subset is not None:
            return token_id in visit.subset
        return token_id in visit.following or self._accepts(visit.configuration, token_id)

    def advance(self, visit: Visit, token_id: int) -> Visit:
        """Return where an accepted token leads; EOS leads nowhere else."""
        following = visit.following.get(token_id)
        if following is None:
            token = self.vocabulary.tokens[token_id] or b""
            configuration = self.recognizer.advance(visit.configuration, token)
            assert configuration is not None, "an accepted token leads on"
            following = self._visits.step(visit, token_id, configuration)
        return following

    def _accepts(self, configuration: Configuration, token_id: int) -> bool:
        if not 0 <= token_id < self.vocabulary.size:
            return False
        if token_id in self.vocabulary.eos_token_ids:
            return self.recognizer.is_sentence(configuration)
        token = self.vocabulary.tokens[token_id]
        after = self.recognizer.advance(configuration, token) if token else None
        if after is None:
            return False
        with self._lock:
            return self._liveness.is_live(after)

    def expected(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the names of the terminals that may come next; see :meth:`Guide.expected`."""
        with self._lock:
            return self._liveness.expected(configuration)

    def _fill(self, configuration: Configuration) -> Subset:
        bitmask = np.zeros(self.vocabulary.n_words, dtype=np.int32)
        walk = self._walker.walk(configuration, bitmask)
        inspected = walk.inspected
        undecided = walk.open_outcomes
        for number in undecided:
            walk.settle(
                number, is_live=self._is_live(walk.outcome(number), configuration, inspected)
            )
        if undecided:
            self._walker.fill(bitmask)
        n_tokens = self._walker.n_allowed
        if walk.is_sentence:
            bitmask |= self._eos
            n_tokens += len(self.vocabulary.eos_token_ids)
        subset = self._shared(bitmask, n_tokens)
        depth = max(inspected)
        self._deepest = max(self._deepest, depth)
        self._entries[_path(configuration, depth)] = subset
        return subset

    def _is_live(
        self, outcome: Outcome, configuration: Configuration, inspected: list[int]
    ) -> bool:
        """Decide an outcome, and note in `inspected` how deep that looked into the base."""
        answer = self._liveness.decide(outcome.configuration)
        for height, (home, shared) in zip(answer.heights, outcome.origins, strict=True):
            if height <= shared:
                top = configuration.hypotheses[home].stack.height
                inspected[home] = max(inspected[home], top - height + 1)
        return answer.is_live

    def _shared(self, bitmask: Int32Array, n_tokens: int) -> Subset:
        key = bitmask.tobytes()
        if key not in self._subsets:
            self._subsets[key] = Subset(np.frombuffer(key, dtype=np.int32), n_tokens)
        return self._subsets[key]


def _path(configuration: Configuration, depth: int) -> Path:
    """Return the lexer's part, and then the stacks' topmost `depth` states, level by level."""
    hypotheses = configuration.hypotheses
    if len(hypotheses) == 1 and not hypotheses[0].claims and not configuration.context:
        ((state, _, stack),) = hypotheses
        path = [state]
        cell: Stack | None = stack
        while cell is not None and depth:
            path.append(cell.state)
            cell = cell.below
            depth -= 1
        return tuple(path)
    levels = zip_longest(*(hypothesis.stack for hypothesis in hypotheses))
    lexer = tuple((state, claims) for state, claims, _ in hypotheses)
    return ((lexer, configuration.context), *islice(levels, depth))


def _packed(token_ids: Iterable[int], n_words: int) -> Int32Array:
    bits = np.zeros(32 * n_words, dtype=np.bool_)
    bits[list(token_ids)] = True
    return np.packbits(bits, bitorder="little").view(np.int32)
