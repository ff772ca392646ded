"""Random JSON Schemas, and texts near those that they allow: the automaton against `jsonschema`.

A schema is drawn by its seed. Texts are written token by token, read back, changed, and written by
`json.dumps`; and the law of endings is asked about at places of some texts. Whatever a mask allows
is read, and leads to a text that is valid, also within a budget. What fails is made smaller by
leaving out keywords, and kept as JSON in `crashes/`.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
from support.inputs import random_json_schema
from support.schema_cases import small_vocabulary
from support.schema_walks import SMALL, finder, shorter_ending
from support.schemas import is_valid, mutated, random_value

import cfgguide
from cfgguide import json_schema
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.engine.index.memo import Step
from cfgguide.errors import BudgetError, CfgGuideError, SchemaError
from fuzz.case import CRASHES
from fuzz.compare import (
    Completeness,
    Crash,
    DeadEnd,
    Disagreement,
    Refusal,
    Soundness,
    TooSlow,
    at_most,
)
from fuzz.explore import SECONDS_TO_SHRINK, Report

N_VALUES, N_WALKS, N_MUTATED = 15, 3, 6
MAX_TOKENS, N_FREE = 150, 20  # of a walk; so many before it is steered to an end
SECONDS = 20  # for one schema, of which a second is much
N_ENDINGS, N_PLACES = 2, 8  # texts whose endings are looked at, and places of each
MAX_IN_TIME = 40  # tokens that a text needs which is written within a budget
N_STEPS, N_TRIED = 20, 3  # tokens of a text after which others are tried, and how many of these
#: Options of schemas, each with which whatever is allowed leads to an end.
OPTIONS: tuple[dict[str, bool], ...] = ({}, {"tidy": True, "closed": True})
MAX_READ = 1_000  # tokens that are tried to find a shorter ending
MAX_SHORTENED = 1_000  # tokens of an ending that is made as short as a budget would have it
LONGER = (0, 1, 2, 5, 1_000_000)  # tokens more than the shortest ending has
#: What a schema of all keywords may be refused for.
REFUSALS = (
    *("no value is allowed", "told apart", "itself before", "too long", "suffice"),
    *("whether they suffice", "too large an automaton"),
)
_CLOSING = ('"', "}", "]", "0", "1", "[]", "{}", '""', ":", ",", '"}', '"]')
_CLOSERS = {None, *(word.encode() for word in _CLOSING)}


def draw(seed: int) -> Any:
    """Return the schema of a seed."""
    return random_json_schema(random.Random(seed), is_judged=True)


class Late(Disagreement):
    """A text that has begun fails, or takes too long."""


class UnlawfulEnding(Disagreement):
    """The law of endings does not hold."""


def compare_with_jsonschema(schema: Any, seed: int, counts: Counter[str]) -> None:
    """Compare masks and verdicts with those of the library.

    Raises
    ------
    Disagreement
        If they differ, or nothing may follow a text.
    """
    rng = random.Random(seed)
    values = [random_value(rng) for _ in range(N_VALUES)]
    counts["schemas"] += 1
    try:
        with at_most(SECONDS):
            try:
                grammar: Any = json_schema(schema, formats=False)
            except SchemaError as error:
                _check_refusal(schema, str(error), [json.dumps(value) for value in values])
                return
            counts["schemas compiled"] += 1
            _compare(schema, grammar, values, rng, counts)
            index = cfgguide.compile(grammar, SMALL)
            text = check_endings(index, rng, counts, is_exact=not _is_joint(schema))
            check_memory(index, cfgguide.compile(grammar, SMALL, use_cache=False), text)
            check_steps(schema, rng.choice((SMALL, small_vocabulary())), rng, counts)
    except (CfgGuideError, RecursionError) as error:
        raise Late(f"{type(error).__name__}: {error}") from error
    except TooSlow:
        raise Late(f"it takes more than {SECONDS} seconds") from None
    except (Disagreement, KeyboardInterrupt):
        raise
    except Exception as error:
        raise Crash(f"{type(error).__name__}: {error}") from error


def _check_refusal(schema: Any, message: str, texts: list[str]) -> None:
    if not any(each in message for each in REFUSALS) and _is_schema(schema):
        raise Refusal(message)
    if "no value is allowed" in message:
        for text in texts:
            if is_valid(schema, text):
                raise Refusal(f"{message}; but {text} is valid")


def _is_schema(schema: Any) -> bool:
    """Whether it is one at all: what is left out to make one smaller may be needed."""
    judge = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        judge.check_schema(schema)
    except jsonschema.SchemaError:
        return False
    return True


def _compare(
    schema: Any, grammar: Any, values: list[Any], rng: random.Random, counts: Counter[str]
) -> None:
    recognizer = ByteMachine(grammar.automaton())
    index = cfgguide.compile(grammar, small_vocabulary())
    for _ in range(N_WALKS):
        text = written(index, rng)
        if text is not None:
            if not is_valid(schema, text) and not has_repeated_names(text):
                raise Soundness(f"{text} was written")
            value = json.loads(text)
            values += [value, *(mutated(rng, value) for _ in range(N_MUTATED))]
    for value in values:
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        if is_exact(text):
            counts["texts of schemas"] += 1
            compare_verdict(schema, recognizer, text)


def _is_joint(schema: Any) -> bool:
    """Whether the shortest end of one item may depend on which others come: then it is long."""
    return any(f'"{each}"' in json.dumps(schema) for each in ("uniqueItems", "contains"))


def check_endings(
    index: cfgguide.Index, rng: random.Random, counts: Counter[str], *, is_exact: bool
) -> tuple[int, ...]:
    """Check the law of endings, at places of random texts.

    From each there is an ending. What is allowed within a budget grows with it, and is all that the
    mask allows in the end. The first budget that works is the length of the shortest ending; if all
    that is not longer can be tried, that there is. Where endings are exact, no token leads to one
    that has less bytes. The tokens of the last text are returned.

    Raises
    ------
    UnlawfulEnding
        If it does not hold.
    """
    for _ in range(N_ENDINGS):
        guide = cfgguide.Guide(index)
        for _ in range(N_PLACES):
            if guide.is_finished:
                break
            counts["places of schemas"] += 1
            _check_ending(index, guide, counts)
            if is_exact:
                shorter = shorter_ending(index, finder(index), guide.step)
                if shorter is not None:
                    raise UnlawfulEnding(f"after {guide.text!r}, {shorter!r} is shorter")
            guide.advance(rng.choice(guide.allowed_token_ids().tolist()))
    return guide.token_ids


def check_memory(asked: cfgguide.Index, fresh: cfgguide.Index, text: tuple[int, ...]) -> None:
    """Check that budgets after a text are the same, whatever was asked of other texts before.

    Raises
    ------
    UnlawfulEnding
        If they are not.
    """
    guides = [cfgguide.Guide(index) for index in (asked, fresh)]
    for token_id in text:
        if not guides[0].accepts(token_id) or token_id in asked.vocabulary.eos_token_ids:
            break
        for guide in guides:
            guide.advance(token_id)
    one, other = guides
    n = len(one.shortest_completion())
    for more in (-1, *LONGER):
        if _fits(one, n + more) != _fits(other, n + more) or (
            _fits(one, n + more)
            and one.allowed_within(n + more).tolist() != other.allowed_within(n + more).tolist()
        ):
            raise UnlawfulEnding(f"after {one.text!r}, {n + more} tokens allow what was asked for")


def _check_ending(index: cfgguide.Index, guide: cfgguide.Guide, counts: Counter[str]) -> None:
    ending = guide.shortest_completion()
    if ending is None:
        raise UnlawfulEnding(f"{guide.text!r} has no ending")
    n, step = len(ending), guide.step
    before: set[int] = set()
    for more in LONGER:
        allowed = set(guide.allowed_within(n + more).tolist())
        if not before <= allowed:
            raise UnlawfulEnding(f"after {guide.text!r}, {n + more} tokens allow less than fewer")
        before = allowed
    if before != set(guide.allowed_token_ids().tolist()):
        raise UnlawfulEnding(f"after {guide.text!r}, no budget allows all that may follow")
    if 1 < n <= MAX_SHORTENED and _fits(guide, n - 1):
        raise UnlawfulEnding(f"after {guide.text!r}, less than {n} tokens are enough")
    fewest = _fewest(index, step, n)
    counts["endings that are surely shortest"] += fewest is not None
    if fewest is not None and fewest < n:
        raise UnlawfulEnding(f"after {guide.text!r}, {fewest} tokens are enough, not {n}")
    other = guide.copy()
    for token_id in ending:
        other.advance(token_id)
    if not other.is_finished:
        raise UnlawfulEnding(f"after {guide.text!r}, {ending} is no ending")


def check_steps(
    schema: Any, vocabulary: cfgguide.Vocabulary, rng: random.Random, counts: Counter[str]
) -> None:
    """Check that each token that is allowed is read, and leads to an end; also within a budget.

    Raises
    ------
    Disagreement
        If it does not; or a text that was written is not valid.
    """
    options = rng.choice(OPTIONS)
    try:
        grammar = json_schema(schema, formats=False, **options)
    except SchemaError:  # with members that are declared and no others, no value may be left
        return
    index = cfgguide.compile(grammar, vocabulary)
    texts = [_tried(index, rng, counts)]
    if len(cfgguide.Guide(index).shortest_completion()) <= MAX_IN_TIME:
        texts += [_in_time(index, rng) for _ in range(2)]
    for text in texts:
        if not is_valid(schema, text.decode()) and not has_repeated_names(text.decode()):
            raise Soundness(f"{text!r} was written with {options}")
        if not cfgguide.check(grammar, text).is_sentence:
            raise Soundness(f"{text!r} was written with {options}, and is refused")


def _tried(index: cfgguide.Index, rng: random.Random, counts: Counter[str]) -> bytes:
    """Write a text; at each place of it, read other tokens, too."""
    guide = cfgguide.Guide(index)
    for _ in range(N_STEPS):
        counts["places of schemas"] += 1
        tried = _some(guide, rng, N_TRIED)
        for token_id in tried:
            other = guide.copy()
            other.advance(token_id)
            if not other.is_finished:
                _some(other, rng, 1)
        guide.shortest_completion()
        refused = rng.randrange(index.vocabulary.size)
        str(guide.explain(refused))
        if guide.is_finished or tried[0] in index.vocabulary.eos_token_ids:
            break
        guide.advance(tried[0])
    for token_id in guide.shortest_completion():
        _some(guide, rng, 1)
        guide.advance(token_id)
    return guide.text


def _in_time(index: cfgguide.Index, rng: random.Random) -> bytes:
    """Write a text within a few tokens more than the shortest one has."""
    guide = cfgguide.Guide(index)
    left = len(guide.shortest_completion()) + rng.choice((0, 1, 2, 5, 20))
    while not guide.is_finished:
        allowed = guide.allowed_within(left).tolist()
        if not allowed:
            raise DeadEnd(f"nothing may follow {guide.text!r} within {left} tokens")
        guide.advance(rng.choice(allowed))
        left -= 1
    return guide.text


def _some(guide: cfgguide.Guide, rng: random.Random, n: int) -> list[int]:
    """Return some tokens that may follow, those that close something more often."""
    allowed = guide.allowed_token_ids().tolist()
    if not allowed:
        raise DeadEnd(f"nothing may follow {guide.text!r}")
    tokens = guide.index.vocabulary.tokens
    closing = [each for each in allowed if tokens[each] in _CLOSERS]
    return [rng.choice(closing if closing and rng.random() < 0.7 else allowed) for _ in range(n)]


def _fits(guide: cfgguide.Guide, n: int) -> bool:
    try:
        guide.allowed_within(n)
    except BudgetError:
        return False
    return True


def _fewest(index: cfgguide.Index, step: Step, most: int) -> int | None:
    """Return how many bytes end a text, EOS included, by trying all; None if they are too many.

    A schema's endings have the fewest bytes; tokens of several are not looked for.
    """
    tokens = index.vocabulary.tokens
    single = [each for each, token in enumerate(tokens) if token is not None and len(token) == 1]
    level, seen, n_read = [step], {step.configuration}, 0
    for n in range(1, most):
        following = []
        for here in level:
            allowed = set(index.allowed(here).token_ids().tolist())
            if not allowed.isdisjoint(index.vocabulary.eos_token_ids):
                return n
            for token_id in allowed.intersection(single):
                n_read += 1
                after = index.advance(here, token_id)
                if after is not None and after.configuration not in seen:
                    seen.add(after.configuration)
                    following.append(after)
            if n_read > MAX_READ:
                return None
        level = following
    return most


def compare_verdict(schema: Any, recognizer: ByteMachine, text: str) -> None:
    """Compare the verdicts on one text.

    Raises
    ------
    Disagreement
        If they differ.
    """
    is_right = is_valid(schema, text)
    if reads(recognizer, text) != is_right:
        raise Completeness(f"{text} is refused") if is_right else Soundness(f"{text} is read")


def reads(recognizer: ByteMachine, text: str) -> bool:
    """Return whether a text is a sentence."""
    after = recognizer.advance(recognizer.initial, text.encode())
    return after is not None and recognizer.is_sentence(after)


def has_repeated_names(text: str) -> bool:
    """Return whether a name comes twice; the judge sees the last one only."""
    found: list[bool] = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(text, object_pairs_hook=members)
    return any(found)


def is_exact(text: str) -> bool:
    """Return whether both sides can be asked about a text.

    There are no halves of surrogate pairs and no infinities, which are no JSON, and no exponents,
    which numbers under conditions do not have.
    """
    numbers: list[str] = []
    hooks: Any = {"parse_float": numbers.append, "parse_constant": lambda _: numbers.append("e")}
    json.loads(text, **hooks)
    if any("e" in number.lower() for number in numbers):
        return False
    plain = json.dumps(json.loads(text), ensure_ascii=False)
    return plain.encode(errors="replace").decode() == plain


def written(index: cfgguide.Index, rng: random.Random) -> str | None:
    """Return a text by random tokens, that ends soon if it can; None if it does not.

    Tokens that close something are preferred in the end.

    Raises
    ------
    DeadEnd
        If no token may come.
    """
    tokens = index.vocabulary.tokens
    guide = cfgguide.Guide(index)
    for step in range(MAX_TOKENS):
        allowed = guide.allowed_token_ids().tolist()
        if not allowed:
            raise DeadEnd(f"nothing may follow {guide.text!r}")
        few = [each for each in allowed if tokens[each] in _CLOSERS] if step > N_FREE else []
        guide.advance(rng.choice(few or allowed))
        if guide.is_finished:
            return guide.text.decode()
    return None


def explore_schemas(
    report: Report,
    *,
    first_seed: int,
    examples: int,
    end: float = float("inf"),
    folder: Path = CRASHES,
) -> None:
    """Compare so many random schemas; failures are made small and written to files.

    Parameters
    ----------
    report : Report
        Is added to.
    first_seed : int
        That of the first schema; the others count on from there.
    examples : int
        Number of schemas.
    end : float
        When to stop, by the monotonic clock.
    folder : Path
        Where failures are written.
    """
    for seed in range(first_seed, first_seed + examples):
        if time.monotonic() > end:
            return
        schema = draw(seed)
        try:
            compare_with_jsonschema(schema, seed, report.counts)
        except Disagreement as error:
            report.counts[f"disagreements: {error.kind} of schemas"] += 1
            report.files.append(_kept(schema, seed, error, folder))


def _kept(schema: Any, seed: int, error: Disagreement, folder: Path) -> Path:
    """Write a failure as small as can be found soon."""
    messages = {json.dumps(schema): str(error)}

    def fails(smaller: Any) -> bool:
        try:
            compare_with_jsonschema(smaller, seed, Counter())
        except Disagreement as found:
            messages[json.dumps(smaller)] = str(found)
            return found.kind == error.kind
        return False

    small = minimised_schema(schema, fails, seconds=SECONDS_TO_SHRINK)
    found = {"kind": error.kind, "message": messages[json.dumps(small)], "seed": seed}
    text = json.dumps({**found, "schema": small}, indent=1, ensure_ascii=False) + "\n"
    folder.mkdir(exist_ok=True)
    path = folder / f"schema-{error.kind}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    path.write_text(text, encoding="utf-8")
    return path


def replay(path: Path) -> None:
    """Compare what once failed, again."""
    case = json.loads(path.read_text(encoding="utf-8"))
    compare_with_jsonschema(case["schema"], case["seed"], Counter())


def minimised_schema(schema: Any, fails: Any, *, seconds: float) -> Any:
    """Return a smaller schema that still fails, by leaving out one thing after the other."""
    end = time.monotonic() + seconds
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in smaller_values(schema):
            if time.monotonic() > end:
                return schema
            if fails(smaller):
                schema, is_smaller = smaller, True
                break
    return schema


def smaller_values(part: Any) -> Iterator[Any]:
    """Yield what a part is with one thing less; the outermost things first."""
    if isinstance(part, dict):
        for key in part:
            yield {each: value for each, value in part.items() if each != key}
        for key, value in part.items():
            if isinstance(value, dict | list):
                yield from ({**part, key: each} for each in smaller_values(value))
    elif isinstance(part, list):
        for place in range(len(part)):
            yield [*part[:place], *part[place + 1 :]]
        for place, value in enumerate(part):
            yield from ([*part[:place], each, *part[place + 1 :]] for each in smaller_values(value))
