"""Beam search with any model: the most probable sentences that could be found.

In: a model, a prompt and an index. Out: sentences, the most probable first. What counts is the
model's own probability of a text, without the mask. Among sentences that is also the order of the
model conditioned on writing one; the masked probabilities would prefer texts through places where
the grammar leaves little choice.
"""

from __future__ import annotations

from cfgguide.decoding.model import AnyModel, Ids
from cfgguide.decoding.prefix_tree import PrefixNode, PrefixTree, Restriction
from cfgguide.decoding.sampling import Sample, written
from cfgguide.errors import GenerationError
from cfgguide.index.index import Index


def beam_search(
    model: AnyModel,
    prompt_ids: Ids = (),
    *,
    index: Index,
    n_beams: int,
    max_new_tokens: int,
    prefix_ids: Ids = (),
    finish: bool = True,
    restrict: Restriction | None = None,
) -> list[Sample]:
    """Return the most probable sentences that a search with so many beams finds.

    At each step the `n_beams` most probable unfinished texts go on. Finished ones are kept apart
    and take no beam's place. The search ends when no unfinished text is more probable than the
    `n_beams` best finished ones, since it would only become less so; there is no penalty on length,
    for which that would not hold. Beams from which nothing can follow are dropped.

    Parameters
    ----------
    n_beams : int
        How many texts go on at each step; at least 1. With as many as there are beginnings of
        sentences, the search is exact.

    All other parameters are as for :func:`cfgguide.sample`.

    Returns
    -------
    list of Sample
        At most `n_beams`: finished ones first, each kind with the most probable one first.
        Unfinished ones are there only if the tokens ran out.

    Raises
    ------
    GenerationError
        If a setting is out of its range, or nothing can follow any of the beams.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary, or are no numbers.
    TokenRejectedError
        If no sentence begins with `prefix_ids`.

    Examples
    --------
    >>> import cfgguide, numpy as np
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", b"c", None], eos_token_ids=3)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "a" "c" | "b"'), vocabulary)
    >>> model = lambda token_ids: np.log([0.5, 0.3, 0.1, 0.1])
    >>> [each.text for each in beam_search(model, index=index, n_beams=1, max_new_tokens=3)]
    ['ac']
    >>> [each.text for each in beam_search(model, index=index, n_beams=2, max_new_tokens=3)]
    ['b', 'ac']
    """
    if n_beams < 1:
        raise GenerationError(f"n_beams is {n_beams}; at least 1 is needed")
    tree = PrefixTree(
        model,
        index,
        max_new_tokens=max_new_tokens,
        prefix_ids=prefix_ids,
        finish=finish,
        restrict=restrict,
    )
    live, finished = [tree.root(prompt_ids)], list[PrefixNode]()
    if live[0].is_finished:
        live, finished = [], live
    for _ in range(max_new_tokens):
        if not live or (len(finished) == n_beams and finished[-1].total >= live[0].total):
            live = []
            break
        tree.look(live)
        followed = _followed(tree, live, n_beams)
        if not followed and not finished:
            raise tree.refusal(live[0])
        tree.forget(live)
        finished = _best([*finished, *(each for each in followed if each.is_finished)], n_beams)
        live = _best([each for each in followed if not each.is_finished], n_beams)
    return [written(tree, each) for each in [*finished, *live][:n_beams]]


def _best(prefix_tree: list[PrefixNode], n: int) -> list[PrefixNode]:
    """Return the most probable ones; of equally probable ones the first."""
    return sorted(prefix_tree, key=lambda each: -each.total)[:n]


def _followed(tree: PrefixTree, live: list[PrefixNode], n_beams: int) -> list[PrefixNode]:
    """Return the best beginnings of one more token: so many with EOS, and so many without."""
    eos = tree.index.vocabulary.eos_token_ids
    found: dict[bool, list[tuple[float, PrefixNode, int]]] = {True: [], False: []}
    for prefix_node in live:
        next_tokens = prefix_node.next_tokens
        assert next_tokens is not None, "they were looked at"
        order = (-next_tokens.log_probs).argsort(kind="stable")
        for place in order[: n_beams + len(eos)]:  # so many EOS may stand before the others
            if next_tokens.log_probs[place] > -float("inf"):
                total = prefix_node.total + float(next_tokens.log_probs[place])
                is_eos = int(next_tokens.token_ids[place]) in eos
                found[is_eos].append((total, prefix_node, int(place)))
    best = [sorted(each, key=lambda step: -step[0])[:n_beams] for each in found.values()]
    return [tree.follow(prefix_node, place) for each in best for _, prefix_node, place in each]
