"""The single checks of a tokenizer, each of one thing that may be off.

In: a vocabulary, and the tokenizer that it was read from. Out: a :class:`Finding` for each thing
that is off. :mod:`cfgguide.diagnostics.tokenizer` runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cfgguide.vocabulary.spelling import BOUNDARY, Spelling
from cfgguide.vocabulary.vocabulary import Vocabulary

_N_SHOWN = 5  # examples in a finding

_BYTES_BY_HAND = (
    "masks would be about other texts than you see: give the bytes yourself, "
    "Vocabulary(tokens, eos_token_ids=...), and report the tokenizer"
)

_UNREADABLE = "\ufffd"  # stands in a text for bytes that are no UTF-8

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
    """One thing that was found.

    Attributes
    ----------
    name : str
        Stable name of what is off, such as "bytes-differ".
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
    """What is asked of a tokenizer, of transformers or of tokenizers."""

    def __init__(self, tokenizer: Any) -> None:
        self.own = tokenizer
        self.backend: Any = getattr(tokenizer, "backend_tokenizer", tokenizer)
        self.added: dict[int, Any] = self.backend.get_added_tokens_decoder()
        special = set(getattr(tokenizer, "all_special_ids", None) or ())
        self.special = {
            number: each.content
            for number, each in sorted(self.added.items())
            if each.special or number in special
        }

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without those that are put in front of or behind it."""
        if self.own is self.backend:
            ids: list[int] = self.own.encode(text, add_special_tokens=False).ids
        else:  # which leaves out a padding or truncation that an earlier call asked for
            ids = self.own.encode(text, add_special_tokens=False)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, by the decoder alone."""
        text: str = self.backend.decode(list(ids), skip_special_tokens=False)
        return text

    def shown(self, ids: Sequence[int]) -> str:
        """Return what a user sees who decodes with the tokenizer's own settings."""
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
            "the tokenizer is of another model, or was given tokens that the model has not: load "
            "the one that belongs to it, or call model.resize_token_embeddings",
        )
        return
    yield Finding(
        "padded-logits",
        Severity.NOTE,
        f"the model's logits have {n_columns} columns, {n_columns - vocabulary.size} more than "
        "there are ids",
        "nothing for most uses: the columns behind are never allowed. Where a mask must be as wide "
        f"as the logits, use Vocabulary.from_tokenizer(tokenizer, size={n_columns})",
    )


def of_tokens(vocabulary: Vocabulary) -> Iterator[Finding]:
    """Look at the bytes of the tokens: what they cannot spell, and what several spell."""
    by_text: dict[bytes, list[int]] = {}
    for number, token in enumerate(vocabulary.tokens):
        if token:
            by_text.setdefault(token, []).append(number)
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
    """Look at what a tokenizer of tokenizers does to every text."""
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
    kinds = ("differing", "lost", "spaced", "changed", "cleaned")
    changed: dict[str, list[str]] = {each: [] for each in kinds}
    for kind, text in texts:
        ids = tool.encode(text)
        no_text = [i for i in ids if i >= vocabulary.size or vocabulary.tokens[i] is None]
        spelled = b"".join(vocabulary.tokens[i] or b"" for i in ids if i < vocabulary.size)
        decoded = tool.decode(ids).encode()
        if no_text:
            changed["lost"].append(f"{kind}: ids {_few(list(map(str, no_text)))} have no text")
        elif _is_utf8(spelled) and decoded not in (spelled, spelled.removeprefix(b" ")):
            changed["differing"].append(f"{kind}: {_difference(spelled, decoded)}")
        elif spelled == b" " + text.encode():
            changed["spaced"].append(kind)
        elif spelled != text.encode():
            changed["changed"].append(f"{kind}: {_difference(text.encode(), spelled)}")
        elif (shown := tool.shown(ids)) != text and shown != text.removeprefix(" "):
            changed["cleaned"].append(f"{kind}: {_difference(text.encode(), shown.encode())}")
    told = {
        "differing": (
            "texts-differ",
            Severity.ERROR,
            "{n} of {n_texts} texts are decoded as others than the bytes of their ids: ",
            _BYTES_BY_HAND,
        ),
        "lost": (
            "text-lost",
            Severity.WARNING,
            "{n} of {n_texts} texts lose a part to the unknown token, or another without text: ",
            "these texts cannot be put into a prompt; what the tokens spell can be written",
        ),
        "changed": (
            "text-changed",
            Severity.WARNING,
            "{n} of {n_texts} texts changed when they were encoded: ",
            "it is the tokenizer's normaliser, or what has no token is dropped. Prompts and "
            "prefixes with such texts are changed; sentences are not, as they are made of tokens",
        ),
        "spaced": (
            "space-in-front",
            Severity.NOTE,
            "{n} of {n_texts} texts got a space in front when they were encoded: ",
            "usual with sentencepiece. A prefix of a sentence needs ids without it: encode it "
            "behind another text, and cut that off",
        ),
        "cleaned": (
            "decode-changes",
            Severity.NOTE,
            "{n} of {n_texts} texts changed when they were decoded: ",
            "take the text from cfgguide, or decode(ids, clean_up_tokenization_spaces=False)",
        ),
    }
    for key, (name, severity, message, advice) in told.items():
        if changed[key]:
            told_of = message.format(n=len(changed[key]), n_texts=len(texts)) + _few(changed[key])
            yield Finding(name, severity, told_of, advice)


def of_decoding(tool: Encoder, vocabulary: Vocabulary) -> tuple[list[Finding], int]:
    """Compare the bytes of each token with what the tokenizer decodes behind another one.

    Part of a character must be shown as unreadable.
    """
    own = {
        number: token
        for number, token in enumerate(vocabulary.tokens)
        if token and number not in tool.added
    }
    # Behind a letter no space of a first word is dropped; without one, any token serves.
    letters = (number for number, token in own.items() if token.isalpha() and token.isascii())
    anchor = next(letters, next(iter(own), None))
    if anchor is None:
        return [], 0
    before = tool.decode([anchor])
    differing = []
    for number, token in own.items():
        shown = tool.decode([anchor, number])
        is_alike = shown == before + token.decode() if _is_utf8(token) else _UNREADABLE in shown
        if not is_alike:
            shown = repr(shown.removeprefix(before))
            differing.append(f"{number} is {token!r} and decodes as {shown}")
    if not differing:
        return [], len(own)
    finding = Finding(
        "bytes-differ",
        Severity.ERROR,
        "tokens decode as other texts than the bytes that are read for them: " + _few(differing),
        _BYTES_BY_HAND,
    )
    return [finding], len(own)


def of_special_tokens(tool: Encoder, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Look at the tokens that are not the model's own: EOS, other endings, added ones."""
    eos = set(vocabulary.eos_token_ids)
    not_special = [i for i in eos if i not in tool.special]
    if not_special:
        yield Finding(
            "eos-is-text",
            Severity.WARNING,
            f"EOS is no special token: {_named(not_special, tool)}",
            "its text can then not be written by this token. If that is not meant, give another "
            "eos_token_ids",
        )
    endings = [number for number, text in tool.special.items() if _ENDING.fullmatch(text.strip())]
    others = [number for number in endings if number not in eos]
    if others:
        yield Finding(
            "more-endings",
            Severity.NOTE,
            f"by their names these special tokens end a text too: {_named(others, tool)}; EOS is "
            f"{_named(sorted(eos), tool)}",
            "if the model ends its answers with one of them (model.generation_config.eos_token_id "
            "lists them), give all: eos_token_ids=[...]; otherwise they are never allowed",
        )
    spelled = [
        number
        for number, text in tool.special.items()
        if number in tool.encode(f"a {text} b") and _spells(vocabulary.spelling, text.encode())
    ]
    if spelled:
        yield Finding(
            "special-in-text",
            Severity.NOTE,
            "where a prompt holds the text of a special token, it is encoded as the token, while a "
            f"sentence may hold the text, spelled by other tokens: {_named(spelled, tool)}",
            "if prompts hold texts of others, encode them with split_special_tokens=True; where a "
            "sentence must not hold such texts, say so in the grammar",
        )
    added = [i for i in tool.added if i < vocabulary.size and vocabulary.tokens[i]]
    if added:
        yield Finding(
            "added-text",
            Severity.NOTE,
            f"added tokens that are no special ones spell their text: {_named(added, tool)}",
            "masks allow them where the grammar allows the text. If the model gives them another "
            "meaning, add them as special tokens",
        )


def _named(ids: Iterable[int], tool: Encoder) -> str:
    return _few([f"{number} {tool.backend.id_to_token(number)!r}" for number in ids])


def _few(examples: Sequence[str]) -> str:
    more = len(examples) - _N_SHOWN
    return ", ".join(examples[:_N_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _hex(some: Sequence[int]) -> str:
    return _few([f"0x{byte:02X}" for byte in some])


def _characters(lacking: Sequence[int]) -> str:
    """Name the characters whose UTF-8 needs one of some bytes."""
    ascii_ones = [repr(chr(byte)) for byte in lacking if byte < 0x80]
    kinds = [_few(ascii_ones)] if ascii_ones else []
    first = [byte for byte in lacking if byte >= 0xC2]
    if first:
        kinds.append(_few([_characters_behind(byte) for byte in first]))
    if any(0x80 <= byte < 0xC0 for byte in lacking):
        kinds.append("many characters beyond ASCII")
    return " or ".join(kinds)


def _characters_behind(first: int) -> str:
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
    """Show the first place where two byte strings differ."""
    place = next(
        (i for i, (one, other) in enumerate(zip(expected, found, strict=False)) if one != other),
        min(len(expected), len(found)),
    )
    start = max(0, place - 4)
    return f"{expected[start : place + 8]!r} becomes {found[start : place + 8]!r}"


def _spells(spelling: Spelling, text: bytes) -> bool:
    """Return whether tokens spell a text."""
    nodes = {BOUNDARY}
    for byte in text:
        nodes = {after for node in nodes for read, after in spelling.steps[node] if read == byte}
    return BOUNDARY in nodes
