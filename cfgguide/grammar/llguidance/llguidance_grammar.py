r"""Grammars in llguidance's dialect of Lark's language.

In: a text in the dialect, as users of llguidance, of XGrammar's ``Grammar.from_lark`` and of
services have it. Out: a :class:`~cfgguide.grammar.grammar.Grammar` in Lark's own language, which
judges as ever. ::

    start: call* TEXT                        start: call* TEXT?
    call: head %json {...} "</call>"   ->    call: HEAD json "</call>"
    head[lazy]: TEXT "<call>"                HEAD.1: /(?s:.)*?<call>/
    TEXT: /(.|\n)*/                          TEXT: /(?s:.)+/        and the rules of the schema

A lazy rule is a terminal that ends as soon as it can. What may be empty is so in rules, for Lark's
terminals are not. ``%json`` and ``@name`` become rules, and tokens special terminals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from cfgguide.base.limits import Budget, Limits
from cfgguide.errors import GrammarError, LimitError
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.llguidance.translation import SchemaRules, Translation
from cfgguide.grammar.notations.mixed_up import advice
from cfgguide.grammar.rules.source import Source, checked_text, with_advice

Grammars = Mapping[str, Grammar | str] | None


@dataclass(frozen=True, repr=False)
class LlguidanceGrammar(Grammar):
    """A grammar that was written in llguidance's dialect; its `text` is in Lark's language.

    Parameters
    ----------
    left_out : tuple of (str, str)
        What the text asks for and has no effect on what is written, such as captures, and why.
    source : tuple of (str, mapping or None, Limits or None, callable), optional
        The text in the dialect and how it was read, if nothing was said of whether values of
        schemas are tidy.

    The others are those of :class:`Grammar`.
    """

    left_out: tuple[tuple[str, str], ...] = field(
        default=(), kw_only=True, compare=False, repr=False
    )
    source: tuple[str, Grammars, Limits | None, SchemaRules] | None = field(
        default=None, kw_only=True, compare=False, repr=False
    )

    def tidied(self) -> Grammar:
        """Return the grammar in which values of schemas are tidy."""
        return self._tidied

    @cached_property
    def _tidied(self) -> Grammar:
        if self.source is None or "%json" not in self.source[0]:
            return self
        text, grammars, limits, rules_of_schema = self.source
        again = read_grammar(
            text, grammars=grammars, rules_of_schema=rules_of_schema, tidy=True, limits=limits
        )
        return replace(self, text=again.text, special=again.special, source=None)


def read_grammar(
    text: str,
    *,
    grammars: Mapping[str, Grammar | str] | None = None,
    rules_of_schema: SchemaRules,
    tidy: bool | None = None,
    limits: Limits | None = None,
) -> LlguidanceGrammar:
    """Return a grammar from a text in llguidance's dialect.

    Parameters
    ----------
    text : str
        The grammar.
    grammars : mapping of str to Grammar or str, optional
        The grammars that the text calls ``@name``; a text is in the dialect too.
    rules_of_schema : callable
        As :class:`~cfgguide.grammar.llguidance.translation.Translation` has it.
    tidy : bool, optional
        Whether values of ``%json`` are tidy, as for :func:`cfgguide.structural_tag`.
    limits : Limits, optional
        What reading may cost: `max_seconds`, `max_memory`, and states of automata.

    Raises
    ------
    GrammarError
        If it is not in the dialect, or has what a grammar here cannot guarantee. The message
        points to the place.
    PatternError, LimitError
        If a terminal cannot be an automaton, or reading takes too long.

    Examples
    --------
    >>> print(Grammar.llguidance('start: "a"{2} | <|end|>').text)
    start: "a"~2 | END
    %declare END
    """
    text = checked_text(text)
    budget = Budget(limits)
    budget.begin("reading the grammar")

    def translated() -> LlguidanceGrammar:
        translation = Translation(
            _checked(grammars), rules_of_schema, limits or Limits(), budget, is_tidy=bool(tidy)
        )
        try:
            lines, start, special = translation.of(Source(text, "the grammar"))
        except RecursionError:
            raise LimitError("the grammar nests too deeply; split its rules") from None
        except GrammarError as error:
            raise with_advice(error, advice(text, "llguidance")) from None
        left_out = tuple(dict.fromkeys(translation.left_out))
        source = (text, grammars, limits, rules_of_schema) if tidy is None else None
        return LlguidanceGrammar(
            "\n".join(lines), start, special=special, left_out=left_out, source=source
        )

    return budget.run(translated)


def _checked(grammars: Any) -> dict[str, Grammar | str]:
    if grammars is None:
        return {}
    if not isinstance(grammars, Mapping) or not all(
        isinstance(name, str) and isinstance(grammar, str | Grammar)
        for name, grammar in grammars.items()
    ):
        raise GrammarError(
            "grammars maps names, without @, to grammars or to texts in llguidance's dialect"
        )
    return dict(grammars)
