"""The monitor of Python's names: only names that are bound are read.

In: the lexemes of a text in ``grammars/python.lark``. Out: which names, and which other lexemes,
may come. It finds out by lexemes what is a target and what is read; of the rules it follows only
those that say where a lambda ends.

A name that is not bound may come where something can still bind it. Then what must follow is owed,
and all that would make it impossible is refused:

* at the start of a statement it must become a target (`x = 1`, `x, y = 1, 2`, `x: int`);
* in an argument, `f(x=1)`; in brackets and conditions, `(x := 1)`;
* in the element of a comprehension a `for` must bind it, `[x + 1 for x in y]`.

Source: https://docs.python.org/3/reference/executionmodel.html, section 4.2.
"""

from __future__ import annotations
import __future__ as future

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar, Self

from cfgguide.engine.monitors.text_sets import NOTHING, AllBut, OneOf, Texts
from cfgguide.languages.python_scopes import (
    CALLED,
    ELEMENT,
    EMPTY,
    FIRST_IN,
    FOR,
    IF,
    IN,
    NONE,
    PLACE,
    REST,
    STAR,
    VALUE,
    Block,
    Frame,
    Names,
    Scope,
)
from cfgguide.languages.python_state import START, UNKNOWN, outside
from cfgguide.languages.python_statements import PythonStatements
from cfgguide.languages.python_words import (
    ATOMS,
    BLOCKS,
    KEYWORDS,
    LAMBDAS,
    LINES,
    NAMES,
    NEVER_BOUND,
    OPERATORS,
    STRING_ENDS,
    STRINGS,
    WORDS,
)


class PythonNames(PythonStatements):
    """What is bound in a Python text so far, and what it owes."""

    __slots__ = ()

    terminals: ClassVar[frozenset[str]] = frozenset()  # set below
    rules: ClassVar[frozenset[str]] = LAMBDAS

    # -- events -----------------------------------------------------------------------------

    def _texts(self, terminal: str) -> Texts | None:
        if terminal in NAMES:
            return self._names()
        after = self._after(WORDS.get(terminal, terminal), _SPELLED.get(terminal, ""))
        return NOTHING if after is None else None

    def _names(self) -> Texts | None:
        """Return which names may come: some that were mentioned, and all others or none."""
        mentioned = set(NEVER_BOUND)
        for scope in self.scopes:
            mentioned.update(scope.bound, scope.outer, scope.shared, scope.enclosing)
        for frame in self.frames:
            mentioned.update(frame.names, frame.bound, frame.walrus, frame.done, frame.bare)
            mentioned.update(frame.reads, (frame.named,))
        mentioned.update(("__future__", "__class__", "__module__", "__qualname__"))
        mentioned.update(future.all_feature_names)
        mentioned.discard("")
        taken = {name for name in mentioned if self._after("NAME", name) is not None}
        others = self.builtins - mentioned
        if others and self._after("NAME", min(others)) is not None:
            taken |= others
        if self._after("NAME", UNKNOWN) is None:
            return OneOf(taken)
        refused = (mentioned | self.builtins) - taken
        return AllBut(refused) if refused else None

    def shifted(self, terminal: str, text: str) -> Self:
        """Return the monitor after a lexeme that may stand here."""
        after = self._after(WORDS.get(terminal, terminal), text)
        assert after is not None, "texts() allowed it"
        return after

    def reduced(self, rule: str) -> Self | None:
        """Return the monitor after a lambda."""
        return self._with(self.frames[:-1])

    # -- lexemes ----------------------------------------------------------------------------

    def _after(self, word: str, text: str) -> Self | None:
        """Return the monitor after a lexeme; None if it may not stand here."""
        after: Self | None = _after(self, word, text)
        return after

    def _moved(self, word: str, text: str) -> Self | None:
        if self.is_dotted:
            return self._after_dot(text) if word in NAMES else self._after_name_free(word)
        top = self._top
        if top.kind == "as" and word in (",", ":", ")"):
            closed = self._as_closed()
            return None if closed is None else closed._moved(word, text)
        if top.kind == "start":
            return self._started(word, text)
        base = _STATEMENTS.get(top.kind)
        if base is not None:
            special: Self | None = base(self, word, text)
            return special
        if self._base.kind == "match?" and len(self.frames) == 1:
            return self._after_match(word, text)
        return self._in_expression(word, text)

    def _in_expression(self, word: str, text: str) -> Self | None:
        handler = _HANDLERS.get(word)
        if handler is None:
            return self._value(is_ended=False)
        after: Self | None = handler(self, word, text)
        return after

    def _after_dot(self, text: str) -> Self | None:
        return self._changed(is_ended=True)

    def _after_name_free(self, word: str) -> Self | None:
        """Dots and `import` may follow a dot in an import."""
        if word in (".", "..."):
            return self._with(self.frames, is_dotted=True)
        return self._changed(phase="names") if word == "IMPORT" else None

    def _started(self, word: str, text: str) -> Self | None:
        if word in LINES:
            return self._line_moved(word)
        # A statement in the line of a header: the block ends with that line.
        line = "inline" if self.line == ":" else self.line
        is_string = word in STRINGS
        is_head = self.is_head and (is_string or word == "FROM")
        start = self._with(self.frames, line=line, is_head=is_head)
        kind = KEYWORDS.get(word)
        # `case` is a name everywhere else.
        is_case = word == "CASE" and self.blocks[-1:] == (Block("match"),) and not self.line
        if is_case:
            return start._with((Frame("case", is_target=True),))
        if word == "MATCH":
            # It may be a name as well: what follows decides.
            frame = Frame("match?", shape=PLACE, is_ended=True, is_target=True)
            return start._with((frame._replace(bare=frozenset({"match"})),))
        if kind is None:
            return start._with((Frame("expression", is_target=True),))._moved(
                "NAME" if word == "CASE" else word, text
            )
        scope = self.scopes[-1]
        if kind in ("global", "nonlocal") and "def" not in scope.kind:
            return None
        if kind == "nonlocal" and not self._enclosing():
            return None
        if word == "YIELD":
            return start._with((Frame("value"),))._yield(word, text)
        is_target = kind in ("for", "del")
        return start._with((Frame(kind, is_target=is_target),))

    def _line_moved(self, word: str) -> Self | None:
        if word == "_INDENT":
            return self
        if word == "_DEDENT":
            return self._block_ended()
        return self._with(self.frames, line="") if self.line == ":" else self

    def _after_match(self, word: str, text: str) -> Self | None:
        """`match` is a name, or begins a match statement."""
        is_bound = "match" in self.readable
        if word in (*NAMES, *ATOMS, *STRINGS, "{", "NOT", "AWAIT", "TILDE", "LAMBDA"):
            return self._with((Frame("match"),))._moved(word, text)
        if not is_bound and word not in ("=", ",", ":"):
            return None
        return self._changed(kind="expression")._moved(word, text)

    def _name(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("lambda", "params") and top.shape == EMPTY and top.phase != "body":
            if text in top.names or text in NEVER_BOUND:
                return None
            return self._changed(names=top.names | {text}, shape=PLACE, is_ended=True)
        if top.shape not in (EMPTY, STAR):
            read = self._read(text)
            return None if read is None else read._changed(is_ended=True)
        is_free = (
            text in self.readable
            or self._may_be_target(text)
            or self._owed(text, len(self.frames)) is not None
            or (top.shape == EMPTY and self._may_be_named(text))
        )
        if not is_free:
            return None
        return self._changed(bare=frozenset({text}), shape=PLACE, is_ended=True)

    def _may_be_named(self, name: str) -> bool:
        """Return whether `=` of an argument or `:=` may follow a name here."""
        top = self._top
        return top.kind == "call" or self._takes_walrus(name)

    def _takes_walrus(self, name: str) -> bool:
        top = self._top
        if top.kind not in ("(", "[", "{", "call", "index", "if", "decorator", "match"):
            return False
        if self._base.kind in ("annotated", "def", "async def"):
            return False
        # Python takes no `:=` in the iterable of a comprehension.
        if any(f.phase in (FIRST_IN, IN, FOR) and f.is_clause for f in self.frames):
            return False
        if any(name in f.bound | f.names | f.late or name == f.named for f in self.frames):
            return False
        # A name that was read waits for its `for`, which cannot bind what `:=` binds. A condition
        # is evaluated before the element that read the name, so there `:=` may bind it.
        if any(name in f.reads and f.phase != IF for f in self.frames):
            return False
        is_inner = any(f.is_clause for f in self.frames)
        # In the body of a class no comprehension has one: so what is open may not become one
        # either.
        if self.scopes[-1].kind == "class" and (is_inner or self._without_clauses() is None):
            return False
        return self._binds(name) and name not in self.scopes[-1].enclosing

    def _walrus(self, word: str, text: str) -> Self | None:
        top = self._top
        names = top.bare
        if len(names) != 1 or top.shape != PLACE or not self._takes_walrus(*names):
            return None
        (name,) = names
        after = self._changed(bare=NONE)._settled(named=name, is_ended=False)
        if after is not None and self.scopes[-1].kind == "class":
            after = after._without_clauses()
        return after

    def _dot(self, word: str, text: str) -> Self | None:
        after = self._trailed()
        if after is None:
            return None
        shape = VALUE if after._top.shape == VALUE else PLACE
        return after._with(after._changed(shape=shape).frames, is_dotted=True)

    def _open(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.is_ended and word in ("(", "["):
            after = self._trailed()
            if after is None:
                return None
            if after._top.shape != VALUE:
                after = after._changed(shape=CALLED if word == "(" else PLACE)
            kind, phase = ("call", ELEMENT) if word == "(" else ("index", REST)
            # After the name of a definition they have parameters, or the bases of a class.
            if ("def" in top.kind or top.kind == "class") and top.shape == EMPTY:
                kind, phase = ("params" if "def" in top.kind else "call"), REST
            return after._pushed(Frame(kind, phase))
        # Braces hold no targets.
        is_target = word != "{" and self._is_target_here() and top.shape in (EMPTY, STAR)
        opened: Self | None = self._changed(is_ended=True)
        if top.shape in (EMPTY, STAR):
            opened = self._changed(shape=CALLED, is_ended=True)
        return None if opened is None else opened._pushed(Frame(word, ELEMENT, is_target=is_target))

    def _is_target_here(self) -> bool:
        return self._top.is_target

    def _close(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("(", "field") and top.has_star and not top.has_comma:
            return None
        finished = self._finished()
        if finished is None:
            return None
        top = finished._top
        left = top.reads - (top.names | top.bound if top.is_clause else NONE)
        is_target = top.is_target and not top.is_clause
        after: Self | None = finished._with(finished.frames[:-1])
        # What no `for` in here has bound, one of a comprehension around this has to bind.
        for name in sorted(left):
            after = None if after is None else after._owed(name, len(after.frames))
        if after is None:
            return None
        below = after._top
        if top.kind == "params":
            return after._changed(names=top.names)
        # Brackets of targets may be a target themselves, with the names that are in them.
        if is_target and below.shape == CALLED:
            return after._changed(shape=PLACE, bare=below.bare | top.done)
        return after

    def _comma(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("lambda", "params"):
            return self._changed(shape=EMPTY, is_ended=False)
        finished = self._finished()
        if finished is None:
            return None
        if top.phase == FOR and top.is_clause:
            return finished._changed(has_comma=True)
        ceased = finished._ceased()
        return None if ceased is None else ceased._changed(has_comma=True)

    def _ceased(self) -> Self | None:
        """Return the monitor where the frame on top becomes no comprehension."""
        top = self._top
        if not (top.takes or top.is_clause):
            return self
        left = top.reads - (top.names | top.bound if top.is_clause else NONE)
        after: Self | None = self._changed(phase=REST, reads=NONE)
        for name in sorted(left):
            after = None if after is None else after._owed(name, len(after.frames))
        return after

    def _equal(self, word: str, text: str) -> Self | None:
        top = self._top
        # The name of an argument is neither read nor bound; `f(x=y for y in z)` is not a call.
        if top.kind == "call":
            return self._changed(bare=NONE, shape=VALUE, is_ended=False)._ceased()
        if top.kind == "lambda" or top.kind == "params":
            return self._changed(shape=VALUE, is_ended=False)
        if top.kind == "field":
            if top.has_star and not top.has_comma:
                return None
            settled = self._settled()
            return None if settled is None else settled._ceased()
        if top.kind == "annotated":
            settled = self._settled(done=NONE, is_ended=False)
            return None if settled is None else settled._changed(kind="value", names=top.done)
        finished = self._finished()
        if finished is None or not finished._top.is_target:
            return None
        top = finished._top
        # `*x = y` is no statement; `*x, = y` is one.
        if top.has_star and not top.has_comma:
            return None
        names = top.names | top.done
        return finished._changed(names=names, done=NONE, has_comma=False, has_star=False)

    def _augmented(self, word: str, text: str) -> Self | None:
        names = self._top.bare
        read = self._settled(is_ended=False)
        if read is None or not all(map(read._binds, names)):
            return None
        return read._changed(kind="value", names=names)

    def _colon(self, word: str, text: str) -> Self | None:
        top = self._top
        # Parameters are bound in the body only: what stands before the colon cannot read them.
        if top.kind == "lambda" and top.phase == "parameters":
            return self._changed(phase="body", bound=top.names, shape=VALUE, is_ended=False)
        if top.kind == "params":
            return self._changed(shape=VALUE, is_ended=False)
        if top.kind in ("{", "dict"):
            settled = self._settled(is_ended=False)
            return None if settled is None else settled._changed(kind="dict")
        if top.kind == "index":
            finished = self._finished()
            return None if finished is None else finished._changed(shape=VALUE)
        if top.kind == "field":
            if top.has_star and not top.has_comma:
                return None
            finished = self._finished()
            ceased = None if finished is None else finished._ceased()
            return None if ceased is None else ceased._changed(phase="spec")
        return self._header_ended()

    def _header_ended(self) -> Self | None:
        top = self._top
        if top.kind == "expression":
            return self._annotated()
        finished = self._finished()
        if finished is None or (top.has_star and not top.has_comma):
            return None
        top = finished._top
        if top.kind == "for":
            finished = finished._bind(top.names)
        if top.kind in BLOCKS:
            return finished._entered(Block(top.kind))
        if top.kind == "match":
            return finished._entered(Block("match"))
        if top.kind not in ("def", "async def", "class"):
            return None
        # A class's name is bound after its body, a function's before it: in the body of a class the
        # name is hidden, unless another scope has it.
        is_visible = top.named in outside(self.builtins, (*self.scopes, Scope("def")))
        bound = finished._bind(frozenset({top.named}))
        if top.kind == "class":
            scope = Scope("class", hidden="" if is_visible else top.named)
        else:
            scope = Scope(top.kind, top.names)
        entered = bound._entered(Block(top.kind))
        return entered._with(entered.frames, scopes=(*entered.scopes, scope))

    def _annotated(self) -> Self | None:
        finished = self._finished()
        if finished is None:
            return None
        top, scope = finished._top, self.scopes[-1]
        if not top.is_target or top.has_comma:  # match x, y:
            settled = finished._settled(shape=EMPTY)
            return None if settled is None else settled._entered(Block("match"))
        if top.done & (scope.shared | scope.enclosing):
            return None
        return finished._changed(kind="annotated", is_target=False)

    def _for(self, word: str, text: str) -> Self | None:
        top = self._top
        if not (top.takes or top.is_clause):
            return None
        after = self._clause_ended()
        if after is None or not (after._top.takes or after._top.is_clause):
            return None
        return after._changed(
            phase=FOR,
            is_target=True,
            has_comma=False,
            has_star=False,
            shape=EMPTY,
            is_ended=False,
            kind="(" if top.kind == "call" else top.kind,
            late=after._top.walrus if top.takes else top.late,
        )

    def _clause_ended(self) -> Self | None:
        """Return the monitor at the end of an element, an iterable or a condition."""
        top = self._top
        finished = self._finished() if not top.is_target else self._settled(is_ended=False)
        if finished is None or not top.is_clause:
            return finished
        return finished._changed(
            names=NONE,
            bound=top.bound | top.names,
            reads=finished._top.reads - top.names,
            shape=VALUE,
            is_ended=False,
        )

    def _in(self, word: str, text: str) -> Self | None:
        top = self._top
        if not top.is_target or not (top.phase == FOR or top.kind == "for"):
            return self._value(is_ended=False)
        finished = self._finished()
        if finished is None or (top.has_star and not (top.has_comma or finished._top.has_comma)):
            return None
        phase = top.phase
        if phase == FOR:
            phase = IN if top.bound or top.phase == IN else FIRST_IN
        return finished._changed(
            names=finished._top.done,
            done=NONE,
            is_target=False,
            has_star=False,
            has_comma=False,
            phase=phase,
            shape=VALUE,
            is_ended=False,
        )

    def _if(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.is_clause and top.phase in (FIRST_IN, IN, IF):
            ended = self._clause_ended()
            return None if ended is None else ended._changed(phase=IF)
        return self._value(is_ended=False)

    def _async(self, word: str, text: str) -> Self | None:
        if self.scopes[-1].kind != "async def" or any(f.kind == "lambda" for f in self.frames):
            return None
        top = self._top
        if not (top.takes or top.is_clause):
            return None
        ended = self._clause_ended()
        return ended if ended is None or not top.is_clause else ended._changed(phase=IF)

    def _lambda(self, word: str, text: str) -> Self | None:
        value = self._value(is_ended=True)
        return None if value is None else value._pushed(Frame("lambda", "parameters"))

    def _yield(self, word: str, text: str) -> Self | None:
        scope, kind = self.scopes[-1].kind, self._base.kind
        if scope != "def" or kind in ("def", "async def", "annotated", "class", "decorator"):
            return None
        if any(frame.is_clause or frame.kind == "lambda" for frame in self.frames):
            return None
        value = self._value(is_ended=False)
        return None if value is None else value._without_clauses()

    def _await(self, word: str, text: str) -> Self | None:
        if self.scopes[-1].kind != "async def" or self._base.kind in ("async def", "annotated"):
            return None
        if any(frame.kind == "lambda" for frame in self.frames):
            return None
        return self._value(is_ended=False)

    def _star(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.kind in ("lambda", "params") and top.shape == EMPTY and top.phase != "body":
            return self
        if top.shape != EMPTY:
            value = self._value(is_ended=False)
            is_first = word == "*" and not top.is_ended and top.shape == VALUE
            return value if value is None or not is_first else value._changed(has_star=True)
        if top.kind == "as" or (top.has_star and (top.phase == FOR or top.kind == "for")):
            return None
        ceased: Self | None = self if top.phase == FOR else self._ceased()
        # Two stars make no list of targets, so all of it is read.
        if ceased is not None and top.has_star and top.is_target:
            ceased = ceased._settled(shape=EMPTY)
        if ceased is None:
            return None
        if word == "**":
            return ceased._changed(shape=VALUE)
        return ceased._changed(shape=STAR, has_star=True)

    def _as(self, word: str, text: str) -> Self | None:
        finished = self._finished()
        if finished is None:
            return None
        ceased = finished._ceased()
        return None if ceased is None else ceased._pushed(Frame("as", is_target=True))

    def _as_closed(self) -> Self | None:
        finished = self._finished()
        if finished is None:
            return None
        names = finished._top.done
        return finished._with(finished.frames[:-1])._bind(names)

    def _string(self, word: str, text: str) -> Self | None:
        value = self._value(is_ended=True)
        return None if value is None else value._pushed(Frame("string"))

    def _in_string(self, word: str, text: str) -> Self | None:
        if word in STRING_ENDS:
            return self._with(self.frames[:-1])
        return self._pushed(Frame("field", ELEMENT))

    def _in_field(self, word: str, text: str) -> Self | None:
        if self._top.phase == "spec":
            if word == "}":
                return self._with(self.frames[:-1])
            return self._pushed(Frame("field", ELEMENT)) if word == "{" else self
        handler = _HANDLERS.get(word)
        return self._value(is_ended=False) if handler is None else handler(self, word, text)

    def _line_ended(self, word: str, text: str) -> Self | None:
        top = self._top
        if top.has_star and not top.has_comma:
            return None
        if top.kind == "annotated" and top.shape == EMPTY:  # match x:
            return self._with((START,), blocks=(*self.blocks, Block("match")))
        if top.kind == "expression":
            ended = self._settled()
        elif top.kind == "del":
            ended = self._finished()
        else:
            ended = self._settled(done=NONE)
        if ended is None:
            return None
        is_del = top.kind == "del"
        ended = ended._deleted(ended._top.done) if is_del else ended._bind(top.names)
        return ended._statement_ended(word)

    def _deleted(self, names: Names) -> Self:
        for block in reversed(self.blocks):
            if block.kind in ("if", "try", "except"):
                return self
            if block.kind in ("def", "async def", "class"):
                break
        scope = self.scopes[-1]
        scope = scope._replace(bound=scope.bound - names)
        return self._with(self.frames, scopes=(*self.scopes[:-1], scope))

    # -- the end ----------------------------------------------------------------------------

    def way_out(self) -> Iterator[tuple[str, str]]:
        """Yield lexemes that lead towards the end of the text."""
        top = self._top
        yield from _CLOSING
        if top.shape != EMPTY and any(each.reads - each.done for each in self.frames):
            yield "FOR", "for"
        if top.phase == FOR and top.is_clause:
            missing = sorted(top.reads - top.done - top.bare)
            for name in missing:
                yield "NAME", name
            if missing:
                yield "COMMA", ","
            yield "IN", "in"
            yield "NAME", "_"
        yield from _WAYS_OUT


@lru_cache(maxsize=50_000)
def _after(monitor: Any, word: str, text: str) -> Any:
    return monitor._moved(word, text)


_P = PythonNames
_HANDLERS: dict[str, Any] = {
    **dict.fromkeys(ATOMS, lambda monitor, word, text: monitor._value(is_ended=True)),
    **dict.fromkeys(NAMES, _P._name),
    **dict.fromkeys(("(", "[", "{"), _P._open),
    **dict.fromkeys((")", "]", "}"), _P._close),
    **dict.fromkeys(STRINGS, _P._string),
    **dict.fromkeys(("_NEWLINE", ";"), _P._line_ended),
    **dict.fromkeys(("*", "**"), _P._star),
    ".": _P._dot,
    ",": _P._comma,
    "=": _P._equal,
    ":": _P._colon,
    ":=": _P._walrus,
    "AUGMENTED": _P._augmented,
    "FOR": _P._for,
    "ASYNC": _P._async,
    "IN": _P._in,
    "IF": _P._if,
    "LAMBDA": _P._lambda,
    "YIELD": _P._yield,
    "AWAIT": _P._await,
    "AS": _P._as,
}
_STATEMENTS: dict[str, Any] = {
    "string": _P._in_string,
    "field": _P._in_field,
    "import": _P._import,
    "from": _P._from,
    "global": _P._global,
    "nonlocal": _P._global,
    "async": _P._async_statement,
    "except": _P._except,
    "case": _P._pattern,
    "pattern": _P._pattern,
    **dict.fromkeys(("def", "async def", "class"), _P._definition),
}
_SPELLED = {"CASE": "case", "MATCH": "match"}
_CLOSING = (("RPAR", ")"), ("RSQB", "]"), ("RBRACE", "}"))
_WAYS_OUT = (("ELSE", "else"), ("COLON", ":"), ("EQUAL", "="), ("DECIMAL", "1"))
PythonNames.terminals = frozenset(
    {
        *WORDS,
        *(word for word in (*ATOMS, *OPERATORS) if word.isidentifier()),
        *(STRINGS + STRING_ENDS + LINES + NAMES),
        *KEYWORDS,
        *("AS", "AUGMENTED", "AWAIT", "CASE", "IN", "LAMBDA", "MATCH"),
    }
)
