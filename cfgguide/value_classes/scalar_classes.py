"""The classes of numbers or strings that some nodes see, and their languages.

In: the nodes, and "number" or "string". Out: :class:`ScalarClasses`. Which classes there are is
found by walking through the automata of the conditions at the same time, without making one of
them; strings that are listed are asked about one by one. Languages are made for classes that are
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

from cfgguide.automata.language import Language, grouped, memberships
from cfgguide.value_classes.machine import ValueClass, conditions, listed, scalar_holds
from cfgguide.value_classes.nodes import Condition, Node
from cfgguide.value_classes.scalars import by_class
from cfgguide.value_classes.truth import truths
from cfgguide.values.numbers import decimals

_MAX_WALKED = 2_000  # states, after which lengths are counted apart

Found = tuple[bool, ...]  # which conditions are met


class ScalarClasses:
    """Numbers or strings by class.

    Parameters
    ----------
    nodes : sequence of Node
        Those whose classes are asked for.
    below : sequence of Node
        Their closure.
    kind : str
        "number" or "string".
    """

    def __init__(self, nodes: Sequence[Node], below: Sequence[Node], kind: str) -> None:
        self._nodes = nodes
        self._below = below
        self._kind = kind
        asked: dict[int, Condition] = {}
        for node in below:
            for condition in (*conditions(node, kind), listed(node, kind)):
                if condition is not None and kind in node.kinds:
                    asked[id(condition)] = condition
        self._asked = list(asked.values())
        self._lists = [each for each in self._asked if each.words is not None]
        self._others = [each for each in self._asked if each.words is None]
        self._universe = [decimals()] if kind == "number" else []

    def has(self, wanted: Sequence[ValueClass]) -> bool:
        """Return whether there are numbers or strings of a wanted class."""
        if any(each in wanted for each in self._words):
            return True
        if self._kind == "string" and all(
            any(node.values is not None for node in each) for each in wanted
        ):
            return False  # only listed ones could be
        return any(each in wanted for each in self._unlisted())

    def __iter__(self) -> Iterator[ValueClass]:
        """Yield the classes, some of them more than once."""
        yield from self._words
        yield from self._unlisted()

    @cached_property
    def languages(self) -> dict[ValueClass, list[Condition | None]]:
        """The numbers or strings of each class; None for all of them."""
        if not self._asked:
            return {self._class_of(()): [None]}
        if len(self._lists) > 1:
            return self._word_by_word()
        n = len(self._universe)
        found = by_class(
            [*map(Condition, self._universe), *self._asked],
            lambda found: self._class_of(found[n:]) if all(found[:n]) else None,
        )
        return {key: list(each) for key, each in found.items()}

    def _class_of(self, found: Found) -> ValueClass:
        known = dict(zip(map(id, self._asked), found, strict=True))
        truth = truths(
            self._below, self._kind, lambda node, _: scalar_holds(node, self._kind, known)
        )
        return frozenset(node for node in self._nodes if truth[node])

    @cached_property
    def _words(self) -> dict[ValueClass, list[str]]:
        """Listed strings by class."""
        found: dict[ValueClass, list[str]] = {}
        known: dict[Found, ValueClass] = {}
        for word in self._all_words:
            met = tuple(
                each.language.accepts(word) if each.words is None else word in each.words
                for each in self._asked
            )
            if met not in known:
                known[met] = self._class_of(met)
            found.setdefault(known[met], []).append(word)
        return found

    @cached_property
    def _all_words(self) -> list[str]:
        return sorted({word for each in self._lists for word in each.words or ()})

    def _class_of_rest(self, found: Found) -> ValueClass:
        """Return the class of a string that is not listed."""
        rest = iter(found)
        return self._class_of(tuple(each.words is None and next(rest) for each in self._asked))

    def _unlisted(self) -> Iterator[ValueClass]:
        """Yield the classes of all that is not listed."""
        if not self._others and not self._universe:
            yield self._class_of_rest(())
            return
        before = [*self._universe, *([Language.of_words(self._all_words)] if self._lists else [])]
        meant = (*(True for _ in self._universe), *(False for _ in self._lists[:1]))
        n = len(meant)
        languages = [*before, *(each.language for each in self._others)]
        for found in memberships(languages, _MAX_WALKED):
            if found is None:  # it takes too long
                yield from self.languages
            elif found[:n] == meant:
                yield self._class_of_rest(found[n:])

    def _word_by_word(self) -> dict[ValueClass, list[Condition | None]]:
        """Return strings by class, the listed ones one by one: quicker than an automaton of all."""
        found: dict[ValueClass, list[Condition | None]] = {
            key: [Condition(partial(Language.of_words, words), words=frozenset(words))]
            for key, words in self._words.items()
        }
        words = partial(Language.of_words, self._all_words)
        if not self._others:
            rest = Condition(lambda: grouped([words()], any)[False])
            found.setdefault(self._class_of_rest(()), []).append(rest)
            return found

        def class_of(met: Found) -> ValueClass | None:
            return None if met[0] else self._class_of_rest(met[1:])

        languages = [words(), *(each.language for each in self._others)]
        for key, language in grouped(languages, class_of).items():
            if key is not None and not language.is_empty:
                found.setdefault(key, []).append(Condition(language))
        return found
