"""How many calls of a model forced text saves: records of different schemas.

    python tests/conformance/forced.py [--schemas 50] [--tokens 120] [--seed 0]

Each schema is a record of three to six fields, drawn from a list: words, numbers, choices, dates,
lists, a record in it. SmolLM2 writes one for it greedily, once with forced text and once asked for
each token, within so many tokens and laid out as ``json.dumps`` does. `jsonschema` judges both. The
last line says how many tokens came without a call, and how many texts are the same either way.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from typing import Any

import jsonschema
from tqdm import tqdm

import cfgguide
from cfgguide.models import load_model

_WORD = {"type": "string", "maxLength": 24}
FIELDS: dict[str, Any] = {
    "name": _WORD,
    "title": {"type": "string", "minLength": 1, "maxLength": 40},
    "city": {"enum": ["Berlin", "Lagos", "Lima", "Oslo", "Seoul"]},
    "age": {"type": "integer", "minimum": 0, "maximum": 120},
    "price": {"type": "number", "minimum": 0, "multipleOf": 0.01, "maximum": 1000},
    "is_active": {"type": "boolean"},
    "created_at": {"type": "string", "format": "date"},
    "identifier": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
    "tags": {"type": "array", "items": _WORD, "minItems": 1, "maxItems": 3},
    "priority": {"enum": ["low", "medium", "high", "critical"]},
    "parent": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1, "maximum": 99}]},
    "address": {
        "type": "object",
        "properties": {"street": _WORD, "postal_code": {"type": "string", "pattern": "^[0-9]{5}$"}},
        "required": ["street", "postal_code"],
        "additionalProperties": False,
    },
    "temperature": {"type": "integer", "minimum": -50, "maximum": 50},
    "email": {"type": "string", "pattern": "^[a-z]{1,12}@[a-z]{1,12}\\.(com|org|net)$"},
    "description": {"type": "string", "maxLength": 80},
    "status_code": {"enum": [200, 301, 404, 500]},
}


def record(rng: random.Random) -> dict[str, Any]:
    """Return the schema of a record."""
    names = rng.sample(list(FIELDS), rng.randint(3, 6))
    return {
        "type": "object",
        "properties": {name: FIELDS[name] for name in names},
        "required": names,
        "additionalProperties": False,
    }


def main() -> int:
    """Write all records; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--schemas", type=int, default=50)
    parser.add_argument("--tokens", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    model, tokenizer = load_model()
    vocabulary = cfgguide.Vocabulary.from_tokenizer(tokenizer)
    n_tokens, n_calls, seconds = [0, 0], [0, 0], [0.0, 0.0]
    n_same = n_wrong = 0
    for _ in tqdm(range(options.schemas), disable=None):
        schema = record(rng)
        grammar = cfgguide.json_schema(schema, order="declared", separators=(", ", ": "))
        index = cfgguide.compile(grammar, vocabulary)
        prompt = f"A record with {', '.join(schema['properties'])}, as JSON:\n"
        texts = []
        for is_forced in (False, True):
            began = time.perf_counter()
            found = cfgguide.generate(
                model,
                prompt,
                tokenizer=tokenizer,
                what=index,
                max_new_tokens=options.tokens,
                force=is_forced,
            )
            seconds[is_forced] += time.perf_counter() - began
            n_tokens[is_forced] += len(found.token_ids)
            n_calls[is_forced] += found.n_model_calls
            texts.append(found.text)
            try:
                jsonschema.validate(json.loads(found.text), schema)
                is_right = found.is_complete
            except (ValueError, jsonschema.ValidationError):
                is_right = False
            if not is_right:
                n_wrong += 1
                print(f"wrong: {found.text!r}: {json.dumps(schema)}", flush=True)
        n_same += texts[0] == texts[1]
    for name, is_forced in (("asked for each token", False), ("with forced text", True)):
        tokens, calls = n_tokens[is_forced], n_calls[is_forced]
        print(
            f"{name}: {tokens:,} tokens, {calls:,} calls, {seconds[is_forced]:.0f} s; "
            f"{1 - calls / tokens:.0%} of the tokens without a call"
        )
    print(f"{options.schemas} schemas, {n_wrong} texts wrong, {n_same} the same either way")
    return int(bool(n_wrong))


if __name__ == "__main__":
    raise SystemExit(main())
