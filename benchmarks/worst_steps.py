"""Finds the longest step of each bundled grammar: the first mask at random cuts of texts.

``python benchmarks/worst_steps.py @FILES --tokenizer FOLDER`` cuts texts of each grammar at random.
It measures in processor time, each with an index that knows nothing but the grammar's tables and
the token classes, which `compile` makes: the mask at the cut; a refused token; and that with its
message. A text is read as far as the grammar takes it, so that parts of files try start rules, too.
FILES names a file with a path in each line; a file is a text of the grammars whose extension it
has. Out: a row of a table for each grammar and start rule; with `--digests FILE` also a hash of
each mask, to compare two states of the code.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import tables
from vocabularies import find, open_tokenizer

#: Grammars, with their start rules, and the extension of their texts.
GRAMMARS = {
    "c": (("start", "function", "expression"), ".c"),
    "go": (("start", "function"), ".go"),
    "java": (("start", "function"), ".java"),
    "javascript": (("start", "function"), ".js"),
    "json": (("start",), ".json"),
    "lua": (("start", "function"), ".lua"),
    "pascal": (("start", "function"), ".pas"),
    "postgresql": (("start", "statement"), ".sql"),
    "python": (("start", "function", "expression"), ".py"),
    "python312": (("start",), ".py"),
    "rust": (("start", "function"), ".rs"),
    "sql": (("start", "statement"), ".sql"),
    "sql_select": (("start",), ".sql"),
    "verilog": (("start", "module"), ".v"),
}


def main() -> None:
    options = _options()
    os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    import cfgguide  # after the environment is set

    tokenizer = open_tokenizer(find(options.tokenizer))
    vocabulary = cfgguide.Vocabulary.from_tokenizer(
        tokenizer.fast, eos_token_ids=tokenizer.eos_token_id, size=tokenizer.size
    )
    listed = Path(options.files.removeprefix("@")).read_text(encoding="utf-8").splitlines()
    rows, digests = [], {}
    for name, (starts, extension) in GRAMMARS.items():
        if options.grammar and name not in options.grammar:
            continue
        texts = [
            path.read_text(encoding="utf-8", errors="ignore")
            for path in map(Path, listed)
            if path.suffix == extension
        ]
        for start in starts:
            for tidy in (False, True):
                grammar = cfgguide.Grammar.bundled(name, start=start, tidy=tidy)
                if tidy and grammar == cfgguide.Grammar.bundled(name, start=start):
                    continue
                label = f"{name} {start}{' tidy' * tidy}"
                found = _measure(cfgguide, grammar, vocabulary, tokenizer, texts, options)
                digests[label] = found.pop()
                rows.append([label, *found])
                print(*rows[-1], flush=True)
    head = ["grammar", "masks", "mask, ms", "after", "refusal, ms", "message, ms"]
    print("\n".join(tables.table(head, rows)))
    if options.digests:
        Path(options.digests).write_text(json.dumps(digests))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", help="@FILE: a file with the path of a source in each line")
    parser.add_argument("--tokenizer", required=True, help="a folder")
    parser.add_argument("--grammar", action="append", help="only these")
    parser.add_argument("--cuts", type=int, default=20, help="of each grammar and start rule")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--digests", help="where to write hashes of the masks")
    return parser.parse_args()


def _measure(
    cfgguide: Any, grammar: Any, vocabulary: Any, tokenizer: Any, texts: list[str], options: Any
) -> list[Any]:
    """Return the number of masks, the longest steps, and hashes of all masks."""
    rng = random.Random(options.seed)
    compiled = cfgguide.compile(grammar, vocabulary)

    def fresh_guide(configuration: Any = None) -> Any:
        """Return a guide whose index knows what a compiled one does, and no mask."""
        machine = compiled.machine
        liveness = type(machine.liveness)(
            machine.recognizer, vocabulary.spelling, always_live=machine.liveness.always_live
        )
        index = type(compiled)(type(machine)(machine.recognizer, liveness), vocabulary)
        index.masks.token_classes.trie = compiled.masks.token_classes.trie
        guide = cfgguide.Guide(index)
        if configuration is not None:
            guide._steps = [(type(index.start)(configuration), -1, False)]
        return guide

    row = np.zeros((vocabulary.size + 31) // 32, np.int32)
    masks, refusals, messages, digests = [(0.0, b"")], [0.0], [0.0], []
    for _ in range(options.cuts if texts else 0):
        text = rng.choice(texts)
        begin = 0 if rng.random() < 0.5 else rng.randrange(len(text) + 1)
        token_ids = tokenizer.encode(text[begin : begin + rng.randrange(1, 3000)].lstrip())
        guide = fresh_guide()
        for token_id in token_ids:
            if not guide.accepts(token_id):
                break
            guide.advance(token_id)
        at_cut = fresh_guide(guide.configuration)
        started = time.process_time()
        at_cut.fill_bitmask(row)
        masks.append((time.process_time() - started, guide.text[-20:]))
        digests.append(hashlib.sha256(row.tobytes()).hexdigest()[:16])
        refused = rng.choice(np.flatnonzero(~_unpacked(row, vocabulary.size)).tolist())
        at_cut = fresh_guide(guide.configuration)
        started = time.process_time()
        try:
            at_cut.advance(refused)
        except cfgguide.TokenRejectedError as error:
            refusals.append(time.process_time() - started)
            str(error)
            messages.append(time.process_time() - started)
    longest, after = max(masks)
    times = [f"{1000 * seconds:.0f}" for seconds in (max(refusals), max(messages))]
    return [str(len(digests)), f"{1000 * longest:.0f}", repr(after), *times, digests]


def _unpacked(row: Any, size: int) -> Any:
    return np.unpackbits(row.view(np.uint8), bitorder="little")[:size].astype(bool)


if __name__ == "__main__":
    main()
