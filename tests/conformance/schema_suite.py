"""The official test suite of JSON Schema, in all drafts: is each instance decided as it says?

``python tests/conformance/schema_suite.py FOLDER ...`` reads a checkout of the suite, with the
folders `tests` and `remotes`; the source distribution of the library `jsonschema` has one in
`json`. Formats are comments in the files named "format", as the suite wants it, and conditions
elsewhere. The documents in `remotes` are the registry. Verdicts are those of the automaton; with
``--text`` also those of Lark, which parses the texts with the grammar as it is written. Listed are
the schemas that are refused, by reason, and the instances that are decided wrongly; the exit status
is 1 if one is accepted that is invalid. FILE.jsonl instead of a folder has a case in each line.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lark
from tqdm import tqdm

import cfgguide
from cfgguide.engine.byte_machine.byte_machine import ByteMachine
from cfgguide.schema.json_schema import json_schema

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.lark_search import no_search_for_overlaps

_DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
_BASE = "http://localhost:1234/"  # of the documents in `remotes`


class Group(NamedTuple):
    """A schema of the suite, with the instances that it decides."""

    draft: str
    name: str
    schema: Any
    instances: list[tuple[str, bool]]
    registry: dict[str, Any]


def main() -> int:
    """Run the suite; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="only groups whose names have this")
    parser.add_argument("--text", action="store_true", help="ask Lark, too")
    parser.add_argument("--quiet", action="store_true", help="only the tables")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    groups = [group for path in options.paths for group in _groups(path)]
    counts: dict[str, Counter[str]] = {}
    refused: dict[str, list[str]] = {}
    times: list[float] = []
    for group in tqdm(groups, disable=None):
        if options.only not in group.name:
            continue
        count = counts.setdefault(group.draft, Counter())
        count["schemas"] += 1
        began = time.process_time()
        try:
            grammar = _grammar(group)
        except cfgguide.CfgGuideError as error:
            if not any(valid for _, valid in group.instances) and "no value is" in str(error):
                count["right"] += len(group.instances)  # there is nothing to write
                continue
            count["refused"] += 1
            refused.setdefault(_reason(str(error)), []).append(f"{group.name}: {error}")
            continue
        times.append(time.process_time() - began)
        for line in _decide(group, grammar, count, ask_lark=options.text):
            if not options.quiet:
                print(line)
    print("| draft | schemas | refused | instances | accepted wrongly | refused wrongly |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for draft, count in counts.items():
        n = count["right"] + count["accepted"] + count["rejected"]
        row = [count["schemas"], count["refused"], n, count["accepted"], count["rejected"]]
        print(f"| {draft} | " + " | ".join(map(str, row)) + " |")
    for reason, examples in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f"  {len(examples):4} {reason}\n       such as {examples[0][:200]}")
    times.sort()
    print(f"a grammar took {1000 * times[len(times) // 2]:.1f} ms (p50), {1000 * times[-1]:.0f} ms")
    return int(any(count["accepted"] for count in counts.values()))


def _groups(path: Path) -> Iterator[Group]:
    """Yield the groups of a checkout of the suite, or of a file of cases."""
    if path.is_file():
        yield from _groups_of_lines(path)
        return
    documents = {
        _BASE + file.relative_to(path / "remotes").as_posix(): json.loads(file.read_text())
        for file in sorted((path / "remotes").rglob("*.json"))
    }
    for draft, uri in _DRAFTS.items():
        folder = path / "tests" / draft
        for file in sorted(folder.rglob("*.json")):
            for group in json.loads(file.read_text(encoding="utf-8")):
                schema = group["schema"]
                if isinstance(schema, dict) and "$schema" not in schema:
                    schema = {"$schema": uri, **schema}
                instances = [(json.dumps(each["data"]), each["valid"]) for each in group["tests"]]
                name = f"{draft}:{file.relative_to(folder).as_posix()}: {group['description']}"
                yield Group(draft, name, schema, instances, documents)


def _groups_of_lines(path: Path) -> Iterator[Group]:
    found: dict[str, Group] = {}
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        case = json.loads(line)
        name = case["id"].rsplit(".", 1)[0]
        group = found.setdefault(name, Group(path.stem, name, case["schema"], [], {}))
        group.instances.append((case["text"], case["expected"] == "accept"))
    yield from found.values()


def _grammar(group: Group) -> Any:
    is_comment = re.search(r":(?:format|optional/format-annotation)\.json", group.name) is not None
    return json_schema(group.schema, formats=not is_comment, registry=group.registry)


def _decide(group: Group, grammar: Any, count: Counter[str], *, ask_lark: bool) -> Iterator[str]:
    """Count how the instances are decided, and yield a line for each that is decided wrongly."""
    judges = [_automaton_of(grammar)]
    if ask_lark:
        with no_search_for_overlaps():
            judges.append(_lark_of(grammar))
    for text, valid in group.instances:
        verdicts = {judge(text) for judge in judges}
        if verdicts == {valid}:
            count["right"] += 1
            continue
        count["rejected" if valid else "accepted"] += 1
        yield f"{'refused' if valid else 'ACCEPTED'} {group.name}: {text}"


def _automaton_of(grammar: Any) -> Any:
    recognizer = ByteMachine(grammar.automaton())

    def accepts(text: str) -> bool:
        read = recognizer.advance(recognizer.initial, text.encode())
        return read is not None and recognizer.is_sentence(read)

    return accepts


def _lark_of(grammar: Any) -> Any:
    parse = lark.Lark(grammar.text, parser="lalr").parse

    def accepts(text: str) -> bool:
        try:
            parse(text)
        except lark.exceptions.UnexpectedInput:
            return False
        return True

    return accepts


def _reason(message: str) -> str:
    """Return an error without what is special to one schema."""
    message = re.sub(r"^\[schema\] at \S*: ", "", message)
    return re.sub(r"'[^']*'|\d+|http\S+|/\S+", "...", message)[:90]


if __name__ == "__main__":
    raise SystemExit(main())
