"""Counts what fifteen everyday tasks take with each library, and judges what each one writes.

In: the snippets in `everyday/`, a module a library, and SmolLM2. Out: a table of the statements and
lines of each task, and how many of three texts were valid, if not all were. A library runs in an
environment where it is installed, and one that asks a server asks the one that is named::

    python benchmarks/everyday_tasks.py --run cfgguide
    path/to/its/python benchmarks/everyday_tasks.py --run outlines
    path/to/its/python benchmarks/everyday_tasks.py --run instructor --server http://localhost:8000/v1
    python benchmarks/everyday_tasks.py

The judges are Pydantic, jsonschema, re, Lark and SQLite; they know of no engine. A statement is a
node `stmt` of Python's own syntax tree, those of nested blocks included, `import` apart; but a name
that is read once does not count, since its value could stand there: style decides nothing.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import datetime
import importlib
import importlib.metadata
import inspect
import itertools
import json
import re
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from everyday.given import DATE, LABELS, SCHEMA, SUM_LARK, TABLES, Age, Review

LIBRARIES = ("cfgguide", "outlines", "instructor", "guidance", "xgrammar")
FOLDER = Path(__file__).parent / "everyday"
RESULTS = Path(__file__).parent / "results"
NAME = "smollm2"  # of the model, for a server


# -- what is asked, and what is right -------------------------------------------------------


def _is_review(value: object) -> bool:
    return isinstance(value, Review) and bool(Review.model_validate(value.model_dump()))


def _are_reviews(values: list[object], at_least: int = 3) -> bool:
    return at_least <= len(values) <= 3 and all(map(_is_review, values))


def _is_number(value: object) -> bool:
    import pydantic

    return pydantic.TypeAdapter(Age).validate_python(value, strict=True) == value


def _is_sum(value: str) -> bool:
    import lark

    return bool(lark.Lark(SUM_LARK).parse(value))


def _follows_schema(value: object) -> bool:
    import jsonschema

    jsonschema.validate(value, SCHEMA)
    return True


def _is_told(value: str) -> bool:
    return bool(re.fullmatch(r"weather of '.*' for [1-7] days|news about '.*'", value))


def _grows(values: list[Any]) -> bool:
    """Whether the values so far are beginnings of the last, which is whole, and more than two."""
    plain = [_plain(value) for value in values]
    last = plain[-1]
    are_beginnings = all(_begins(value, last) for value in plain)
    n_values = len({repr(value) for value in plain})
    return bool(Review.model_validate(last)) and are_beginnings and n_values > 2


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else value.model_dump(exclude_none=True, warnings=False)


def _begins(value: Any, whole: Any) -> bool:
    if isinstance(value, dict) and isinstance(whole, dict):
        return all(key in whole and _begins(value[key], whole[key]) for key in value)
    if isinstance(value, str) and isinstance(whole, str):
        return whole.startswith(value)
    return bool(value == whole)


def _is_thought(value: tuple[str, object]) -> bool:
    return isinstance(value[0], str) and _is_review(value[1])


def _prepares(query: str) -> bool:
    with sqlite3.connect(":memory:") as database:
        for table, columns in TABLES.items():
            database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
        database.execute(f"EXPLAIN {query}")
    return True


REVIEWS = [
    f"A guest says: '{said}' Their review as JSON with mood, stars and comment:\n"
    for said in ("The soup was cold.", "Best pizza in town!", "Nice rooms, rude waiters.")
]


@dataclass(frozen=True)
class Task:
    """What is asked for.

    Attributes
    ----------
    title : str
        Its row in the table.
    prompts : list of str
        One for each text.
    is_right : callable
        Whether a value is valid; may raise what its library raises.
    system : str
        The first message of the chat, if there is one.
    """

    title: str
    prompts: list[str]
    is_right: Callable[[Any], bool]
    system: str = ""

    def chat(self, prompt: str) -> list[dict[str, str]]:
        """Return a prompt as messages."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": prompt}]


TASKS = {
    "an_object": Task("a Pydantic model", REVIEWS, _is_review),
    "a_label": Task(
        "one of three labels",
        [f"Is '{said}' positive, negative or neutral? It is " for said in ("Yay", "Oh no", "Hm")],
        lambda value: value in LABELS,
    ),
    "a_number": Task(
        "a whole number with bounds",
        [f"The age of {who} in years: " for who in ("a baby", "a pupil", "a grandmother")],
        _is_number,
    ),
    "a_pattern": Task(
        "a regular expression",
        [f"The date of {what}, as year-month-day: " for what in ("D-Day", "Christmas", "9/11")],
        lambda value: bool(re.fullmatch(DATE, value)),
    ),
    "a_grammar": Task(
        "a grammar of one's own",
        [f"{what} as a sum: " for what in ("Ten", "Two dozen", "A hundred")],
        _is_sum,
    ),
    "a_schema": Task(
        "a JSON Schema as a dict, asked in a chat",
        [
            f"I will be in {city} for {n} days."
            for city, n in (("Rome", 3), ("Oslo", 7), ("Bonn", 1))
        ],
        _follows_schema,
        "Answer with JSON: a city, and how many days.",
    ),
    "objects": Task(
        "a list of models",
        [f"{prompt}As a JSON array of one or two: " for prompt in REVIEWS],
        lambda value: _are_reviews(value, 1),
    ),
    "a_tool": Task(
        "one of two functions, called",
        [
            f"{what} Call weather(city, days) or news(topic) by its name and JSON: "
            for what in ("Rain in Rome this week?", "What is new in chess?", "Snow in Oslo?")
        ],
        _is_told,
    ),
    "a_stream": Task("a model as it is written", REVIEWS, _grows),
    "a_batch": Task("three prompts", REVIEWS, _are_reviews),
    "samples": Task("three samples of a prompt", REVIEWS, _are_reviews),
    "thoughts": Task("thoughts, then a model", REVIEWS, _is_thought),
    "a_query": Task(
        "SQL over the tables of a database",
        [
            f"SQL for the table books(title, author, year). {what}: "
            for what in ("All", "Old", "New")
        ],
        _prepares,
    ),
    "a_processor": Task("a logits processor in `model.generate`", REVIEWS, _is_review),
    "among_others": Task("a model, among other tasks of asyncio", REVIEWS, _is_review),
}


# -- the snippets, counted ------------------------------------------------------------------


def counts(library: str) -> dict[str, tuple[int, int]]:
    """Return the statements and the lines of each snippet of a library, and of its imports."""
    tree = ast.parse((FOLDER / f"{library}_tasks.py").read_text(encoding="utf-8"))
    ours = ("__future__", "typing", "everyday.given")
    imports = [
        each
        for each in tree.body
        if isinstance(each, ast.Import | ast.ImportFrom)
        and getattr(each, "module", None) not in ours
    ]
    return {
        "imports": (len(imports), len(imports)),
        **{
            each.name: (_n_statements(each), each.body[-1].end_lineno - each.body[0].lineno + 1)
            for each in tree.body
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        },
    }


def _n_statements(function: ast.AST) -> int:
    """Return the statements of a function, but for names that are read once."""
    nodes = list(ast.walk(function))
    names = [each for each in nodes if isinstance(each, ast.Name)]
    read = Counter(each.id for each in names if isinstance(each.ctx, ast.Load))
    n_once = sum(
        isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and read[each.targets[0].id] == 1
        for each in nodes
    )
    return sum(isinstance(each, ast.stmt) for each in nodes) - 1 - n_once


def reasons(library: str) -> dict[str, str]:
    """Return the tasks that a library cannot do, and why, without importing it."""
    tree = ast.parse((FOLDER / f"{library}_tasks.py").read_text(encoding="utf-8"))
    for each in tree.body:
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        if any(isinstance(name, ast.Name) and name.id == "CANNOT" for name in targets):
            found: dict[str, str] = ast.literal_eval(each.value)  # type: ignore[attr-defined]
            return found
    raise AssertionError(f"{library} does not say what it cannot do")


# -- the snippets, run ----------------------------------------------------------------------


def run(library: str, tasks: Iterable[str], server: str | None) -> dict[str, Any]:
    """Return which texts of some tasks were valid, and what was wrong with the others."""
    module = importlib.import_module(f"everyday.{library}_tasks")
    there: dict[str, Any] = {"server": server, "name": NAME}
    if not server:
        from cfgguide.models import load_model

        there["loaded"] = model, tokenizer = load_model()
        there |= {"model": model, "tokenizer": tokenizer}
    if set_up := getattr(module, "set_up", None):
        there |= _call(set_up, there)
    outcomes = {}
    for name in [each for each in tasks if each not in module.CANNOT]:
        task = TASKS[name]
        outcomes[name] = [
            _outcome(getattr(module, name), task, there, prompt) for prompt in task.prompts
        ]
        print(f"{task.title}: {outcomes[name]}", flush=True)
    return {
        "version": importlib.metadata.version(module.DISTRIBUTION),
        "date": datetime.date.today().isoformat(),
        "outcomes": outcomes,
    }


def _outcome(
    function: Callable[..., Any], task: Task, there: Mapping[str, Any], prompt: str
) -> str:
    """Return "valid", or what is wrong."""
    asked = {
        "prompt": prompt,
        "chat": task.chat(prompt),
        "prompts": task.prompts,
        "chats": [task.chat(each) for each in task.prompts],
    }
    shown: list[Any] = []
    value: Any = None
    try:
        value = _call(function, {**there, **asked, "show": shown.append})
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        value = shown or value
        return "valid" if task.is_right(value) else f"not right: {value!r:.200}"
    except Exception as error:  # whatever a library raises is what its user sees
        traceback.print_exc()
        return f"{type(error).__name__}: {str(error).strip():.200} ({value!r:.100})"


async def _awaited(value: Any) -> Any:
    return await value


def _call(function: Callable[..., Any], there: Mapping[str, Any]) -> Any:
    return function(**{name: there[name] for name in inspect.signature(function).parameters})


# -- the table ------------------------------------------------------------------------------


def report() -> list[str]:
    """Return the table, and what it leaves out, as lines of Markdown."""
    counted = {library: counts(library) for library in LIBRARIES}
    ran = {library: _result(library) for library in LIBRARIES}
    lines = ["| task | " + " | ".join(_heading(each, ran[each]) for each in LIBRARIES) + " |"]
    lines.append("| --- |" + " ---: |" * len(LIBRARIES))
    for name, title in (("imports", "imports"), ("set_up", "once, after the model is loaded")):
        cells = [" / ".join(map(str, counted[each].get(name, (0, 0)))) for each in LIBRARIES]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    for name, task in TASKS.items():
        cells = [_cell(counted[each].get(name), ran[each], name) for each in LIBRARIES]
        lines.append(f"| {task.title} | {' | '.join(cells)} |")
    lines.append("")
    for library in LIBRARIES:
        lines += [
            f"* {library}, {TASKS[name].title}: {why}" for name, why in reasons(library).items()
        ]
    lines.append("")
    for library, name in itertools.product(LIBRARIES, TASKS):
        wrong = [each for each in ran[library]["outcomes"].get(name, ()) if each != "valid"]
        lines += (
            [f"* {library}, {TASKS[name].title}, {len(wrong)} of 3: {wrong[0]}"] if wrong else []
        )
    return lines


def _result(library: str) -> dict[str, Any]:
    path = RESULTS / f"everyday-{library}.json"
    if not path.exists():
        return {"outcomes": {}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _heading(library: str, ran: dict[str, Any]) -> str:
    return f"{library} {ran['version']}" if "version" in ran else f"{library}, not run"


def _cell(count: tuple[int, int] | None, ran: dict[str, Any], name: str) -> str:
    if count is None:
        return "-"
    found = ran["outcomes"].get(name, ())
    n_valid = sum(each == "valid" for each in found)
    return f"{count[0]} / {count[1]}" + (f", {n_valid} of 3" if n_valid < len(found) else "")


def main() -> None:
    """Run a library, or print the table of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", choices=LIBRARIES, help="run its snippets in this environment")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="some only")
    parser.add_argument("--server", help=f"for instructor: a server with a model named {NAME}")
    options = parser.parse_args()
    if not options.run:
        print("\n".join(report()))
        return
    before = _result(options.run)["outcomes"]
    found = run(options.run, options.tasks, options.server)
    found["outcomes"] = before | found["outcomes"]
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"everyday-{options.run}.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
