"""Statements of Python that name things, and patterns.

In: what is bound so far. Out: a :class:`PythonStatements`, which follows imports, definitions,
`global` and `except`, whose names are no expressions, and the patterns of `case`, whose names are
captures.
"""

from __future__ import annotations
import __future__ as future

from typing import Self

from cfgguide.languages.python_scopes import (
    EMPTY,
    NONE,
    PLACE,
    REST,
    VALUE,
    Block,
    Frame,
)
from cfgguide.languages.python_state import PythonState
from cfgguide.languages.python_words import (
    ATOMS,
    KEYWORDS,
    NAMES,
    NEVER_BOUND,
    STRINGS,
)


class PythonStatements(PythonState):
    """What is bound so far, with what statements do that name things."""

    __slots__ = ()

    # -- statements that name things ---------------------------------------------------------

    def _import(self, word: str, text: str) -> Self | None:
        top = self._top
        if word in NAMES:
            if not self._binds(text):
                return None
            if top.phase == "future" and text not in future.all_feature_names:
                return None
            return self._changed(bare=frozenset({text}), shape=VALUE)
        if word == ",":
            return self._changed(shape=EMPTY, done=top.done | top.bare, bare=NONE)
        if word == ".":
            return self._with(self.frames, is_dotted=True)
        if word == "*":
            return self if self.scopes[-1].kind == "module" and top.phase != "future" else None
        if word in ("_NEWLINE", ";"):
            bound = self._bind(top.done | top.bare)
            is_head = self.is_head and top.phase == "future"
            return bound._with(bound.frames, is_head=is_head)._statement_ended(word)
        return self

    def _from(self, word: str, text: str) -> Self | None:
        top = self._top
        if word in NAMES:
            if text == "__future__" and not top.has_comma:
                return self._changed(phase="future", has_comma=True) if self.is_head else None
            return self._changed(has_comma=True)
        if word in (".", "..."):
            if top.phase == "future":
                return None
            return self._changed(has_comma=True)
        return self._with((Frame("import", top.phase),))

    def _global(self, word: str, text: str) -> Self | None:
        if word in ("_NEWLINE", ";"):
            return self._statement_ended(word)
        if word not in NAMES:
            return self
        scope = self.scopes[-1]
        if text in scope.bound | scope.outer | scope.shared | scope.enclosing | NEVER_BOUND:
            return None
        if self._top.kind == "global":
            scope = scope._replace(shared=scope.shared | {text})
        elif text not in self._enclosing():
            return None
        else:
            scope = scope._replace(enclosing=scope.enclosing | {text})
        return self._with(self.frames, scopes=(*self.scopes[:-1], scope))

    def _definition(self, word: str, text: str) -> Self | None:
        top = self._top
        if word in NAMES and not top.named:
            if not self._binds(text):
                return None
            return self._changed(named=text, is_ended=True)
        return self._in_expression(word, text)

    def _async_statement(self, word: str, text: str) -> Self | None:
        kind = "async def" if word == "DEF" else KEYWORDS[word]
        return self._with((Frame(kind, is_target=kind == "for"),))

    def _except(self, word: str, text: str) -> Self | None:
        top = self._top
        # A definition has its name there; in `except` it says that `as` has come.
        if top.named == "as":
            if word in NAMES:
                return self._changed(done=frozenset({text})) if self._binds(text) else None
            (name,) = top.done
            # Python deletes the name at the end of the block. One that was bound before may still
            # be bound after it: the block need not have run.
            was_bound = name in self.scopes[-1].bound
            block = Block("except", "" if was_bound else name)
            return self._bind(top.done)._entered(block)
        if word == "AS":
            settled = self._settled(shape=EMPTY)
            return None if settled is None else settled._changed(named="as")
        if word == "*" and top.shape == EMPTY:
            return self
        return self._in_expression(word, text)

    # -- patterns ---------------------------------------------------------------------------

    def _pattern(self, word: str, text: str) -> Self | None:
        """Follow `case`: captures are gathered in the statement's frame."""
        top = self._top
        if word in NAMES:
            return self._capture(word, text)
        if word == ".":
            read = self._changed(bare=NONE, shape=VALUE)._read_all(top.bare)
            return None if read is None else read._with(read.frames, is_dotted=True)
        # A class, like a name before a dot, is read: both come before `_captured` takes the name.
        if word == "(" and top.is_ended:
            read = self._changed(bare=NONE, shape=VALUE)._read_all(top.bare)
            return None if read is None else read._opened_pattern("class")
        # The name before it is an attribute of the class: neither read nor bound.
        if word == "=":
            return self._changed(bare=NONE, shape=EMPTY, is_ended=False)
        caught = self._captured()
        if caught is None:
            return None
        if word in ("(", "[", "{"):
            phase = "key" if word == "{" else REST
            return caught._changed(shape=VALUE)._opened_pattern(phase)
        if word in (")", "]", "}"):
            closed = caught._with(caught.frames[:-1])
            return closed._changed(is_ended=True)
        if word == "IF":
            return caught._with((Frame("if"),))._bind(caught._base.done)
        if word == ":" and len(self.frames) == 1:
            return caught._with((Frame("if"),))._bind(caught._base.done)._entered(Block("case"))
        # Python takes no f-string as a pattern.
        if "F_" in word and word in STRINGS:
            return None
        if word in STRINGS:
            return caught._changed(shape=VALUE)._pushed(Frame("string"))
        if word == "VBAR":
            # Alternatives have to bind the same names: here they bind none.
            if caught._base.done != top.before:
                return None
            return caught._changed(is_target=False, shape=EMPTY, is_ended=False)
        if word in (":", "AS", "**", "*", ","):
            phase = top.phase
            if phase in ("key", "value") and word in (":", "**", ","):
                phase = "key" if word == "," else "value"
            # What ends alternatives has another part after it, which may bind names.
            after = caught._changed(
                is_target=top.is_target if word in ("**", "*") else True,
                shape=EMPTY,
                is_ended=False,
                phase=phase,
                before=top.before if word == "AS" else caught._base.done,
            )
            return after if word in (":", ",") or after._may_capture() else None
        return caught._changed(shape=VALUE, is_ended=word in ATOMS)

    def _capture(self, word: str, text: str) -> Self | None:
        base, top = self._base, self._top
        may_capture = (
            self._may_capture()
            and top.phase != "key"
            and text not in base.done
            and self._binds(text)
            and text not in NEVER_BOUND
        )
        may_be_word = top.phase == "class" and top.shape == EMPTY
        if not (may_capture or may_be_word or text in self.readable):
            return None
        if may_be_word and not may_capture and text not in self.readable:
            return None
        return self._changed(bare=frozenset({text}), shape=PLACE, is_ended=True)

    def _may_capture(self) -> bool:
        """Return whether a pattern may bind a name here: not in one of several alternatives."""
        return all(frame.is_target for frame in self.frames)

    def _opened_pattern(self, phase: str) -> Self:
        return self._pushed(Frame("pattern", phase, is_target=True, before=self._base.done))

    def _captured(self) -> Self | None:
        """Return the monitor where the name that has just come is a capture."""
        base, top = self._base, self._top
        if not top.bare:
            return self
        (name,) = top.bare
        is_bound = name in base.done or not self._binds(name)
        if not self._may_capture() or top.phase == "key" or is_bound:
            return None
        after = self._changed(bare=NONE)
        return after._changed_at(0, done=after._base.done | {name})
