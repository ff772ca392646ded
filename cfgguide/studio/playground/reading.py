"""A text of the page, read token by token: what changed since the last key press is read anew.

In: a compiled grammar, and texts one after the other, each mostly like the last. Out: the tokens,
the lexemes, and how far the text is one that a sentence begins with. What text and tokens have in
common with the last text is kept: configurations are frozen, so it is a prefix of two lists.

How many tokens are allowed before each takes a mask each. A new mask may take longer than a key
press, so they are made in a thread of their own, the place that is looked at first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

from cfgguide.automata.shared_prefixes import n_shared_letters
from cfgguide.diagnostics.explanation import Lexeme
from cfgguide.diagnostics.trace import Lexing, name_of
from cfgguide.engine.index.index import Index
from cfgguide.engine.index.memo import Step
from cfgguide.engine.lexer.scanner import NO_MATCH
from cfgguide.engine.machine.lr_machine import LrMachine
from cfgguide.engine.machine.recognizer import Recognizer
from cfgguide.engine.vocabulary.notebook import text_of
from cfgguide.errors import CfgGuideError, TextError
from cfgguide.grammar.grammar import Grammar
from cfgguide.studio.draw.parsers import symbols_of_states
from cfgguide.studio.draw.traced import touching
from cfgguide.studio.playground.tokenizers import Loaded

MAX_TEXT = 20_000  # characters
_MAX_AHEAD = 3  # terminals named of a lexeme that is open


@dataclass(frozen=True)
class Compiled:
    """A grammar and a tokenizer, ready.

    Attributes
    ----------
    grammar : Grammar
        The grammar.
    index : Index
        Its masks.
    loaded : Loaded
        The tokenizer.
    tokenizer_id : str
        Which choice that is.
    is_bundled : bool
        Whether the grammar is a bundled one.
    """

    grammar: Grammar
    index: Index
    loaded: Loaded
    tokenizer_id: str
    is_bundled: bool = False

    @cached_property
    def recognizer(self) -> Recognizer:
        """Reads as the index does, and keeps whole stacks, to be shown."""
        machine = self.index.machine
        assert isinstance(machine, LrMachine), "the playground takes grammars in Lark's language"
        of = machine.recognizer
        return Recognizer(
            of.parse_table,
            of.scanner,
            of.indentation_rules,
            budget=of.budget,
            shortens_stacks=False,
        )

    def keep_masks(self) -> None:
        """Store the masks of a bundled grammar in the user's cache, for the next session."""
        if self.is_bundled:
            self.index.cache_masks()

    @cached_property
    def symbols(self) -> dict[int, str]:
        """The grammar symbol with which each parse state is entered; the first has none."""
        return symbols_of_states(self.recognizer.parse_table)


@dataclass
class Reading:
    """What a text has come to.

    Attributes
    ----------
    compiled : Compiled
        With what it is read.
    text : str
        The text.
    token_ids : list of int
        Its tokens.
    nodes : list of Step
        Before each token that may stand where it does, and after the last of them.
    lexings : list of Lexing
        Before each byte of these tokens, and after the last.
    """

    compiled: Compiled
    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    nodes: list[Step] = field(default_factory=list)
    lexings: list[Lexing] = field(default_factory=list)
    error: str = ""

    def __post_init__(self) -> None:
        self.nodes = [self.compiled.index.start]
        self.lexings = [Lexing.of(self.compiled.recognizer)]

    @property
    def n_read(self) -> int:
        """How many tokens may stand where they do."""
        return len(self.nodes) - 1

    @property
    def data(self) -> bytes:
        """The bytes of the tokens, those that were refused included."""
        return self.compiled.index.vocabulary.spell(self.token_ids)

    @property
    def offsets(self) -> list[int]:
        """Where each token begins, in bytes; and the length of all."""
        tokens = self.compiled.index.vocabulary.tokens
        return [*accumulate((len(tokens[each] or b"") for each in self.token_ids), initial=0)]

    def change(self, text: str) -> None:
        """Read another text.

        Raises
        ------
        TextError
            If it is too long, or has no tokens.
        """
        if text == self.text and self.token_ids:
            return  # its tokens may be those that a model wrote
        if len(text) > MAX_TEXT:
            raise TextError(
                f"the text has {len(text):,} characters; the playground takes {MAX_TEXT:,}"
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TextError("the text has half of a character (a lone surrogate)") from error
        self._follow(self.compiled.loaded.encode(text))
        self.text = text

    def go_on(self, place: int, token_id: int) -> None:
        """Read the tokens before a place, and another one after them."""
        self._follow([*self.token_ids[:place], token_id])
        self.text = self.data.decode("utf-8", errors="replace")

    def _follow(self, token_ids: list[int]) -> None:
        index, recognizer = self.compiled.index, self.compiled.recognizer
        n_kept = n_shared_letters(self.token_ids[: self.n_read], token_ids)
        del self.nodes[n_kept + 1 :]
        self.token_ids, self.error = token_ids, ""
        for token_id in token_ids[n_kept:]:
            node = self.nodes[-1]
            try:
                if not index.accepts(node, token_id):
                    break
                self.nodes.append(index.advance(node, token_id))
            except CfgGuideError as error:  # too many readings, say
                self.error = str(error)
                break
        offsets = self.offsets
        del self.lexings[offsets[n_kept] + 1 :]
        data = self.data[: offsets[self.n_read]]
        self.lexings += self.lexings[-1].steps(recognizer, data[len(self.lexings) - 1 :])

    def lexemes(self) -> list[Lexeme]:
        """Return the lexemes of one way to read the text, the one that is open last."""
        recognizer, lexing = self.compiled.recognizer, self.lexings[-1]
        data = self.data[: lexing.n_bytes]
        hypothesis, way = lexing.likeliest(recognizer)
        found = list(way.lexemes(data))
        if way.start < len(data):
            state = hypothesis.scanner_state
            terminal_id = int(recognizer.scanner.match[state])
            ahead = [terminal_id]
            if terminal_id == NO_MATCH:
                ahead = [*recognizer.scanner.terminal_ids_ahead(state)]
            names = [name_of(recognizer, each) for each in ahead[:_MAX_AHEAD]]
            more = "…" if len(ahead) > _MAX_AHEAD else ""
            found.append(Lexeme(" or ".join(names) + more, way.start, data[way.start :]))
        return found

    @property
    def is_sentence(self) -> bool:
        """Whether the whole text is a sentence."""
        is_read = self.n_read == len(self.token_ids)
        return is_read and self.compiled.index.machine.is_sentence(self.nodes[-1].configuration)

    def counts(self) -> list[int | None]:
        """Return how many tokens are allowed at each place, None where that is not known yet."""
        return [None if node.subset is None else node.subset.n_tokens for node in self.nodes]

    def tokens(self) -> list[dict[str, Any]]:
        """Return each token as the page shows it: its place, its pieces with their terminals."""
        vocabulary, offsets = self.compiled.index.vocabulary, self.offsets
        data, lexemes = self.data, self.lexemes()
        units = _utf16_offsets(data)
        found = []
        for number, token_id in enumerate(self.token_ids):
            start, end = offsets[number], offsets[number + 1]
            pieces, at = [], start
            for lexeme in touching(lexemes, start, end) if number < self.n_read else ():
                stop = min(end, lexeme.end)
                pieces.append([text_of(data[at:stop]), lexeme.terminal])
                at = stop
            if at < end:
                pieces.append([text_of(data[at:end]), ""])
            if token_id in vocabulary.eos_token_ids:
                pieces = [[self.compiled.loaded.shown[token_id] or "EOS", ""]]
            found.append(
                {"id": token_id, "start": units[start], "end": units[end], "pieces": pieces}
            )
        return found


class MaskMaker:
    """Makes the masks of a reading in a thread, until another reading takes its place."""

    def __init__(self) -> None:
        self._turn = 0
        self._lock = threading.Lock()

    def make(self, index: Index, nodes: Iterable[Step], seconds: float) -> bool:
        """Make masks of nodes in order; return whether all are made within some seconds."""
        missing = [node for node in nodes if node.subset is None]
        with self._lock:
            self._turn += 1
            turn = self._turn
        if not missing:
            return True
        done = threading.Event()

        def run() -> None:
            for node in missing:
                if self._turn != turn:
                    return
                try:
                    index.allowed(node)
                except CfgGuideError:
                    continue  # said when this place is asked about
            done.set()

        threading.Thread(target=run, daemon=True).start()
        return done.wait(seconds)


def _utf16_offsets(data: bytes) -> list[int]:
    """Return the offset of each byte in the text as JavaScript counts: in UTF-16 code units.

    Bytes that go on with a character have the offset of its end, so that pieces of one do not
    overlap.
    """
    offsets, units = [], 0
    for byte in data:
        offsets.append(units)
        if byte & 0xC0 != 0x80:
            units += 2 if byte >= 0xF0 else 1
    return [*offsets, units]
