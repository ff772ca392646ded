"""The tasks with instructor, which asks a server for each text."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Union

import instructor
import openai
import pydantic

from everyday.given import (
    DATE,
    LABELS,
    MAX_NEW_TOKENS,
    Age,
    Days,
    Name,
    Review,
    Reviews,
    news,
    weather,
)

DISTRIBUTION = "instructor"
CANNOT = {
    "a_grammar": "asks for types only",
    "a_schema": "asks for types, not for a dict",
    "thoughts": "the server's own reasoning parser takes thoughts off",
    "a_query": "asks for types only",
    "a_processor": "has no masks",
}


def set_up(server: str, name: str) -> dict[str, Any]:
    options = {"mode": instructor.Mode.JSON_SCHEMA, "model": name}
    return {
        "client": instructor.from_openai(openai.OpenAI(base_url=server, api_key="none"), **options),
        "async_client": instructor.from_openai(
            openai.AsyncOpenAI(base_url=server, api_key="none"), **options
        ),
    }


def an_object(client: Any, chat: Any) -> Any:
    return client.create(response_model=Review, messages=chat, max_tokens=MAX_NEW_TOKENS)


def a_label(client: Any, chat: Any) -> Any:
    return client.create(response_model=Literal[*LABELS], messages=chat)


def a_number(client: Any, chat: Any) -> Any:
    return client.create(response_model=Age, messages=chat)


def a_pattern(client: Any, chat: Any) -> Any:
    return client.create(
        response_model=Annotated[str, pydantic.Field(pattern=f"^{DATE}$")], messages=chat
    )


def objects(client: Any, chat: Any) -> Any:
    return client.create(response_model=Reviews, messages=chat, max_tokens=2 * MAX_NEW_TOKENS)


def a_tool(client: Any, chat: Any) -> Any:
    class Weather(pydantic.BaseModel):
        city: Name
        days: Days

    class News(pydantic.BaseModel):
        topic: Name

    either = Union[Weather, News]  # noqa: UP007  # it takes no `Weather | News`
    call = client.create(response_model=either, messages=chat, max_tokens=MAX_NEW_TOKENS)
    return (weather if isinstance(call, Weather) else news)(**call.model_dump())


def a_stream(client: Any, chat: Any, show: Any) -> None:
    for value in client.create_partial(
        response_model=Review, messages=chat, max_tokens=MAX_NEW_TOKENS
    ):
        show(value)


def a_batch(client: Any, chats: Any) -> Any:
    return [
        client.create(response_model=Review, messages=chat, max_tokens=MAX_NEW_TOKENS)
        for chat in chats
    ]


def samples(client: Any, chat: Any) -> Any:
    return [
        client.create(
            response_model=Review, messages=chat, temperature=1.0, max_tokens=MAX_NEW_TOKENS
        )
        for _ in range(3)
    ]


async def among_others(async_client: Any, chat: Any) -> Any:
    return await async_client.create(
        response_model=Review, messages=chat, max_tokens=MAX_NEW_TOKENS
    )
