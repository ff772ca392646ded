r"""Sets of bytes, written for people.

In: the bytes of an arrow. Out: a label of a few parts. ASCII is one byte by itself, or a class as
in Python's ``re``, with ``␣`` for a space; a class that begins with ``^`` is *all other ASCII*.
Bytes of characters beyond ASCII follow, in words where UTF-8 has one for them::

    a        [0-9a-f]        [^"\\]        [^\n] lead of 2        continuation        \xe1-\xec
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

ASCII = frozenset(range(0x80))
ALL = frozenset(range(0x100))
#: Bytes of UTF-8 by what they do in a character.
WORDS = {
    "continuation": frozenset(range(0x80, 0xC0)),
    "lead of 2": frozenset(range(0xC2, 0xE0)),
    "lead of 3": frozenset(range(0xE0, 0xF0)),
    "lead of 4": frozenset(range(0xF0, 0xF5)),
}
_NAMED = {0x09: r"\t", 0x0A: r"\n", 0x0D: r"\r", 0x20: "␣"}
_SPECIAL = {ord(each): f"\\{each}" for each in r"\]^-"}  # in a class
_DASH = r"\-"
_RANGE = 3  # bytes in a row that are written as a range
_LONG = 24  # characters, from which on "any other" is easier to read


def label_of(members: Iterable[int], others: Iterable[int] = ()) -> str:
    r"""Return how a set of bytes is written.

    Parameters
    ----------
    members : iterable of int
        The bytes.
    others : iterable of int
        Bytes of the other arrows that leave the same state: where the rest of a long set is simply
        all that they leave, it is called "any other".

    Examples
    --------
    >>> label_of(b"0123456789abcdef"), label_of(b"a"), label_of(set(range(128)) - set(b'"\n'))
    ('[0-9a-f]', 'a', '[^\\n"]')
    >>> label_of(range(0x80, 0xC0)), label_of([0xE0, 0xE1, 0xE2, 0x41])
    ('continuation', 'A \\xe0-\\xe2')
    """
    wanted, taken = frozenset(members), frozenset(others)
    if wanted == ALL:
        return "any byte"
    written = " ".join(_parts(wanted))
    if len(written) > _LONG and taken:
        if wanted == ALL - taken:
            return "any other byte"
        if wanted == ASCII - taken:
            return "any other ASCII"
    return written


def _parts(wanted: frozenset[int]) -> Iterator[str]:
    if wanted >= ASCII:
        yield "ASCII"
    elif wanted & ASCII:
        yield _ascii(wanted & ASCII)
    beyond = wanted - ASCII
    for word, group in WORDS.items():
        if beyond >= group:
            yield word
            beyond -= group
    yield from (
        f"\\x{low:02x}" if low == high else f"\\x{low:02x}-\\x{high:02x}"
        for low, high in runs(beyond)
    )


def _ascii(wanted: frozenset[int]) -> str:
    if len(wanted) == 1:
        return _alone(min(wanted), {})
    plain, others = _class(wanted), _class(ASCII - wanted)
    is_most = len(wanted) > len(ASCII) / 2
    return f"[^{others}]" if is_most and len(others) <= len(plain) + 2 else f"[{plain}]"


def _class(wanted: frozenset[int]) -> str:
    parts = []
    for low, high in runs(wanted):
        if high - low + 1 < _RANGE:
            parts += [_alone(byte, _SPECIAL) for byte in range(low, high + 1)]
        else:
            parts.append(f"{_alone(low, _SPECIAL)}-{_alone(high, _SPECIAL)}")
    if _DASH in parts:  # it stands for itself at the end
        parts.remove(_DASH)
        parts.append("-")
    return "".join(parts)


def _alone(byte: int, special: dict[int, str]) -> str:
    if byte in special:
        return special[byte]
    return _NAMED.get(byte) or (chr(byte) if 0x20 < byte < 0x7F else f"\\x{byte:02x}")


def runs(members: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of numbers that follow one another.

    >>> list(runs([1, 2, 3, 7]))
    [(1, 3), (7, 7)]
    """
    first = last = None
    for each in sorted(members):
        if last is not None and each == last + 1:
            last = each
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = each
    if first is not None and last is not None:
        yield first, last


def shown_token(token: bytes, *, is_eos: bool = False) -> str:
    r"""Return a token as people read it.

    >>> print(shown_token(b' a\n'), shown_token(b"\xc3"))
    ␣a⏎ \xc3
    """
    if not token:
        return "EOS" if is_eos else "(no text)"
    try:
        read = token.decode()
    except UnicodeDecodeError:
        return repr(token)[2:-1]
    marked = read.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥")
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in marked)
