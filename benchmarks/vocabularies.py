"""Tokenizers: folders and files in, what every engine is given out.

The default is the tokenizer of the tests, trained on this Python's standard library, so that the
benchmark needs nothing but the package index.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from cfgguide import Vocabulary

STANDARD_LIBRARY = "standard-library-32k"
_END_OF_TEXT = ("<|endoftext|>", "<|im_end|>", "</s>")  # tried where no configuration names one
_TEST_TOKENIZERS = Path(__file__).parent.parent / "tests" / "tokenizers_for_tests.py"


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer as the engines take it.

    Attributes
    ----------
    name : str
        The name of its folder.
    fast : PreTrainedTokenizerFast
        The tokenizer itself.
    eos_token_id : int
        The one token that ends a text.
    size : int
        Number of ids: the width of a mask.
    """

    name: str
    fast: PreTrainedTokenizerFast
    eos_token_id: int
    size: int

    def encode(self, text: str) -> list[int]:
        """Return the canonical tokens of a text."""
        return list(self.fast.encode(text, add_special_tokens=False))

    def token_bytes(self) -> tuple[bytes | None, ...]:
        """Return the bytes of each id; None for an id that spells no text."""
        vocabulary = Vocabulary.from_tokenizer(
            self.fast, eos_token_ids=self.eos_token_id, size=self.size
        )
        return vocabulary.tokens

    def added_tokens(self) -> dict[int, str]:
        """Return the tokens that are not of the model's own vocabulary, but EOS, by id."""
        added = self.fast.added_tokens_decoder.items()
        return {index: str(token) for index, token in added if index != self.eos_token_id}


def open_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer in a ``tokenizer.json`` or in the folder of one.

    Raises
    ------
    ValueError
        If neither a ``tokenizer_config.json`` beside it nor habit says which token ends a text.
    """
    file = path / "tokenizer.json" if path.is_dir() else path
    configuration = file.parent / "tokenizer_config.json"
    settings: dict[str, Any] = (
        json.loads(configuration.read_text(encoding="utf-8")) if configuration.exists() else {}
    )
    fast = PreTrainedTokenizerFast(tokenizer_file=str(file))  # type: ignore[no-untyped-call]
    eos_token = settings.get("eos_token")
    candidates = [eos_token["content"] if isinstance(eos_token, dict) else eos_token, *_END_OF_TEXT]
    known = fast.get_vocab()
    for candidate in candidates:
        if candidate in known:
            fast.eos_token = candidate
            return Tokenizer(file.parent.name, fast, known[candidate], len(fast))
    raise ValueError(f"no tokenizer_config.json beside {file.name} says which token ends a text")


def write_standard_library_tokenizer(folder: Path) -> Path:
    """Write the tests' tokenizer into a folder of its own in `folder`, and return that."""
    specification = importlib.util.spec_from_file_location("tokenizers_for_tests", _TEST_TOKENIZERS)
    assert specification is not None, "the file is there"
    assert specification.loader is not None, "it is Python"
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    written = folder / STANDARD_LIBRARY
    written.mkdir()
    module.standard_library_tokenizer().save(str(written / "tokenizer.json"))
    settings = {"eos_token": module.END_OF_TEXT}
    (written / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return written
