# cython: boundscheck=True
# Tables may come from files: what these do not check, ends in an error as it does in Python.
"""Reads bytes while there is nothing to choose: the most common case, compiled.

In: a hypothesis without obligations, and bytes. Out: what it becomes, and how many of the bytes
were read. :class:`~cfgguide.engine.machine.recognizer.Recognizer` reads the others. A lexeme goes
on if the scanner does and either matches, or did not match before; it ends if the scanner dies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cfgguide.automata.dfa import DEAD
from cfgguide.engine.lexer.scanner import Scanner
from cfgguide.engine.machine.indentation_reader import IndentationReader
from cfgguide.engine.machine.short_stacks import MAX_DROPPED, ShortStacks
from cfgguide.grammar.lr.indentation import NO_COLUMN, Indentation
from cfgguide.grammar.lr.stack import Stack
from cfgguide.grammar.lr.table import ParseTable

Plain = tuple[int, Stack, Indentation, int, int]


class PlainReader:
    """Reads bytes.

    Parameters
    ----------
    parse_table : ParseTable
        The parser.
    scanner : Scanner
        The lexer.
    indentation_reader : IndentationReader or None
        Reads lines; None without an indenter.
    short_stacks : ShortStacks or None
        Tells what stacks need not have; None if they are left as they are.
    asked : bool, shape (n_scanner_states,), optional
        In which states the text of a lexeme is kept with its stack; only stacks that can do that
        are read then, and shifted by `shift` of the table.
    shift : callable, optional
        Returns such a stack after a terminal; None if it is refused.
    """

    def __init__(
        self,
        parse_table: ParseTable,
        scanner: Scanner,
        indentation_reader: IndentationReader | None,
        short_stacks: ShortStacks | None,
        asked: npt.NDArray[np.bool_] | None = None,
        shift: Callable[[Any, int], Stack | None] | None = None,
    ) -> None:
        self._transitions = _numbers(scanner.transitions)
        self._starts = _numbers(scanner.starts)
        self._contexts = _numbers(scanner.contexts)
        self._byte_classes = _numbers(scanner.byte_classes)
        self._match = _numbers(scanner.match)
        # For each state one that matches just what may not match if a lexeme ends in it.
        self._longer = _numbers(scanner.class_representatives[scanner.equivalence_classes])
        self._is_assertion = memoryview(scanner.is_assertion.data)
        self._ignored = scanner.ignored
        self._action = _numbers(parse_table.action)
        self._goto = _numbers(parse_table.goto)
        self._lengths = _numbers(parse_table.lengths)
        self._left_sides = _numbers(parse_table.left_sides)
        self._set_of_state = _numbers(parse_table.set_of_state)
        self._has_texts = asked is not None
        self._is_asked = memoryview((scanner.is_assertion if asked is None else asked).data)
        self._shift_of: Any = parse_table.shift if shift is None else shift
        self._may_repeat = parse_table.may_repeat or self._has_texts
        self._is_general = parse_table.is_general
        self._parse_table = parse_table
        followed = np.zeros(scanner.n_states, dtype=np.bool_)
        if indentation_reader is not None:
            followed = indentation_reader.is_newline | indentation_reader.is_counted
        self._is_followed = memoryview(followed.data)
        self._has_indentation = indentation_reader is not None
        self._indentation_reader: Any = indentation_reader
        groups = [0] * scanner.n_states if short_stacks is None else short_stacks.groups
        self._groups = _numbers(np.array(groups))
        self._short_stacks: Any = short_stacks
        self._reductions: dict[tuple[int, int], int] = {}
        self._n_droppable: dict[tuple[int, ...], int] = {}

    def read(
        self,
        state: int,
        stack: Stack,
        indentation: Indentation,
        context: int,
        data: bytes,
        n_read: int,
    ) -> Plain | None:
        """Read bytes as long as there is nothing to choose.

        Returns
        -------
        (int, Stack, Indentation, int, int) or None
            What the arguments become; None if Lark refuses the next byte. `n_read` stays less than
            the length of `data` where there is something to choose.
        """
        text, end, begin = data, len(data), n_read
        while n_read < end:
            byte_class = self._byte_classes[text[n_read]]
            target = self._transitions[state, byte_class]
            if target == DEAD:
                terminal_id = self._match[state]
                if terminal_id < 0 or terminal_id > self._ignored:
                    return None
                if self._transitions[self._longer[state], byte_class] != DEAD:
                    break
                ended, unindented = stack, indentation
                if self._has_texts:
                    ended = self._with_text(stack, state, data[begin:n_read])
                if self._has_indentation:
                    shifted = self._shift_line(ended, indentation, terminal_id)
                    if shifted is None:
                        return None
                    ended, unindented = shifted
                elif terminal_id < self._ignored:
                    if self._is_general:
                        several = self._parse_table.shifts(stack, terminal_id)
                        if len(several) > 1:
                            break
                        after = several[0] if several else None
                    else:
                        after = self._shift(ended, terminal_id)
                    if after is None:
                        return None
                    ended = after
                start = self._starts[self._set_of_state[ended.state], context]
                target = self._transitions[start, byte_class]
                if self._is_assertion[start] or self._is_assertion[target]:
                    break
                if target == DEAD:
                    return None
                stack, indentation, state = ended, unindented, start
                if self._has_texts:
                    stack, begin = self._with_text(stack, DEAD, b""), n_read
            elif self._is_assertion[target] or (
                self._match[state] >= 0
                and self._match[self._transitions[self._longer[state], byte_class]] < 0
            ):
                break
            context, n_alike = self._contexts[context, byte_class], 1
            # Bytes that change nothing but the column, those of an indentation, are read at once.
            if target == state and self._contexts[context, byte_class] == context:
                while n_read + n_alike < end and (
                    self._byte_classes[text[n_read + n_alike]] == byte_class
                ):
                    n_alike += 1
            if self._has_indentation:
                is_followed = self._is_followed[target]
                if is_followed or indentation.column != NO_COLUMN:
                    indentation = self._indentation_reader.moved(
                        indentation, target, byte_class, n_alike
                    )
                    if indentation is None:
                        return None
            if self._groups[target] != self._groups[state]:
                stack = self.shortened(self._groups[target], stack)
            state = target
            n_read += n_alike
        if self._has_texts:
            stack = self._with_text(stack, state, data[begin:n_read])
        return state, stack, indentation, context, n_read

    def _with_text(self, stack: Any, state: int, added: bytes) -> Any:
        """Return a stack with more of the text of its lexeme, if that is kept in a state."""
        return stack.longer(added) if self._is_asked[state] else stack.between()

    def _shift_line(
        self, stack: Stack, indentation: Indentation, terminal_id: int
    ) -> tuple[Stack, Indentation] | None:
        """Return stack and indentation after a lexeme, with an indenter."""
        if terminal_id == self._ignored:
            has_column = indentation.column != NO_COLUMN
            return stack, indentation._replace(column=NO_COLUMN) if has_column else indentation
        shifted: tuple[Stack, Indentation] | None = self._indentation_reader.shift(
            stack, indentation, terminal_id
        )
        return shifted

    def _shift(self, stack: Stack, terminal_id: int) -> Stack | None:
        """Return the stack after a lexeme, or None if it is refused."""
        if self._may_repeat:
            shifted: Stack | None = self._shift_of(stack, terminal_id)
            return shifted
        while True:
            action = self._action[stack.state, terminal_id]
            if action == 0:
                return None
            if action > 0:
                return stack.push(action - 1)
            stack = self._reduced(stack, -action - 1)

    def _reduced(self, stack: Stack, production: int) -> Stack:
        stack = stack.pop(self._lengths[production])
        return stack.push(self._goto[stack.state, self._left_sides[production]])

    def shortened(self, group: int, stack: Stack) -> Stack:
        """Return a stack shortened, for a lexeme in a scanner state of a group."""
        while True:
            key = group, stack.state
            known = self._reductions.get(key)
            if known is None:
                known = self._reductions[key] = self._short_stacks.certain_reduction(*key)
            production = known
            if production < 0:
                break
            stack = self._reduced(stack, production)
        while True:
            n_droppable = self._droppable(group, stack)
            if n_droppable == 0:
                return stack
            stack = stack.pop(n_droppable)

    def _droppable(self, group: int, stack: Stack) -> int:
        """Return how many of the topmost states decide nothing."""
        states = [group]
        cell: Stack | None = stack
        while cell is not None and len(states) <= MAX_DROPPED + 1:
            states.append(cell.state)
            cell = cell.below
        key = tuple(states)
        known = self._n_droppable.get(key)
        if known is None:
            known = self._short_stacks.n_droppable(group, tuple(reversed(states[1:])))
            self._n_droppable[key] = known
        return known


def _numbers(array: npt.NDArray[np.integer]) -> memoryview:
    """Return an array of numbers as C reads it."""
    return memoryview(np.ascontiguousarray(array, dtype=np.int32).data)
