"""What is declared before any library is used: the same types, texts and functions for all."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic

MAX_NEW_TOKENS = 100


class Review(pydantic.BaseModel):
    """An opinion."""

    mood: Literal["good", "bad"]
    stars: int = pydantic.Field(ge=1, le=5)
    comment: str = pydantic.Field(max_length=40)


Age = Annotated[int, pydantic.Field(ge=0, le=120)]
Reviews = Annotated[list[Review], pydantic.Field(min_length=1, max_length=2)]
LABELS = ["positive", "negative", "neutral"]
DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
#: The same language twice; Lark and llguidance read the first, GBNF and XGrammar the second.
SUM_LARK = 'start: NUMBER "+" NUMBER ("+" NUMBER)?\nNUMBER: /[0-9]{1,3}/\n'
SUM_EBNF = 'root ::= number "+" number ("+" number)?\nnumber ::= [0-9] [0-9]? [0-9]?\n'
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 20},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TABLES = {"books": ["title", "author", "year"]}

Name = Annotated[str, pydantic.Field(max_length=20)]
Days = Annotated[int, pydantic.Field(ge=1, le=7)]


def weather(city: Name, days: Days) -> str:
    """Tell the weather of a city for some days."""
    return f"weather of {city!r} for {days + 0} days"


def news(topic: Name) -> str:
    """Tell the news about a topic."""
    return f"news about {topic!r}"
