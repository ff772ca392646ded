"""JSON Schema by MaskBench's protocol: the first mask, the masks of instances, and who is right.

In: schemas with instances labelled valid or not, as files or folders (:mod:`schema_cases`), and a
tokenizer. Out: a report in Markdown, and with ``--out`` all single results. Each engine has a
process; the engines take turns, schema by schema (:mod:`schema_runs`). ``python
benchmarks/maskbench.py --help`` tells the options; `benchmarks/README.md` what the figures mean.

    python benchmarks/maskbench.py data.jsonl.gz --tokenizer path/to/qwen2.5 --sample 60

MaskBench is by guidance-ai (github.com/guidance-ai/jsonschemabench). What differs here: times are
processor time, and an instance is accepted only if EOS is allowed after it.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import schema_cases
import schema_tables
from engines import BEFORE, SCHEMA_ENGINES
from measuring import MeasuringError
from schema_cases import Case
from schema_runs import Run, Runner, Setting
from schema_tables import Results
from tqdm import tqdm
from vocabularies import Tokenizer, find, open_tokenizer

LIMIT = 10.0  # seconds
MEMORY = 8.0  # GB


def main() -> None:
    options = _options()
    cases = schema_cases.drawn(options.paths, options.sample, options.seed)
    doubts: list[str] = []
    if options.check_labels:
        cases, doubts = _checked(cases)
    folder = find(options.tokenizer)
    tokenizer = open_tokenizer(folder)
    runners, absent = started(options, folder)
    for name, reason in absent.items():
        print(f"{name} is left out: {reason}", file=sys.stderr)
    if not runners:
        raise SystemExit("none of the engines is installed")
    results = in_turns(runners, cases, tokenizer)
    for line in _written(results, doubts, options, tokenizer):
        print(line)
    if options.out:
        options.out.write_text(json.dumps(_as_json(results, tokenizer)), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path, help="files or folders of schemas")
    parser.add_argument("--tokenizer", required=True, help="a folder, as for masks.py")
    names = [name for name in SCHEMA_ENGINES if name != BEFORE]
    parser.add_argument(
        "--engines", nargs="+", choices=names, default=names, help="default: all; the first leads"
    )
    parser.add_argument(
        "--before", type=Path, help="another checkout of cfgguide, measured as the engine `before`"
    )
    parser.add_argument("--sample", type=int, help="only so many schemas, drawn by the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="seconds for a schema with its instances"
    )
    parser.add_argument(
        "--memory", type=float, default=MEMORY, help="GB of data that an engine may have; 0: any"
    )
    parser.add_argument("--warm", action="store_true", help="read all instances once more")
    parser.add_argument(
        "--check-labels", action="store_true", help="believe no label that jsonschema contradicts"
    )
    parser.add_argument("--out", type=Path, help="file of JSON for all single results")
    options = parser.parse_args()
    if options.before:
        options.engines.insert(1, BEFORE)
    return options


def _checked(cases: list[Case]) -> tuple[list[Case], list[str]]:
    """Return cases without the labels that are not believed, and which those are."""
    pairs = [schema_cases.check_labels(case) for case in tqdm(cases, "labels", disable=None)]
    return [case for case, _ in pairs], [doubt for _, doubts in pairs for doubt in doubts]


def started(options: argparse.Namespace, folder: Path) -> tuple[dict[str, Runner], dict[str, str]]:
    """Return the processes of the engines, and why others have none."""
    runners: dict[str, Runner] = {}
    absent: dict[str, str] = {}
    for name in options.engines:
        if SCHEMA_ENGINES[name].version is None:
            absent[name] = f"not installed: `{SCHEMA_ENGINES[name].pip}`"
            continue
        # One thread each, as MaskBench has it: a service runs as many texts as it has cores.
        environment = {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "CFGGUIDE_CACHE": "off"}
        if name == BEFORE:
            environment["PYTHONPATH"] = str(options.before.resolve())
        setting = Setting(name, str(folder), options.limit, options.memory, options.warm)
        try:
            runners[name] = Runner(setting, environment)
        except MeasuringError as error:
            absent[name] = f"failed: {error}"
    return runners, absent


def in_turns(runners: dict[str, Runner], cases: list[Case], tokenizer: Tokenizer) -> Results:
    """Lead all engines through all cases, in turns; through fewer if the user interrupts."""
    results = Results(cases, [], {name: [] for name in runners})
    try:
        for case in tqdm(cases, "schemas", disable=None):
            tokens = []
            results.spans.append([])
            for instance in case.instances:
                encoded = tokenizer.fast(
                    instance.text, add_special_tokens=False, return_offsets_mapping=True
                )
                tokens.append(encoded["input_ids"])
                results.spans[-1].append(encoded["offset_mapping"])
            for name, runner in runners.items():
                results.runs[name].append(runner.run(case.schema, tokens))
    except KeyboardInterrupt:
        print("interrupted: this is about the schemas so far", file=sys.stderr)
    for runner in runners.values():
        runner.close()
    n = min(map(len, results.runs.values()), default=0)
    return Results(cases[:n], results.spans[:n], {name: results.runs[name][:n] for name in runners})


def _written(
    results: Results, doubts: list[str], options: argparse.Namespace, tokenizer: Tokenizer
) -> list[str]:
    """Return the report with its title, and the labels that were doubted."""
    versions = ", ".join(f"{name} {SCHEMA_ENGINES[name].version}".rstrip() for name in results.runs)
    lines = [
        f"## MaskBench: {', '.join(path.name for path in options.paths)}",
        "",
        f"{tokenizer.name}, {tokenizer.size:,} ids; {versions}; {time.strftime('%Y-%m-%d')}, "
        f"{platform.machine()}, Python {platform.python_version()}; limit {options.limit:g} s.",
        "",
        *schema_tables.report(results, is_warm=options.warm),
    ]
    if doubts:
        lines += ["", "### Labels", "", *(f"* {doubt}" for doubt in doubts)]
    return lines


def _as_json(results: Results, tokenizer: Tokenizer) -> dict[str, Any]:
    """Return every single result."""
    runs: dict[str, list[Run]] = results.runs
    return {
        "arguments": sys.argv[1:],
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "tokenizer": tokenizer.name,
        "versions": {name: SCHEMA_ENGINES[name].version for name in runs},
        "schemas": [
            {
                "id": case.name,
                "bytes": case.size,
                "valid": [instance.is_valid for instance in case.instances],
                "engines": {
                    name: asdict(found[number])
                    | {"verdicts": [each.verdict for each in results.decided(name, number)]}
                    for name, found in runs.items()
                },
            }
            for number, case in enumerate(results.cases)
        ],
    }


if __name__ == "__main__":
    main()
