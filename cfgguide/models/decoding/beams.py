"""Beam search with any model: the most probable sentences that could be found.

In: a model, a prompt and an index. Out: sentences, the most probable first. They are ranked by the
model's own probability of a text, without the mask. Among sentences this is also the order of the
model conditioned on writing one; masked probabilities would prefer texts through places where the
grammar leaves little choice.
"""

from __future__ import annotations

from cfgguide.engine.index.index import Index
from cfgguide.errors import GenerationError
from cfgguide.models.decoding.model import AnyModel, Ids
from cfgguide.models.decoding.prefix_tree import PrefixNode, PrefixTree, Restriction
from cfgguide.models.decoding.sampling import Sample, written


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
    """Return the most probable sentences that a search with `n_beams` beams finds.

    At each step the `n_beams` most probable unfinished texts go on. Finished ones are kept apart
    and occupy no beam. The search ends when no unfinished text is more probable than the `n_beams`
    best finished ones, since a text only becomes less probable as it grows. There is no penalty on
    length, with which that would not hold. Beams after which nothing can follow are dropped.

    Parameters
    ----------
    n_beams : int
        How many texts go on at each step; at least 1. With as many beams as sentences have
        prefixes, the search is exact.

    All other parameters are as for :func:`cfgguide.sample`.

    Returns
    -------
    list of Sample
        At most `n_beams`: first the finished ones, then the unfinished ones, both with the most
        probable first. There are unfinished ones only if the tokens ran out.

    Raises
    ------
    GenerationError
        If a setting is out of its range, or nothing can follow any of the beams.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary, or are not numbers.
    TokenRejectedError
        If no sentence begins with `prefix_ids`.

    Examples
    --------
    >>> import cfgguide, numpy as np
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", b"c", None], eos_token_ids=3)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "a" "c" | "b"'), vocabulary)
    >>> model = lambda token_ids: np.log([0.5, 0.3, 0.1, 0.1])
    >>> [text.text for text in beam_search(model, index=index, n_beams=1, max_new_tokens=3)]
    ['ac']
    >>> [text.text for text in beam_search(model, index=index, n_beams=2, max_new_tokens=3)]
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
        # Totals only fall as texts grow: no live beam can overtake the last finished one any more.
        if not live or (len(finished) == n_beams and finished[-1].total >= live[0].total):
            live = []
            break
        tree.look(live)
        followed = _followed(tree, live, n_beams)
        if not followed and not finished:
            raise tree.refusal(live[0])
        tree.forget(live)
        finished = _best([*finished, *(node for node in followed if node.is_finished)], n_beams)
        live = _best([node for node in followed if not node.is_finished], n_beams)
    return [written(tree, node) for node in [*finished, *live][:n_beams]]


def _best(nodes: list[PrefixNode], n: int) -> list[PrefixNode]:
    """Return the `n` most probable nodes; of equally probable ones, the first."""
    return sorted(nodes, key=lambda node: -node.total)[:n]


def _followed(tree: PrefixTree, live: list[PrefixNode], n_beams: int) -> list[PrefixNode]:
    """Return the best nodes one token further: `n_beams` with EOS and `n_beams` without."""
    eos = tree.index.vocabulary.eos_token_ids
    steps: dict[bool, list[tuple[float, PrefixNode, int]]] = {True: [], False: []}
    for node in live:
        next_tokens = node.next_tokens
        assert next_tokens is not None, "the tree has looked at it"
        order = (-next_tokens.log_probs).argsort(kind="stable")
        for position in order[: n_beams + len(eos)]:  # all EOS may come before the others
            if next_tokens.log_probs[position] > -float("inf"):
                total = node.total + float(next_tokens.log_probs[position])
                is_eos = int(next_tokens.token_ids[position]) in eos
                steps[is_eos].append((total, node, int(position)))
    best = [sorted(kind, key=lambda step: -step[0])[:n_beams] for kind in steps.values()]
    return [tree.follow(node, position) for kind in best for _, node, position in kind]
