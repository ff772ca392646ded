"""Sequential Monte Carlo steering: the model conditioned on its text being a sentence.

Masking draws each token from those that are allowed, as if the model had given no probability to
the others. A text y of tokens y1 ... yn is then drawn with

    q(y) = p(y) / (Z1 ... Zn),     Zt = mass of the tokens allowed at step t, EOS among them

and not with p(y) / P(sentence), which is what one wants. The weight w(y) = Z1 ... Zn corrects that:
the mean of w is P(sentence), the *evidence*, and the weighted samples are those of the model
conditioned on writing a sentence of at most `max_new_tokens` tokens, EOS included.

The weights of independent samples soon differ by orders of magnitude. So many *particles* are
written side by side, and when a few of them have most of the weight, they are *resampled*: copied
in proportion to their weights, which are equal afterwards. One step:

1. each unfinished particle is weighted by its Z, which is known before its token is drawn;
2. if the effective sample size (sum w)^2 / sum w^2 has fallen below a share of the particles, they
   are resampled, and the evidence is multiplied by their mean weight;
3. each unfinished particle draws a token among the allowed ones; finished ones wait.

A particle that is not finished when the tokens run out has weight 0. The estimate of the evidence
is unbiased for every number of particles. Means over the particles, and a single draw, are ratios
of such estimates, with a bias that falls as 1 / n_particles.

Particles with the same tokens have had the same Z since they were last resampled, so they are kept
as one with a count, and share one call of the model. Their draws are stratified, and resampling is
systematic: each particle's own law is the same as with independent draws.

Sources: Lew et al. 2023, "Sequential Monte Carlo Steering of Large Language Models using
Probabilistic Programs", section 2; Loula et al. 2025, "Syntactic and Semantic Control of Large
Language Models via Sequential Monte Carlo", section 2. Weighting before the draw is the fully
adapted filter of Pitt & Shephard 1999. Lew et al. resample without replacement over several
continuations of each particle; here copies of one draw strata instead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cfgguide.engine.index.index import Index
from cfgguide.errors import GenerationError, ParticleWarning
from cfgguide.models.decoding.loop import Seed, generator
from cfgguide.models.decoding.model import AnyModel, Ids
from cfgguide.models.decoding.prefix_tree import PrefixNode, PrefixTree, Restriction, log_sum
from cfgguide.models.decoding.sampling import Sample, written
from cfgguide.models.decoding.warpers import Warper, drawn

_PLAIN = Warper()


@dataclass(frozen=True)
class Particle:
    """All particles with the same tokens.

    Attributes
    ----------
    sample : Sample
        Their sentence.
    n : int
        How many there are.
    weight : float
        Their share, together, of the weight of all particles.
    """

    sample: Sample
    n: int
    weight: float


@dataclass(frozen=True)
class SMCResult:
    """The weighted samples of sequential Monte Carlo.

    Attributes
    ----------
    particles : tuple of Particle
        The finished ones, the heaviest first; no two have the same tokens. Their weights sum up to
        1. Empty if none was finished.
    log_evidence : float
        Logarithm of the estimated probability that the model by itself writes a sentence of at most
        `max_new_tokens` tokens; minus infinity if no particle was finished. ``exp(log_evidence)``
        is unbiased.
    effective_size : float
        (sum of weights)^2 / sum of squared weights of single particles, at the end; 0 if there are
        none.
    n_resampled : int
        How often the particles were resampled.
    n_ancestors : int
        How many different texts were left after the resampling that left the fewest; all particles
        go on from these. Without resampling, the number of different particles at the end. What is
        said of the first tokens rests on so many draws, whatever `effective_size` says of the last.
    """

    particles: tuple[Particle, ...]
    log_evidence: float
    effective_size: float
    n_resampled: int
    n_ancestors: int

    def mean(self, value: Callable[[Sample], float]) -> float:
        """Return the weighted mean of a value of the samples.

        Raises
        ------
        GenerationError
            If no particle was finished.
        """
        self._check()
        return float(sum(particle.weight * value(particle.sample) for particle in self.particles))

    def probabilities(self) -> dict[str, float]:
        """Return the estimated probability of each text, the most probable first.

        Texts that were written in several tokenisations count once.
        """
        by_text: dict[str, float] = {}
        for particle in self.particles:
            text = particle.sample.text
            by_text[text] = by_text.get(text, 0.0) + particle.weight
        return dict(sorted(by_text.items(), key=lambda item: -item[1]))

    def draw(self, seed: Seed = None) -> Sample:
        """Return one sample, drawn by weight.

        Raises
        ------
        GenerationError
            If no particle was finished, or `seed` is not a seed.
        """
        self._check()
        weights = np.array([particle.weight for particle in self.particles])
        position = drawn(weights, generator(seed).random(1))[0]
        return self.particles[int(position)].sample

    def _check(self) -> None:
        if not self.particles:
            raise GenerationError(
                "no particle was finished: give more particles or more tokens, or restrict the "
                "steps to what can be finished in time"
            )


def steer(
    model: AnyModel,
    prompt_ids: Ids = (),
    *,
    index: Index,
    n_particles: int,
    max_new_tokens: int,
    prefix_ids: Ids = (),
    temperature: float = 1.0,
    resample_below: float = 0.5,
    seed: Seed = None,
    finish: bool = True,
    restrict: Restriction | None = None,
) -> SMCResult:
    """Return weighted samples of the model conditioned on writing a sentence.

    Parameters
    ----------
    n_particles : int
        At least 1. With 1 nothing can be corrected: its one sample is a masked one.
    max_new_tokens : int
        Maximum number of tokens of a sentence after the prefix, EOS included. Longer sentences have
        no part in the target law.
    temperature : float
        Positive. It is the model's own: its logits are divided by it before the mask, and the
        target law is that of this other model, conditioned on writing a sentence.
    resample_below : float
        The particles are resampled when the effective sample size falls below this share of them.
        0 means never, 1 whenever weights differ.
    restrict : callable, optional
        As for :func:`cfgguide.sample`. If it only leaves out tokens after which no sentence can be
        finished in time, the target law stays the same and the weights vary less; if it leaves out
        more, those sentences have no part in the law.

    All other parameters are as for :func:`cfgguide.sample`.

    Returns
    -------
    SMCResult
        Particles with weights, and the evidence.

    Warns
    -----
    ParticleWarning
        If resampling left a single text, from which all particles go on.

    Raises
    ------
    GenerationError
        If a setting is out of its range.
    BudgetError
        If no sentence can be finished within `max_new_tokens`.
    ModelError
        If the model's logits do not fit the vocabulary, or are not numbers.
    TokenRejectedError
        If no sentence begins with `prefix_ids`.

    Examples
    --------
    The model begins with "a" as often as with "b", but after "a" it seldom goes on as the grammar
    wants. Half of the masked samples are "ax", but only a tenth of the sentences that the model
    writes by itself:

    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"a", b"b", b"x", None], eos_token_ids=3)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "ax" | "bx"'), vocabulary)
    >>> def model(token_ids):
    ...     match list(token_ids):
    ...         case []:
    ...             return np.log([0.5, 0.5, 0.0001, 0.0001])
    ...         case [0]:
    ...             return np.log([0.5, 0.4, 0.1, 0.0001])
    ...         case [1]:
    ...             return np.log([0.05, 0.05, 0.9, 0.0001])
    ...     return np.log([0.0001, 0.0001, 0.0001, 1.0])
    >>> steered = steer(model, index=index, n_particles=1000, max_new_tokens=3, seed=0)
    >>> {text: round(share, 2) for text, share in steered.probabilities().items()}
    {'bx': 0.9, 'ax': 0.1}
    >>> round(float(np.exp(steered.log_evidence)), 2)  # 0.5 * 0.1 + 0.5 * 0.9
    0.5
    """
    if n_particles < 1:
        raise GenerationError(f"n_particles is {n_particles}; at least 1 is needed")
    if not 0 <= resample_below <= 1:
        raise GenerationError(f"resample_below is {resample_below}; it is between 0 and 1")
    random = generator(seed)
    tree = PrefixTree(
        model,
        index,
        max_new_tokens=max_new_tokens,
        prefix_ids=prefix_ids,
        temperature=temperature,
        finish=finish,
        restrict=restrict,
    )
    population = _Population([tree.root(prompt_ids)], np.array([n_particles]), np.zeros(1))
    log_evidence, n_resampled, n_ancestors = 0.0, 0, n_particles
    for _ in range(max_new_tokens):
        live = population.live()
        if not live:
            break
        tree.look(live)
        population = population.weighted()
        if not population.nodes:
            return SMCResult((), -math.inf, 0.0, n_resampled, 0)
        # Resampled particles weigh 1 each: their mean weight so far becomes a factor of the
        # evidence.
        if population.effective_size < resample_below * n_particles:
            log_evidence += population.log_mean(n_particles)
            population = population.resampled(n_particles, random.random())
            n_resampled += 1
            n_ancestors = min(n_ancestors, len(population.nodes))
        population = population.followed(tree, random)
        tree.forget(live)
    population = population.only_finished()
    if not population.nodes:
        return SMCResult((), -math.inf, 0.0, n_resampled, 0)
    n_ancestors = min(n_ancestors, len(population.nodes)) if n_resampled == 0 else n_ancestors
    if n_resampled and n_ancestors == 1:
        warnings.warn(
            f"all {n_particles} particles go on from one text, the only one that was left when "
            "they were resampled: shares and means rest on a single draw; give more particles",
            ParticleWarning,
            stacklevel=2,
        )
    shares = zip(
        population.nodes, population.counts.tolist(), population.shares.tolist(), strict=True
    )
    particles = [Particle(written(tree, node), n, share) for node, n, share in shares]
    particles.sort(key=lambda particle: (-particle.weight, particle.sample.token_ids))
    log_evidence += population.log_mean(n_particles)
    size = population.effective_size
    return SMCResult(tuple(particles), log_evidence, size, n_resampled, n_ancestors)


@dataclass(frozen=True)
class _Population:
    """Particles, with those that have the same tokens as one.

    Attributes
    ----------
    nodes : list of PrefixNode
        Where the particles are; no node twice.
    counts : int64, shape (n_nodes,)
        How many particles are at each node; at least 1.
    log_weights : float64, shape (n_nodes,)
        Logarithm of the weight of a single particle at each node; above minus infinity.
    """

    nodes: list[PrefixNode]
    counts: npt.NDArray[np.int64]
    log_weights: npt.NDArray[np.float64]

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """Share of the weight of the particles at each node; float64, shape (n_nodes,)."""
        logs = self.log_weights + np.log(self.counts)
        parts = np.exp(logs - log_sum(logs))
        shares: npt.NDArray[np.float64] = parts / parts.sum()
        return shares

    @property
    def effective_size(self) -> float:
        """(sum w)^2 / sum w^2 over single particles."""
        return float(1 / (self.shares**2 / self.counts).sum())

    def log_mean(self, n_particles: int) -> float:
        """Return the logarithm of the mean weight; particles that were dropped have weight 0."""
        return log_sum(self.log_weights + np.log(self.counts)) - math.log(n_particles)

    def live(self) -> list[PrefixNode]:
        """Return the nodes that are not finished."""
        return [node for node in self.nodes if not node.is_finished]

    def only_finished(self) -> _Population:
        """Return the particles that are finished."""
        return self._only(np.array([node.is_finished for node in self.nodes], dtype=np.bool_))

    def weighted(self) -> _Population:
        """Return the particles weighted by their Z, without those after which nothing follows."""
        masses = [
            0.0 if node.next_tokens is None else node.next_tokens.log_mass for node in self.nodes
        ]
        weighted = _Population(self.nodes, self.counts, self.log_weights + np.array(masses))
        return weighted._only(weighted.log_weights > -math.inf)

    def resampled(self, n_particles: int, uniform: float) -> _Population:
        """Return `n_particles` particles by systematic resampling, with weight 1 each.

        The shares lie side by side on [0, 1). Each of `n_particles` equally spaced points selects
        the share on which it falls; one uniform number moves all points.
        """
        ends = np.cumsum(self.shares)
        points = (np.arange(n_particles) + uniform) / n_particles
        n_below = np.searchsorted(points, ends)
        n_below[-1] = n_particles  # whatever the sum was rounded to
        counts = np.diff(n_below, prepend=0)
        return _Population(self.nodes, counts, np.zeros(len(counts)))._only(counts > 0)

    def followed(self, tree: PrefixTree, random: np.random.Generator) -> _Population:
        """Return the particles after each unfinished one has drawn a token."""
        nodes, counts, log_weights = list[PrefixNode](), list[int](), list[float]()
        for node, count, log_weight in zip(
            self.nodes, self.counts.tolist(), self.log_weights.tolist(), strict=True
        ):
            following = [(node, count)]
            if node.next_tokens is not None:  # otherwise it is finished
                uniforms = (np.arange(count) + random.random(count)) / count
                positions = _PLAIN.draw(node.next_tokens.log_probs, uniforms)
                chosen, n_each = np.unique(positions, return_counts=True)
                following = [
                    (tree.follow(node, position), n)
                    for position, n in zip(chosen.tolist(), n_each.tolist(), strict=True)
                ]
            for child, n in following:
                nodes.append(child)
                counts.append(n)
                log_weights.append(log_weight)
        return _Population(nodes, np.array(counts), np.array(log_weights))

    def _only(self, is_kept: npt.NDArray[np.bool_]) -> _Population:
        kept = np.flatnonzero(is_kept)
        return _Population(
            [self.nodes[position] for position in kept], self.counts[kept], self.log_weights[kept]
        )
