"""What stands in brackets after a rule's name: ``lazy``, ``suffix``, ``stop``, ``capture``, ...

In: a rule. Out: its lazy terminal if it has one (:meth:`Attributes.lazy`), and a note of each
attribute that has no effect on which texts are written.

``suffix`` and ``stop`` both end the rule with the first text that they match. llguidance takes what
``stop`` matched out of the text again, by taking tokens back; here it stays. Where a rule with
``stop="x"`` is followed by ``"x"``, the text has it once, as in llguidance.
"""

from __future__ import annotations

from typing import NoReturn

from cfgguide.grammar.llguidance.lexemes import WrittenTerminals
from cfgguide.grammar.llguidance.terminals import Terminals
from cfgguide.grammar.rules.source import Source
from cfgguide.grammar.rules.tree import Attribute, Expression, Rule, Text

_REFUSED = {
    "max_tokens": "max_tokens counts tokens, and a mask here depends on the text alone; bound the "
    "text, as in /(?s:.){0,400}/, or give a budget of tokens when generating",
    "max_chars": "max_chars is not supported; bound the text, as in /(?s:.){0,400}/",
}
_WITHOUT_EFFECT = {
    "capture": "captures are taken from the text, and have no effect on it",
    "stop_capture": "captures are taken from the text, and have no effect on it",
    "temperature": "a grammar does not choose among the tokens that it allows",
}
_VALUES = {"capture": (str, type(None)), "stop_capture": (str,), "temperature": (str,)}
_KNOWN = ("lazy", "suffix", "stop", *_WITHOUT_EFFECT)


class Attributes:
    """The attributes of a document's rules.

    Parameters
    ----------
    source : Source
        The text of the document.
    terminals : Terminals
        Its terminals.
    lexemes : WrittenTerminals
        Where the lazy terminals go.
    left_out : list of (str, str)
        Where attributes without effect are noted.
    """

    def __init__(
        self,
        source: Source,
        terminals: Terminals,
        lexemes: WrittenTerminals,
        left_out: list[tuple[str, str]],
    ) -> None:
        self._source = source
        self._terminals = terminals
        self._lexemes = lexemes
        self._left_out = left_out
        self._checked: set[str] = set()

    def is_lazy(self, rule: Rule) -> bool:
        """Return whether a rule is a lazy terminal."""
        return any(each.name == "lazy" or _end_of(each) is not None for each in rule.attributes)

    def stop(self, rule: Rule) -> Expression | None:
        """Return what a rule stops with, if that is not empty."""
        found = (_end_of(each) for each in rule.attributes if each.name == "stop")
        return next(found, None)

    def lazy(self, rule: Rule) -> tuple[Expression | None, bool] | None:
        """Return the lazy terminal that a rule is, or None if it is none.

        Raises
        ------
        GrammarError, LimitError
            If an attribute is not supported, or the terminal cannot be made.
        """
        if rule.name not in self._checked:
            self._checked.add(rule.name)
            self._check(rule)
        if not self.is_lazy(rule):
            return None
        pattern = self._terminals.pattern(rule.body)
        for end in (_end_of(each) for each in rule.attributes):
            if end is None:
                continue
            pattern = f"(?:{pattern})(?:{self._terminals.pattern(end)})"
        return self._lexemes.of_lazy(
            self._terminals, self._source, rule.at, pattern, rule.name.upper()
        )

    def _check(self, rule: Rule) -> None:
        for each in rule.attributes:
            if each.name in _REFUSED:
                self._fail(each, _REFUSED[each.name])
            if each.name not in _KNOWN:
                self._fail(each, f"there is no attribute {each.name}; there is {', '.join(_KNOWN)}")
            allowed = _VALUES.get(each.name)
            if each.name == "lazy" and each.value is not None:
                self._fail(each, "lazy has no value")
            if allowed is not None and not isinstance(each.value, allowed):
                self._fail(each, f"{each.name} needs a value: {each.name}=...")
            if each.name in ("stop", "suffix") and each.value is None:
                self._fail(each, f'{each.name} needs a text or a terminal: {each.name}="</end>"')
            self._note(rule, each)
        if len([each for each in rule.attributes if each.name in ("stop", "suffix")]) > 1:
            self._fail(rule.attributes[0], "a rule has stop or suffix, not both")

    def _note(self, rule: Rule, attribute: Attribute) -> None:
        """Note an attribute that does less here than in llguidance."""
        name = attribute.name
        if name in _WITHOUT_EFFECT:
            why = _WITHOUT_EFFECT[name]
        elif name != "stop":
            return
        elif _end_of(attribute) is None:
            why = "the rule ends where the text goes on with what follows, not at EOS"
        else:
            why = "the text keeps what stop matched; llguidance takes it out again"
        self._left_out.append((f"{rule.name}[{name}]", why))

    def _fail(self, attribute: Attribute, said: str) -> NoReturn:
        raise self._source.error(attribute.at, said)


def _end_of(attribute: Attribute) -> Expression | None:
    """Return what a rule ends with, if that is not empty."""
    if attribute.name not in ("stop", "suffix") or attribute.value is None:
        return None
    value = attribute.value
    assert not isinstance(value, str)
    return None if isinstance(value, Text) and not value.text else value
