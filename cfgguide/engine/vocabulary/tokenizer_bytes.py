"""The exact bytes of every token, read from a tokenizer's own description.

In goes a fast tokenizer (of ``transformers`` or of ``tokenizers``); out comes one ``bytes`` or None
for each id. Nothing is decoded: decoding one id alone loses a leading space and turns part of a
character into U+FFFD. Instead the JSON form of the tokenizer is read. Its ``decoder`` is a list of
steps, each of which is followed on the string of each token::

    "▁caf"   --Replace ▁ by space-->  " caf"    --ByteFallback-->  20 63 61 66
    "<0xC3>" --Replace ▁ by space-->  "<0xC3>"  --ByteFallback-->  C3
    "Ġcaf"   --ByteLevel-->  20 63 61 66        "Ã"  --ByteLevel-->  C3

A token has bytes of its own only if every step acts on each token by itself; any other step is an
error that names it. There is one exception: Strip of the joined text, and Metaspace, drop spaces at
the start of a whole text, and these steps are ignored. So the text of a sequence is the
concatenation of the bytes of its tokens, and ``decode`` shows that text without those spaces.

Special tokens, the unknown token and ids without a token have no bytes (None).

The steps are those of https://github.com/huggingface/tokenizers, ``tokenizers/src/decoders`` (read
in version 0.23); the tests compare each with that library. This module does not import it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from cfgguide.errors import TokenizerError

_BY_HAND = "or give the bytes yourself: Vocabulary(tokens, eos_token_ids=...)"

#: What the step ByteFallback takes for a byte. The plus sign is deliberate: the library calls
#: Rust's ``from_str_radix``, which reads "+5" as 5.
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")


def _byte_alphabet() -> dict[str, int]:
    """Return character to byte in GPT-2's byte-level alphabet.

    Source: ``bytes_to_unicode`` in GPT-2's encoder.py.

    The 188 bytes that print as Latin-1 stand for themselves; the other 68, in order, are written as
    U+0100, U+0101, ...: the space 0x20 is U+0120 "Ġ".
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    alphabet = {chr(byte): byte for byte in printable}
    alphabet.update({chr(0x100 + index): byte for index, byte in enumerate(others)})
    return alphabet


_BYTE_ALPHABET = _byte_alphabet()

#: The alphabet for ``str.translate``; what is outside of it is nothing that Latin-1 could encode.
_AS_LATIN_1 = dict.fromkeys(range(256), "Ā") | {
    ord(character): chr(byte) for character, byte in _BYTE_ALPHABET.items()
}

#: Which tokens are one string after a step; the other steps do not change that.
_JOINED_BY = {"ByteFallback": "bytes", "ByteLevel": "all", "Fuse": "all"}


@dataclass(frozen=True)
class TokenReading:
    r"""What a decoder does to the string of one token.

    Attributes
    ----------
    replacements : tuple of (str, str)
        Old and new text, in the order in which they are applied.
    is_byte_fallback : bool
        ``<0xNN>`` stands for the byte NN.
    is_byte_level : bool
        Each character stands for a byte, by GPT-2's alphabet.

    Examples
    --------
    >>> TokenReading(is_byte_level=True).spell("Ġcafé")
    b' caf\xe9'
    >>> TokenReading(replacements=(("▁", " "),), is_byte_fallback=True).spell("▁café")
    b' caf\xc3\xa9'
    """

    replacements: tuple[tuple[str, str], ...] = ()
    is_byte_fallback: bool = False
    is_byte_level: bool = False

    def spell(self, token: str) -> bytes:
        """Return the bytes that ``token`` adds to a text."""
        for old, new in self.replacements:
            token = token.replace(old, new)
        if self.is_byte_level:
            try:
                return token.translate(_AS_LATIN_1).encode("latin-1")
            except UnicodeEncodeError:
                return token.encode()  # one character outside the alphabet: the token is literal
        if self.is_byte_fallback and (byte := _BYTE_TOKEN.fullmatch(token)):
            return bytes([int(byte[1], 16)])
        return token.encode()

    def spell_all(self, tokens: Sequence[str]) -> list[bytes]:
        """Return the bytes that each of many tokens adds to a text.

        >>> TokenReading(is_byte_level=True).spell_all(["Ġ", "ab"])
        [b' ', b'ab']
        """
        if self.is_byte_level and not self.replacements:
            try:  # each character is a byte: all at once
                data = "".join(tokens).translate(_AS_LATIN_1).encode("latin-1")
            except UnicodeEncodeError:
                return [self.spell(token) for token in tokens]
            ends = accumulate(map(len, tokens), initial=0)
            return [data[start:end] for start, end in pairwise(ends)]
        return [self.spell(token) for token in tokens]


def read_decoder(decoder: Mapping[str, Any] | None) -> TokenReading:
    """Return what a decoder does to one token.

    Parameters
    ----------
    decoder : mapping or None
        The member ``decoder`` of a ``tokenizer.json``.

    Raises
    ------
    TokenizerError
        There is no decoder, or one of its steps is unknown or does not act on each token by itself.

    Examples
    --------
    >>> read_decoder({"type": "ByteLevel"}).is_byte_level
    True
    >>> read_decoder({"type": "WordPiece", "prefix": "##", "cleanup": True})
    Traceback (most recent call last):
    cfgguide.errors.TokenizerError: [tokenizer] decoder step 1 of 1, WordPiece, ...
    """
    if decoder is None:
        raise TokenizerError(
            "the tokenizer has no decoder, so the library would put a space between any two "
            f"tokens: set tokenizer.decoder (ByteLevel, Metaspace, ...) {_BY_HAND}"
        )
    reading, joined = TokenReading(), "none"
    steps = list(_flat_steps(decoder))
    for position, step in enumerate(steps, start=1):
        problem = _problem_of(step, joined)
        if problem:
            raise TokenizerError(
                f"decoder step {position} of {len(steps)}, {step.get('type')}, {problem}: "
                f"change tokenizer.decoder {_BY_HAND}"
            )
        reading = _with_step(reading, step)
        joined = _JOINED_BY.get(step["type"], joined)
    return reading


def _flat_steps(decoder: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if decoder.get("type") != "Sequence":
        yield decoder
        return
    for step in decoder["decoders"]:
        yield from _flat_steps(step)


def _problem_of(step: Mapping[str, Any], joined: str) -> str | None:
    """Return why tokens have no bytes of their own after ``step``, or None if they have.

    ``joined`` says which tokens the earlier steps have joined: "none", "bytes" or "all".
    """
    match step:
        case {"type": "Fuse"}:
            return None
        case {"type": "Strip", "content": " ", "stop": 0} if joined == "all":
            return None
        case {"type": "Strip"}:
            return "is only understood where it strips the first spaces of the joined text"
        case {"type": "Replace", "pattern": {"Regex": _}}:
            return "replaces a regular expression, and only fixed strings are understood"
        case {"type": "Replace" | "Metaspace" | "ByteFallback" | "ByteLevel"} if joined != "none":
            return "comes after tokens are joined, so what it does to one depends on others"
        case {"type": "Replace", "pattern": {"String": _}, "content": _}:
            return None
        case {"type": "Metaspace", "replacement": _} | {"type": "ByteFallback" | "ByteLevel"}:
            return None
        case {"type": "WordPiece" | "BPEDecoder" | "CTC"}:
            return "adds or drops spaces by a token's neighbours, so tokens have no fixed bytes"
    return "is not a step that this version of cfgguide knows"


def _with_step(reading: TokenReading, step: Mapping[str, Any]) -> TokenReading:
    match step:
        case {"type": "Replace", "pattern": {"String": old}, "content": new}:
            return replace(reading, replacements=(*reading.replacements, (old, new)))
        case {"type": "Metaspace", "replacement": old}:
            return replace(reading, replacements=(*reading.replacements, (old, " ")))
        case {"type": "ByteFallback"}:
            return replace(reading, is_byte_fallback=True)
        case {"type": "ByteLevel"}:
            return replace(reading, is_byte_level=True)
    return reading


def read_tokens(
    description: str, special_ids: Iterable[int] = ()
) -> tuple[list[bytes | None], str]:
    r"""Return the bytes of every id of a ``tokenizer.json``, and what to warn of.

    An added token that is not special has the bytes of its content. If the model's own vocabulary
    has it under the same id, it is read as the model's: sentencepiece's own "▁▁" may also be listed
    as added, and merges still make it of two spaces. (The library decodes added tokens as well. So
    it shows a "đem" that was added to a byte-level tokenizer as "\x11em", its open issue 1915. The
    bytes here are those of the text that encodes to the token.)

    Parameters
    ----------
    description : str
        What ``tokenizers.Tokenizer.to_str()`` returns, or the text of a ``tokenizer.json``.
    special_ids : iterable of int
        Further ids without text, besides those that the JSON marks as special.

    Returns
    -------
    tuple of (list of (bytes or None), str)
        Index is the id; None where an id has no text. Length is the largest id plus one. And a
        message if the library decodes an added token to another text; an empty one if not.

    Raises
    ------
    TokenizerError
        It is not the JSON of a tokenizer, or its tokens have no bytes of their own.

    Examples
    --------
    >>> description = {
    ...     "model": {"type": "BPE", "vocab": {"a": 0, "Ġa": 2}, "merges": []},
    ...     "added_tokens": [{"id": 3, "content": "</s>", "special": True}],
    ...     "decoder": {"type": "ByteLevel"},
    ... }
    >>> read_tokens(json.dumps(description))
    ([b'a', None, b' a', None], '')
    """
    try:
        tokenizer = json.loads(description)
        model, added_tokens = tokenizer["model"], tokenizer.get("added_tokens") or []
        strings, unknown_id = _model_tokens(model)
        reading = read_decoder(tokenizer.get("decoder"))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TokenizerError(
            f"this is not the JSON of a tokenizer ({type(error).__name__}: {error}): expected the "
            f"text of a tokenizer.json, with a model and its vocabulary; load another {_BY_HAND}"
        ) from error
    _refuse_marked_words(model, reading)
    texts = reading.spell_all(list(strings.values()))
    spelled: dict[int, bytes | None] = dict(zip(strings, texts, strict=True))
    misread: list[str] = []
    for added in added_tokens:
        if added["special"]:
            spelled[added["id"]] = None
        elif strings.get(added["id"]) != added["content"]:
            spelled[added["id"]] = added["content"].encode()
            if reading.spell(added["content"]) != spelled[added["id"]]:
                misread.append(added["content"])
    warning = ""
    if misread:
        example = reading.spell(misread[0]).decode(errors="replace")
        more = f" and {len(misread) - 1} more" if len(misread) > 1 else ""
        warning = (
            f"the tokenizer decodes its added token {misread[0]!r} as {example!r}{more}: masks "
            "take it for the text that encodes to it, and decoding shows another one; decode with "
            "Vocabulary.tokens, or add no such token"
        )
    spelled.update(dict.fromkeys(set(special_ids) & spelled.keys()))
    if unknown_id is not None:
        spelled[unknown_id] = None
    return [spelled.get(index) for index in range(max(spelled, default=-1) + 1)], warning


def _model_tokens(model: Mapping[str, Any]) -> tuple[dict[int, str], int | None]:
    """Return id to string of the model's own vocabulary, and the id of its unknown token."""
    vocabulary = model["vocab"]
    if isinstance(vocabulary, list):  # Unigram: [string, score] in the order of the ids
        return {index: piece for index, (piece, _) in enumerate(vocabulary)}, model.get("unk_id")
    strings = {index: token for token, index in vocabulary.items()}
    return strings, vocabulary.get(model.get("unk_token"))


def _refuse_marked_words(model: Mapping[str, Any], reading: TokenReading) -> None:
    """Raise if the model's strings hold marks that the decoder leaves in the text."""
    for mark in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model.get(mark):
            raise TokenizerError(
                f"the model marks parts of words ({mark} = {model[mark]!r}), so its tokens have no "
                f"fixed bytes: use a byte-level or sentencepiece tokenizer {_BY_HAND}"
            )
    if model.get("byte_fallback") and not reading.is_byte_fallback:
        raise TokenizerError(
            "the model falls back to bytes (byte_fallback), and the decoder would leave <0xNN> in "
            f"the text: add decoders.ByteFallback() to tokenizer.decoder {_BY_HAND}"
        )


def description_of(tokenizer: object) -> tuple[str, list[int]]:
    """Return a fast tokenizer's own description, a JSON text, and ids that have no text besides.

    Parameters
    ----------
    tokenizer : transformers fast tokenizer or tokenizers.Tokenizer
        Recognised by ``backend_tokenizer`` and ``to_str()``; neither library is imported. Ids in
        ``all_special_ids``, where there is one, have no text.

    Raises
    ------
    TokenizerError
        It is not a fast tokenizer.

    Examples
    --------
    >>> description_of("gpt2")
    Traceback (most recent call last):
    cfgguide.errors.TokenizerError: [tokenizer] expected a fast tokenizer ..., found str: ...
    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    to_str = getattr(backend, "to_str", None)
    if callable(to_str):
        return to_str(), list(getattr(tokenizer, "all_special_ids", None) or ())
    found = type(tokenizer).__name__
    if getattr(tokenizer, "is_fast", None) is False:
        raise TokenizerError(
            f"{found} is a slow tokenizer, which does not describe its tokens: load the fast one "
            f"(transformers.AutoTokenizer.from_pretrained(..., use_fast=True)) {_BY_HAND}"
        )
    raise TokenizerError(
        "expected a fast tokenizer of transformers or a tokenizers.Tokenizer, "
        f"found {found}: load one, {_BY_HAND}"
    )


def added_tokens(tokenizer: object) -> dict[str, int]:
    """Return the ids of a fast tokenizer's added tokens by their names, special or not.

    Examples
    --------
    >>> from tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    >>> tokenizer.add_special_tokens(["<call>"])
    1
    >>> added_tokens(tokenizer)
    {'<call>': 1}
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", tokenizer)
    found = backend.get_added_tokens_decoder() if hasattr(backend, "to_str") else {}
    return {token.content: token_id for token_id, token in sorted(found.items())}
