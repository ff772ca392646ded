"""Sampling and greedy decoding with any model: a prompt in, a sentence and its probabilities out.

Beside :func:`cfgguide.generate`, which drives transformers' own loop, this needs neither torch nor
transformers: a model is a function (:mod:`cfgguide.decoding.model`), a tokenizer is a
:class:`~cfgguide.vocabulary.vocabulary.Vocabulary`.

What is drawn at temperature 1 follows the *locally renormalised* law: the product of the model's
probabilities, each divided by Z, the mass of the allowed tokens in its place. That is not the model
conditioned on writing a sentence, which :mod:`cfgguide.decoding.smc` approximates: masking leads
into places from which only texts can follow that the model finds unlikely. Each sample says how far
it is off: the sum of its log Z.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfgguide.decoding.model import AnyModel, Ids
from cfgguide.decoding.prefix_tree import PrefixNode, PrefixTree, Restriction, alike
from cfgguide.decoding.warpers import Warper, drawn
from cfgguide.errors import GenerationError
from cfgguide.index.index import Index

Seed = int | np.random.Generator | None


@dataclass(frozen=True)
class Sample:
    """What a model wrote, and how probable it was.

    Attributes
    ----------
    token_ids : tuple of int
        The tokens, from the prefix on, EOS included if one was written.
    text : str
        Their text. Where it was cut inside a character, that part is missing.
    is_complete : bool
        Whether it ends with EOS, and so is a sentence. If not, the tokens ran out.
    log_probs : tuple of float, length n_new_tokens
        The model's log-probability of each token behind the prefix, as if there were no mask.
    log_masses : tuple of float, length n_new_tokens
        log Z of each step: the logarithm of the probability that the model gave to all tokens that
        were allowed there; 0 where the mask took nothing away.
    """

    token_ids: tuple[int, ...]
    text: str
    is_complete: bool
    log_probs: tuple[float, ...]
    log_masses: tuple[float, ...]

    @property
    def masked_log_probs(self) -> tuple[float, ...]:
        """The log-probability of each token among the allowed ones, at temperature 1."""
        steps = zip(self.log_probs, self.log_masses, strict=True)
        return tuple(log_prob - log_mass for log_prob, log_mass in steps)

    @property
    def log_prob(self) -> float:
        """The model's log-probability of all tokens behind the prefix."""
        return float(sum(self.log_probs))

    @property
    def log_mass(self) -> float:
        """Sum of `log_masses`: the logarithm of the weight that corrects the bias of the mask."""
        return float(sum(self.log_masses))


def sample(
    model: AnyModel,
    prompt_ids: Ids = (),
    *,
    index: Index,
    max_new_tokens: int,
    prefix_ids: Ids = (),
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    min_p: float = 0.0,
    seed: Seed = None,
    finish: bool = True,
    restrict: Restriction | None = None,
) -> Sample:
    """Return what a model writes after a prompt, within a grammar.

    Parameters
    ----------
    model : Model or BatchModel
        A function from token ids to the logits of the next token, or an object with a method
        ``logits`` that takes many sequences; see :mod:`cfgguide.decoding.model`.
    prompt_ids : sequence of int
        The prompt. It may be empty if the model can do with that.
    index : Index
        Of the grammar and the model's vocabulary; see :func:`cfgguide.compile`.
    max_new_tokens : int
        Most tokens to write, EOS included; at least 1.
    prefix_ids : sequence of int
        How the sentence begins: it stands behind the prompt, and the model goes on from there.
    temperature, top_k, top_p, min_p
        How a token is chosen among the allowed ones, see
        :class:`~cfgguide.decoding.warpers.Warper`; they are applied in this order, after the mask.
        Temperature 0 is greedy decoding.
    seed : int or numpy Generator, optional
        Makes sampling reproducible.
    finish : bool
        Whether a sentence is finished within `max_new_tokens`: only tokens are allowed behind which
        one still can be (:mod:`cfgguide.guide.budget`). If not, the text is cut when the tokens run
        out.
    restrict : callable, optional
        Narrows the mask of each step: called with the visit of the index and the number of tokens
        left (this one included), it returns a packed mask, or None for no restriction.

    Returns
    -------
    Sample
        The text and its probabilities.

    Raises
    ------
    GenerationError
        If a setting is out of its range, or no token is left at a step: the model excludes all that
        are allowed, or `restrict` does.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary, or are no numbers.
    TokenRejectedError
        If no sentence begins with `prefix_ids`.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"yes", b"no", b"maybe", None], eos_token_ids=3)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "yes" | "no"'), vocabulary)
    >>> model = lambda token_ids: np.log([0.2, 0.1, 0.6, 0.1])
    >>> written = sample(model, index=index, max_new_tokens=2, temperature=0)
    >>> written.text, written.is_complete, np.exp(written.log_masses).round(3).tolist()
    ('yes', True, [0.3, 0.1])
    """
    (written,) = sample_many(
        model,
        [prompt_ids],
        index=index,
        max_new_tokens=max_new_tokens,
        prefix_ids=prefix_ids,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        seed=seed,
        finish=finish,
        restrict=restrict,
    )
    return written


def sample_many(
    model: AnyModel,
    prompts: Sequence[Ids],
    *,
    index: Index,
    max_new_tokens: int,
    prefix_ids: Ids = (),
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    min_p: float = 0.0,
    seed: Seed = None,
    finish: bool = True,
    restrict: Restriction | None = None,
) -> list[Sample]:
    """Return a sample for each of some prompts, which may be equal ones.

    All are written step by step together: the model is called once for a step, with the sequences
    that differ. Each draws its own random numbers, whatever the others do.

    Parameters
    ----------
    prompts : sequence of (sequence of int)
        A prompt for each sample.

    All other parameters, and what it raises, are as for :func:`sample`.

    Returns
    -------
    list of Sample
        In the order of the prompts.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: ("a" | "b")~3'), vocabulary)
    >>> model = lambda token_ids: np.zeros(3)
    >>> written = sample_many(model, [()] * 4, index=index, max_new_tokens=9, seed=1)
    >>> sorted({len(each.text) for each in written}), {each.is_complete for each in written}
    ([3], {True})
    >>> [each.log_prob for each in written] == [4 * np.log(1 / 3)] * 4
    True
    """
    warper = Warper(temperature, top_k, top_p, min_p)
    tree = PrefixTree(
        model,
        index,
        max_new_tokens=max_new_tokens,
        prefix_ids=prefix_ids,
        finish=finish,
        restrict=restrict,
    )
    draws = generator(seed).spawn(len(prompts))
    rows = [tree.root(prompt_ids) for prompt_ids in prompts]
    for _ in range(max_new_tokens):
        open_rows = {each: at for each, at in alike(rows).items() if not each.is_finished}
        tree.look(open_rows)
        for prefix_node, places in open_rows.items():
            next_tokens = prefix_node.next_tokens
            if next_tokens is None or next_tokens.log_mass == -np.inf:
                raise tree.refusal(prefix_node)
            probabilities = warper.probabilities(next_tokens.log_probs)
            uniforms = np.array([draws[place].random() for place in places])
            for place, chosen in zip(places, drawn(probabilities, uniforms), strict=True):
                rows[place] = tree.follow(prefix_node, int(chosen))
        tree.forget(open_rows)
    return [written(tree, prefix_node) for prefix_node in rows]


def written(tree: PrefixTree, prefix_node: PrefixNode) -> Sample:
    """Return what a beginning of a tree has come to."""
    token_ids = (*tree.prefix_ids, *prefix_node.token_ids)
    path = prefix_node.path()
    return Sample(
        token_ids,
        codecs.getincrementaldecoder("utf-8")().decode(tree.index.vocabulary.spell(token_ids)),
        prefix_node.is_finished,
        tuple(each.log_prob for each in path),
        tuple(each.log_mass for each in path),
    )


def generator(seed: Seed) -> np.random.Generator:
    """Return a generator of random numbers for a seed, or the one that was given.

    Raises
    ------
    GenerationError
        If it is no seed.
    """
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise GenerationError(
            f"seed is {seed!r}; it is a number that is not negative, or a numpy Generator"
        ) from error
