"""The vocabularies that texts are written with, as files for the processes to read.

Single bytes, with names such as ``<think>`` as special tokens; the tokenizers that are named; and
if none is, the one of the tests (:mod:`support.small_tokenizers`).
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.small_tokenizers import standard_library_vocabulary

import cfgguide
from cfgguide.models.load import load_tokenizer
from same.run import Vocabulary

_SPECIAL = ("<b>", "<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]")


def single_bytes() -> dict[str, Any]:
    """Return the tokens of the smallest vocabulary: 256 bytes, the end, and special tokens."""
    return {
        "tokens": [*(bytes([byte]) for byte in range(256)), None, *(None for _ in _SPECIAL)],
        "eos_token_ids": (256,),
        "special_tokens": {name: 257 + number for number, name in enumerate(_SPECIAL)},
    }


def vocabularies_of(folders: Sequence[str], folder: Path) -> list[Vocabulary]:
    """Write the tokens of all vocabularies to files of a folder."""
    found = {"bytes": single_bytes()}
    for path in folders:
        found[Path(path).name] = _parts(cfgguide.Vocabulary.from_tokenizer(load_tokenizer(path)))
    if not folders:
        found["standard library"] = _parts(standard_library_vocabulary())
    folder.mkdir(exist_ok=True)
    vocabularies = []
    for name, parts in found.items():
        path = folder / f"{name}.pickle"
        path.write_bytes(pickle.dumps(parts))
        vocabularies.append(Vocabulary(name, path, len(parts["tokens"])))
    return vocabularies


def _parts(vocabulary: cfgguide.Vocabulary) -> dict[str, Any]:
    return {
        "tokens": list(vocabulary.tokens),
        "eos_token_ids": vocabulary.eos_token_ids,
        "special_tokens": dict(vocabulary.special_tokens),
    }
