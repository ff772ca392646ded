r"""A model's vocabulary: the bytes of every token id, and the ids that end a sequence.

In: the bytes of the tokens, or a tokenizer. Out: a frozen :class:`Vocabulary`, the only form in
which the rest of cfgguide knows a tokenizer. A token is an id and its bytes, not a string: half
of a character is a token in most vocabularies.

    id     0      1       2         3            4..39
    bytes  b"a"   b" b"   b"\xc3"   None (EOS)   None (no token)   size 40, n_words 2

A mask never allows an id without text (None), except EOS after a sentence. The empty token counts
as one without text, since a model could choose it for ever.

A grammar may have terminals that are special tokens (:meth:`Vocabulary.with_symbols`). Each such
terminal is a byte that UTF-8 never has (:mod:`cfgguide.base.symbols`), so no text spells one.
"""

from __future__ import annotations

import contextlib
import hashlib
import operator
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from cfgguide.base.symbols import TextDecoder, symbols_of
from cfgguide.engine.vocabulary.spelling import Spelling
from cfgguide.engine.vocabulary.tokenizer_bytes import added_tokens, description_of, read_tokens
from cfgguide.errors import VocabularyError, VocabularyWarning, shown

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cfgguide.engine.vocabulary.lookup import TokenLookup
    from cfgguide.engine.vocabulary.trie import VocabularyTrie

#: Most bytes of a token. Those of models have up to a thousand; the trie has a level for each byte.
MAX_TOKEN_BYTES = 1 << 16
#: Most ids. Models have up to some 300,000; each row of a bitmask has a bit for each id.
MAX_SIZE = 1 << 24
#: Length that stands for "no text" in the digest.
_NO_TEXT = 0xFFFFFFFF
_MAX_NAMED = 60  # special tokens that an error names
_MAX_KNOWN = 8  # vocabularies with symbols, each with a trie of its own


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
        Width of the model's logits, if it is larger than ``len(tokens)``: the further ids have no
        text.
    special_tokens : mapping of str to int, optional
        Names of ids, by which a grammar's special terminals may mean them.

    Attributes
    ----------
    tokens : tuple of (bytes or None), length size
        Bytes of each id; None for an id that spells no text.
    eos_token_ids : tuple of int
        Sorted, each once.
    special_tokens : mapping of str to int
        Names of ids. They are no part of what makes two vocabularies equal.
    symbols : mapping of str to tuple of (str or int)
        The special terminals of a grammar and their tokens; see :meth:`with_symbols`.

    Raises
    ------
    VocabularyError
        A token is not bytes or has more than 65,536, there is no EOS or one out of range, or
        ``size`` is too small or more than 16,777,216.

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
    special_tokens: Mapping[str, int] = field(compare=False)
    symbols: Mapping[str, tuple[str | int, ...]] = field(compare=False)

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        *,
        eos_token_ids: int | Iterable[int],
        size: int | None = None,
        special_tokens: Mapping[str, int] | None = None,
    ) -> None:
        texts = _checked_tokens(tokens, size)
        end_ids = _checked_eos(eos_token_ids, len(texts))
        for token_id in end_ids:
            texts[token_id] = None
        named = _checked_names(special_tokens or {}, len(texts))
        self._set(texts, end_ids, named, {})

    def _set(
        self,
        tokens: Iterable[bytes | None],
        eos_token_ids: tuple[int, ...],
        special_tokens: Mapping[str, int],
        symbols: Mapping[str, tuple[str | int, ...]],
    ) -> None:
        object.__setattr__(self, "tokens", tuple(tokens))
        object.__setattr__(self, "eos_token_ids", eos_token_ids)
        object.__setattr__(self, "special_tokens", dict(special_tokens))
        object.__setattr__(self, "symbols", dict(symbols))

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
        tokens = [*(bytes([byte]) for byte in range(256)), *_listed(longer, "longer")]
        return cls([*tokens, None], eos_token_ids=len(tokens))

    @classmethod
    def of(cls, tokenizer_or_vocabulary: object) -> Vocabulary:
        """Return the vocabulary itself, or that of a tokenizer; raises as `from_tokenizer`."""
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

        A large one is kept in the user's cache, under the whole description of the tokenizer.

        Parameters
        ----------
        tokenizer : transformers fast tokenizer or tokenizers.Tokenizer
            See :mod:`cfgguide.engine.vocabulary.tokenizer_bytes` for how its bytes are read.
        eos_token_ids : int or iterable of int, optional
            All ids that end a sequence; by default the ``eos_token_id`` of a transformers
            tokenizer. Models may have several: see ``model.generation_config.eos_token_id``.
        size : int, optional
            Width of the model's logits (``model.config.vocab_size``), if that is larger.

        Raises
        ------
        TokenizerError
            The object is not a fast tokenizer, or its tokens have no bytes of their own.
        VocabularyError
            No EOS is known, or ``eos_token_ids`` or ``size`` do not fit.
        LimitError
            The bound on the cache's bytes, in the environment, is not a number.

        Warns
        -----
        VocabularyWarning
            The tokenizer decodes an added token to another text than encodes to it.

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
        from cfgguide.engine.vocabulary import vocabulary_cache  # needs numpy

        description, special_ids = description_of(tokenizer)
        if eos_token_ids is None:
            eos_token_ids = getattr(tokenizer, "eos_token_id", None)
        key = vocabulary_cache.key_of(description, special_ids, eos_token_ids, size)
        stored = vocabulary_cache.load(key) if key else None
        if stored is not None:
            if stored.warning:
                warnings.warn(stored.warning, VocabularyWarning, stacklevel=2)
            made = cls.__new__(cls)
            made._set(stored.tokens, stored.eos_token_ids, added_tokens(tokenizer), {})
            made.__dict__.update(trie=stored.trie, trie_kinds=stored.kinds)
            made.__dict__.update(spelling=stored.spelling, digest=stored.digest)
            return made
        tokens, warning = read_tokens(description, special_ids)
        if warning:
            warnings.warn(warning, VocabularyWarning, stacklevel=2)
        if eos_token_ids is None:
            raise VocabularyError(
                f"this {type(tokenizer).__name__} does not say which token ends a sequence: give "
                "eos_token_ids=..., for example tokenizer.token_to_id('</s>'), or all ids of "
                "model.generation_config.eos_token_id"
            )
        vocabulary = cls(
            tokens,
            eos_token_ids=eos_token_ids,
            size=size,
            special_tokens=added_tokens(tokenizer),
        )
        # Computed now, so that compiling a grammar need not wait for it.
        vocabulary.trie.packed, vocabulary.spelling, vocabulary.digest  # noqa: B018
        if key:
            vocabulary_cache.store(key, vocabulary, warning)
        return vocabulary

    @property
    def size(self) -> int:
        """Number of ids, including those without text: the width of a mask."""
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

        The hash is over the number of ids; for each id the length of its bytes (0xFFFFFFFF for no
        text) and the bytes; then the EOS ids. Each number takes 4 bytes, little-endian.
        """
        return hashlib.sha256(b"".join(self._serialised())).hexdigest()

    @cached_property
    def trie(self) -> VocabularyTrie:
        """The tokens by their bytes, made on first use."""
        from cfgguide.engine.vocabulary.trie import VocabularyTrie  # needs numpy

        return VocabularyTrie.of(self.tokens)

    @cached_property
    def trie_kinds(self) -> npt.NDArray[np.uint64]:
        """Which kinds of characters come below each node of the packed trie."""
        from cfgguide.engine.vocabulary.trie_kinds import kinds_below  # needs numpy

        return kinds_below(self.trie.packed)

    @cached_property
    def spelling(self) -> Spelling:
        """Which byte strings the tokens spell, made on first use."""
        return Spelling.of(self.tokens)

    @property
    def parts(self) -> list[object]:
        """The vocabulary and what it is made of, which all indexes hold."""
        trie = self.trie
        made = [trie, trie.packed, *trie.packed, self.eos_bitmask]
        return [self, self.tokens, self.spelling, *made]

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the tokens and their trie, by their sizes: it is asked for often."""
        from cfgguide.base.footprint import footprint  # needs numpy

        return (
            footprint(self.trie) + sys.getsizeof(self.tokens) + sum(map(sys.getsizeof, self.tokens))
        )

    @cached_property
    def eos_bitmask(self) -> npt.NDArray[np.int32]:
        """The mask of EOS alone, to be read only; int32, shape (n_words,)."""
        import numpy as np

        bits = np.zeros(32 * self.n_words, dtype=np.bool_)
        bits[list(self.eos_token_ids)] = True
        bitmask = np.packbits(bits, bitorder="little").view(np.int32)
        bitmask.flags.writeable = False
        return bitmask

    @cached_property
    def tokens_by_first_byte(self) -> npt.NDArray[np.int32]:
        """For each byte the tokens that begin with it; int32, shape (256, n_words).

        Bit `i % 32` of word `i // 32` is token `i`. Made on first use.
        """
        import numpy as np

        first = np.full(32 * self.n_words, -1, dtype=np.int16)
        first[: self.size] = [token[0] if token else -1 for token in self.tokens]
        rows = [np.packbits(first == byte, bitorder="little").view(np.int32) for byte in range(256)]
        return np.stack(rows)

    @cached_property
    def lookup(self) -> TokenLookup:
        """Finds tokens by their bytes; made on first use."""
        from cfgguide.engine.vocabulary.lookup import TokenLookup  # needs numpy

        return TokenLookup(self.trie)

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
        return b"".join(self._text_of(token_id) for token_id in _listed(ids, "ids"))

    def with_symbols(self, symbols: Mapping[str, tuple[str | int, ...]]) -> Vocabulary:
        r"""Return this vocabulary with special tokens that are symbols of a grammar.

        Parameters
        ----------
        symbols : mapping of str to tuple of (str or int)
            For each special terminal, the tokens that it stands for: names among `special_tokens`,
            or ids. These tokens have the terminal's symbol (:mod:`cfgguide.base.symbols`) as their
            text, and no other token has it.

        Raises
        ------
        VocabularyError
            If no token has a name, or two terminals have the same token.
        GrammarError
            If there are too many terminals.

        Examples
        --------
        >>> vocabulary = Vocabulary(
        ...     [b"a", None, None], eos_token_ids=2, special_tokens={"<call>": 1}
        ... )
        >>> vocabulary.with_symbols({"CALL": ("<call>",)}).tokens
        (b'a', b'\xf5', None)
        """
        if not symbols or dict(symbols) == self.symbols:
            return self
        key = tuple(sorted(symbols.items()))
        known = self._with_symbols
        if key not in known:
            while len(known) >= _MAX_KNOWN:
                del known[next(iter(known))]
            known[key] = self._made_with_symbols(dict(key))
        return known[key]

    @cached_property
    def _with_symbols(self) -> dict[object, Vocabulary]:
        return {}

    def __getstate__(self) -> dict[str, object]:
        quickly_made = "_with_symbols", "tokens_by_first_byte", "lookup"
        return {name: value for name, value in self.__dict__.items() if name not in quickly_made}

    def _made_with_symbols(self, symbols: Mapping[str, tuple[str | int, ...]]) -> Vocabulary:
        used = symbols_of(symbols)
        taken = bytes(used.values())
        tokens = [
            None if token is None or token.translate(None, taken) != token else token
            for token in self.tokens
        ]
        owners: dict[int, str] = {}
        for terminal, byte in used.items():
            for token in symbols[terminal]:
                token_id = self._id_of(token, terminal)
                if owners.setdefault(token_id, terminal) != terminal:
                    raise VocabularyError(
                        f"the terminals {owners[token_id]} and {terminal} both stand for token "
                        f"{token_id}: give each token to one terminal"
                    )
                tokens[token_id] = bytes([byte])
        made = Vocabulary.__new__(Vocabulary)
        made._set(tokens, self.eos_token_ids, self.special_tokens, symbols)
        return made

    @cached_property
    def _names(self) -> dict[int, str]:
        """A name for each symbol: of its first token, or of the terminal."""
        return {
            byte: first if isinstance(first := self.symbols[terminal][0], str) else f"<{terminal}>"
            for terminal, byte in symbols_of(self.symbols).items()
        }

    def _id_of(self, token: str | int, terminal: str) -> int:
        if not isinstance(token, str):
            return _checked_id(token, self.size, f"the token of {terminal}")
        if token not in self.special_tokens:
            known = [*self.special_tokens]
            listed = ", ".join(known[:_MAX_NAMED]) + ("..." if len(known) > _MAX_NAMED else "")
            raise VocabularyError(
                f"the terminal {terminal} stands for the token {token!r}, and no special token of "
                f"this vocabulary has that name; there is {listed or 'none'}. Give a name of "
                "these, or a token's id"
            )
        return self.special_tokens[token]

    @cached_property
    def symbol_ids(self) -> frozenset[int]:
        """The ids that are symbols of a grammar."""
        if not self._names:
            return frozenset()
        symbols = {bytes([byte]) for byte in self._names}
        return frozenset(index for index, token in enumerate(self.tokens) if token in symbols)

    def text_decoder(self) -> TextDecoder:
        r"""Return what decodes the bytes of a text; a symbol is the name of its token.

        Examples
        --------
        >>> vocabulary = Vocabulary([b"a", None], eos_token_ids=1, special_tokens={"<e>": 1})
        >>> vocabulary.with_symbols({"END": ("<e>",)}).text_decoder().decode(b"a\xf5")
        'a<e>'
        """
        return TextDecoder(self._names)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return (
            f"Vocabulary(size={self.size}, n_text_tokens={self.n_text_tokens}, "
            f"eos_token_ids={self.eos_token_ids})"
        )

    def _text_of(self, token_id: int) -> bytes:
        token_id = _checked_id(token_id, self.size, "token id")
        text = self.tokens[token_id]
        if text is not None:
            return text
        if token_id in self.eos_token_ids:
            return b""
        raise VocabularyError(
            f"token id {token_id} spells no text (it is special, or no token has this id) and is "
            f"not EOS {self.eos_token_ids}: leave it out"
        )

    def _serialised(self) -> Iterator[bytes]:
        yield self.size.to_bytes(4, "little")
        for text in self.tokens:
            yield (_NO_TEXT if text is None else len(text)).to_bytes(4, "little")
            yield text or b""
        for token_id in self.eos_token_ids:
            yield token_id.to_bytes(4, "little")


def _checked_names(names: Mapping[str, int], size: int) -> dict[str, int]:
    if not isinstance(names, Mapping) or not all(isinstance(name, str) for name in names):
        raise VocabularyError(f"special_tokens maps names to ids, not {shown(names)}")
    return {name: _checked_id(token_id, size, name) for name, token_id in names.items()}


def _listed(values: object, name: str) -> list[Any]:
    try:
        return list(values)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise VocabularyError(f"{name} is a {type(values).__name__}: give a list") from None


def _checked_tokens(tokens: Sequence[bytes | None], size: int | None) -> list[bytes | None]:
    if not isinstance(tokens, Sequence) or isinstance(tokens, str | bytes | bytearray):
        raise VocabularyError(
            f"tokens is a {type(tokens).__name__}: give a list with the bytes of each id in order, "
            "or use Vocabulary.from_tokenizer"
        )
    if len(tokens) > MAX_SIZE:
        raise VocabularyError(f"there are {len(tokens)} tokens, and at most {MAX_SIZE} can be used")
    for token_id, token in enumerate(tokens):
        if token is not None and not isinstance(token, bytes):
            raise VocabularyError(
                f"token {token_id} is {shown(token)}, a {type(token).__name__}: give its bytes, or "
                "None if it spells no text; Vocabulary.from_tokenizer reads them from a tokenizer"
            )
        if token is not None and len(token) > MAX_TOKEN_BYTES:
            raise VocabularyError(
                f"token {token_id} has {len(token)} bytes, and at most {MAX_TOKEN_BYTES} can be "
                "used: give None in its place, and it is never allowed"
            )
    if not tokens:
        raise VocabularyError("there are no tokens: give the bytes of each id in order")
    texts = [token or None for token in tokens]
    if size is None:
        return texts
    if isinstance(size, bool) or not isinstance(size, int) or not len(texts) <= size <= MAX_SIZE:
        raise VocabularyError(
            f"size={shown(size)} does not fit {len(texts)} tokens: give the width of the model's "
            f"logits, an int of at least {len(texts)} and at most {MAX_SIZE}, or leave it out"
        )
    return texts + [None] * (size - len(texts))


def _checked_eos(eos_token_ids: int | Iterable[int], size: int) -> tuple[int, ...]:
    given: list[object] = [eos_token_ids]  # checked below
    if not isinstance(eos_token_ids, str | bytes):
        with contextlib.suppress(TypeError):  # an array without a dimension is not iterable either
            given = list(eos_token_ids)  # type: ignore[arg-type]
    ids = tuple(sorted({_checked_id(index, size, "EOS id") for index in given}))
    if not ids:
        raise VocabularyError(
            "eos_token_ids is empty, and without EOS no sequence could end: give the id of the "
            "model's end-of-sequence token"
        )
    return ids


def _checked_id(given: object, size: int, name: str) -> int:
    """Return ``given`` as an int, or raise; numpy integers are accepted, bool is not."""
    try:
        token_id = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        token_id = -1
    if isinstance(given, bool) or not 0 <= token_id < size:
        raise VocabularyError(
            f"{name} {shown(given)} ({type(given).__name__}) is not one of the ids 0 to {size - 1}"
            ": give an int of the model's vocabulary"
        )
    return token_id
