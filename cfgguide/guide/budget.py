"""Masks within a budget: only tokens after which a sentence can still be finished in time.

In: an index, a configuration, and how many tokens may still be written, EOS included. Out: the
tokens of the mask after which a sentence is finished within what remains then.

The *distance* of a configuration is how many tokens finish a sentence from there, EOS included. A
short ending (:mod:`cfgguide.engine.liveness.endings`), spelled in as few tokens as possible, gives
an upper bound. One walk over the vocabulary gives all configurations that tokens lead to, and the
mask within a budget has the tokens whose configuration is near enough. ::

    `{"a": [1`  ending `]}`, one token and EOS: distance 2
    `[`  within 3   not `{"`, after which `":0}]` and EOS are needed, but `]`, `1`, `[]` ...

The largest distance after any token is remembered for each configuration: with more tokens left,
the mask is the grammar's own, after one comparison. Other masks are remembered by the tokens left.

In a small grammar with few tokens left, before a token is ruled out, the configurations around are
searched, from token to token, as far as the *effort* goes. Distances become shorter where a longer
text has fewer tokens, and exact where everything near enough was searched. The effort is counted,
not timed, so the same question has the same answer on every machine. Otherwise a token is allowed
if its ending fits, and nothing else is looked at.

Three things hold. No token is allowed after which nothing fits (sound), since a bound is the length
of a completion that the recogniser has read. After an allowed token, some token is allowed again
(live): an ending is a function of the configuration. Only, the rest of an ending may be shorter
than what is found after its first token, and a walk leaves stacks whole that `advance` shortens. So
where nothing else fits, the rest of an ending of a step before does. Of a machine of tables, the
step keeps it. Of a machine of bytes, the steps before are asked for theirs, and so what else was
asked changes no mask. And in a small grammar, within the effort, every token is allowed after which
something fits (complete). See `docs/design/0016-budgets.md`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from weakref import WeakMethod

import numpy as np

from cfgguide.base.collector import collector_off
from cfgguide.base.limits import check_step, work_of_thread
from cfgguide.base.locks import new_rlock
from cfgguide.engine.byte_machine.seen_parts import ByteConfiguration
from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.machine.protocol import Outcomes
from cfgguide.engine.masks.arrays import DEAD_END, NONE
from cfgguide.engine.masks.subset import Int32Array, bitmask_of, is_in_bitmask
from cfgguide.engine.vocabulary.trie import PackedTrie
from cfgguide.errors import BudgetError, GenerationError, shown
from cfgguide.guide.fewest_tokens import FewestTokens

NEVER = 1 << 30  # a distance: no ending is known
EFFORT = 30_000  # configurations searched for one mask, times parse states
_MIN_STATES = 50  # a grammar with fewer parse states counts as if it had so many
_QUICK = 200  # configurations searched for a mask of a small grammar; others are not searched
_MAX_SEARCHED = 16  # tokens left: with more, no further is searched
_TOO_FAR = 1_000  # tokens of an ending that is not made shorter where any will do
_FAR_OFF = 64  # tokens of an ending of which a search would shorten little
_AT_FIRST = 10  # the first question, whether any sentence fits, may cost so many times the effort
_MOST_WORK = 5_000  # calls of `check_step` of one search: of most, it takes a thousand at most
_MOST_WORK_BACK = 50_000  # calls of it for endings of the steps before
_MAX_KNOWN = 10_000  # configurations that each of the memories below may hold
_MAX_TOKENS = 4_000_000  # of endings that each of two memories may hold
_MAX_MASK_BYTES = 16_000_000  # of masks that are remembered

Configuration = Hashable  # of whatever machine
Tokens = tuple[int, ...]


@dataclass
class _Surroundings:
    """Where the tokens of a configuration lead.

    Attributes
    ----------
    configurations : list of Configuration
        The configuration of each outcome of the walk that is not a dead end.
    tokens : list of int
        A token that leads to each.
    effort : int
        What it took to find them, and takes to ask about each.
    """

    configurations: list[Configuration]
    tokens: list[int]
    effort: int


@dataclass
class _Reach:
    """How far the end is after the tokens of a configuration.

    Attributes
    ----------
    trie : PackedTrie
        What was walked over: the outcomes are numbered as in each walk over the same.
    numbers : int32, shape (n_outcomes,)
        The outcomes of the walk that are not dead ends.
    distances : int32, shape (n_outcomes,)
        The distance of each.
    most : int
        The largest of these: with more tokens left, the mask is the grammar's own.
    masks : dict of int to int32, shape (n_words,)
        Masks by the number of tokens left; the grammar's own under `NEVER`.
    n_remembered : int
        How many shorter paths had been found when the distances were measured.
    """

    trie: PackedTrie
    numbers: Int32Array
    distances: Int32Array
    most: int
    masks: dict[int, Int32Array]
    n_remembered: int


class TokenBudget:
    """Finishes sentences of an index within a number of tokens.

    Parameters
    ----------
    index : Index
        Of the grammar and the vocabulary.
    effort : int
        How much is searched for one mask where short endings alone would rule out tokens: number of
        configurations times the grammar's parse states. Of a large grammar nothing is searched, nor
        of a schema, which has no parse states.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"(", b")", b"))", None], eos_token_ids=3)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "(" start? ")"'), vocabulary)
    >>> token_budget = TokenBudget(index)
    >>> token_budget.shortest(index.start)
    (0, 1, 3)
    >>> step = index.advance(index.start, 0)
    >>> [token_budget.within(step, n)[0].item() for n in (2, 3, 4)]  # `)`, or `(`
    [2, 3, 3]
    """

    def __init__(self, index: Index, *, effort: int = EFFORT) -> None:
        self._machine, self._steps = index.machine, index.steps
        self._vocabulary = index.vocabulary
        self._subset = WeakMethod(index.subset)  # the index keeps what is made here
        n_states = index.machine.n_parse_states
        self._keeps_rests = n_states is not None
        self._effort = 0 if n_states is None else effort // max(n_states, _MIN_STATES)
        self._walker = index.walker()
        self._fewest = FewestTokens(index.vocabulary)
        self._ways_to_end = index.machine.endings(index.vocabulary, self._fewest.count)
        self._eos = index.vocabulary.eos_token_ids[0]
        self._eos_bits = index.eos_bitmask
        self._paths: dict[Configuration, Tokens | None] = {}
        self._n_tokens = self._n_shorter = 0  # in those, and in these
        self._shorter: OrderedDict[Configuration, Tokens] = (
            OrderedDict()
        )  # shorter than those; masks rest on them
        self._surroundings: dict[Configuration, _Surroundings] = {}
        self._n_surrounding = 0
        self._reaches: dict[Configuration, _Reach] = {}
        self._n_remembered = 0  # paths that are shorter than those found first
        self._n_reached = 0
        self._n_masks = 0
        self._lock = new_rlock()

    @classmethod
    def of(cls, index: Index) -> TokenBudget:
        """Return that of an index, which is made once."""
        return index.derived(cls)

    def shortest(self, step: Step) -> Tokens | None:
        """Return tokens that finish a sentence, EOS last: the fewest that were found.

        None if no ending was found, which may happen with an indenter or a monitor, or where
        deciding what follows would cost more than the limit.
        """
        configuration = step.configuration
        with self._lock, self._steps.begun():
            n = _TOO_FAR
            while self.is_quick and 1 < self._distance(configuration) < n:
                n = self._distance(configuration)
                effort = self._effort_at_first(configuration)
                self._look_around(configuration, n - 1, effort)
            return self._shortest_known(step, 2)

    def check(self, step: Step, n: int) -> None:
        """Raise an error if no sentence can be finished within `n` tokens.

        Raises
        ------
        BudgetError
            If none was found.
        """
        with self._lock, self._steps.begun():
            is_all = False
            if self.is_quick and self._distance(step.configuration) > n:
                effort = self._effort_at_first(step.configuration)
                is_all = self._look_around(step.configuration, n, effort)
            path = self._shortest_known(step, n)
            if path is None or len(path) > n:
                raise BudgetError(_refusal(path, n, is_all=is_all))

    def _effort_at_first(self, configuration: Configuration) -> int:
        """Return how much is searched for the length of the shortest ending itself."""
        is_near = self._distance(configuration) <= _FAR_OFF
        return _AT_FIRST * self._effort if is_near else self._effort

    @property
    def is_quick(self) -> bool:
        """Whether the grammar is so small that a mask within a budget may search."""
        return self._effort >= _QUICK

    def fits(self, following: Step, n: int) -> bool:
        """Return whether an ending of at most `n` tokens is known; nothing is searched."""
        with self._lock, self._steps.begun():
            return self._distance(following.configuration) <= n

    def way_out(self, following: Step) -> Tokens | None:
        """Return tokens of an ending that is known or found first, EOS last; None if none is."""
        with self._lock, self._steps.begun():
            return self._path(following.configuration)

    def n_tokens_of(self, text: bytes) -> int:
        """Return the smallest number of tokens that spell a text."""
        with self._lock:
            tokens = self._fewest.of(text)
            return NEVER if tokens is None else len(tokens)

    def within(self, step: Step, n: int) -> Int32Array:
        """Return the tokens after which a sentence can be finished within `n` tokens in all.

        Parameters
        ----------
        step : Step
            Where the text is.
        n : int
            How many tokens may be written from there, EOS included. If the mask before the last
            token, within ``n + 1``, allowed that token, there is no error.

        Returns
        -------
        int32, shape (ceil(vocabulary size / 32),)
            Bit ``i % 32`` of word ``i // 32`` is set if token ``i`` is allowed.

        Raises
        ------
        BudgetError
            If no sentence is known that is finished within `n` tokens.
        """
        configuration = step.configuration
        with self._lock, self._steps.begun():
            reach, walk = self._reaches.get(configuration), None
            if reach is None:
                with collector_off():
                    walk = self._walker.walk(configuration)
                    reach = self._reach(configuration, walk)
            # No token leads further from an end than the budget: all such budgets have one mask.
            is_all = n > reach.most
            if is_all and step.subset is not None:
                return step.subset.bitmask
            mask = reach.masks.get(NEVER if is_all else n)
            if mask is None:
                with collector_off():
                    mask = self._mask_within(configuration, reach, n, walk)
                reach = self._reaches.get(configuration, reach)
                self._keep(configuration, reach, NEVER if is_all else n, mask)
            path = self._shortest_known(step, n)
            if path is not None and len(path) <= n and not is_in_bitmask(path[0], mask):
                token = self._vocabulary.tokens[path[0]] or b""
                # Of too many readings, that one is not followed.
                if self._machine.advance(configuration, token) is not None:
                    mask = mask | bitmask_of(path[:1], self._vocabulary.n_words)
            if not mask.any():
                raise BudgetError(_refusal(path, n, is_all=False))
            return mask

    # -- masks ------------------------------------------------------------------------------

    def _reach(self, configuration: Configuration, walk: Outcomes[Configuration]) -> _Reach:
        """Return how far the end is after each token, and remember it."""
        reach = self._measured(walk)
        self._n_reached += len(reach.numbers)
        if self._n_reached > 100 * _MAX_KNOWN:
            self._reaches.clear()
            self._n_reached = self._n_masks = 0
        self._reaches[configuration] = reach
        return reach

    def _measured(self, walk: Outcomes[Configuration]) -> _Reach:
        """Return how far the end is after each outcome of a walk."""
        numbers = [number for number in range(walk.n_outcomes) if walk.verdict(number) != DEAD_END]
        distances = [self._distance(walk.configuration(number)) for number in numbers]
        packed = np.array(numbers, np.int32), np.array(distances, np.int32)
        most = max(distances, default=1)
        return _Reach(walk.trie, *packed, most, {}, self._n_remembered)

    def _mask_within(
        self,
        configuration: Configuration,
        reach: _Reach,
        n: int,
        walk: Outcomes[Configuration] | None,
    ) -> Int32Array:
        """Return the mask with `n` tokens left; `walk` is the one from there, if it holds yet."""
        if n <= reach.most and self.is_quick:
            self._look_around(configuration, n, self._effort)
            walk = None
        if walk is None:
            walk = self._walker.walk(configuration)
        # Shorter ends may have been found since, and over another trie outcomes have other numbers.
        if self._n_remembered != reach.n_remembered or walk.trie is not reach.trie:
            before, reach = reach, self._measured(walk)
            if walk.trie is before.trie and not np.array_equal(reach.distances, before.distances):
                # A mask with more tokens left that rests on longer ends would allow less.
                self._n_masks -= len(before.masks)
                self._reaches[configuration] = reach
        # Dead ends have no distance, so all outcomes are closed before the near ones are opened.
        for number in range(walk.n_outcomes):
            walk.resolve(number, is_live=False)
        for number, distance in zip(reach.numbers.tolist(), reach.distances.tolist(), strict=True):
            walk.resolve(number, is_live=distance < n)
        mask = np.zeros(self._vocabulary.n_words, dtype=np.int32)
        self._walker.fill(mask)
        if n >= 1 and self._machine.is_sentence(configuration):
            mask |= self._eos_bits
        # A walk knows nothing of items that one token repeats.
        subset = self._subset()
        assert subset is not None, "an index is asked for budgets"
        allowed: Int32Array = subset(configuration).bitmask
        mask &= allowed
        return mask

    def _shortest_known(self, step: Step, n: int) -> Tokens | None:
        """Return a path of at most `n` tokens, or the shortest that is known.

        It may be the rest of one on which a mask before rested.
        """
        path = self._path(step.configuration)
        fits = path is not None and len(path) <= n
        if fits and (self.is_quick or not self._keeps_rests):
            return path
        if not self.is_quick and not fits:
            path = self._look_ahead(step.configuration)
        if self._keeps_rests:
            return self._with_rest(step, n, path)
        tokens: Tokens = ()
        most = work_of_thread() + _MOST_WORK_BACK
        while step.before is not None and (path is None or len(path) > n):
            if len(tokens) == _TOO_FAR or work_of_thread() > most:
                break
            tokens, step = (step.token_id, *tokens), step.before
            known = self._path(step.configuration)
            rest = () if known is None or known[: len(tokens)] != tokens else known[len(tokens) :]
            if rest and (path is None or len(rest) < len(path)):
                path = rest
        return path

    def _with_rest(self, step: Step, n: int, path: Tokens | None) -> Tokens | None:
        """Return a path, or the rest of one from the step before, which the step keeps."""
        rests, before = [step.rest], step.before
        if before is not None and not step.is_end:
            token = self._vocabulary.tokens[step.token_id] or b""
            whole = self._walker.advance(before.configuration, token)
            if self.is_quick:  # it was found there, and perhaps forgotten
                self._look_around(before.configuration, n + 1, self._effort)
            rests.append(None if whole is None else self._path(whole))
            for other in (before.rest, self._path(before.configuration)):
                rests += [other[1:]] if other is not None and other[0] == step.token_id else []
        shortest = min(filter(None, rests), key=len, default=None)
        if shortest is not None and (path is None or len(shortest) < len(path)):
            step.rest = path = shortest
        return path

    def _keep(self, configuration: Configuration, reach: _Reach, n: int, mask: Int32Array) -> None:
        """Remember a mask."""
        mask.flags.writeable = False
        self._n_masks += 1
        if self._n_masks * mask.nbytes > _MAX_MASK_BYTES:
            self._reaches = {configuration: reach}
            reach.masks.clear()
            self._n_reached, self._n_masks = len(reach.numbers), 1
        reach.masks[n] = mask

    # -- distances --------------------------------------------------------------------------

    def _distance(self, configuration: Configuration) -> int:
        path = self._path(configuration)
        return NEVER if path is None else len(path)

    def _path(self, configuration: Configuration) -> Tokens | None:
        """Return tokens that finish a sentence, EOS last; the fewest that are known."""
        shorter = self._shorter.get(configuration)
        if shorter is not None:
            return shorter
        if configuration not in self._paths:
            if len(self._paths) > _MAX_KNOWN or self._n_tokens > _MAX_TOKENS:
                self._paths.clear()
                self._n_tokens = 0
            self._paths[configuration] = path = self._ending(configuration)
            self._n_tokens += len(path or ())
        return self._paths[configuration]

    def _ending(self, configuration: Configuration) -> Tokens | None:
        for find in self._ways_to_end:
            text = find(configuration)
            tokens = self._fewest.of(text) if text is not None else None
            if text is not None and tokens is not None:
                n_more = 0
                if isinstance(configuration, ByteConfiguration) and configuration.stands_for_others:
                    # Others have endings of no more bytes, but perhaps of more tokens.
                    n_more = len(text) - len(tokens)
                return (*tokens, *[self._eos] * n_more, self._eos)
        return None

    def _remember(self, configuration: Configuration, path: Tokens) -> None:
        """Remember a shorter path; the oldest are forgotten first."""
        self._n_shorter += len(path) - len(self._shorter.pop(configuration, ()))
        while len(self._shorter) > _MAX_KNOWN or (self._shorter and self._n_shorter > _MAX_TOKENS):
            self._n_shorter -= len(self._shorter.popitem(last=False)[1])
        self._n_remembered += 1
        self._shorter[configuration] = path
        self._shorter.move_to_end(configuration)

    # -- surroundings -----------------------------------------------------------------------

    def _around(self, configuration: Configuration) -> _Surroundings:
        """Return where tokens lead from a configuration."""
        known = self._surroundings.get(configuration)
        if known is not None:
            return known
        walk = self._walker.walk(configuration)
        tokens = walk.first_tokens()
        numbers = [
            number
            for number in range(walk.n_outcomes)
            if walk.verdict(number) != DEAD_END and tokens[number] != NONE
        ]
        configurations = [walk.configuration(number) for number in numbers]
        if self._n_surrounding > _MAX_KNOWN:
            self._surroundings.clear()
            self._n_surrounding = 0
        self._n_surrounding += len(configurations)
        tokens = [tokens[number] for number in numbers]
        around = _Surroundings(configurations, tokens, walk.effort)
        self._surroundings[configuration] = around
        return around

    def _look_around(self, root: Configuration, n: int, effort: int) -> bool:
        """Shorten distances by a search, token by token; return if all within `n` was searched.

        With more than `_MAX_SEARCHED` tokens left, as much is searched as with so many: a mask has
        what masks with fewer tokens left have. Once much work was done, only what is known already
        is looked at: nothing rests on what is not found here.
        """
        most = work_of_thread() + _MOST_WORK
        is_all = n <= _MAX_SEARCHED
        n = min(n, _MAX_SEARCHED)
        steps: dict[Configuration, _Surroundings] = {}
        level, depth = [root], 0
        while level and depth + 2 <= n:  # with one token left only EOS fits
            following: dict[Configuration, None] = {}
            for here in level:
                if here not in self._surroundings and (effort <= 0 or work_of_thread() >= most):
                    is_all = False
                    continue
                if here is not root and self._distance(here) <= 2:
                    continue  # a sentence, or one token away from one
                steps[here] = around = self._around(here)
                effort -= around.effort if here is not root else 0  # its mask needs that walk, too
                following |= dict.fromkeys(around.configurations)
            level = [here for here in following if here not in steps]
            depth += 1
        self._shorten(root, steps, most)
        return is_all

    def _look_ahead(self, configuration: Configuration) -> Tokens | None:
        """Return a path that is at most one longer than those after a token, as masks are made.

        It is not remembered: masks before would allow more than if nothing had been asked.
        """
        best = self._path(configuration)
        if best is not None and len(best) > _TOO_FAR:
            return best
        around = self._around(configuration)
        for token_id, near in zip(around.tokens, around.configurations, strict=True):
            if best is not None and self._distance(near) + 1 >= len(best):
                continue
            # A walk may have left out what a text remembers: then only the length is right.
            after = self._machine.advance(configuration, self._vocabulary.tokens[token_id] or b"")
            path = self._path(after) if after is not None else None
            if path is not None and (best is None or len(path) + 1 < len(best)):
                best = (token_id, *path)
        return best

    def _shorten(
        self, root: Configuration, steps: dict[Configuration, _Surroundings], most: int
    ) -> None:
        """Make each distance at most one more than that of every configuration a token leads to.

        However much work was done, one token is looked ahead from the root.
        """
        changed = True
        while changed:
            changed = False
            for here, around in reversed(steps.items()):
                check_step()
                best = self._distance(here)
                for token_id, after in zip(around.tokens, around.configurations, strict=True):
                    is_known = here is root or after in self._paths or after in self._shorter
                    path = self._path(after) if is_known or work_of_thread() < most else None
                    if path is not None and len(path) + 1 < best:
                        best = len(path) + 1
                        self._remember(here, (token_id, *path))
                        changed = True


def _refusal(path: Tokens | None, n: int, *, is_all: bool) -> str:
    within = "1 token" if n == 1 else f"{n} tokens"
    if path is None:
        return f"no way was found to finish a sentence within {within}; allow more"
    known = f"{len(path)} tokens, EOS included, finish one"
    which = "can be" if is_all else "was found that is"
    return f"no sentence {which} finished within {within}: {known}; allow more"


def check_max_new_tokens(n: int) -> None:
    """Raise an error if a maximum number of new tokens leaves none.

    Raises
    ------
    GenerationError
        If it is below 1, or no number.
    """
    if not isinstance(n, Integral):
        raise GenerationError(f"max_new_tokens is a number of tokens, not {shown(n)}")
    if n < 1:
        raise GenerationError(f"max_new_tokens is {n}; at least 1 is needed")


def check_finish(finish: object) -> None:
    """Raise a GenerationError if it is not said whether to finish sentences."""
    if not isinstance(finish, bool):
        raise GenerationError(f"finish is {shown(finish)}; it is True or False")


def allowed_within(index: Index, step: Step, n: int) -> Int32Array:
    """Return the mask within a budget; see :meth:`TokenBudget.within`.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"(", b")", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "(" start? ")"'), vocabulary)
    >>> step = index.advance(index.start, 0)
    >>> allowed_within(index, step, 3), allowed_within(index, step, 4)  # `())`, EOS
    (array([2], dtype=int32), array([3], dtype=int32))
    """
    if not isinstance(n, Integral):
        raise BudgetError(f"a budget is a number of tokens, not {shown(n)}")
    return TokenBudget.of(index).within(step, n)
