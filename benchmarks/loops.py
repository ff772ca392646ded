"""Measures how a model's loops end: with the budget, and closed where they began.

In: SmolLM2, which writes greedily, and a table of questions, topics and schemas. Out: how many of
its answers loop, as a search that knows nothing of grammars has it; of these, how many end before
the tokens run out, are valid, and have the loop closed in the value where it began, without
``repetition`` and with it. And how many repetitions that were asked for are cut: a table says what
is wanted, and a model that wants it writes it. ::

    python benchmarks/loops.py --wanted 200 --answers loops.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import cfgguide
from cfgguide.models import load_model

BATCH = 20
N_TOKENS = 256
TOPICS = (
    "a dragon", "the sea", "a train journey", "winter", "a small bakery", "the moon", "a lost dog",
    "an old clock", "a river", "a market", "a robot", "the desert", "a violin", "a lighthouse",
    "coffee", "a football match", "a garden", "a library", "the wind", "a birthday",
    "a volcano", "the night", "a castle", "a bridge", "bread", "an island", "a school", "the rain",
    "a forest", "an airport", "a kitchen", "a hospital", "the sun", "a mountain", "a pirate",
    "a bicycle", "chess", "a painter", "the harbour", "a snake",
    "a camel", "the circus", "a wedding", "an oak tree", "a submarine", "a museum", "honey",
    "a thunderstorm", "a tailor", "a chicken", "the jungle", "a candle", "a marathon", "a piano",
    "an astronaut", "a waterfall", "a postman", "cheese", "a windmill", "a frozen lake",
    "a farm", "the subway", "a magician", "a cave", "a balloon", "a dentist", "the stars",
    "a ferry", "a beehive", "a theatre", "a nurse", "an elephant", "a sandcastle", "a tunnel",
    "a carnival", "a shepherd", "fog", "a racing car", "a treasure", "a wolf",
)  # fmt: skip


def object_of(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with just these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_STRING, _WHOLE = {"type": "string"}, {"type": "integer"}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


#: What is asked, how the answer begins, and what it is.
FORMS: dict[str, tuple[str, str, Any]] = {
    "words": (
        "List words that describe {topic}, and say what the list is for.",
        "",
        object_of(words=_array(_STRING), purpose=_STRING),
    ),
    "values": (
        "Give measurements of {topic} as whole numbers, and their unit.",
        "",
        object_of(values=_array(_WHOLE), unit=_STRING),
    ),
    "steps": (
        "Make a plan with steps about {topic}: each with a name and minutes.",
        "",
        object_of(steps=_array(object_of(name=_STRING, minutes=_WHOLE)), owner=_STRING),
    ),
    "tale": (
        "Tell a very long story about {topic}, and its author.",
        '{"story": "Once upon a time',
        object_of(story=_STRING, author=_STRING),
    ),
    "number": (
        "How heavy is {topic} in kilograms, with all digits?",
        '{"weight": 3.',
        cfgguide.json_schema(
            object_of(weight={"type": "number"}, unit=_STRING), separators=(", ", ": ")
        ),
    ),
}


class Answer(NamedTuple):
    """An answer that loops, without `repetition` and with it."""

    form: str
    prompt: str
    before: Any
    after: Any


def loops(text: str, repetition: cfgguide.Repetition) -> bool:
    """Return whether some beginning of a text ends in a period so often and so long: naively."""
    assert repetition.repeats is not None
    for end in range(repetition.characters, len(text) + 1):
        for period in range(1, end // repetition.repeats + 1):
            length = max(repetition.repeats * period, repetition.characters)
            begin = end - length
            if begin >= 0 and text[begin + period : end] == text[begin : end - period]:
                return True
    return False


def answers(model: Any, form: str, topics: list[str], repetition: Any) -> list[Any]:
    """Return what the model writes about some topics."""
    question, prefix, what = FORMS[form]
    prompts = [[{"role": "user", "content": question.format(topic=each)}] for each in topics]
    written: list[Any] = []
    for begin in range(0, len(prompts), BATCH):
        some = prompts[begin : begin + BATCH]
        written += cfgguide.generate(
            model, some, what, prefix=prefix, max_new_tokens=N_TOKENS, progress=False,
            repetition=repetition,
        )  # fmt: skip
    return written


def is_closed(written: Any) -> bool:
    """Return whether the first loop has hardly gone on after it was found."""
    if not written.notes or not written.is_complete:
        return False
    loop = written.notes[0]
    goes_on = written.text.startswith((loop.repeats + 2) * loop.period, loop.character)
    return not goes_on


def asked_for() -> Iterator[Any]:
    """Yield values that repeat, since somebody wants them to: two hundred."""
    yield from ([number] * 40 for number in range(100))
    syllables = [f"{first}{second}" for first in "bdfghklmnprstvwyz" for second in "aeiou"]
    yield from (syllable * 20 for syllable in syllables[:80])
    yield from ([word] * 20 for word in ("a", "b", "c", "d", "", "0", "1", "x", "no", "so"))
    yield from (([0] * n + [1]) * (40 // (n + 1)) for n in range(10))


def is_cut(value: Any, tokenizer: Any, index: Any, repetition: Any) -> bool:
    """Return whether a value is cut though a model wants to write it."""
    wanted = json.dumps(value)
    ids = tokenizer.encode(wanted, add_special_tokens=False)

    def model(token_ids: Any) -> Any:
        logits = np.zeros(index.vocabulary.size)
        n = len(token_ids)
        next_id = ids[n] if n < len(ids) else index.vocabulary.eos_token_ids[0]
        logits[next_id] = 1
        return logits

    written = cfgguide.sample(
        model, index=index, max_new_tokens=2 * N_TOKENS, temperature=0, repetition=repetition
    )
    return written.text != wanted


def n_tokens(written: Any) -> int:
    """Return how many tokens an answer has."""
    return int(written.n_model_calls + written.n_forced)


def looping(
    model: Any, form: str, topics: list[str], repetition: cfgguide.Repetition
) -> list[Answer]:
    """Return the answers about some topics that loop, before and after."""
    texts = answers(model, form, topics, False)
    before = {
        topic: text
        for topic, text in zip(topics, texts, strict=True)
        if loops(text.text, repetition)
    }
    afterwards = answers(model, form, [*before], repetition) if before else []
    question = FORMS[form][0]
    return [
        Answer(form, question.format(topic=topic), text, after)
        for (topic, text), after in zip(before.items(), afterwards, strict=True)
    ]


def report(name: str, n_asked: int, found: list[Answer]) -> str:
    """Return a row of the table: of all answers that loop."""
    cells = [name, f"{len(found)} of {n_asked}"]
    for texts in ([each.before for each in found], [each.after for each in found]):
        lengths = [n_tokens(each) for each in texts]
        cells.append(str(sum(length < N_TOKENS for length in lengths)))
        cells.append(str(sum(each.is_complete for each in texts)))
        cells.append(str(sum(is_closed(each) for each in texts)))
        cells.append(f"{np.mean(lengths or [0]):.0f}")
    return f"| {' | '.join(cells)} |"


def as_json(answer: Answer) -> str:
    """Return an answer as a line of JSON."""
    after = answer.after
    found = {
        "form": answer.form,
        "prompt": answer.prompt,
        "before": answer.before.text,
        "after": after.text,
        "notes": [str(each) for each in after.notes],
        "tokens": [n_tokens(answer.before), n_tokens(after)],
        "is_valid": [answer.before.is_complete, after.is_complete],
        "is_closed": is_closed(after),
    }
    return json.dumps(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--topics", type=int, default=len(TOPICS), help="of each form, at most")
    parser.add_argument("--first", type=int, default=0, help="the number of the first topic")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=list(FORMS))
    parser.add_argument("--wanted", type=int, default=200, help="stop at so many that loop")
    parser.add_argument("--repeats", type=int, default=cfgguide.Repetition().repeats)
    parser.add_argument("--characters", type=int, default=cfgguide.Repetition().characters)
    parser.add_argument("--answers", type=Path, help="where those that loop go, as lines of JSON")
    options = parser.parse_args()
    repetition = cfgguide.Repetition(repeats=options.repeats, characters=options.characters)
    model, tokenizer = load_model()
    index = cfgguide.compile({}, tokenizer)
    values = list(asked_for())
    n_cut = sum(is_cut(each, tokenizer, index, repetition) for each in values)
    print(f"{n_cut} of {len(values)} repetitions that were asked for are cut\n", flush=True)
    found: dict[str, list[Answer]] = {form: [] for form in options.forms}
    n_asked = dict.fromkeys(options.forms, 0)
    topics = TOPICS[options.first : options.topics]
    rounds = [list(topics[begin : begin + BATCH]) for begin in range(0, len(topics), BATCH)]
    for some, form in ((some, form) for some in rounds for form in options.forms):
        if sum(map(len, found.values())) >= options.wanted:
            break
        begun = time.perf_counter()
        more = looping(model, form, some, repetition)
        found[form] += more
        n_asked[form] += len(some)
        took = time.perf_counter() - begun
        print(f"{report(form, len(some), more)} {took:.0f} s", file=sys.stderr, flush=True)
        if options.answers is not None:
            with options.answers.open("a", encoding="utf-8") as file:
                file.writelines(f"{as_json(each)}\n" for each in more)
    print("| form | loop | ended | valid | closed | tokens | ended | valid | closed | tokens |")
    print("| --- " * 10 + "|")
    for form in options.forms:
        print(report(form, n_asked[form], found[form]))
    print(report("all", sum(n_asked.values()), [each for some in found.values() for each in some]))


if __name__ == "__main__":
    main()
