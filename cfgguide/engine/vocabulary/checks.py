"""Checks of a tokenizer.

In: a vocabulary, and the tokenizer that it was read from. Out: a :class:`Finding` for each problem.
:mod:`cfgguide.diagnostics.tokenizer` runs all checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cfgguide.engine.vocabulary.spelling import BOUNDARY, Spelling
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

_N_SHOWN = 5  # examples in a finding

_BYTES_BY_HAND = (
    "masks would be about other texts than you see: give the bytes yourself, "
    "Vocabulary(tokens, eos_token_ids=...), and report the tokenizer"
)

_UNREADABLE = "\ufffd"  # a decoder shows it for bytes that are not UTF-8

#: Bytes that occur in UTF-8.
_UTF8_BYTES = (*range(0x80), *range(0x80, 0xC0), *range(0xC2, 0xF5))

_ENDING = re.compile(
    r"</s>|<\|?(?:end|eos|eot|eom|im_end|endoftext|end_of_\w+|eot_id|eom_id)\|?>|\[eos\]",
    re.IGNORECASE,
)


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"  # masks would be wrong, or cannot be made
    WARNING = "warning"  # some texts cannot be written, or are changed
    NOTE = "note"  # worth knowing


@dataclass(frozen=True)
class Finding:
    """A problem of a tokenizer, or something worth knowing.

    Attributes
    ----------
    name : str
        Its stable name, such as "bytes-differ".
    severity : Severity
        How bad it is.
    message : str
        What it is, with examples.
    advice : str
        What to do.
    """

    name: str
    severity: Severity
    message: str
    advice: str

    def __str__(self) -> str:
        return f"{self.severity} [{self.name}] {self.message}\n    {self.advice}"


class Encoder:
    """A tokenizer of transformers or of tokenizers, as the checks use it."""

    def __init__(self, tokenizer: Any) -> None:
        self.own = tokenizer
        self.backend: Any = getattr(tokenizer, "backend_tokenizer", tokenizer)
        self.added: dict[int, Any] = self.backend.get_added_tokens_decoder()
        special = set(getattr(tokenizer, "all_special_ids", None) or ())
        self.special = {
            token_id: added.content
            for token_id, added in sorted(self.added.items())
            if added.special or token_id in special
        }

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens before or after it."""
        if self.own is self.backend:
            ids: list[int] = self.own.encode(text, add_special_tokens=False).ids
        else:  # this call leaves out a padding or truncation that an earlier call asked for
            ids = self.own.encode(text, add_special_tokens=False)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, by the decoder alone."""
        text: str = self.backend.decode(list(ids), skip_special_tokens=False)
        return text

    def shown(self, ids: Sequence[int]) -> str:
        """Return the text of ids as the tokenizer's own settings decode it."""
        text: str = self.own.decode(list(ids))
        return text


def of_size(vocabulary: Vocabulary, n_columns: int | None) -> Iterator[Finding]:
    """Compare the number of ids with the width of the logits."""
    if n_columns is None or n_columns == vocabulary.size:
        return
    if n_columns < vocabulary.size:
        yield Finding(
            "too-few-columns",
            Severity.ERROR,
            f"the model's logits have {n_columns} columns, the vocabulary {vocabulary.size} ids",
            "the tokenizer belongs to another model, or was given tokens that the model lacks: "
            "load the model's own tokenizer, or call model.resize_token_embeddings",
        )
        return
    yield Finding(
        "padded-logits",
        Severity.NOTE,
        f"the model's logits have {n_columns} columns, {n_columns - vocabulary.size} more than "
        "there are ids",
        "nothing for most uses: the further columns are never allowed. If a mask must be as wide "
        f"as the logits, use Vocabulary.from_tokenizer(tokenizer, size={n_columns})",
    )


def of_tokens(vocabulary: Vocabulary) -> Iterator[Finding]:
    """Look for bytes that the tokens cannot spell, and for tokens with the same bytes."""
    by_text: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(vocabulary.tokens):
        if token:
            by_text.setdefault(token, []).append(token_id)
    inside = vocabulary.spelling.reachable_bytes
    lacking = [byte for byte in _UTF8_BYTES if byte not in inside]
    if lacking:
        yield Finding(
            "missing-bytes",
            Severity.WARNING,
            f"no token has these bytes of UTF-8: {_hex(lacking)}; texts with "
            f"{_characters(lacking)} cannot be written",
            "nothing in most cases: masks leave these texts out, and a grammar that needs one is "
            "refused when it is compiled",
        )
    bound = [byte for byte in _UTF8_BYTES if byte in inside and bytes([byte]) not in by_text]
    if bound:
        yield Finding(
            "bound-bytes",
            Severity.WARNING,
            f"only tokens of several bytes have these: {_hex(bound)}; they can be written only "
            "where such a token fits",
            "nothing if that is meant (byte-level and byte-fallback tokenizers have a token for "
            "each byte); masks know it, and leave no dead end",
        )
    doubles = [(text, ids) for text, ids in by_text.items() if len(ids) > 1]
    if doubles:
        yield Finding(
            "duplicate-bytes",
            Severity.NOTE,
            "several tokens have the same bytes: "
            + _few([f"{text!r} is {', '.join(map(str, ids))}" for text, ids in doubles]),
            "nothing: masks allow all of them wherever they allow one (usual with byte fallback)",
        )


def of_settings(tool: Encoder) -> Iterator[Finding]:
    """Look at the settings of a tokenizers.Tokenizer that change every text."""
    if tool.own is tool.backend and (tool.own.truncation or tool.own.padding):
        yield Finding(
            "cuts-or-pads",
            Severity.WARNING,
            f"it cuts or pads what it encodes: truncation is {tool.own.truncation}, padding "
            f"{tool.own.padding}",
            "call no_truncation() and no_padding(), or prompts will end where they should not",
        )


def of_texts(
    tool: Encoder, vocabulary: Vocabulary, texts: Sequence[tuple[str, str]]
) -> Iterator[Finding]:
    """Encode texts, each given with its kind, and compare the bytes of the ids with the text."""
    changes: dict[str, list[str]] = {name: [] for name in _CHANGES}
    for kind, text in texts:
        if (change := _change_of(tool, vocabulary, text)) is not None:
            name, what = change
            changes[name].append(f"{kind}: {what}" if what else kind)
    for name, (severity, message, advice) in _CHANGES.items():
        if changes[name]:
            counted = f"{len(changes[name])} of {len(texts)} texts {message}: "
            yield Finding(name, severity, counted + _few(changes[name]), advice)


#: What encoding and decoding may do to a text: finding, severity, message and advice.
_CHANGES = {
    "texts-differ": (
        Severity.ERROR,
        "do not decode to the bytes of their ids",
        _BYTES_BY_HAND,
    ),
    "text-lost": (
        Severity.WARNING,
        "lose a part to the unknown token, or to another token without text",
        "these texts cannot be put into a prompt; what the tokens spell can be written",
    ),
    "text-changed": (
        Severity.WARNING,
        "changed when they were encoded",
        "the tokenizer's normaliser changed them, or dropped what has no token. Such texts change "
        "in prompts and prefixes; sentences do not, since they are made of tokens",
    ),
    "space-in-front": (
        Severity.NOTE,
        "got a space in front when they were encoded",
        "usual with sentencepiece. A prefix of a sentence needs ids without it: encode the prefix "
        "after another text, and cut that text off",
    ),
    "decode-changes": (
        Severity.NOTE,
        "changed when they were decoded",
        "take the text from cfgguide, or decode(ids, clean_up_tokenization_spaces=False)",
    ),
}


def _change_of(tool: Encoder, vocabulary: Vocabulary, text: str) -> tuple[str, str] | None:
    """Return which of `_CHANGES` a text undergoes, and an example of it; None if it comes back."""
    ids = tool.encode(text)
    given = text.encode()
    no_text = [i for i in ids if i >= vocabulary.size or vocabulary.tokens[i] is None]
    if no_text:
        return "text-lost", f"ids {_few(list(map(str, no_text)))} have no text"
    spelled = b"".join(vocabulary.tokens[i] or b"" for i in ids)
    decoded = tool.decode(ids).encode()
    if _is_utf8(spelled) and decoded not in (spelled, spelled.removeprefix(b" ")):
        return "texts-differ", _difference(spelled, decoded)
    if spelled == b" " + given:
        return "space-in-front", ""
    if spelled != given:
        return "text-changed", _difference(given, spelled)
    if (shown := tool.shown(ids)) not in (text, text.removeprefix(" ")):
        return "decode-changes", _difference(given, shown.encode())
    return None


def of_decoding(tool: Encoder, vocabulary: Vocabulary) -> tuple[list[Finding], int]:
    """Compare the bytes of each token with what the tokenizer decodes for it after another token.

    Part of a character must be shown as unreadable.

    Returns
    -------
    tuple of (list of Finding, int)
        At most one finding, and the number of tokens compared.
    """
    own = {
        token_id: token
        for token_id, token in enumerate(vocabulary.tokens)
        if token and token_id not in tool.added
    }
    # After a letter the decoder drops no space, as it does from a first word. If no token is made
    # of letters, any token serves.
    letters = (token_id for token_id, token in own.items() if token.isalpha() and token.isascii())
    first = next(letters, next(iter(own), None))
    if first is None:
        return [], 0
    before = tool.decode([first])
    differing = []
    for token_id, token in own.items():
        shown = tool.decode([first, token_id])
        is_same = shown == before + token.decode() if _is_utf8(token) else _UNREADABLE in shown
        if not is_same:
            shown = repr(shown.removeprefix(before))
            differing.append(f"{token_id} is {token!r} and decodes as {shown}")
    if not differing:
        return [], len(own)
    finding = Finding(
        "bytes-differ",
        Severity.ERROR,
        "tokens decode to other texts than the bytes that were read for them: " + _few(differing),
        _BYTES_BY_HAND,
    )
    return [finding], len(own)


def of_special_tokens(tool: Encoder, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Look at the tokens that are not the model's own: EOS, other endings, added ones."""
    yield from _of_endings(tool, vocabulary)
    spelled = [
        token_id
        for token_id, text in tool.special.items()
        if token_id in tool.encode(f"a {text} b") and _spells(vocabulary.spelling, text.encode())
    ]
    if spelled:
        yield Finding(
            "special-in-text",
            Severity.NOTE,
            "the text of a special token is encoded as that token in a prompt, while a sentence "
            f"may spell it with other tokens: {_named(spelled, tool)}",
            "if prompts hold texts of other people, encode them with split_special_tokens=True; if "
            "a sentence must not hold such texts, say so in the grammar",
        )
    added = [i for i in tool.added if i < vocabulary.size and vocabulary.tokens[i]]
    if added:
        yield Finding(
            "added-text",
            Severity.NOTE,
            f"added tokens that are not special spell their text: {_named(added, tool)}",
            "masks allow them where the grammar allows the text. If the model gives them another "
            "meaning, add them as special tokens",
        )


def _of_endings(tool: Encoder, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Look at EOS, and at special tokens whose names say that they end a text."""
    eos = vocabulary.eos_token_ids
    not_special = [i for i in eos if i not in tool.special]
    if not_special:
        yield Finding(
            "eos-is-text",
            Severity.WARNING,
            f"EOS is no special token: {_named(not_special, tool)}",
            "this token can then not write its text. If that is not meant, give another "
            "eos_token_ids",
        )
    endings = [i for i, text in tool.special.items() if _ENDING.fullmatch(text.strip())]
    others = [i for i in endings if i not in eos]
    if others:
        yield Finding(
            "more-endings",
            Severity.NOTE,
            f"by their names these special tokens end a text too: {_named(others, tool)}; EOS is "
            f"{_named(eos, tool)}",
            "if the model ends its answers with one of them (model.generation_config.eos_token_id "
            "lists them), give all: eos_token_ids=[...]; otherwise they are never allowed",
        )


def _named(ids: Iterable[int], tool: Encoder) -> str:
    return _few([f"{token_id} {tool.backend.id_to_token(token_id)!r}" for token_id in ids])


def _few(examples: Sequence[str]) -> str:
    more = len(examples) - _N_SHOWN
    return ", ".join(examples[:_N_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _hex(some: Sequence[int]) -> str:
    return _few([f"0x{byte:02X}" for byte in some])


def _characters(lacking: Sequence[int]) -> str:
    """Name the characters whose UTF-8 needs one of the bytes that are lacking."""
    ascii_ones = [repr(chr(byte)) for byte in lacking if byte < 0x80]
    kinds = [_few(ascii_ones)] if ascii_ones else []
    first = [byte for byte in lacking if byte >= 0xC2]
    if first:
        kinds.append(_few([_characters_from(byte) for byte in first]))
    if any(0x80 <= byte < 0xC0 for byte in lacking):
        kinds.append("many characters beyond ASCII")
    return " or ".join(kinds)


def _characters_from(first: int) -> str:
    """Return the range of characters whose UTF-8 begins with a byte."""
    if first < 0xE0:
        low, high = (first & 0x1F) << 6, ((first & 0x1F) << 6) | 0x3F
    elif first < 0xF0:
        low, high = max((first & 0x0F) << 12, 0x800), ((first & 0x0F) << 12) | 0xFFF
    else:
        low, high = max((first & 0x07) << 18, 0x10000), ((first & 0x07) << 18) | 0x3FFFF
    return f"U+{low:04X} to U+{min(high, 0x10FFFF):04X}"


def _is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def _difference(expected: bytes, found: bytes) -> str:
    """Show two byte strings around the first byte in which they differ."""
    offset = next(
        (i for i, (one, other) in enumerate(zip(expected, found, strict=False)) if one != other),
        min(len(expected), len(found)),
    )
    start = max(0, offset - 4)
    return f"{expected[start : offset + 8]!r} becomes {found[start : offset + 8]!r}"


def _spells(spelling: Spelling, text: bytes) -> bool:
    """Return whether tokens spell a text."""
    nodes = {BOUNDARY}
    for byte in text:
        nodes = {after for node in nodes for read, after in spelling.steps[node] if read == byte}
    return BOUNDARY in nodes
