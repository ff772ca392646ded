"""The tokenizers that the page offers.

In: what the command line named. Out: for each an id, a name, and, once it is asked for, a
:class:`Loaded` with the vocabulary and what encodes typed text. The page chooses by id; it cannot
name a path, so nothing is read but what the user named where the server was started.

Two need no file: all single bytes, and a small vocabulary that is written down here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from cfgguide.base.locks import new_lock
from cfgguide.engine.vocabulary.notebook import text_of
from cfgguide.engine.vocabulary.vocabulary import Vocabulary
from cfgguide.errors import TextError

BYTES, SMALL = "bytes", "small"

#: Pieces of JSON, Python and SQL, with and without the space before them.
_WORDS = """
a an and as assert async await be break by case class continue count def del elif else except false
finally for from global if import in index is item items key lambda len list match name None
nonlocal not null number or order pass path print raise range result return self size start str sum
text the this True False to true try type user value values where while with yield year
SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT INSERT INTO VALUES UPDATE SET DELETE JOIN ON AS AND OR
NOT NULL LIKE IN IS DISTINCT COUNT SUM MAX MIN CREATE TABLE INTEGER TEXT
"""
_PIECES = """
": ": " ", " "} {" [" "] "] }, ], [[ ]] {} [] () (( )) ): ); == != <= >= -> += -= ** // .. ... && ||
10 100 19 20 00 25 42 0. ing er on at en re th he st ion tion able
"""
_SPACES = (
    "  ",
    "    ",
    "        ",
    "\n    ",
    "\n        ",
    "\n\n",
    '": ',
    '": "',
    '", "',
    ", ",
    ": ",
)


@dataclass(frozen=True)
class Loaded:
    """A tokenizer that is ready.

    Attributes
    ----------
    vocabulary : Vocabulary
        Its tokens.
    tokenizer : tokenizer, optional
        Of transformers; without one, text is cut into the longest tokens that fit.
    """

    vocabulary: Vocabulary
    tokenizer: Any = None

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text, all of which is text: no token of it is special.

        If the tokenizer changes texts, so that its tokens do not spell this one, it is cut into the
        longest tokens that fit.

        Raises
        ------
        TextError
            If no tokens spell it.
        """
        data = text.encode()
        if self.tokenizer is not None:
            options = {"add_special_tokens": False, "split_special_tokens": True}
            ids: list[int] = self.tokenizer.encode(text, **options)
            tokens = self.vocabulary.tokens
            if b"".join(tokens[token_id] or b"" for token_id in ids) == data:
                return ids
        token_ids, n_spelled = self.vocabulary.lookup.cut(data)
        if n_spelled < len(data):
            shown = text_of(data[n_spelled : n_spelled + 1])
            raise TextError(f"this tokenizer has no token for {shown!r}, byte {n_spelled}")
        return token_ids

    @cached_property
    def shown(self) -> list[str]:
        r"""Each token as people read it: its characters, escaped; special ones by their names."""
        names = {token_id: name for name, token_id in self.vocabulary.special_tokens.items()}
        return [
            text_of(token) if token is not None else names.get(token_id, "")
            for token_id, token in enumerate(self.vocabulary.tokens)
        ]

    @cached_property
    def searched(self) -> list[str]:
        """The same in lower case, for searching."""
        return [text.lower() for text in self.shown]


@dataclass
class TokenizerChoice:
    """A tokenizer that may be chosen; it is loaded when that is done first."""

    id: str
    name: str
    load: Callable[[], Loaded]
    lock: Any = field(default_factory=new_lock)
    loaded: Loaded | None = None

    def get(self) -> Loaded:
        """Return it, loaded.

        Raises
        ------
        ModelError, TokenizerError, VocabularyError
            If it cannot be.
        """
        with self.lock:
            if self.loaded is None:
                made = self.load()
                made.searched  # noqa: B018  # now, rather than at the first search
                self.loaded = made
            return self.loaded


def choices(paths: Sequence[str]) -> dict[str, TokenizerChoice]:
    """Return the tokenizers to choose from, by id: the two that need no file, and those of paths.

    Examples
    --------
    >>> [choice.name for choice in choices(["models/mine"]).values()]
    ['single bytes', 'small (bytes and some words)', 'mine']
    >>> loaded = choices([])["small"].get()
    >>> [loaded.shown[token_id] for token_id in loaded.encode("def total(items):")]
    ['def', ' to', 't', 'a', 'l', '(', 'items', '):']
    """
    made = {
        BYTES: TokenizerChoice(BYTES, "single bytes", lambda: Loaded(Vocabulary.of_bytes())),
        SMALL: TokenizerChoice(
            SMALL, "small (bytes and some words)", lambda: Loaded(small_vocabulary())
        ),
    }
    for number, path in enumerate(paths):
        choice_id = f"path{number}"
        made[choice_id] = TokenizerChoice(choice_id, _name_of(path), partial(_from_path, path))
    return made


def small_vocabulary() -> Vocabulary:
    """Return the vocabulary of all bytes, and of pieces of JSON, Python and SQL."""
    words = _WORDS.split()
    pieces = [*words, *(f" {word}" for word in words), *_PIECES.split(), *_SPACES]
    unique = dict.fromkeys(piece.encode() for piece in pieces)
    return Vocabulary.of_bytes(piece for piece in unique if len(piece) > 1)


def _name_of(path: str) -> str:
    parts = Path(path).expanduser().absolute().parts
    return parts[-2] if parts[-1] == "tokenizer.json" and len(parts) > 2 else parts[-1]


def _from_path(path: str) -> Loaded:
    from cfgguide.models.load import load_tokenizer

    tokenizer = load_tokenizer(None if path == "smollm2" else path)
    return Loaded(Vocabulary.from_tokenizer(tokenizer), tokenizer)
