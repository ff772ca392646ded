"""Measures whether a model gives more right values if the prompt says what is to be written.

In: SmolLM2, and three tasks with references: messages to sort into an enumeration, sentences to
take a small model's fields from, and reviews to judge. Out: a table of the share of right values,
field by field, without a description and with one in each style, and the difference with a
bootstrap interval over the examples. Both sides write greedily under the same mask. ::

    python benchmarks/described.py --examples 40
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

import cfgguide
from cfgguide.models import load_model

STYLES = ("typescript", "json_schema", "example")
BATCH = 20
RESAMPLES = 4_000
#: Messages of customers, and who answers them.
MESSAGES = {
    "billing": (
        "I was charged twice for the same month.",
        "Why is there a fee of 5 euros on my invoice?",
        "My credit card was declined but the money is gone.",
        "Please send me a receipt for my last payment.",
        "The price on the invoice is not the one you promised.",
        "I want my money back for the subscription.",
        "Can I pay by bank transfer instead of card?",
        "Your invoice has the wrong tax number.",
        "You took the annual fee although I pay monthly.",
        "How much do I owe you for March?",
    ),
    "shipping": (
        "My parcel has not arrived yet.",
        "The courier left the box at the wrong house.",
        "Can you deliver on Saturday?",
        "The tracking number does not work.",
        "When will my package be delivered?",
        "The box arrived wet and open.",
        "Please send the order to my new street instead.",
        "The driver never rang my door bell.",
        "Half of the parcel is missing.",
        "Do you also ship to Norway?",
    ),
    "technical": (
        "The app crashes when I open the camera.",
        "The screen stays black after the update.",
        "I get error 504 on every page.",
        "The sound is broken since version 3.",
        "The printer does not connect to the wireless network.",
        "Your program uses all the memory of my laptop.",
        "Synchronising photos never ends.",
        "The export button does nothing.",
        "The keyboard types every letter twice.",
        "Installing fails with a message about drivers.",
    ),
    "account": (
        "I forgot my password.",
        "Please delete my profile.",
        "How do I change my user name?",
        "Somebody else logged in as me.",
        "I cannot sign in with my email address.",
        "My account is locked after three attempts.",
        "How can I turn on two-factor login?",
        "Please merge my two profiles.",
        "I want to change the email that I log in with.",
        "The confirmation email for signing up never came.",
    ),
}
#: Reviews, what each is about, and whether its author would come again.
REVIEWS = (
    ("The soup was cold and the meat was burnt.", "food", False),
    ("Best pasta that I ever had!", "food", True),
    ("The bread was fresh and the cake delicious.", "food", True),
    ("My salad had a hair in it. Disgusting.", "food", False),
    ("The fish tasted old.", "food", False),
    ("Wonderful dumplings, crisp and juicy.", "food", True),
    ("The curry was full of flavour.", "food", True),
    ("The pizza was soggy and had no taste.", "food", False),
    ("The dessert alone is worth the trip.", "food", True),
    ("Rice undercooked, chicken dry.", "food", False),
    ("The waiter was rude and ignored us.", "service", False),
    ("Our waitress was friendly and quick.", "service", True),
    ("We waited an hour until anybody came.", "service", False),
    ("The staff helped us with the pram and smiled all evening.", "service", True),
    ("They forgot our order twice and never said sorry.", "service", False),
    ("The owner greeted us like old friends.", "service", True),
    ("The manager shouted at my mother.", "service", False),
    ("Attentive staff who know every guest by name.", "service", True),
    ("Nobody brought us the menu.", "service", False),
    ("The waiters are the kindest in town.", "service", True),
    ("Ten euros for a glass of water is robbery.", "price", False),
    ("Cheap and generous, a bargain.", "price", True),
    ("Far too expensive for what you get.", "price", False),
    ("A whole menu for eight euros, I could not believe it.", "price", True),
    ("They charged us for the bread and the cutlery.", "price", False),
    ("Fair prices, and children eat for free.", "price", True),
    ("I paid sixty euros for a small plate. Never again.", "price", False),
    ("The lunch costs less than cooking at home.", "price", True),
    ("The bill was twice what the menu said.", "price", False),
    ("Good value, the cheapest in the street.", "price", True),
)
_FIRST = ("Maria", "John", "Aisha", "Pedro", "Yuki", "Olga", "Samuel", "Ingrid", "Ravi", "Chloe")
_LAST = (
    "Lopez",
    "Smith",
    "Khan",
    "Silva",
    "Tanaka",
    "Petrova",
    "Okafor",
    "Berg",
    "Patel",
    "Martin",
)
_CITIES = ("Lisbon", "Oslo", "Cairo", "Lima", "Kyoto", "Prague", "Lagos", "Quito", "Delhi", "Nice")
_SENTENCES = (
    "{first} {last}, {age}, moved from {other} to {city} last spring to work as a nurse.",
    "At {age}, {first} {last} runs a bakery in {city}; her sister lives in {other}.",
    "After ten years in {other}, the painter {first} {last} ({age}) came back to {city}.",
    "{city} is where {first} {last} lives. On Monday, after a trip to {other}, he turned {age}.",
)

Department = Literal["billing", "shipping", "technical", "account"]


class Person(BaseModel):
    """The person whom a sentence is about."""

    family_name: Annotated[str, Field(description="The last name alone, in CAPITAL letters")]
    years: Annotated[int, Field(ge=0, le=150, description="The age")]
    place: Annotated[str, Field(description="The city where they live now, without the country")]


class Opinion(BaseModel):
    """What a guest thinks of a restaurant."""

    about: Annotated[
        Literal["food", "service", "price"], Field(description="What the review is about")
    ]
    returns: Annotated[bool, Field(description="Whether the guest is happy, and would come again")]


class Task(NamedTuple):
    """A question, what to write, and examples: a text with the right values by field."""

    name: str
    question: str
    what: Any
    examples: list[tuple[str, dict[str, Any]]]


def tasks(n: int) -> list[Task]:
    """Return the three tasks, with so many examples at most."""
    rng = random.Random(0)
    sorted_messages = [
        (text, {"department": name}) for name, texts in MESSAGES.items() for text in texts
    ]
    people = []
    for number in range(len(_FIRST) * len(_SENTENCES)):
        first, last = rng.choice(_FIRST), rng.choice(_LAST)
        city, other = rng.sample(_CITIES, 2)
        age = rng.randrange(18, 90)
        text = _SENTENCES[number % len(_SENTENCES)].format(
            first=first, last=last, city=city, other=other, age=age
        )
        people.append((text, {"family_name": last.upper(), "years": age, "place": city}))
    reviews = [(text, {"about": about, "returns": again}) for text, about, again in REVIEWS]
    made = (
        Task("sort", "Who should answer this message?", Department, sorted_messages),
        Task("extract", "Who is this sentence about?", Person, people),
        Task("judge", "What does this review say?", Opinion, reviews),
    )
    return [
        task._replace(examples=rng.sample(task.examples, min(n, len(task.examples))))
        for task in made
    ]


def right_values(model: Any, task: Task, describe: Any) -> dict[str, list[bool]]:
    """Return whether each example's values are right, by field."""
    prompts = [
        [{"role": "user", "content": f"{task.question}\n\n{text}"}] for text, _ in task.examples
    ]
    written: list[Any] = []
    for begin in range(0, len(prompts), BATCH):
        some = prompts[begin : begin + BATCH]
        written += cfgguide.generate(
            model, some, task.what, describe=describe, max_new_tokens=64, progress=False
        )
    found: dict[str, list[bool]] = {}
    for each, (_, right) in zip(written, task.examples, strict=True):
        value = each.parsed if each.is_complete else None
        for name, wanted in right.items():
            given = value if isinstance(value, str) else getattr(value, name, None)
            found.setdefault(name, []).append(given == wanted)
    return found


def interval(before: Sequence[bool], after: Sequence[bool]) -> tuple[float, float]:
    """Return the middle 95 % of the difference of two shares, over examples drawn again."""
    differences = np.array(after, float) - np.array(before, float)
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(differences), size=(RESAMPLES, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--examples", type=int, default=40, help="of each task, at most")
    parser.add_argument("--styles", nargs="+", choices=STYLES, default=STYLES)
    options = parser.parse_args()
    model = load_model()
    print(f"| task, field | n | not described | {' | '.join(options.styles)} |")
    print("| --- " * (len(options.styles) + 3) + "|")
    for task in tasks(options.examples):
        every = [right_values(model, task, style) for style in (False, *options.styles)]
        for name in every[0]:
            before = every[0][name]
            cells = [f"{np.mean(before):.2f}"]
            for after in every[1:]:
                low, high = interval(before, after[name])
                cells.append(f"{np.mean(after[name]):.2f} ({low:+.2f} to {high:+.2f})")
            print(f"| {task.name}, {name} | {len(before)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
