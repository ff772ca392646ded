"""Strings that stand word for word in a text, as a type and as a keyword of a schema.

In: a text, and what a quote is made of. Out: a :class:`Quote`, which Pydantic takes in
``Annotated[str, Quote(text)]``; the schema of such a string has the keyword `QUOTE`, which
:meth:`Quote.of_keyword` reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cfgguide.automata.language import accepts
from cfgguide.automata.pieces import UNITS, PieceAutomaton, Unit
from cfgguide.errors import CfgGuideError, GrammarError, LimitError, SchemaError, shown
from cfgguide.grammar.combinators.patterns import check_encodable
from cfgguide.schema.keywords import QUOTE

if TYPE_CHECKING:
    from pydantic_core import core_schema

MAX_CHARACTERS = 1_000_000  # of a text
_ARGUMENTS = ("text", "unit", "max_length")


@dataclass(frozen=True)
class Quote:
    """A string of a type that stands word for word in a text.

    Parameters
    ----------
    text : str
        The text, of at most 1,000,000 characters.
    unit : {"characters", "words", "sentences"}
        Of what a quote is made, as in :func:`cfgguide.quote_of`.
    max_length : int, optional
        The most units of a quote.

    Raises
    ------
    GrammarError
        If the text has no such unit, or an argument is wrong.
    LimitError
        If it is too long.

    Examples
    --------
    >>> from typing import Annotated
    >>> import cfgguide
    >>> report = Quote("The valve broke at noon. Nobody was hurt.", "sentences")
    >>> evidence = list[Annotated[str, report]]
    >>> answers = ('["Nobody was hurt."]', '["Nobody was harmed."]')
    >>> [cfgguide.check(evidence, each).is_sentence for each in answers]
    [True, False]
    """

    text: str
    unit: Unit = "characters"
    max_length: int | None = None

    def __post_init__(self) -> None:
        text, unit, max_length = self.text, self.unit, self.max_length
        if not isinstance(text, str):
            raise GrammarError(f"what is quoted is a text, not {shown(text)}")
        if unit not in UNITS:
            raise GrammarError(f"unit is {shown(unit)}; it is one of {', '.join(UNITS)}")
        if max_length is not None and (type(max_length) is not int or max_length < 1):
            raise GrammarError(
                f"max_length is {shown(max_length)}; it is a number from 1 up, or None"
            )
        if len(text) > MAX_CHARACTERS:
            raise LimitError(
                f"the text has {len(text)} characters, and at most {MAX_CHARACTERS} can be quoted; "
                "give the part that matters"
            )
        check_encodable(text)
        if self.pieces.is_empty:
            raise GrammarError(f"there is nothing to quote: the text {shown(text)} has no {unit}")

    @classmethod
    def of_keyword(cls, value: Any) -> Quote:
        """Return what the keyword `QUOTE` of a schema means.

        Raises
        ------
        SchemaError
            If it means nothing.
        """
        if not isinstance(value, dict) or not {"text"} <= value.keys() <= {*_ARGUMENTS}:
            names = ", ".join(_ARGUMENTS)
            raise SchemaError(f"{QUOTE} is an object with {names}, of which text has to be there")
        try:
            return cls(**value)
        except CfgGuideError as error:
            raise SchemaError(str(error.args[0])) from None

    def __reduce__(self) -> tuple[type[Quote], tuple[str, Unit, int | None]]:
        return type(self), (self.text, self.unit, self.max_length)

    @cached_property
    def pieces(self) -> PieceAutomaton:
        """The automaton of what may be quoted."""
        return PieceAutomaton(self.text, self.unit, self.max_length)

    @property
    def told(self) -> str:
        """What a model is told of it."""
        n, unit = self.max_length, self.unit
        bound = "" if n is None else f", of at most {n} {unit[:-1] if n == 1 else unit}"
        return f"{self.unit} of the text as they stand there{bound}"

    def checked(self, value: str) -> str:
        """Return a value if it is a quote.

        Raises
        ------
        ValueError
            Otherwise.
        """
        if not accepts(self.pieces, value):
            raise ValueError(f"{shown(value)} is not {self.unit} of the text as they stand there")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self.checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        made: dict[str, Any] = handler(schema)
        if made.get("type") != "string":
            raise GrammarError(
                "Quote stands at a str, as in Annotated[str, Quote(text)], and not where the "
                f"schema is {shown(made)}"
            )
        return {**made, QUOTE: {name: getattr(self, name) for name in _ARGUMENTS}}
