"""Some texts of a list in a row, as a pattern: ``%regex {"substring_words": "the quick fox"}``.

In: the object after ``%regex``. Out: the texts that may be joined (:func:`chunks_of`), and a
pattern of all that begins at one of them and ends at a later one (:func:`pattern_of`).
"""

from __future__ import annotations

from typing import Any

from cfgguide.automata.shared_prefixes import one_of

#: Characters of all texts that are allowed, together.
MAX_CHARACTERS = 200_000
_KINDS = ("substring_chunks", "substring_words", "substring_chars")


def chunks_of(given: Any) -> tuple[str, ...]:
    """Return the texts of which ``%regex {...}`` allows some in a row.

    Raises
    ------
    ValueError
        If it is none of the three forms.

    Examples
    --------
    >>> chunks_of({"substring_words": "the quick, brown"})
    ('the', ' ', 'quick', ',', ' ', 'brown')
    """
    if not isinstance(given, dict) or len(given) != 1 or next(iter(given)) not in _KINDS:
        raise ValueError(f"%regex takes an object with one of {', '.join(_KINDS)}")
    [(kind, value)] = given.items()
    if kind == "substring_chunks":
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise ValueError("substring_chunks is a list of texts")
        return tuple(value)
    if not isinstance(value, str):
        raise ValueError(f"{kind} is a text")
    return tuple(value) if kind == "substring_chars" else _words_of(value)


def _words_of(text: str) -> tuple[str, ...]:
    """Return the runs of white space, of letters and digits, and of others."""
    runs: list[str] = []
    kind = None
    for character in text:
        before, kind = kind, _kind_of(character)
        if kind == before:
            runs[-1] += character
        else:
            runs.append(character)
    return tuple(runs)


def _kind_of(character: str) -> str:
    if character.isspace():
        return "space"
    return "word" if character.isalnum() or character == "_" else "other"


def pattern_of(chunks: tuple[str, ...]) -> str:
    r"""Return a pattern of all that some chunks in a row may be, except nothing at all.

    Raises
    ------
    ValueError
        If that is too much for one pattern.

    Examples
    --------
    >>> pattern_of(("a", "b", "a", "c"))
    'a(?:b(?:a(?:c)?)?|c)?|b(?:a(?:c)?)?|c'
    """
    kept = tuple(filter(None, chunks))
    n_characters = sum(len(each) * (at + 1) * (len(kept) - at) for at, each in enumerate(kept))
    if n_characters > MAX_CHARACTERS:
        raise ValueError(
            f"all that %regex allows here has {n_characters} characters, and at most "
            f"{MAX_CHARACTERS} fit into one terminal; give fewer chunks, or longer ones. Where the "
            "whole answer is a quote, or a string of JSON is, take cfgguide.quote_of or Quote"
        )
    texts = {
        "".join(kept[begin:end])
        for begin in range(len(kept))
        for end in range(begin + 1, len(kept) + 1)
    }
    return one_of(sorted(texts))
