"""What stands between a grammar and its masks: a machine.

In: bytes. Out: whether they begin a sentence, what may follow, and masks for a vocabulary. All that
is asked of a grammar is asked of its :class:`Machine`. There are three kinds:

* :class:`~cfgguide.engine.machine.lr_machine.LrMachine`, of a grammar in Lark's language: a scanner
  and LR tables;
* :class:`~cfgguide.engine.byte_machine.byte_machine.ByteMachine`, of patterns, JSON Schemas and
  messages: an automaton over bytes, made as texts are read;
* :class:`~cfgguide.engine.monitors.watched_machine.WatchedMachine`: another machine, and a monitor
  that follows its texts.

A configuration is its machine's own type, hashable and never changed; nobody else looks inside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, runtime_checkable

from cfgguide.base.archive import Arrays
from cfgguide.engine.index.configuration_trie import ConfigurationTrie, Mask, MaskKey, Path
from cfgguide.engine.masks.subset import Int32Array, Subset
from cfgguide.engine.vocabulary.trie import PackedTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import GrammarError, shown

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)


class Outcomes(Protocol[C_co]):
    """What the tokens lead to from a configuration; it holds until the walker's next walk.

    Attributes
    ----------
    trie : PackedTrie
        What was walked over; the numbers of the outcomes are the same whenever it is the same.
    n_outcomes : int
        Number of distinct configurations that tokens lead to.
    """

    trie: PackedTrie
    n_outcomes: int

    @property
    def effort(self) -> int:
        """What it took, and takes to ask about all of them: their number, or more."""

    def configuration(self, outcome: int) -> C_co:
        """Return what the tokens of an outcome lead to."""

    def first_tokens(self) -> list[int]:
        """Return for each outcome one of the tokens that lead to it; `NONE` where there is none."""

    def verdict(self, outcome: int) -> int:
        """Return what is known of an outcome: `LIVE`, `DEAD_END` or `OPEN`."""

    def resolve(self, outcome: int, *, is_live: bool) -> None:
        """Set whether an outcome is allowed."""


class Walker(Protocol[C]):
    """Walks over a vocabulary; owns its memory, and so serves one thread at a time."""

    def walk(self, configuration: C) -> Outcomes[C]:
        """Return what the tokens lead to."""

    def fill(self, bitmask: Int32Array) -> None:
        """Add the tokens of the last walk's outcomes that are allowed to a bitmask; without EOS."""

    def advance(self, configuration: C, data: bytes) -> C | None:
        """Return what a token leads to, exactly as a walk has it."""


class StoresMasks(Protocol):
    """What files hold of masks beside the masks themselves."""

    def packed(self) -> Arrays:
        """Return it as arrays."""

    def use_packed(self, arrays: Arrays) -> None:
        """Use what was packed; or raise an :class:`IndexFormatError`."""

    def prepare(self, digest: str | None) -> None:
        """Make what would take long before the first mask.

        Of an index with a digest, use what the user's cache holds, and store what it lacks.
        """


class Masks(Protocol[C]):
    """Makes the masks of one machine for one vocabulary, under the machine's lock."""

    @property
    def files(self) -> StoresMasks | None:
        """What files hold of masks; None if masks mean nothing in another process."""

    @property
    def are_complete(self) -> bool:
        """Whether no mask lacks a token that the machine reads."""

    def like(self, path: Path) -> Hashable:
        """Return what the paths of masks share that are expected to be alike."""

    def key(self, configuration: C) -> MaskKey:
        """Return under what the mask of a configuration is remembered."""

    def mask(self, key: Any, known: ConfigurationTrie) -> Mask | None:
        """Make the mask of a key, without what `narrowed` removes.

        None if only the tops of the stacks are there, and the mask depends on what is below. Parts
        of it, or its equal, may be known.
        """

    def narrowed(self, configuration: C, subset: Subset) -> Subset:
        """Return a subset without what the mask's key does not know of."""

    def is_at_end(self, configuration: C, allowed: Callable[[], Subset]) -> bool:
        """Return whether the text is a sentence, and only EOS or ignored text may follow."""

    def walker(self, subset: Callable[[C], Subset]) -> Walker[C]:
        """Return a walker of its own for one thread, which may ask for masks."""

    def release_workspace(self) -> None:
        """Free the memory in which masks are made; the next one allocates it again."""

    def shared(self) -> list[object]:
        """Return what others hold as well, so that it does not count for an index's memory."""


class Reader(Protocol[C]):
    """What reads the texts of a grammar, from its initial configuration."""

    initial: C

    def advance(self, configuration: C, data: bytes) -> C | None:
        """Return the configuration after a token, or None if it is refused."""

    def read(self, configuration: C, data: bytes) -> C | None:
        """Return the configuration after bytes that need not be a token, or None."""

    def is_sentence(self, configuration: C) -> bool:
        """Return whether the text may end here."""


class Machine(Reader[C], Protocol[C]):
    """What reads the texts of a grammar, and knows what may follow.

    Attributes
    ----------
    initial : configuration
        Before any text.
    lock : lock
        Held while masks are made, and by whoever asks what is for one thread at a time.
    """

    lock: AbstractContextManager[Any]

    @property
    def digest(self) -> str:
        """SHA-256 in hex of what the masks depend on besides the vocabulary; always the same."""

    @property
    def n_parse_states(self) -> int | None:
        """Number of parse states, if what may follow depends on these alone."""

    def is_live(self, configuration: C, *, quickly: bool = False) -> bool:
        """Return whether a sentence can follow; `quickly`: only if that is known at once."""

    def expected(self, configuration: C) -> tuple[str, ...]:
        """Return the names of what may come next, sorted; ``$END`` where the text may end."""

    def endings(
        self, vocabulary: Vocabulary, n_tokens: Callable[[bytes], int | None]
    ) -> Sequence[Callable[[C], bytes | None]]:
        """Return ways to find short endings, the quickest first; `n_tokens` says how short.

        Each returns bytes that are in tokens, after which the text is a sentence; None if it found
        none.
        """

    def masks(self, vocabulary: Vocabulary) -> Masks[C]:
        """Return what makes masks."""

    def packed(self) -> tuple[Arrays, dict[str, object]]:
        """Return what makes the machine again, as arrays and a JSON value; or raise an error."""


@runtime_checkable
class ShowsParts(Protocol):
    """A machine that tells what a text stands in: a lexeme, an array, an object."""

    def height(self, configuration: Any) -> int:
        """Return how many parts are open: fewer where one is left, more where one begins."""

    def goes_on(self, configuration: Any, byte: int) -> bool:
        """Return whether a byte goes on with what is being read, and ends or begins nothing."""


#: A machine whatever its configurations are: who uses it hands them through.
AnyMachine = Machine[Any]

_METHODS = ("advance", "read", "is_sentence", "is_live", "expected", "endings", "masks", "packed")
_ATTRIBUTES = ("initial", "digest", "lock", "n_parse_states")
_MASK_METHODS = (
    "key",
    "mask",
    "narrowed",
    "is_at_end",
    "walker",
    "like",
    "release_workspace",
    "shared",
)
_SEE = "see cfgguide.engine.machine.protocol"


def check_machine(machine: AnyMachine) -> None:
    """Check that a machine, which may be of a user's own, has all that is asked of it.

    Raises
    ------
    GrammarError
        If it lacks a method or an attribute, or one returns something else.
    """
    kind = type(machine).__name__
    for name in _METHODS:
        if not callable(getattr(machine, name, None)):
            raise GrammarError(f"the machine {kind} has no method {name}(): {_SEE}")
    for name in _ATTRIBUTES:
        if not hasattr(machine, name):
            raise GrammarError(f"the machine {kind} has no attribute {name}: {_SEE}")
    check_hashable(machine.initial, f"the initial configuration of {kind}")
    is_sentence = machine.is_sentence(machine.initial)
    if not isinstance(is_sentence, bool):
        raise GrammarError(
            f"the machine {kind}: is_sentence() returned {shown(is_sentence)}; it is a bool"
        )


def masks_of(machine: AnyMachine, vocabulary: Vocabulary) -> Masks[Any]:
    """Return what makes the masks of a machine for a vocabulary.

    Raises
    ------
    GrammarError
        If it lacks a method.
    """
    masks = machine.masks(vocabulary)
    for name in _MASK_METHODS:
        if not callable(getattr(masks, name, None)):
            raise GrammarError(
                f"the machine {type(machine).__name__}: masks() returned {shown(masks)}, which has "
                f"no {name}(): {_SEE}"
            )
    return masks


def check_hashable(configuration: object, what: str) -> None:
    """Raise a `GrammarError` if a configuration cannot be looked up."""
    try:
        hash(configuration)
    except TypeError as error:
        raise GrammarError(
            f"{what} is {shown(configuration)}, which cannot be looked up"
        ) from error
