r"""How sure a model was of what it wrote: a probability for each leaf of a JSON answer.

In: the nodes that a text went through, with what the model thought at each. Out: the same JSON with
a :class:`Confidence` in the place of each string, number, boolean and null.

A leaf has *alternatives*: the values that the mask allows in its place, after the text before it.
Where they can be counted, their probabilities are exact. A value is a text, and a text has many
tokenisations, all of which the mask allows; so its probability is a sum over them. The sum goes
over a tree of tokens, from the last token before the leaf. A branch ends as soon as only one
alternative is left, so mostly the logits of one step are enough: ::

    {"size":                alternatives  "small"  "large"  "late"
       "s     0.2           "small"
       "      0.5           open: the model is asked once more
           s  0.3           "small", 0.15 more
           l  0.1           open
       "la    0.3           open

Where they cannot be counted, as of free strings, they have one name together, their type, and the
probability of the value is that of the tokens that it was written with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.models.decoding.prefix_tree import NextTokens, PrefixNode, PrefixTree
from cfgguide.schema.automaton import SchemaAutomaton
from cfgguide.schema.json_reading import Leaves

MAX_CALLS = 64  # sequences that the model is asked for, for the alternatives of one leaf
_MOST_KEPT = 4_000  # tokens of a step that is kept: inside of free strings there are more
_MOST_BEGINNINGS = 2_000  # of alternatives, byte by byte
_MOST_QUOTES = 64  # alternatives: of more, the model is asked too often, and nobody reads them
_AT_ONCE = 8  # sequences of one call: each has the keys and values of the whole text
_NEGLIGIBLE = 1e-8  # probability of all the branches together that are left open
_IN_NUMBER = frozenset(b"0123456789+-.eE")
_ALL, _NONE = frozenset(range(256)), frozenset[int]()
_WORDS = frozenset([b"true", b"false", b"null"])


@dataclass(frozen=True)
class Confidence:
    """How sure a model was of a value.

    Attributes
    ----------
    value : str, int, float, bool or None
        What was written.
    probability : float
        Of the value among all that the mask allows in its place, given the text before it: over all
        tokenisations if it is one of the alternatives, otherwise of the tokens that it was written
        with. 1 where nothing else could be written.
    alternatives : tuple of (value, float)
        All values that the mask allows in its place, and their probabilities, the likeliest first.
        Those that cannot be counted are one, with a type as its value: `str`, `float` for numbers,
        `dict` or `list`. So are quotes of a text that has more than 64. Empty if nothing could be
        counted.
    undecided : float
        What is missing in the probabilities of the alternatives, because the model would have been
        asked for more than 64 sequences; hardly ever more than 1e-8.
    entropy : float or None
        Of a value that is no alternative: of the model's choice among the allowed tokens, in nats
        per token of the value. None otherwise.
    n_calls : int
        For how many sequences the model was asked beyond those of the text.
    """

    value: Any
    probability: float
    alternatives: tuple[tuple[Any, float], ...] = ()
    undecided: float = 0.0
    entropy: float | None = None
    n_calls: int = 0

    def probability_of(self, value: Any) -> float | None:
        """Return the probability of another value in its place; None if it is no alternative.

        So `probability_of(None)` is how near a model was to null where
        :func:`cfgguide.or_unknown` allows it.

        Examples
        --------
        >>> sure = Confidence(7, 0.6, ((float, 0.6), (None, 0.4)))
        >>> sure.probability_of(None), sure.probability_of("seven")
        (0.4, None)
        """
        met = (
            chance
            for other, chance in self.alternatives
            if other == value and isinstance(other, bool) == isinstance(value, bool)
        )
        return next(met, None)


class _Step(NamedTuple):
    """A node of a text; after a step of the model, with what it thought.

    `end` is where the text ends, in bytes; `probability` that of the last token among the allowed
    ones, and `entropy` that of the choice: 1 and 0 of a forced token.
    """

    node: PrefixNode
    end: int
    probability: float
    entropy: float


class _Alternative(NamedTuple):
    """A text that a value may have; or, of values that cannot be counted, what they begin with.

    `inside` are the bytes after which the value would be another one.
    """

    value: Any
    text: bytes
    inside: frozenset[int] = _NONE
    is_counted: bool = True

    @property
    def name(self) -> tuple[type, Any]:
        """What texts of the same value share: `True` is not 1."""
        return type(self.value), self.value


class _Branch(NamedTuple):
    """Tokens after which several alternatives are left."""

    probability: float
    node: PrefixNode
    text: bytes
    left: list[_Alternative]


class Confidences:
    """What a model thought of a text, step by step, and what follows from it.

    Parameters
    ----------
    tree : PrefixTree
        That measures, and whose model can go back in a text.
    root : PrefixNode
        Where the text begins.
    prefix : str
        What it begins with.

    Attributes
    ----------
    n_calls : int
        For how many sequences the model was asked beyond those of the text.
    """

    def __init__(self, tree: PrefixTree, root: PrefixNode, prefix: str) -> None:
        self.n_calls = 0
        self._tree = tree
        self._data = b""
        self._steps = [_Step(root, len(prefix.encode()), 1.0, 0.0)]
        self._kept: dict[PrefixNode, NextTokens] = {}
        # Of the leaf before: where it begins, and where the machine is.
        self._place, self._configuration = 0, tree.index.machine.initial

    def add(self, node: PrefixNode) -> None:
        """Add a node, while what the model thought before it is still known."""
        before, end = node.parent, self._steps[-1].end
        assert before is not None, "a root has no new token"
        end += len(self._piece(before, node.token_id))
        if node.is_forced:
            self._steps.append(_Step(node, end, 1.0, 0.0))
            return
        next_tokens = before.next_tokens
        assert next_tokens is not None, "the model was asked"
        log_probs = next_tokens.log_probs - next_tokens.log_mass
        possible = log_probs[log_probs > -np.inf]
        entropy = -float((np.exp(possible) * possible).sum())
        if len(next_tokens.token_ids) <= _MOST_KEPT:
            self._kept[before] = next_tokens
        probability = float(np.exp(node.log_prob - node.log_mass))
        self._steps.append(_Step(node, end, probability, max(entropy, 0.0)))

    def of(self, text: str) -> Any:
        """Return the JSON of a whole text with a `Confidence` for each leaf; else one for all."""
        self._data = text.encode()
        pushdown = getattr(self._tree.index.machine, "pushdown", None)
        if isinstance(pushdown, SchemaAutomaton) and _is_json(text):
            return Leaves(text, self._of_leaf).value
        return self._of_leaf(text, 0, len(self._data), is_json=False)

    def _piece(self, node: PrefixNode, token_id: int) -> bytes:
        """Return what a token after a node adds to the text."""
        return (self._tree.index.vocabulary.tokens[token_id] or b"")[len(node.left) :]

    def _of_leaf(self, value: Any, begin: int, end: int, *, is_json: bool = True) -> Confidence:
        """Return the confidence in a value, given its place in the bytes of the text."""
        machine = self._tree.index.machine
        between = self._data[self._place : begin]
        self._place, self._configuration = begin, machine.read(self._configuration, between)
        found = list(self._alternatives(self._configuration, is_json=is_json))
        own = self._data[begin:end]
        written = next((each for each in found if _is_written(each, own)), None)
        chances, undecided, n_calls = self._chances(found, begin, written)
        self.n_calls += n_calls
        listed = sorted(chances.items(), key=lambda each: -each[1])
        alternatives = tuple((value, chance) for (_, value), chance in listed)
        if len(found) == 1 and not found[0].is_counted:
            alternatives = ()
        if written is not None and written.is_counted and listed:
            probability = chances[written.name]
            return Confidence(value, probability, alternatives, undecided, None, n_calls)
        steps = [
            after
            for before, after in zip(self._steps, self._steps[1:], strict=False)
            if before.end < end and after.end > begin and not after.node.is_forced
        ]
        probability = float(np.prod([each.probability for each in steps]))
        entropy = float(np.mean([each.entropy for each in steps])) if steps else 0.0
        return Confidence(value, probability, alternatives, undecided, entropy, n_calls)

    # -- what else could be written ---------------------------------------------------------

    def _alternatives(self, configuration: Any, *, is_json: bool) -> Iterator[_Alternative]:
        """Yield the values that may be written, given where the machine is."""
        machine = self._tree.index.machine
        if not isinstance(machine, ByteMachine):  # to count the sentences of a grammar takes long
            return
        if not is_json:
            yield from self._counted([(b"", configuration)], is_json=False) or ()
            return
        kinds: dict[type, list[tuple[bytes, Any]]] = {}
        for byte in self._next_bytes(configuration) or ():
            if (kind := _kind(byte)) is not None:
                begun = bytes([byte])
                kinds.setdefault(kind, []).append((begun, machine.read(configuration, begun)))
        for kind, first in kinds.items():
            counted = None if kind in (dict, list) else self._counted(first, is_json=True)
            if counted is None:
                yield from (_Alternative(kind, text, _NONE, False) for text, _ in first)
            else:
                yield from counted

    def _counted(
        self, begun: list[tuple[bytes, Any]], *, is_json: bool
    ) -> list[_Alternative] | None:
        """Return the values with some beginnings; None if there are too many."""
        machine = self._tree.index.machine
        assert isinstance(machine, ByteMachine), "others are not counted"
        found: list[_Alternative] = []
        begun, n_beginnings = begun.copy(), 0
        is_quote = any(machine.pushdown.quoted(after.state) for _, after in begun)
        while begun:
            text, configuration = begun.pop()
            n_beginnings += 1
            if is_quote and len(found) > _MOST_QUOTES:
                return None
            if is_json and _is_whole(text):
                found.append(_Alternative(json.loads(text), text))
                continue
            following = self._next_bytes(configuration)
            if following is None or n_beginnings > _MOST_BEGINNINGS:
                return None
            if not is_json:
                if machine.is_sentence(configuration):
                    found.append(_Alternative(text.decode(), text, _ALL))
            elif text[0] in _IN_NUMBER:
                if following - _IN_NUMBER or machine.is_sentence(configuration):
                    found.append(_Alternative(json.loads(text), text, _IN_NUMBER))
                following &= _IN_NUMBER
            for byte in sorted(following, reverse=True):
                after = machine.read(configuration, bytes([byte]))
                if after == configuration:  # there is no end to them
                    return None
                begun.append((text + bytes([byte]), after))
        return found

    def _next_bytes(self, configuration: Any) -> frozenset[int] | None:
        """Return the bytes with which allowed tokens begin; None if these are too many."""
        subset = self._tree.index.subset(configuration)
        if subset.n_tokens > _MOST_KEPT:
            return None
        tokens = self._tree.index.vocabulary.tokens
        spelled = (tokens[token_id] for token_id in subset.token_ids())
        return frozenset(token[0] for token in spelled if token)

    # -- how likely each of it was ----------------------------------------------------------

    def _chances(
        self, found: list[_Alternative], begin: int, written: _Alternative | None
    ) -> tuple[dict[tuple[type, Any], float], float, int]:
        """Return the probability of each value, what is undecided, and how many calls it took."""
        chances = dict.fromkeys([each.name for each in found], 0.0)
        if written is None:
            return {}, 0.0, 0
        step = self._last_before(begin)
        text = self._data[begin : step.end]
        if step.end < begin:  # the rest stands before each
            before = self._data[step.end : begin]
            found = [each._replace(text=before + each.text) for each in found]
        left = [each for each in found if _can_be(each, text, is_end=step.node.is_finished)]
        if len({each.name for each in left}) == 1:
            return {**chances, left[0].name: 1.0}, 0.0, 0
        if step.node not in self._kept:
            return {}, 0.0, 0
        step.node.next_tokens = self._kept[step.node]
        branches, total, n_calls = [_Branch(1.0, step.node, text, left)], 0.0, 0
        while branches:
            # What was written first: its probability is the answer.
            branches.sort(key=lambda each: (written.name not in _names(each.left), -each[0]))
            opened = branches[:_AT_ONCE]
            n_asked = sum(each.node.next_tokens is None for each in opened)
            is_rest = sum(each.probability for each in branches) < _NEGLIGIBLE * max(total, 1e-300)
            if n_calls + n_asked > MAX_CALLS or (total and is_rest):
                break
            n_calls += n_asked
            self._tree.look(each.node for each in opened)
            branches = branches[_AT_ONCE:]
            for branch in opened:
                for after in self._grown(branch):
                    names = _names(after.left)
                    if len(names) == 1:
                        chances[names.pop()] += after.probability
                    else:
                        branches.append(after)
            self._tree.forget(each.node for each in opened)
            total = sum(chances.values())
        undecided = sum(each.probability for each in branches)
        total += undecided
        if not total:
            return {}, 0.0, n_calls
        shares = {name: chance / total for name, chance in chances.items()}
        return shares, undecided / total, n_calls

    def _last_before(self, begin: int) -> _Step:
        """Return the last step whose text ends at a place or before, and what it forces."""
        number = max((n for n, step in enumerate(self._steps) if step.end <= begin), default=0)
        while number + 1 < len(self._steps) and self._steps[number + 1].node.is_forced:
            number += 1
        return self._steps[number]

    def _grown(self, branch: _Branch) -> Iterator[_Branch]:
        """Yield the branches that are one token longer."""
        next_tokens, node = branch.node.next_tokens, branch.node
        assert next_tokens is not None, "the model was asked"
        if next_tokens.log_mass == -np.inf:
            return
        chances = branch.probability * np.exp(next_tokens.log_probs - next_tokens.log_mass)
        ends = self._tree.index.vocabulary.eos_token_ids
        for position, token_id in enumerate(next_tokens.token_ids.tolist()):
            text = branch.text + self._piece(node, token_id)
            is_end = token_id in ends
            left = [each for each in branch.left if _can_be(each, text, is_end=is_end)]
            if left and chances[position]:
                after = node
                if len(_names(left)) > 1:
                    after = self._tree.follow(node, position)
                yield _Branch(float(chances[position]), after, text, left)


def _is_json(text: str) -> bool:
    """Return whether a text is JSON, and not that of a message."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _kind(byte: int) -> type | None:
    """Return the type of the JSON values that begin with a byte; None of those of white space."""
    kinds = {ord('"'): str, ord("{"): dict, ord("["): list}
    if byte in b"tfn":
        return bool
    return float if byte in _IN_NUMBER else kinds.get(byte)


def _is_whole(text: bytes) -> bool:
    """Return whether a string or a word has ended."""
    if text[:1] != b'"':
        return text in _WORDS
    n_escapes = len(text) - len(text[:-1].rstrip(b"\\")) - 1
    return len(text) > 1 and text[-1:] == b'"' and n_escapes % 2 == 0


def _is_written(alternative: _Alternative, text: bytes) -> bool:
    if alternative.is_counted:
        return alternative.text == text
    return text.startswith(alternative.text)


def _can_be(alternative: _Alternative, text: bytes, *, is_end: bool) -> bool:
    """Return whether a text that begins with another may be an alternative, and what follows it."""
    wanted = alternative.text
    if len(text) <= len(wanted):
        return wanted == text if is_end else wanted.startswith(text)
    return text.startswith(wanted) and text[len(wanted)] not in alternative.inside


def _names(alternatives: list[_Alternative]) -> set[tuple[type, Any]]:
    return {each.name for each in alternatives}
