"""What is open in a Python text: scopes, and the frames of one statement.

In: what :mod:`cfgguide.languages.python_monitor` follows. Out: its data. A frame is what is open
inside a statement, the statement itself first::

    x, y = [f(z) for z in       frames: statement (names x, y) | [ (phase for, reads f z)
"""

from __future__ import annotations

from typing import NamedTuple

Names = frozenset[str]
NONE: Names = frozenset()

#: What the element of a list is so far: nothing; a star; what can be a target; what can only be one
#: after `.name` or `[...]`; what cannot.
EMPTY, STAR, PLACE, CALLED, VALUE = range(5)

#: Phases of what may become a comprehension: its element, which may still become one; anything that
#: can not; and its clauses.
ELEMENT, REST, FOR, FIRST_IN, IN, IF = "element", "rest", "for", "first in", "in", "if"
CLAUSES = (FOR, FIRST_IN, IN, IF)
_COMPREHENSIONS = ("(", "[", "{", "dict", "call", "field")


class Frame(NamedTuple):
    """What is open inside a statement, or the statement.

    Attributes
    ----------
    kind : str
        A bracket, "call", "index", "lambda", "string", "field", "as"; or what kind of statement.
    phase : str
        See above; of a lambda "parameters" and then "body".
    shape : int
        What its current element is.
    is_ended : bool
        Whether an operand has just ended, so that a bracket calls it.
    is_target : bool
        Whether all of it so far may be a list of targets.
    has_comma, has_star : bool
        Whether one came in the list.
    bare : frozenset of str
        The name that is all of the current element so far, or the names in its brackets.
    done : frozenset of str
        Those of the elements before, in a list that may be one of targets.
    reads : frozenset of str
        Names that were read and that `for` has to bind before this is closed.
    names : frozenset of str
        What will be bound: parameters, targets before their value has come.
    bound : frozenset of str
        What is bound inside: parameters of a lambda, targets of `for`.
    walrus : frozenset of str
        Names bound by `:=` in it, which its `for` cannot bind.
    late : frozenset of str
        Those of them in its element, which its clauses cannot read.
    before : frozenset of str
        Of a pattern: the names that were captured before its current alternatives, which capture
        none after the first `|`; it is no target then.
    named : str
        The name before the `:=` whose value is being written; or the name of a definition.
    """

    kind: str
    phase: str = REST
    shape: int = EMPTY
    is_ended: bool = False
    is_target: bool = False
    has_comma: bool = False
    has_star: bool = False
    bare: Names = NONE
    done: Names = NONE
    reads: Names = NONE
    names: Names = NONE
    bound: Names = NONE
    walrus: Names = NONE
    late: Names = NONE
    before: Names = NONE
    named: str = ""

    @property
    def takes(self) -> bool:
        """Whether it may still become a comprehension, which binds names that were read."""
        return self.phase == ELEMENT and self.kind in _COMPREHENSIONS

    @property
    def is_clause(self) -> bool:
        """Whether it is a comprehension whose `for` has come."""
        return self.phase in CLAUSES and self.kind in _COMPREHENSIONS


class Scope(NamedTuple):
    """A module, a class or a function whose body is being written.

    Attributes
    ----------
    kind : str
        "module", "class", "def" or "async def".
    bound : frozenset of str
        Names that are bound in it.
    outer : frozenset of str
        Of a function: names of other scopes that were read in it, and so are none of its own.
    shared, enclosing : frozenset of str
        Names that it declared `global`, and `nonlocal`.
    hidden : str
        The class's own name, which its body cannot read yet; empty if it can.
    """

    kind: str
    bound: Names = NONE
    outer: Names = NONE
    shared: Names = NONE
    enclosing: Names = NONE
    hidden: str = ""


class Block(NamedTuple):
    """A block, with the name that is unbound at its end."""

    kind: str
    name: str = ""
