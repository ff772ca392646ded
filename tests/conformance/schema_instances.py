"""Texts sampled from schemas: does the library `jsonschema` take every one of them?

``python tests/conformance/schema_instances.py FOLDER [FILE ...]`` takes schemas from lines of JSON
with "id" and "schema", as the official test suite has them, and makes ``--random`` more. For each
it writes ``--each`` texts in the tokens of FOLDER with random logits, finished within ``--tokens``:
half of them with all tokens alike, half with a few likely ones. `jsonschema` judges them, numbers
as they are written and formats as far as it knows them. The exit status is 1 if a text is refused
or not finished.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm
from transformers import AutoTokenizer

import cfgguide
from cfgguide.errors import SchemaError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.schemas import is_valid, random_schema


def schemas_of(files: list[Path], n: int, rng: random.Random) -> list[Any]:
    """Return so many different schemas of some files, in random order."""
    found: dict[str, Any] = {}
    for path in files:
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            case = json.loads(line)
            if "ecmascript-regex" not in case["id"]:  # which is about what `re` reads otherwise
                found[json.dumps(case["schema"])] = case["schema"]
    schemas = list(found.values())
    rng.shuffle(schemas)
    return schemas[:n]


def main() -> int:
    """Sample and judge; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tokenizer", help="a folder")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--schemas", type=int, default=1000, help="at most so many of the files")
    parser.add_argument("--random", type=int, default=0, help="so many more, made at random")
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=60, help="at most, unless none is so short")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(
        AutoTokenizer.from_pretrained(options.tokenizer)
    )
    rng = random.Random(options.seed)
    schemas = schemas_of(options.files, options.schemas, rng)
    schemas += [random_schema(rng) for _ in range(options.random)]
    counts: Counter[str] = Counter()
    began = time.process_time()
    for number, schema in enumerate(tqdm(schemas, disable=None)):
        try:
            grammar = cfgguide.json_schema(schema, max_whitespace=1)
        except SchemaError:
            counts["schemas refused"] += 1
            continue
        counts["schemas"] += 1
        index = cfgguide.compile(grammar, vocabulary)
        shortest = len(cfgguide.Guide(index).shortest_completion())
        for seed in range(options.each):
            noise = np.random.default_rng([options.seed, number, seed])

            def logits(_: Any, noise: Any = noise, scale: int = 8 * (seed % 2)) -> Any:
                return scale * noise.standard_normal(vocabulary.size)

            written = cfgguide.sample(
                logits, index=index, max_new_tokens=shortest + options.tokens, seed=noise
            )
            counts["texts"] += 1
            counts["tokens"] += len(written.token_ids)
            try:
                is_right = written.is_complete and is_valid(schema, written.text, formats=True)
            except re.error:
                counts["texts"] -= 1
                counts["texts with patterns that the judge cannot read"] += 1
                continue
            if not is_right:
                counts["wrong"] += 1
                print(f"wrong: {written.text!r}: {json.dumps(schema)}", flush=True)
    print(", ".join(f"{n:,} {name}" for name, n in counts.items()))
    print(f"{time.process_time() - began:.0f} s")
    return int(bool(counts["wrong"]))


if __name__ == "__main__":
    raise SystemExit(main())
