r"""Vocabularies as the letters of an automaton over characters.

In: a vocabulary. Out: :class:`VocabularyCharacters`, the trie of all tokens of whole characters,
which a walk reads in *letters*: the intervals of characters that an automaton reads alike. It needs
no rows for the bytes of UTF-8, of which ``\w`` alone has hundreds. Tokens that end inside of a
character, or begin there, are few; they stand beside the trie.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfgguide.automata.charset import MAX_CODE_POINT
from cfgguide.base.locks import new_lock
from cfgguide.engine.byte_machine.byte_walk import LetterTrie, Trie
from cfgguide.engine.vocabulary.trie import PackedTrie, VocabularyTrie
from cfgguide.engine.vocabulary.vocabulary import Vocabulary

MAX_LETTERS = 256
_N_KEPT = 4  # vocabularies
_KNOWN: OrderedDict[str, VocabularyCharacters] = OrderedDict()  # by digest; used last is last
_LOCK = new_lock()


class BegunTokens(NamedTuple):
    """Tokens of whole characters and the beginning of another one.

    Attributes
    ----------
    texts : list of str
        What the whole characters of some tokens are.
    ends : list of int
        For each of these texts, where its tokens end in the arrays below.
    places : int array
        Where the tokens stand in `VocabularyCharacters.token_ids`.
    begun : list of bytes
        Of each token the beginning of a character.
    lows, highs : int array
        The code points that begin like this.
    """

    texts: list[str]
    ends: list[int]
    places: npt.NDArray[np.int64]
    begun: list[bytes]
    lows: npt.NDArray[np.int64]
    highs: npt.NDArray[np.int64]


class VocabularyCharacters:
    """The tokens of a vocabulary as characters.

    Attributes
    ----------
    token_ids : int32 array
        Tokens of whole characters in the order of their bytes, then those that end inside of a
        character, then those that begin there.
    begun : BegunTokens
        The second kind.
    inside : range
        Where the third kind stands.
    longest : int
        More than a token has characters, even if it begins or ends inside of one.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        tokens = vocabulary.tokens
        whole: list[str] = []
        whole_ids: list[int] = []
        begun: dict[str, list[tuple[bytes, int]]] = {}
        inside: list[int] = []
        for token_id in vocabulary.trie.arrays.token_ids.tolist():
            token = tokens[token_id] or b""
            text, rest = cut(token)
            if text is None:
                if 0x80 <= token[0] < 0xC0:
                    inside.append(token_id)
            elif rest:
                begun.setdefault(text, []).append((rest, token_id))
            else:
                whole.append(text)
                whole_ids.append(token_id)
        lengths = np.fromiter(map(len, whole), dtype=np.int64, count=len(whole))
        points = np.frombuffer("".join(whole).encode("utf-32-le"), dtype=np.int32)
        self._points, numbers = np.unique(points, return_inverse=True)
        made = VocabularyTrie.of_sorted(numbers.astype(np.int32), lengths, whole_ids)
        parts = [tokens[token_id] or b"" for token_id in inside]  # no more characters than bytes
        self.longest = max([made.max_depth, *map(len, begun), *map(len, parts)]) + 1
        ids = [*whole_ids, *(token_id for each in begun.values() for _, token_id in each), *inside]
        self.token_ids = np.array(ids, dtype=np.int32)
        self.inside = range(len(ids) - len(inside), len(ids))
        rests = [rest for each in begun.values() for rest, _ in each]
        points_of = [code_points_of(rest) for rest in rests]
        lows, highs = np.array(points_of, dtype=np.int64).reshape(-1, 2).T
        places = np.arange(len(whole_ids), len(whole_ids) + len(rests))
        ends = list(accumulate(map(len, begun.values())))
        self.begun = BegunTokens(list(begun), ends, places, rests, lows, highs)
        packed = made.packed._replace(token_ids=self.token_ids)
        self._trie = Trie(PackedTrie.without_rows(*packed[:3]), made.max_depth)

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> VocabularyCharacters:
        """Return those of a vocabulary; they are made once."""
        with _LOCK:
            found = _KNOWN.pop(vocabulary.digest, None)
        if found is None:
            found = cls(vocabulary)
        with _LOCK:
            _KNOWN[vocabulary.digest] = found
            while len(_KNOWN) > _N_KEPT:
                _KNOWN.popitem(last=False)
        return found

    def trie(self, cuts: Sequence[int], letters: Sequence[int]) -> LetterTrie:
        """Return the trie of whole characters, and the letter of each character.

        Parameters
        ----------
        cuts : sequence of int
            The first code point of each interval, sorted; the first is 0.
        letters : sequence of int
            The letter of each interval, below `MAX_LETTERS`.
        """
        places = np.searchsorted(np.array(cuts), self._points, side="right") - 1
        return LetterTrie(self._trie, np.array(letters, dtype=np.uint8)[places])


def cut(data: bytes) -> tuple[str | None, bytes]:
    r"""Return the whole characters at the start of UTF-8, and the beginning of the next one.

    None if no text begins like this.

    Examples
    --------
    >>> cut("aé".encode()[:2]), cut(b"\xff")
    (('a', b'\xc3'), (None, b''))
    """
    try:
        return data.decode(), b""
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return None, b""
        return data[: error.start].decode(), data[error.start :]


def code_points_of(begun: bytes) -> tuple[int, int]:
    r"""Return the first and the last code point that begin with some bytes of UTF-8.

    Examples
    --------
    >>> code_points_of(b"\xc3"), code_points_of(b"\xe0")
    ((192, 255), (2048, 4095))
    """
    lead = begun[0]
    n_bytes = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    point = lead & (0x7F >> n_bytes)
    for byte in begun[1:]:
        point = point << 6 | byte & 0x3F
    n_bits = 6 * (n_bytes - len(begun))
    least = {2: 0x80, 3: 0x800, 4: 0x10000}[n_bytes]
    return max(point << n_bits, least), min((point + 1 << n_bits) - 1, MAX_CODE_POINT)
