"""Names of SQL as they may be written: plain, or in one of three kinds of quotes, in any case.

In: names in lower case. Out: :class:`SqlIdentifiers`, the texts of a terminal that spell one of
them. The case of ASCII letters is ignored, as SQLite does. ::

    names id, order      id  ID  "id"  `id`  [id]  "order" ...   but not  order, a reserved word
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice

from cfgguide.engine.monitors.text_sets import Texts
from cfgguide.grammar.grammar import Grammar
from cfgguide.languages.sql.name_patterns import is_word
from cfgguide.languages.states import KeyedValue

_FEW = 100  # names whose tokens are looked up one by one
_PLAIN, _DOUBLE, _BACK, _BRACKET = range(4)
_QUOTES = {b'"': _DOUBLE, b"`": _BACK, b"[": _BRACKET}


@cache
def listed_words(grammar: str, terminal: str) -> frozenset[str]:
    """Return the words, in lower case, that a terminal of a bundled grammar lists first.

    Parameters
    ----------
    grammar, terminal : str
        The name of the grammar; that of the terminal, with its priority.
    """
    text = Grammar.bundled(grammar).text
    found = re.search(rf"^{re.escape(terminal)}: /\(\?ai:([a-z0-9_|]+)\)", text, re.MULTILINE)
    assert found is not None, terminal
    return frozenset(found[1].split("|"))


@cache
def keywords() -> tuple[frozenset[str], frozenset[str]]:
    """Return the reserved words of SQLite, and all of its keywords, in lower case."""
    every = re.findall(r"^\w+\.2: /\(\?ai:(\w+)\)", Grammar.bundled("sql").text, re.MULTILINE)
    return listed_words("sql", "RESERVED.1"), frozenset(every)


def folded(name: str) -> str:
    """Return a name as SQLite compares it: with ASCII letters in lower case."""
    if name.isascii():
        return name.lower()
    return name.encode("utf-8", "surrogateescape").lower().decode("utf-8", "surrogateescape")


def unquoted(text: str) -> str:
    """Return the name that a text spells, folded.

    >>> unquoted("`My table`"), unquoted("Users"), unquoted("[a b]")
    ('my table', 'users', 'a b')
    """
    if text[:1] in ('"', "`", "'"):  # the last one of a result column only
        return folded(text[1:-1].replace(2 * text[0], text[0]))
    return folded(text[1:-1] if text.startswith("[") else text)


def quoted(name: str) -> str:
    """Return a name as a text that always spells it.

    >>> quoted("id"), quoted("order"), quoted('a"b')
    ('id', '"order"', '"a""b"')
    """
    if is_word(name) and folded(name) not in keywords()[1]:
        return name
    return '"' + name.replace('"', '""') + '"'


class NameSet(KeyedValue):
    """Names, with all that they are looked up by; made once and shared."""

    __slots__ = ("_forms", "beyond_ascii", "is_word_only", "keywords", "names")

    def __init__(self, names: Iterable[str], *, is_word_only: bool = False) -> None:
        self.names = frozenset(names)
        self.is_word_only = is_word_only
        super().__init__(self.names, is_word_only)
        reserved, every = keywords()
        self.keywords = sorted(name.encode() for name in self.names & (every - reserved))
        self.beyond_ascii = sorted(name for name in self.names if not name.isascii())
        plain = [name for name in self.names if is_word(name) and name not in reserved]
        quoted_names = [] if is_word_only else [name for name in self.names if name]
        forms = (
            plain,
            ['"' + name.replace('"', '""') + '"' for name in quoted_names],
            ["`" + name.replace("`", "``") + "`" for name in quoted_names],
            ["[" + name + "]" for name in quoted_names if "]" not in name],
        )
        self._forms = tuple(
            sorted(form.encode("utf-8", "surrogateescape") for form in kind) for kind in forms
        )

    def begins(self, text: bytes) -> bool:
        """Return whether a spelling of some name begins with a text in lower case."""
        return any(self.beginning(text))

    def has(self, text: bytes) -> bool:
        """Return whether a text in lower case is a spelling of some name."""
        return bool(text) and next(self.beginning(text), None) == text

    def beginning(self, text: bytes) -> Iterator[bytes]:
        """Yield the spellings of names that begin with a text in lower case."""
        if not text:
            for kind in self._forms:
                yield from kind
            return
        forms = self._forms[_QUOTES.get(text[:1], _PLAIN)]
        place = bisect_left(forms, text)
        while place < len(forms) and forms[place].startswith(text):
            yield forms[place]
            place += 1

    def goes_on(self, text: bytes) -> bool:
        """Return whether a longer spelling of some name begins with a text in lower case."""
        return any(each != text for each in islice(self.beginning(text), 2))

    def singles(self) -> list[NameSet]:
        """Return each of the names in a set of its own."""
        if len(self.names) == 1:
            return [self]
        return [_single(name, self.is_word_only) for name in self.names]


@lru_cache(10_000)
def _single(name: str, is_word_only: bool) -> NameSet:
    return NameSet([name], is_word_only=is_word_only)


class SqlIdentifiers(KeyedValue, Texts):
    """The texts that spell a name of some sets, but for a few names.

    Parameters
    ----------
    sets : tuple of NameSet
        The names.
    missing : frozenset of str
        Names that are not among them after all.
    read_otherwise : frozenset of bytes
        Words, in lower case, that the lexer reads as keywords where the texts may stand.

    Examples
    --------
    >>> names = SqlIdentifiers((NameSet(["id", "order"]),))
    >>> names.has(b"ID"), names.has(b"order"), names.has(b'"order"'), names.begins(b"[or")
    (True, False, True, True)
    """

    __slots__ = ("missing", "read_otherwise", "sets")

    def __init__(
        self,
        sets: tuple[NameSet, ...],
        missing: frozenset[str] = frozenset(),
        read_otherwise: frozenset[bytes] = frozenset(),
    ) -> None:
        self.sets = sets
        self.missing = missing
        self.read_otherwise = read_otherwise
        super().__init__(sets, missing, read_otherwise)

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        if not self.missing:
            return not any(names.names for names in self.sets)
        return all(name in self.missing for names in self.sets for name in names.names)

    def has(self, text: bytes) -> bool:
        """Return whether a text spells one of the names."""
        lower = text.lower()
        if lower in self.read_otherwise or not any(names.has(lower) for names in self.sets):
            return False
        return not self.missing or _name(text) not in self.missing

    def begins(self, text: bytes) -> bool:
        """Return whether a spelling of one of the names begins with a text."""
        lower = text.lower()
        if not self.missing and not self.read_otherwise:
            return any(names.begins(lower) for names in self.sets)
        if self.has(text):
            return True
        return any(names.goes_on(lower) and self._goes_on(names, lower) for names in self.sets)

    def next_bytes(self, text: bytes) -> Collection[int] | None:
        """Return bytes with which a spelling of one of a few names may go on; None for any."""
        if sum(len(names.names) for names in self.sets) > _FEW:
            return None
        lower = text.lower()
        forms = [form for names in self.sets for form in names.beginning(lower)]
        found = {form[len(lower)] for form in forms if len(form) > len(lower)}
        return found | {byte - 32 for byte in found if 97 <= byte <= 122}

    def _goes_on(self, names: NameSet, lower: bytes) -> bool:
        """Return whether a longer spelling begins with a text, that of a name which is there."""
        return any(
            len(form) > len(lower)
            and form not in self.read_otherwise
            and _name(form) not in self.missing
            for form in names.beginning(lower)
        )

    def read_as_such(self, is_lexeme: Callable[[bytes], bool]) -> SqlIdentifiers:
        """Return those of the texts that the lexer reads as such."""
        otherwise: set[bytes] = set()
        missing = set(self.missing)
        for names in self.sets:
            otherwise.update(word for word in names.keywords if not is_lexeme(word))
            for name in names.beyond_ascii:
                if not is_lexeme(quoted(name).encode("utf-8", "surrogateescape")):
                    missing.add(name)
        if not otherwise and len(missing) == len(self.missing):
            return self
        return SqlIdentifiers(self.sets, frozenset(missing), frozenset(otherwise))

    def parts(self) -> Iterable[Texts]:
        """Return a few names one by one, and many by the sets that they are in."""
        if sum(len(names.names) for names in self.sets) <= _FEW:
            return [
                SqlIdentifiers(
                    (single,), read_otherwise=frozenset(filter(single.has, self.read_otherwise))
                )
                for names in self.sets
                for single in names.singles()
                if single.names.isdisjoint(self.missing)
            ]
        if self.missing or self.read_otherwise or len(self.sets) == 1:
            return (self,)
        return [SqlIdentifiers((names,)) for names in self.sets]

    def completed(self, begun: bytes) -> bytes | None:
        """Return a text that begins with some bytes; None if there is none."""
        lower = begun.lower()
        for names in self.sets:
            for form in names.beginning(lower):
                text = begun + form[len(begun) :]
                if self.has(text):
                    return text
        return None

    def __repr__(self) -> str:
        shown = sorted({name for names in self.sets for name in names.names} - self.missing)
        return f"Names({shown[:20]!r}{', ...' if len(shown) > 20 else ''})"


class OtherNames(KeyedValue, Texts):
    """All names but a few."""

    __slots__ = ("missing",)
    is_endless = True

    def __init__(self, missing: frozenset[str]) -> None:
        super().__init__(missing)
        self.missing = missing

    @property
    def is_empty(self) -> bool:
        """Whether there are none: never."""
        return False

    def has(self, text: bytes) -> bool:
        """Return whether a text spells another name."""
        return _name(text) not in self.missing

    def begins(self, text: bytes) -> bool:
        """Return True: there is always a longer one."""
        return True

    def __repr__(self) -> str:
        return f"OtherNames({sorted(self.missing)!r})"


def _name(text: bytes) -> str:
    return unquoted(text.decode("utf-8", "surrogateescape"))
