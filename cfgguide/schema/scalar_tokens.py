"""Which tokens end scalars in arrays, and which begin others: found once for a vocabulary.

In: where in an array tokens begin. Out: :class:`ScalarTokens`: by the value of a scalar, the tokens
that write it; by what they add to one that has begun, the tokens that end it or leave it begun. ::

    , "a", tr       where an item has ended: the value "a", and true, which nothing else begins like
    2, 5            in the number 1: what ends it is `2`; 5 has begun
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator

from cfgguide.engine.byte_machine.shared_masks import SharedMasks, written
from cfgguide.engine.masks.subset import bitmask_of
from cfgguide.schema.equality import number_of, value_of

_SCALAR = rb'"(?:[^"\\]|\\.)*+"|true|false|null|[-+.0-9eE]++'
_ITEM = re.compile(_SCALAR, re.DOTALL)
_ENDED = _SCALAR + rb"(?=[ \t\n\r,\]])"  # a number ends where something else comes
_SP = rb"[ \t\n\r]*+"
_END = rb"(?:%b\]%b)?+" % (_SP, _SP)
_LIST = (
    rb"(?P<whole>(?:(?:%b)(?:%b,%b(?:%b))*+)?+)(?:%b,)?+%b"
    rb'(?P<begun>"(?:[^"\\]|\\.)*+\\?|[-+.0-9eE]++|[a-z]{0,4}+)'
) % (_ENDED, _SP, _SP, _ENDED, _SP, _SP)
_AFTER = rb"(?P<after>%b(?:,%b%b)?+%b)" % (_SP, _SP, _LIST, _END)
#: Where tokens begin: where an item is due, or has ended, or in a string, or in another scalar.
DUE = re.compile(rb"(?P<end>)(?P<after>%b%b%b)" % (_SP, _LIST, _END), re.DOTALL)
ENDED = re.compile(rb"(?P<end>)" + _AFTER, re.DOTALL)
IN_STRING = re.compile(rb'(?P<end>(?:[^"\\]|\\.)*+")' + _AFTER, re.DOTALL)
IN_OTHER = re.compile(rb"(?P<end>[-+.0-9a-zE]*+)" + _AFTER, re.DOTALL)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_INSIDE = re.compile(rb'(?:[^"\\]|\\.)*+\\?', re.DOTALL)
_CONSTANTS = {word[:1]: value_of(word) for word in (b"null", b"true", b"false")}
#: A number that is zero so far, or a minus, or has a fraction or an exponent.
IS_SPELLED = re.compile(rb"-?0|-\Z|[-0-9]*[.eE]")


class ScalarTokens:
    """The tokens that write scalars, and end an array after them.

    Parameters
    ----------
    masks : SharedMasks
        Those of the vocabulary.
    place : re.Pattern
        Where the tokens begin: `DUE`, `ENDED`, `IN_STRING` or `IN_OTHER`.

    Attributes
    ----------
    unclear : int32, shape (n_words,)
        Tokens that write something else.
    spelled : int32, shape (n_words,)
        Tokens that leave a number that is zero so far, or has a fraction or an exponent.
    following : int32, shape (n_words,)
        Tokens that write or end an item, and begin another one; or end inside of an escape.
    opening : int32, shape (n_words,)
        Tokens that write or end an item, and begin a string, of which nothing has come.
    most : int
        How many items one of them writes or begins, at most.
    """

    def __init__(self, masks: SharedMasks, place: re.Pattern[bytes]) -> None:
        self._masks, self._place = masks, place
        self._n_words = masks.vocabulary.n_words
        self._repeating: list[int] = []  # they write two equal items
        self._by_value: dict[Hashable, list[int]] = {}
        self._by_end: dict[bytes, list[int]] = {}
        self._by_begun: dict[bytes, list[int]] = {}  # by what there is then of a scalar
        self._ending: list[tuple[int, bytes, set[Hashable]]] = []  # they write others, too
        self.most = 0
        unclear, spelled, following, opening = (list[int]() for _ in range(4))
        for token_id, token in masks.marked:
            if place is IN_STRING and _INSIDE.fullmatch(token):
                continue
            found = place.fullmatch(token)
            values = None if found is None else _values_of(found["whole"] or b"")
            if found is None or values is None:
                unclear.append(token_id)
                continue
            end, begun = found["end"], found["begun"] or b""
            is_inside = place is IN_OTHER and not found["after"]
            ends = place is IN_STRING or (place is IN_OTHER and not is_inside)
            if is_inside:
                begun = end
            elif begun[:1] in _CONSTANTS:
                values.append(_CONSTANTS[begun[:1]])
            text, ended = _plain(begun), written(end[:-1]) if place is IN_STRING else end
            if ended is None:
                unclear.append(token_id)
            elif begun and (values or ends or text is None):
                (opening if begun == b'"' else following).append(token_id)
            else:
                self._by_begun.setdefault(text or b"", []).append(token_id)
            if IS_SPELLED.match(begun):
                spelled.append(token_id)
            if ends:
                self._by_end.setdefault(ended or b"", []).append(token_id)
            if ends and values:
                self._ending.append((token_id, end, {*values}))
            if len({*values}) < len(values):
                self._repeating.append(token_id)
            for value in values:
                self._by_value.setdefault(value, []).append(token_id)
            self.most = max(self.most, len(values) + 1)
        self.unclear, self.spelled, self.following, self.opening = (
            bitmask_of(each, self._n_words) for each in (unclear, spelled, following, opening)
        )

    def writing(self, used: frozenset[Hashable], begun: bytes) -> list[int]:
        """Return the tokens that write one of some items once more, or one of their own twice.

        Parameters
        ----------
        used : frozenset
            The values of the items.
        begun : bytes
            What there is of the item in which the tokens begin.
        """
        found = list(self._repeating)
        for value in used:
            found += self._by_value.get(value, ())
        if self._place is IN_STRING:
            for rest in rests_of(used, begun):
                found += self._by_end.get(rest, ())
        elif self._place is IN_OTHER and begun[:1] not in _CONSTANTS:
            for end, token_ids in self._by_end.items():
                number = begun + end
                if _NUMBER.fullmatch(number) and number_of(number.decode()) in used:
                    found += token_ids
        last = {end: _value_of(begun + end) for end in {end for _, end, _ in self._ending}}
        found += [token_id for token_id, end, values in self._ending if last[end] in values]
        return found

    def leaving(self, texts: Iterable[bytes]) -> list[int]:
        """Return the tokens after which there is one of some texts of a scalar, or more of it."""
        if self._place is IN_STRING:
            return self._masks.writing(texts)
        return [token_id for text in texts for token_id in self._by_begun.get(text, ())]


def rests_of(values: Iterable[Hashable], begun: bytes) -> Iterator[bytes]:
    """Yield how a string that has begun may go on as one of some values, without the quote."""
    text = (_plain(begun) or b"")[1:]
    for value in values:
        whole = value.encode(errors="surrogatepass") if isinstance(value, str) else b""
        if isinstance(value, str) and whole.startswith(text):
            yield whole[len(text) :]


def beginnings_of(texts: Iterable[bytes]) -> set[bytes]:
    """Return all that some texts begin with."""
    return {text[:n] for text in texts for n in range(len(text) + 1)}


def is_cut(text: bytes) -> bool:
    """Return whether a text ends inside of a character."""
    try:
        text.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return True
    return False


def _plain(text: bytes) -> bytes | None:
    """Return a string that has begun, or any other text, without escapes; None after half a one."""
    if b"\\" not in text:
        return text
    found = written(text[1:])
    return None if found is None else b'"' + found


def _values_of(text: bytes) -> list[Hashable] | None:
    """Return the values of some scalars; None if one of them is none."""
    values = list(map(_value_of, _ITEM.findall(text)))
    return None if None in values else values


def _value_of(text: bytes) -> Hashable:
    """Return the value of a scalar; None, which none has, of what is none."""
    try:
        return value_of(text)
    except ValueError:
        return None
