"""Measures masks: cfgguide and other engines, same documents, same vocabularies, same run.

``python benchmarks/masks.py --help`` tells the options, `benchmarks/README.md` what the figures
mean. Each engine runs in a process of its own (:mod:`measuring`); the processes take turns, round
by round, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import documents
import reporting
from comparing import Texts, compare
from engines import ENGINES, FLOOR, REFERENCE
from judging import JUDGES
from measuring import Job, MeasuringError, Run, run
from tables import Measured
from vocabularies import Tokenizer, open_tokenizer, write_standard_library_tokenizer

ROUNDS, WARM_PASSES = 5, 5
QUICK_DOCUMENTS = 6


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = options.tokenizer or [write_standard_library_tokenizer(folder)]
        report = reporting.Report.begun(sys.argv[1:], options.grammar, options.documents)
        for number, path in enumerate(paths):
            work = folder / str(number)
            work.mkdir()
            report.measured.append(_measure(path, options, work))
    report.end()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    plain = json.dumps(reporting.as_json(report), indent=1, ensure_ascii=False)
    options.results.write_text(plain + "\n", encoding="utf-8")
    print(reporting.as_markdown(report))
    if options.write:
        options.write.write_text(reporting.as_page(report), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--grammar", choices=["json"], default="json")
    parser.add_argument(
        "--tokenizer",
        type=Path,
        nargs="+",
        help="tokenizer.json files or their folders; default: trained on the standard library",
    )
    parser.add_argument(
        "--documents",
        default=documents.DEFAULT,
        help="folder of .json files, or JSON lines with a `text` each; default: made here",
    )
    parser.add_argument("--repeats", type=int, default=ROUNDS, help="processes for each engine")
    parser.add_argument("--passes", type=int, default=WARM_PASSES, help="warm passes in a process")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--quick", action="store_true", help="few documents, one round")
    parser.add_argument("--write", type=Path, help="also write the report as a page")
    parser.add_argument(
        "--results", type=Path, default=Path(__file__).parent / "results" / "masks.json"
    )
    options = parser.parse_args()
    if options.quick:
        options.repeats, options.passes = 1, 1
    return options


def _measure(path: Path, options: argparse.Namespace, work: Path) -> Measured:
    """Measure all engines with one tokenizer."""
    tokenizer = open_tokenizer(path)
    texts, skipped = _texts(tokenizer, options)
    tokens = work / "tokens.json"
    tokens.write_text(json.dumps(texts.documents), encoding="utf-8")
    jobs = {
        name: Job(
            name, options.grammar, str(path), str(tokens), options.passes, texts.sampled_steps()
        )
        for name in options.engines
    }
    rounds = _Rounds(jobs, work)
    rounds.measure(options.repeats)
    firsts = {name: runs[0] for name, runs in rounds.runs.items() if name != FLOOR}
    return Measured(
        tokenizer=tokenizer.name,
        size=tokenizer.size,
        n_documents=len(texts.documents),
        n_steps=texts.n_steps,
        skipped=skipped,
        runs=rounds.runs,
        comparisons=compare(firsts, REFERENCE, texts, JUDGES.get(options.grammar)),
        first_ever=rounds.first_ever,
        absent=rounds.absent,
    )


def _texts(tokenizer: Tokenizer, options: argparse.Namespace) -> tuple[Texts, list[str]]:
    """Return the documents as tokens, and the names of those that these do not spell."""
    token_bytes = tokenizer.token_bytes()
    chosen: list[list[int]] = []
    skipped = []
    for name, text in documents.read(options.documents).items():
        tokens = tokenizer.encode(text)
        if b"".join(token_bytes[token] or b"" for token in tokens) == text.encode():
            chosen.append(tokens)
        else:
            skipped.append(name)
    if options.quick:
        del chosen[QUICK_DOCUMENTS:]
    return Texts(chosen, token_bytes, tokenizer.eos_token_id, tokenizer.added_tokens()), skipped


class _Rounds:
    """Runs the engines' processes in turns."""

    def __init__(self, jobs: dict[str, Job], work: Path) -> None:
        self.runs: dict[str, list[Run]] = {}
        self.first_ever: dict[str, float] = {}
        self.absent: dict[str, str] = {}
        self._jobs = jobs
        self._work = work
        self._environments: dict[str, dict[str, str]] = {}

    def measure(self, repeats: int) -> None:
        for name in self._jobs:
            entry = ENGINES[name]
            if entry.version is None:
                self.absent[name] = f"not installed: `{entry.pip}`"
            else:
                self._prepare(name)
        for number in range(repeats):
            for name in self._jobs:
                if name not in self.absent:
                    _progress(f"{name}: round {number + 1} of {repeats}")
                    self._run(name)

    def _prepare(self, name: str) -> None:
        """Give the engine an empty folder for its kernels, and let it fill that."""
        # Two OpenMP threads on a busy machine are slower than one, and less steady.
        self._environments[name] = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        variable = ENGINES[name].kernel_cache
        if variable is None:
            return
        _progress(f"{name}: kernels")
        self._environments[name][variable] = str(self._work / "kernels")
        nothing = self._work / "nothing.json"
        nothing.write_text("[]", encoding="utf-8")
        job = self._jobs[name]
        first = Job(name, job.grammar, job.tokenizer, str(nothing), n_warm_passes=0)
        try:
            found = run(first, self._work, self._environments[name])
        except MeasuringError as error:
            self.absent[name] = f"failed: {error}"
        else:
            self.first_ever[name] = found.seconds["compile"]

    def _run(self, name: str) -> None:
        try:
            found = run(self._jobs[name], self._work, self._environments[name])
        except MeasuringError as error:
            self.absent[name] = f"failed: {error}"
            self.runs.pop(name, None)
        else:
            self.runs.setdefault(name, []).append(found)


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
