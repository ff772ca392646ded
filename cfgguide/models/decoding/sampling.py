"""Sampling and greedy decoding with any model: a prompt in, a sentence and its probabilities out.

This needs neither torch nor transformers: a model is a function
(:mod:`cfgguide.models.decoding.model`), a tokenizer is a
:class:`~cfgguide.engine.vocabulary.vocabulary.Vocabulary`. :func:`cfgguide.generate` runs the same
loop (:mod:`cfgguide.models.decoding.loop`) with a model and a tokenizer of transformers.

At temperature 1 the samples follow the *locally renormalised* law: the product of the model's
probabilities, each divided by Z, the mass of the tokens allowed at that step. That is not the model
conditioned on writing a sentence, which :mod:`cfgguide.models.decoding.smc` approximates: masking
leads to prefixes after which only texts can follow that the model finds unlikely. Each sample says
how far it is off: the sum of its log Z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cfgguide.engine.index.index import Index
from cfgguide.guide.forced import encoder_of
from cfgguide.guide.repetition import Loop, Loops, Repetition
from cfgguide.models.decoding.loop import Seed, decode, generator
from cfgguide.models.decoding.model import AnyModel, Ids
from cfgguide.models.decoding.prefix_tree import PrefixNode, PrefixTree, Restriction
from cfgguide.models.decoding.warpers import Warper


@dataclass(frozen=True)
class Sample:
    """What a model wrote, and how probable it was.

    Attributes
    ----------
    token_ids : tuple of int
        The tokens, from the prefix on, with EOS if it was written.
    text : str
        Their text. If it was cut inside a character, that part is missing.
    is_complete : bool
        Whether it ends with EOS, and so is a sentence. If not, the tokens ran out.
    log_probs : tuple of float, length n_new_tokens
        The model's log-probability of each token after the prefix, as if there were no mask; NaN
        for a forced token, about which the model was not asked.
    log_masses : tuple of float, length n_new_tokens
        log Z of each step: the logarithm of the probability that the model gave to all tokens
        allowed there; 0 where the mask took nothing away, NaN for a forced token.
    notes : tuple of Loop
        Which loops were closed (:class:`cfgguide.integrations.Loop`), if that was asked for.
    """

    token_ids: tuple[int, ...]
    text: str
    is_complete: bool
    log_probs: tuple[float, ...]
    log_masses: tuple[float, ...]
    notes: tuple[Loop, ...] = ()

    @property
    def masked_log_probs(self) -> tuple[float, ...]:
        """The log-probability of each token among the allowed ones, at temperature 1."""
        steps = zip(self.log_probs, self.log_masses, strict=True)
        return tuple(log_prob - log_mass for log_prob, log_mass in steps)

    @property
    def log_prob(self) -> float:
        """The model's log-probability of all tokens after the prefix; NaN if one was forced."""
        return float(sum(self.log_probs))

    @property
    def log_mass(self) -> float:
        """Sum of `log_masses`: the logarithm of the weight that corrects the bias of the mask.

        NaN if a token was forced.
        """
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
    force: object = None,
    restrict: Restriction | None = None,
    repetition: bool | Repetition = False,
) -> Sample:
    """Return what a model writes after a prompt, within a grammar.

    Parameters
    ----------
    model : Model or BatchModel
        A function from token ids to the logits of the next token, or an object with a method
        ``logits`` that takes many sequences; see :mod:`cfgguide.models.decoding.model`.
    prompt_ids : sequence of int
        The prompt. It may be empty if the model accepts that.
    index : Index
        Of the grammar and the model's vocabulary; see :func:`cfgguide.compile`.
    max_new_tokens : int
        Maximum number of new tokens, EOS included; at least 1.
    prefix_ids : sequence of int
        How the sentence begins: it comes after the prompt, and the model goes on from there.
    temperature, top_k, top_p, min_p
        How a token is chosen among the allowed ones, see
        :class:`~cfgguide.models.decoding.warpers.Warper`; they are applied in this order, after the
        mask. Temperature 0 is greedy decoding.
    seed : int or numpy Generator, optional
        Makes sampling reproducible.
    finish : bool
        Whether a sentence is finished within `max_new_tokens`: a token is allowed only if one still
        fits after it (:mod:`cfgguide.guide.budget`). If not, the text is cut when the tokens run
        out.
    force : tokenizer or callable, optional
        Writes text that must come next without asking the model, in this tokenizer's own tokens
        (:mod:`cfgguide.guide.forced`): a fast tokenizer of transformers, a ``tokenizers.Tokenizer``
        or a function from text to token ids. Forced tokens have no log-probability.
    restrict : callable, optional
        Narrows the mask of each step: called with the last step and the number of
        tokens left (this one included), it returns a packed mask, or None for no restriction.

    Returns
    -------
    Sample
        The text and its probabilities.

    Raises
    ------
    GenerationError
        If a setting is out of its range, or no token is left at a step: the model or `restrict`
        excludes all allowed ones.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary, or are not numbers.
    TokenRejectedError
        If no sentence begins with `prefix_ids`.

    Examples
    --------
    >>> import cfgguide, numpy as np
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
        force=force,
        restrict=restrict,
        repetition=repetition,
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
    force: object = None,
    restrict: Restriction | None = None,
    repetition: bool | Repetition = False,
) -> list[Sample]:
    """Return a sample for each of some prompts, which may be equal.

    All are written step by step together: the model is called once for a step, with the sequences
    that differ. Each sample has its own random numbers, whatever the others do.

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
    >>> import cfgguide, numpy as np
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", None], eos_token_ids=2)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: ("a" | "b")~3'), vocabulary)
    >>> model = lambda token_ids: np.zeros(3)
    >>> written = sample_many(model, [()] * 4, index=index, max_new_tokens=9, seed=1)
    >>> sorted({len(one.text) for one in written}), {one.is_complete for one in written}
    ([3], {True})
    >>> [one.log_prob for one in written] == [4 * np.log(1 / 3)] * 4
    True
    """
    warper = Warper(temperature, top_k, top_p, min_p)
    avoided = Repetition.of(repetition)
    tree = PrefixTree(
        model,
        index,
        max_new_tokens=max_new_tokens,
        prefix_ids=prefix_ids,
        finish=finish,
        restrict=restrict,
        loops=Loops(index, avoided) if avoided else None,
    )
    nodes = [tree.root(prompt_ids) for prompt_ids in prompts]
    steps = decode(
        tree,
        nodes,
        warper=warper,
        randoms=generator(seed).spawn(len(prompts)),
        encode=None if force is None else encoder_of(force),
    )
    for number, node in steps:
        nodes[number] = node
    return [written(tree, node) for node in nodes]


def written(tree: PrefixTree, node: PrefixNode) -> Sample:
    """Return the text of a node of a tree, with its probabilities."""
    token_ids = (*tree.prefix_ids, *node.token_ids)
    path, vocabulary = node.path(), tree.index.vocabulary
    return Sample(
        token_ids,
        vocabulary.text_decoder().decode(vocabulary.spell(token_ids)),
        node.is_finished,
        tuple(step.log_prob for step in path),
        tuple(step.log_mass for step in path),
        node.written.loops,
    )
