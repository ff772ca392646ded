r"""A model's vocabulary: the bytes of every token id, and the ids that end a sequence.

In go the bytes of the tokens, or a tokenizer; out comes a frozen :class:`Vocabulary`, the only form
in which the rest of cfgguide knows a tokenizer. A token is an id and its bytes, not a string: half
of a character is a token in most vocabularies.

    id     0      1       2         3            4..39
    bytes  b"a"   b" b"   b"\xc3"   None (EOS)   None (no token)   size 40, n_words 2

An id without text (None) is never allowed by a mask, except that EOS is where the text is a
sentence. The empty token counts as one without text: a model could choose it for ever.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from cfgguide.errors import VocabularyError
from cfgguide.vocabulary.spelling import Spelling
from cfgguide.vocabulary.tokenizer_bytes import token_bytes

if TYPE_CHECKING:
    from cfgguide.vocabulary.trie import VocabularyTrie

#: Length that stands for "no text" where a vocabulary is serialised for its digest.
_NO_TEXT = 0xFFFFFFFF


@dataclass(frozen=True, init=False, repr=False)
class Vocabulary:
    r"""The bytes of every token id of a model.

    Parameters
    ----------
    tokens : sequence of (bytes or None), length n_tokens
        Bytes of each id, in order; None for an id that spells no text. b"" is stored as None.
    eos_token_ids : int or iterable of int
        Ids that end a sequence, at least one; their own bytes are stored as None.
    size : int, optional
        Width of the model's logits, where it is larger than ``len(tokens)``: the ids between have
        no text.

    Attributes
    ----------
    tokens : tuple of (bytes or None), length size
        Bytes of each id; None for an id that spells no text.
    eos_token_ids : tuple of int
        Sorted, each once.

    Raises
    ------
    VocabularyError
        A token is not bytes, there is no EOS or one out of range, or ``size`` is too small.

    Examples
    --------
    >>> vocabulary = Vocabulary([b"a", b" b", b"\xc3", None], eos_token_ids=3, size=40)
    >>> vocabulary
    Vocabulary(size=40, n_text_tokens=3, eos_token_ids=(3,))
    >>> vocabulary.tokens[1], vocabulary.tokens[39], vocabulary.n_words
    (b' b', None, 2)
    """

    tokens: tuple[bytes | None, ...]
    eos_token_ids: tuple[int, ...]

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        *,
        eos_token_ids: int | Iterable[int],
        size: int | None = None,
    ) -> None:
        texts = _checked_tokens(tokens, size)
        end_ids = _checked_eos(eos_token_ids, len(texts))
        for index in end_ids:
            texts[index] = None
        object.__setattr__(self, "tokens", tuple(texts))
        object.__setattr__(self, "eos_token_ids", end_ids)

    @classmethod
    def of_bytes(cls, longer: Iterable[bytes] = ()) -> Self:
        r"""Return the vocabulary of all single bytes: id 65 is ``A``.

        Parameters
        ----------
        longer : iterable of bytes
            Further tokens, with the ids from 256 on. EOS has the last id: 256 if there are none.

        Raises
        ------
        VocabularyError
            One of `longer` is not bytes.

        Examples
        --------
        >>> vocabulary = Vocabulary.of_bytes()
        >>> vocabulary.tokens[65], vocabulary.size, vocabulary.eos_token_ids
        (b'A', 257, (256,))
        >>> Vocabulary.of_bytes([b"null"]).tokens[255:]
        (b'\xff', b'null', None)
        """
        tokens = [*(bytes([byte]) for byte in range(256)), *longer]
        return cls([*tokens, None], eos_token_ids=len(tokens))

    @classmethod
    def of(cls, tokenizer_or_vocabulary: object) -> Vocabulary:
        """Return a vocabulary as it is, or that of a tokenizer; raises as `from_tokenizer`."""
        if isinstance(tokenizer_or_vocabulary, Vocabulary):
            return tokenizer_or_vocabulary
        return cls.from_tokenizer(tokenizer_or_vocabulary)

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: object,
        *,
        eos_token_ids: int | Iterable[int] | None = None,
        size: int | None = None,
    ) -> Self:
        """Return the vocabulary of a fast tokenizer, its bytes read exactly.

        Parameters
        ----------
        tokenizer : transformers fast tokenizer or tokenizers.Tokenizer
            See :mod:`cfgguide.vocabulary.tokenizer_bytes` for how its bytes are read.
        eos_token_ids : int or iterable of int, optional
            All ids that end a sequence; by default the ``eos_token_id`` of a transformers
            tokenizer. Models may have several: see ``model.generation_config.eos_token_id``.
        size : int, optional
            Width of the model's logits (``model.config.vocab_size``) where that is larger.

        Raises
        ------
        TokenizerError
            The object is no fast tokenizer, or its tokens have no bytes of their own.
        VocabularyError
            No EOS is known, or ``eos_token_ids`` or ``size`` do not fit.

        Examples
        --------
        >>> from tokenizers import Tokenizer, decoders, models
        >>> tokenizer = Tokenizer(models.BPE(vocab={"a": 0, "Ġa": 1}, merges=[]))
        >>> tokenizer.decoder = decoders.ByteLevel()
        >>> tokenizer.add_special_tokens(["</s>"])
        1
        >>> Vocabulary.from_tokenizer(tokenizer, eos_token_ids=2).tokens
        (b'a', b' a', None)
        """
        tokens = token_bytes(tokenizer)
        if eos_token_ids is None:
            eos_token_ids = getattr(tokenizer, "eos_token_id", None)
        if eos_token_ids is None:
            raise VocabularyError(
                f"this {type(tokenizer).__name__} does not say which token ends a sequence: give "
                "eos_token_ids=..., for example tokenizer.token_to_id('</s>'), or all ids of "
                "model.generation_config.eos_token_id"
            )
        vocabulary = cls(tokens, eos_token_ids=eos_token_ids, size=size)
        # Grammars will be compiled for it, and shall not wait for this.
        vocabulary.trie.packed, vocabulary.spelling, vocabulary.digest  # noqa: B018
        return vocabulary

    @property
    def size(self) -> int:
        """Number of ids, with those that have no text: the width of a mask."""
        return len(self.tokens)

    @property
    def n_words(self) -> int:
        """Number of int32 words in a row of a bitmask: ``size / 32``, rounded up."""
        return -(-self.size // 32)

    @cached_property
    def n_text_tokens(self) -> int:
        """Number of ids that spell text."""
        return self.size - self.tokens.count(None)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the vocabulary in hex: the same for the same tokens, size and EOS.

        Hashed are the number of ids, of each id the length of its bytes (4 bytes, little-endian;
        0xFFFFFFFF for no text) and the bytes, then the EOS ids (4 bytes each).
        """
        return hashlib.sha256(b"".join(self._serialised())).hexdigest()

    @cached_property
    def trie(self) -> VocabularyTrie:
        """The tokens by their bytes, made when first asked for."""
        from cfgguide.vocabulary.trie import VocabularyTrie  # needs numpy

        return VocabularyTrie.of(self)

    @cached_property
    def spelling(self) -> Spelling:
        """Which byte strings the tokens spell, made when first asked for."""
        return Spelling.of(self.tokens)

    def spell(self, ids: Iterable[int]) -> bytes:
        r"""Return the bytes of a sequence of ids; EOS adds none.

        Parameters
        ----------
        ids : iterable of int
            Token ids, each with text or an EOS.

        Raises
        ------
        VocabularyError
            An id is out of range or has no text.

        Examples
        --------
        >>> Vocabulary([b"a", b"\xc3", b"\xa9", None], eos_token_ids=3).spell([0, 1, 2, 3]).decode()
        'aé'
        """
        return b"".join(self._text_of(index) for index in ids)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return (
            f"Vocabulary(size={self.size}, n_text_tokens={self.n_text_tokens}, "
            f"eos_token_ids={self.eos_token_ids})"
        )

    def _text_of(self, index: int) -> bytes:
        index = _checked_id(index, self.size, "token id")
        text = self.tokens[index]
        if text is not None:
            return text
        if index in self.eos_token_ids:
            return b""
        raise VocabularyError(
            f"token id {index} spells no text (it is special, or no token has this id) and is not "
            f"EOS {self.eos_token_ids}: leave it out"
        )

    def _serialised(self) -> Iterator[bytes]:
        yield self.size.to_bytes(4, "little")
        for text in self.tokens:
            yield (_NO_TEXT if text is None else len(text)).to_bytes(4, "little")
            yield text or b""
        for index in self.eos_token_ids:
            yield index.to_bytes(4, "little")


def _checked_tokens(tokens: Sequence[bytes | None], size: int | None) -> list[bytes | None]:
    if not isinstance(tokens, Sequence) or isinstance(tokens, str | bytes | bytearray):
        raise VocabularyError(
            f"tokens is a {type(tokens).__name__}: give a list with the bytes of each id in order, "
            "or use Vocabulary.from_tokenizer"
        )
    for index, token in enumerate(tokens):
        if token is not None and not isinstance(token, bytes):
            raise VocabularyError(
                f"token {index} is {token!r}, a {type(token).__name__}: give its bytes, or None "
                "if it spells no text; Vocabulary.from_tokenizer reads them from a tokenizer"
            )
    if not tokens:
        raise VocabularyError("there are no tokens: give the bytes of each id in order")
    texts = [token or None for token in tokens]
    if size is None:
        return texts
    if isinstance(size, bool) or not isinstance(size, int) or size < len(texts):
        raise VocabularyError(
            f"size={size!r} does not fit {len(texts)} tokens: give the width of the model's "
            f"logits, an int of at least {len(texts)}, or leave it out"
        )
    return texts + [None] * (size - len(texts))


def _checked_eos(eos_token_ids: int | Iterable[int], size: int) -> tuple[int, ...]:
    if isinstance(eos_token_ids, Iterable) and not isinstance(eos_token_ids, str | bytes):
        given: list[int] = list(eos_token_ids)
    else:
        given = [eos_token_ids]  # type: ignore[list-item]  # checked below
    ids = tuple(sorted({_checked_id(index, size, "EOS id") for index in given}))
    if not ids:
        raise VocabularyError(
            "eos_token_ids is empty, and without EOS no sequence could end: give the id of the "
            "model's end-of-sequence token"
        )
    return ids


def _checked_id(index: object, size: int, name: str) -> int:
    """Return ``index`` as an int (numpy's count, bool does not), or raise."""
    try:
        number = operator.index(index)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if isinstance(index, bool) or not 0 <= number < size:
        raise VocabularyError(
            f"{name} {index!r} ({type(index).__name__}) is not one of the ids 0 to {size - 1}: "
            "give an int of the model's vocabulary"
        )
    return number
