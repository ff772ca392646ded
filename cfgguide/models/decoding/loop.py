"""The decode loop: a model's next token, drawn within a grammar, again and again.

In: a :class:`~cfgguide.models.decoding.prefix_tree.PrefixTree` and where texts begin in it. Out:
the nodes that they come to, one new token after the other, so that a caller may show a text as it
grows, or leave it. :func:`cfgguide.sample`, :func:`cfgguide.generate` and :func:`cfgguide.stream`
run this loop. One step of all texts that are not at their end:

1. forced: where only one text can follow, its tokens are written without asking the model;
2. look: the model is called once for all other texts that differ;
3. choose: each text draws a token, by the same :class:`~cfgguide.models.decoding.warpers.Warper`;
4. end: a text ends with EOS, where the caller says so, or when it has no tokens left.

The budget is kept in one of two ways. A tree that measures allows only tokens after which a
sentence fits, so it makes the whole mask within the budget at each step. One that does not measure
draws from the grammar's mask, and looks only at the token that was drawn: does a sentence still fit
after it? If not, it is left out and another is drawn; where that does not help soon, the mask
within the budget is made after all. Either way what is drawn has the model's probability among the
tokens that fit. Top-k, top-p and min-p apply to what has not been left out yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral

import numpy as np

from cfgguide.engine.masks.subset import are_in_bitmask
from cfgguide.errors import GenerationError, shown
from cfgguide.guide.forced import Encode
from cfgguide.models.decoding.model import Float64Array
from cfgguide.models.decoding.prefix_tree import PrefixNode, PrefixTree
from cfgguide.models.decoding.warpers import Warper

_PATIENCE = 20  # tokens that are drawn one by one before a whole mask is made

Seed = int | np.random.Generator | None


def decode(
    tree: PrefixTree,
    roots: Sequence[PrefixNode],
    *,
    warper: Warper,
    randoms: Sequence[np.random.Generator],
    encode: Encode | None = None,
    has_ended: Callable[[int, PrefixNode], bool] = lambda _, node: node.is_finished,
) -> Iterator[tuple[int, PrefixNode]]:
    """Yield the number of a text and its node, for each new token.

    Parameters
    ----------
    tree : PrefixTree
        The model, the grammar and the budget.
    roots : sequence of PrefixNode
        Where each text begins; equal ones are allowed.
    warper : Warper
        How a token is chosen.
    randoms : sequence of numpy Generator
        The random numbers of each text: one for each token that the model was asked for, and one
        more for each that did not fit.
    encode : callable, optional
        Makes tokens of forced text. Without it the model is asked for every token.
    has_ended : callable, optional
        Called with the number of a text and the node of each new token; True ends the text there.
        It must be true of a finished node.

    Yields
    ------
    int, PrefixNode
        Which text has grown, and to what.

    Raises
    ------
    GenerationError
        If no token is left at a step: the model or the restriction excludes all allowed ones.
    BudgetError
        If no sentence can be finished in time.
    ModelError
        If the model's logits do not fit the vocabulary, or are not numbers.
    """
    texts = list(roots)
    unfinished = [number for number, node in enumerate(texts) if not node.is_finished]
    while unfinished:
        alike: dict[PrefixNode, list[int]] = {}
        for number in unfinished:
            # Texts with the same tokens share what the model is asked, and each draws for itself.
            alike.setdefault(texts[number], []).append(number)
        forced = {node: tree.forced(node, encode) for node in alike} if encode else {}
        tree.look(node for node in alike if not forced.get(node))
        unfinished = []
        for node, numbers in alike.items():
            if forced.get(node):
                paths = [forced[node]] * len(numbers)
            else:
                chosen = _chosen(tree, node, warper, [randoms[number] for number in numbers])
                paths = [[tree.follow(node, position)] for position in chosen]
            for number, path in zip(numbers, paths, strict=True):
                is_ended = False
                for step in path:  # up to the end: what is forced may go on after it
                    texts[number] = step
                    is_ended = has_ended(number, step)
                    yield number, step
                    if is_ended:
                        break
                if not is_ended and tree.n_left(path[-1]):
                    unfinished.append(number)
        unfinished.sort()
        tree.forget(alike)


def _chosen(
    tree: PrefixTree, node: PrefixNode, warper: Warper, randoms: Sequence[np.random.Generator]
) -> list[int]:
    """Return for each text at a node the position of its token in the next tokens."""
    next_tokens = node.next_tokens
    if next_tokens is None or next_tokens.log_mass == -np.inf:
        raise tree.refusal(node)
    uniforms = np.array([random.random() for random in randoms])
    log_probs = tree.weighed(node)
    positions: list[int] = warper.draw(log_probs, uniforms).tolist()
    if tree.token_budget is None or (tree.is_measured and not node.left):
        return positions
    return [
        _fitting(tree, node, position, warper, random, log_probs)
        for position, random in zip(positions, randoms, strict=True)
    ]


def _fitting(
    tree: PrefixTree,
    node: PrefixNode,
    position: int,
    warper: Warper,
    random: np.random.Generator,
    log_probs: Float64Array,
) -> int:
    """Return the position of a token after which a sentence fits: the one drawn, or another."""
    next_tokens, token_budget = node.next_tokens, tree.token_budget
    assert next_tokens is not None, "a token was drawn"
    assert token_budget is not None, "there is something to fit into"
    n_tried = 0
    while not tree.fits(node, int(next_tokens.token_ids[position])):
        others = log_probs.copy()
        others[position] = -np.inf
        is_last = not node.left and (
            token_budget.is_quick or n_tried >= _PATIENCE or others.max() == -np.inf
        )
        if is_last:
            in_time = tree.within(node, token_budget)
            is_in_time = are_in_bitmask(next_tokens.token_ids, in_time)
            log_probs = np.where(is_in_time, next_tokens.log_probs, -np.inf)
        else:
            log_probs = others
        if log_probs.max() == -np.inf:
            raise tree.refusal(node)
        position = int(warper.draw(log_probs, np.array([random.random()]))[0])
        if is_last:
            break
        n_tried += 1
    return position


def generator(seed: Seed) -> np.random.Generator:
    """Return a generator of random numbers for a seed, or the one that was given.

    Raises
    ------
    GenerationError
        If it is not a seed.
    """
    try:
        # Lists in lists are more than numpy's recursion takes.
        if isinstance(seed, Sequence) and not all(isinstance(each, Integral) for each in seed):
            raise TypeError("its parts are no numbers")
        return np.random.default_rng(seed)
    except Exception as error:  # whatever its `repr` raises, too
        raise GenerationError(
            f"seed is {shown(seed)}; it is a number that is not negative, or a numpy Generator"
        ) from error
