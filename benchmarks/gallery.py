"""Public grammars, each as it is: does it work, with which parser, and what does it cost.

In: the gallery (`gallery/README.md`) and a tokenizer. Out: a section with a row for each grammar:
whether it compiles and decides the gallery's texts as Lark does, Lark's parser and lexer that it
was read for, the seconds until the index is there, the first mask, and the worst mask while the
sentences are read token by token; or why not.

    python benchmarks/gallery.py [NAME ...] [--parser own|auto] [--tokenizer FOLDER]
    python benchmarks/gallery.py --judge [NAME ...]

With ``--judge``, Lark alone is asked whether it loads each grammar with the options of its own
project, parses the sentences, and refuses the other texts; the status is 1 if it does not.

Each grammar has a process of its own, a fork, which is killed after 120 seconds, and may take 4 GB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import tables
from gallery_entries import AUTO, GRAMMARS, OWN, Entry, disagreements, entries
from page import RESULTS, Section
from vocabularies import GEMMA, Tokenizer, find, open_tokenizer, write_standard_library_tokenizer

import cfgguide
from cfgguide.errors import CfgGuideError

SECONDS, BYTES = 120, 4 * 10**9
WORKS, REFUSED, WRONG, TOO_SLOW, TOO_LARGE, RAW = (
    "works",
    "refused",
    "decides wrongly",
    f"over {SECONDS} s",
    f"over {BYTES // 10**9} GB",
    "raw error",
)
OUTCOMES = (WORKS, REFUSED, WRONG, TOO_SLOW, TOO_LARGE, RAW)
_LETTER = 'start: "a"'
_SHOWN = 100  # characters of a reason


@dataclass
class Outcome:
    """What became of a grammar.

    Attributes
    ----------
    name, outcome, why : str
        Its name, one of `OUTCOMES`, and the first line of the error or the text decided wrongly.
    parser, lexer : str
        Lark's, for which it was read.
    compile : float
        Seconds until the index was there.
    first, worst : float
        Milliseconds of the first mask, and of the slowest while the sentences were read.
    n_tokens : int
        Of the sentences, as far as they were read.
    n_bytes : int
        By which the process grew at most.
    """

    name: str
    outcome: str = RAW
    why: str = ""
    parser: str = ""
    lexer: str = ""
    compile: float = float("nan")
    first: float = float("nan")
    worst: float = float("nan")
    n_tokens: int = 0
    n_bytes: int = 0


@dataclass(frozen=True)
class Texts:
    """The texts of an entry as tokens.

    Attributes
    ----------
    sentences, others : list of (str, list of int)
        Each text, and its tokens.
    """

    sentences: list[tuple[str, list[int]]] = field(default_factory=list)
    others: list[tuple[str, list[int]]] = field(default_factory=list)


def main() -> None:
    options = _options()
    known = entries()
    for name in options.names:
        if name not in known:
            sys.exit(f"no grammar of the gallery is called {name!r}")
    chosen = [known[name] for name in options.names or known]
    if options.judge:
        sys.exit(_judge(chosen))
    section = Section.begun("gallery", "Public grammars")
    with tempfile.TemporaryDirectory() as folder:
        path = find(options.tokenizer) if options.tokenizer else None
        tokenizer = open_tokenizer(path or write_standard_library_tokenizer(Path(folder)))
    outcomes = measured(chosen, tokenizer, options.parser)
    section.lines = _lines(outcomes, tokenizer)
    section.figures = {"outcomes": [asdict(outcome) for outcome in outcomes]}
    section.write(options.results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="some of the grammars; default: all")
    parser.add_argument(
        "--judge", action="store_true", help="ask Lark whether the gallery is right"
    )
    parser.add_argument(
        "--parser",
        choices=(OWN, AUTO),
        default=OWN,
        help="the parser and lexer of each grammar's own project, or those that cfgguide chooses",
    )
    parser.add_argument("--tokenizer", help=f"as for masks.py, {GEMMA!r} included")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the figures")
    return parser.parse_args()


def _judge(chosen: Sequence[Entry]) -> int:
    """Print where Lark says something else than the gallery; return the status."""
    n_wrong = 0
    for entry in chosen:
        for line in disagreements(entry):
            n_wrong += 1
            print(f"{entry.name}: {line}")
    refused = [entry.name for entry in chosen if entry.refused_by_lark]
    n_sentences = sum(len(entry.sentences) for entry in chosen)
    n_others = sum(len(entry.others) for entry in chosen)
    print(
        f"{len(chosen)} grammars, {n_sentences} sentences, {n_others} other texts; Lark disagrees "
        f"{n_wrong} times. It does not load {', '.join(refused) or 'none'}, as the gallery says."
    )
    return 1 if n_wrong else 0


def measured(chosen: Sequence[Entry], tokenizer: Tokenizer, parser: str) -> list[Outcome]:
    """Measure grammars, each in a process of its own."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    vocabulary = cfgguide.Vocabulary.from_tokenizer(
        tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
    )
    cfgguide.compile(
        cfgguide.Grammar(_LETTER), vocabulary, use_cache=False
    )  # imports, and the trie
    outcomes = []
    for entry in chosen:
        print(entry.name, end=": ", file=sys.stderr, flush=True)
        texts = Texts(
            [(text, tokenizer.encode(text)) for text in entry.sentences],
            [(text, tokenizer.encode(text)) for text in entry.others],
        )
        outcome = _in_a_process(entry, texts, vocabulary, parser)
        outcomes.append(outcome)
        print(f"{outcome.outcome} {outcome.why}", file=sys.stderr, flush=True)
    return outcomes


def _in_a_process(
    entry: Entry, texts: Texts, vocabulary: cfgguide.Vocabulary, parser: str
) -> Outcome:
    """Return what becomes of a grammar in a fork of this process."""
    forked = multiprocessing.get_context("fork")
    receiving, sending = forked.Pipe(duplex=False)
    process = forked.Process(target=_child, args=(sending, entry, texts, vocabulary, parser))
    process.start()
    sending.close()
    outcome = Outcome(entry.name)
    end = time.monotonic() + SECONDS
    try:  # each message is what is known so far
        while receiving.poll(max(0.0, end - time.monotonic())):
            outcome = receiving.recv()
        outcome.outcome, outcome.why = TOO_SLOW, "killed"
    except EOFError:
        pass
    process.kill()
    process.join()
    if outcome.outcome == RAW and not outcome.why:
        outcome.why = f"the process ended with {process.exitcode}"
    return outcome


def _child(
    sending: Connection,
    entry: Entry,
    texts: Texts,
    vocabulary: cfgguide.Vocabulary,
    parser: str,
) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES + _address_space(), resource.RLIM_INFINITY))
    outcome = Outcome(entry.name)
    before = _most_resident()
    try:
        with warnings.catch_warnings(action="ignore"):
            _measure(outcome, entry, texts, vocabulary, parser, sending)
    except CfgGuideError as error:
        outcome.outcome, outcome.why = REFUSED, _first_line(str(error))
    except MemoryError:
        outcome.outcome, outcome.why = TOO_LARGE, "MemoryError"
    except Exception as error:  # a bug, which the table shows
        outcome.outcome, outcome.why = RAW, _first_line(f"{type(error).__name__}: {error}")
    outcome.n_bytes = _most_resident() - before
    sending.send(outcome)
    sending.close()


def _first_line(message: str) -> str:
    """Return the first line; with the next if it ends in a colon, and without the folder."""
    first, *others = message.replace(f"{GRAMMARS}{os.sep}", "").splitlines()
    return f"{first} {others[0].strip()}" if first.endswith(":") and others else first


def _measure(
    outcome: Outcome,
    entry: Entry,
    texts: Texts,
    vocabulary: cfgguide.Vocabulary,
    parser: str,
    sending: Connection,
) -> None:
    """Compile, make the masks of the texts, and note what is found."""
    grammar = entry.grammar(parser)
    lark_options = grammar.lark_options
    outcome.parser, outcome.lexer = lark_options["parser"], lark_options["lexer"]
    started = time.perf_counter()
    index = cfgguide.compile(grammar, vocabulary, use_cache=False)
    outcome.compile = time.perf_counter() - started
    sending.send(outcome)
    reader = _Reader(index, vocabulary)
    outcome.first = outcome.worst = reader.fill(cfgguide.Guide(index))
    wrong = ""
    for text, tokens in texts.sentences:
        if not reader.is_accepted(tokens):
            wrong = wrong or f"refuses {text!r}"
        outcome.n_tokens += reader.n_read
        outcome.worst = max(outcome.worst, reader.worst)
        sending.send(outcome)
    for text, tokens in texts.others:
        if reader.is_accepted(tokens):
            wrong = wrong or f"accepts {text!r}"
    outcome.outcome, outcome.why = (WRONG, wrong) if wrong else (WORKS, "")


class _Reader:
    """Reads texts as a model would write them: by masks, token by token."""

    def __init__(self, index: cfgguide.Index, vocabulary: cfgguide.Vocabulary) -> None:
        self._index = index
        (self._eos,) = vocabulary.eos_token_ids
        self._mask = np.zeros((len(vocabulary.tokens) + 31) // 32, dtype=np.int32)
        self.n_read = 0
        self.worst = 0.0

    def fill(self, guide: cfgguide.Guide) -> float:
        """Make a mask; return its milliseconds."""
        started = time.perf_counter()
        guide.fill_bitmask(self._mask)
        return (time.perf_counter() - started) * 1000

    def is_accepted(self, tokens: Sequence[int]) -> bool:
        """Return whether each token is allowed after those before it, and EOS at the end."""
        guide = cfgguide.Guide(self._index)
        self.n_read, self.worst = 0, 0.0
        for token in [*tokens, self._eos]:
            self.worst = max(self.worst, self.fill(guide))
            if not self._mask[token >> 5] >> (token & 31) & 1:
                return False
            if token != self._eos:
                guide.advance(token)
                self.n_read += 1
        return True


def _most_resident() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def _lines(outcomes: Sequence[Outcome], tokenizer: Tokenizer) -> list[str]:
    """Return how many grammars came to what, and a row for each."""
    known = entries()
    loaded = [outcome for outcome in outcomes if not known[outcome.name].refused_by_lark]
    counts = {kind: sum(each.outcome == kind for each in loaded) for kind in OUTCOMES}
    lines = [
        f"Tokenizer: {tokenizer.name}, {tokenizer.size:,} ids. Of {len(loaded)} grammars that Lark "
        f"loads: {', '.join(f'{n} {kind}' for kind, n in counts.items() if n)}.",
        "",
    ]
    head = ["grammar", "works as it is", "Lark's parser, lexer", "compile, s", "first mask, ms"]
    head += ["worst mask, ms", "tokens", "MB", "why not"]
    return [*lines, *tables.table(head, [_row(outcome) for outcome in outcomes]), ""]


def _row(outcome: Outcome) -> list[str]:
    figures = (outcome.compile, outcome.first, outcome.worst)
    why = f"{outcome.outcome}: {outcome.why}" if outcome.outcome != WORKS else ""
    if entries()[outcome.name].refused_by_lark:
        why += " (Lark does not load it)"
    return [
        outcome.name,
        "yes" if outcome.outcome == WORKS else "no",
        f"{outcome.parser}, {outcome.lexer}" if outcome.parser else "-",
        *("-" if value != value else tables.number(value) for value in figures),
        str(outcome.n_tokens),
        f"{outcome.n_bytes / 1e6:.0f}",
        _in_a_cell(why),
    ]


def _in_a_cell(text: str) -> str:
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return short.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()
