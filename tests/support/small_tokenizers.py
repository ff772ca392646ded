"""Tokenizers that any machine can make: trained on the standard library, or written by hand.

Nothing is downloaded. `standard_library_tokenizer` has a vocabulary of realistic size and shape;
the others are small enough to check by eye and hold what is seldom seen.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sysconfig
import tempfile
from pathlib import Path

import platformdirs
import tokenizers
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    trainers,
)

from cfgguide.engine.vocabulary.vocabulary import Vocabulary

N_TOKENS = 32_000
END_OF_TEXT = "<|endoftext|>"

#: Raise it when the recipe below changes: it is part of the name of the cached file.
RECIPE = 1

#: Not everywhere installed with Python, or not written by its authors.
SKIPPED_FOLDERS = frozenset({"site-packages", "test", "tests", "idle_test", "__pycache__"})


@functools.cache
def standard_library_tokenizer() -> Tokenizer:
    """Byte-level BPE as GPT-2's, 32,000 tokens, trained on this Python's own source text.

    Id 0 is the special token `END_OF_TEXT`. Every single byte is a token. About 3 seconds the
    first time on a machine; afterwards read from the user's cache folder.
    """
    files = _standard_library_files()
    path = _cached_file(files)
    if not path.exists():
        _write_at_once(path, _train(files).to_str())
    return Tokenizer.from_file(str(path))


@functools.cache
def standard_library_vocabulary() -> Vocabulary:
    """The vocabulary of that tokenizer; `END_OF_TEXT` is its EOS."""
    tokenizer = standard_library_tokenizer()
    return Vocabulary.from_tokenizer(tokenizer, eos_token_ids=tokenizer.token_to_id(END_OF_TEXT))


def _standard_library_files() -> list[Path]:
    root = Path(sysconfig.get_path("stdlib"))
    files = (path.relative_to(root) for path in root.rglob("*.py"))
    chosen = sorted(path for path in files if not SKIPPED_FOLDERS.intersection(path.parts))
    return [root / path for path in chosen]


def _cached_file(files: list[Path]) -> Path:
    sizes = [f"{path.name} {path.stat().st_size}" for path in files]
    recipe = [RECIPE, N_TOKENS, platform.python_version(), tokenizers.__version__, *sizes]
    key = hashlib.sha256("\n".join(map(str, recipe)).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("cfgguide-tests") / key / "tokenizer.json"


def _train(files: list[Path]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=N_TOKENS,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in files)
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _write_at_once(path: Path, text: str) -> None:
    """Write so that another worker sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, delete=False
    ) as temporary:
        temporary.write(text)
    os.replace(temporary.name, path)


def sentencepiece_tokenizer() -> Tokenizer:
    """BPE with byte fallback as of Llama 2 and Mistral v1: a space is "▁", one is put in front.

    Ids 0-2 <unk>, <s>, </s>; 3-258 the bytes; then "▁", the lower-case letters, merged tokens.
    """
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += ["▁", *"abcdefghijklmnopqrstuvwxyz", "é", "{", "}"]
    merges = [("▁", "▁"), ("▁", "t"), ("h", "e"), ("▁t", "he"), ("é", "▁"), ("▁▁", "▁▁")]
    tokens += [left + right for left, right in merges]
    tokenizer = Tokenizer(
        models.BPE(
            vocab={token: index for index, token in enumerate(tokens)},
            merges=merges,
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return tokenizer


def unigram_tokenizer() -> Tokenizer:
    """Unigram with a Metaspace decoder as of T5: ids 0 </s>, 1 <unk>, then words and letters."""
    pieces = ["</s>", "<unk>", "▁the", "▁", "the", "<0x41>", "é", *"abcdefgh"]
    tokenizer = Tokenizer(
        models.Unigram([(piece, -float(index)) for index, piece in enumerate(pieces)], unk_id=1)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["</s>"])
    return tokenizer


def unusual_tokenizer() -> Tokenizer:
    """Byte-level tokens with what is seldom seen together.

    Ids 0-255 are the byte-level alphabet in the order of its characters, 300 is "Ġthe" and 301 "日"
    (not in the alphabet, so literal). The library numbers added tokens from the number of tokens,
    259: 259 "<tool call>", 260 a tab and a space (over the model's own 260, "ridden"), 261 "née"
    (all of it in the alphabet, and yet literal), 262 END_OF_TEXT, special. No others.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {character: index for index, character in enumerate(alphabet)}
    vocabulary |= {"ridden": 260, "Ġthe": 300, "日": 301}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken("<tool call>", normalized=False), "\t ", "née"])
    tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer
