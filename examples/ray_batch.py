"""Write a record for each row of a dataset on all nodes of a Ray cluster: `python ray_batch.py`.

The first actor builds the index and saves it where all nodes can read it; the others wait for it. A
row whose node dies is written by another one: Ray sees to that.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import cfgguide
from cfgguide.models import load_model
from cfgguide.precompute import built_once

_BATCH = 4  # rows that a model writes at once
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "stars": {"type": "integer", "minimum": 1, "maximum": 5},
    },
    "required": ["city", "stars"],
    "additionalProperties": False,
}


class Writer:
    """An actor: a model, and the index of what it may write."""

    def __init__(self, index_path: str) -> None:
        self._model, tokenizer = load_model()
        self._tokenizer = tokenizer
        self._index = built_once(index_path, tokenizer, lambda: build_index(tokenizer))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return the rows of a batch, with what was written for each."""
        written = cfgguide.generate(
            self._model,
            [f"A review of a hotel in {city}, as JSON: " for city in batch["city"]],
            self._index,
            tokenizer=self._tokenizer,
            max_new_tokens=32,
            progress=False,
        )
        return {**batch, "review": [each.text for each in written]}


def build_index(tokenizer: Any) -> cfgguide.Index:
    """Return the index of a review; one actor builds it for all nodes."""
    return cfgguide.compile(cfgguide.json_schema(SCHEMA, max_whitespace=1), tokenizer)


def write(cities: list[str], index_path: Path, n_actors: int) -> list[dict[str, Any]]:
    """Return a row for each city."""
    import ray

    items = [{"id": n, "city": city} for n, city in enumerate(cities)]
    n_blocks = -(-len(items) // _BATCH)
    return (
        ray.data.from_items(items, override_num_blocks=n_blocks)
        .map_batches(
            Writer,
            fn_constructor_args=(str(index_path),),
            batch_size=_BATCH,
            compute=ray.data.ActorPoolStrategy(size=n_actors),
            num_cpus=1,
        )
        .take_all()
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "review.index"
        for row in write(["Oslo", "Lima", "Kyoto", "Accra"], path, n_actors=1):
            print(row["id"], row["review"])


if __name__ == "__main__":
    main()
