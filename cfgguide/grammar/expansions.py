"""What Lark would write out of a grammar: counted first, and written shorter where it explodes.

In: a grammar. Out: the trees that Lark reads, with a few rules more (:func:`read`).

Lark writes each way through an alternative as a production of its own, so 24 optional words in a
row make 16 million of them. A rule with more than `MAX_PRODUCTIONS` is written as an automaton that
reads its symbols, with a rule for what is left after each::

    start: "a"? "b"? "c"      start: "a" rest_0 | "b" rest_1 | "c"
                              rest_0: "b" rest_1 | "c"
                              rest_1: "c"

Everything is still decided at the end, as with Lark. What may be left stands for the items of the
productions that have begun alike, so the LALR states have the same conflicts, and the language
stays. Of such a rule Lark may refuse two productions that are the same; once it is written so,
there are none.

Terminals and templates are only counted: a terminal that stands twice in the next, and this twice
in the one after it, doubles each time; a template that uses itself with something larger never
ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lark import Token, Tree
from lark.grammar import NonTerminal
from lark.load_grammar import REPEAT_BREAK_THRESHOLD, load_grammar
from lark.load_grammar import Grammar as LarkGrammar

from cfgguide.base.limits import Budget
from cfgguide.base.sets import reached_from
from cfgguide.grammar import lark_parts
from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.imports import ImportedFiles

#: Productions that Lark may make of one rule.
MAX_PRODUCTIONS = 1000
_MANY = 10**15  # and more: nobody counts on
_MAX_NAME = 10_000  # characters of a template with its arguments, which are a part of its name
_FACTOR = 5  # Lark splits large repetitions into rules of about so many symbols

_QUOTED = re.compile(rf"{lark_parts.STRING}|{lark_parts.EXPRESSION}|(?://|#)[^\n]*")
_DEFINED = re.compile(
    r"^[ \t]*[?!]*(_*[A-Za-z]\w*)(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:", re.MULTILINE
)
_USED = re.compile(r"\b_?[A-Z][A-Z0-9_]*\b")

Node = Any  # a tree or a token of Lark's
_PLUS = Token("OP", "+")


def read(
    grammar: Grammar, imports: ImportedFiles | None = None, budget: Budget | None = None
) -> LarkGrammar:
    """Return a grammar as Lark reads it, for ``lark.Lark``, but no larger than the limits allow.

    Parameters
    ----------
    grammar : Grammar
        The grammar.
    imports : ImportedFiles, optional
        What it may import, and notes what it does.
    budget : Budget, optional
        What it may cost.

    Raises
    ------
    LimitError
        As :func:`bounded`.
    lark.exceptions.LarkError, and others
        If Lark does not understand it.
    """
    imports = imports or ImportedFiles(grammar)
    source = grammar.source_path or "<string>"
    _check_references(grammar.text, budget or Budget())
    load: Any = load_grammar  # without types
    found, _ = load(grammar.text, source, imports.import_paths, False)
    return bounded(found, budget or Budget())


def bounded(grammar: LarkGrammar, budget: Budget) -> LarkGrammar:
    """Return a grammar of which Lark makes what the limits allow, with the same language.

    Raises
    ------
    LimitError
        If that would be more than `max_symbols`, or templates nest deeper than `max_nesting`.

    Examples
    --------
    >>> from lark.load_grammar import load_grammar
    >>> text = "start: " + " ".join(f'"{letter}"?' for letter in "abcdefghijkl")
    >>> read, _ = load_grammar(text, "<string>", [], False)
    >>> [str(name) for name, *_ in bounded(read, Budget()).rule_defs][:3]
    ['start', '__start_rest_0', '__start_rest_1']
    """
    _check_terminals(grammar, budget)
    rules: list[tuple[str, Any, Node, Any]] = []
    for name, parameters, tree, options in grammar.rule_defs:
        if parameters or tree is None or _size(tree).n_productions <= MAX_PRODUCTIONS:
            rules.append((name, parameters, tree, options))
            continue
        written = _Writer(str(name), budget)
        rules.append((name, parameters, written.rule(tree), options))
        rules += [(rest, (), body, options) for rest, body in written.rests]
    total = 0
    for name, _, tree, _ in rules:
        if tree is not None:
            size = _size(tree)
            total += size.n_symbols + size.n_aside
            budget.check("max_symbols", total, f"rule {name}")
    _check_templates(rules, budget)
    return LarkGrammar(rules, grammar.term_defs, grammar.ignore)


class _Size(NamedTuple):
    """What Lark makes of a part of a rule.

    Attributes
    ----------
    n_productions : int
        Ways through it.
    n_symbols : int
        Of all of them.
    n_aside : int
        Symbols of rules that Lark makes for its repetitions.
    """

    n_productions: int
    n_symbols: int
    n_aside: int = 0


def _size(node: Node) -> _Size:
    if not isinstance(node, Tree):
        return _Size(1, 1)
    if node.data == "alias":
        return _size(node.children[0])
    if node.data in ("expansions", "maybe"):
        parts = [_size(child) for child in node.children]
        n_productions = sum(part.n_productions for part in parts) + (node.data == "maybe")
        return _size_of(
            n_productions,
            sum(part.n_symbols for part in parts),
            sum(part.n_aside for part in parts),
        )
    if node.data == "expansion":
        whole = _Size(1, 0)
        for child in node.children:
            whole = _in_a_row(whole, _size(child))
        return whole
    if node.data == "expr":
        return _repeated(_size(node.children[0]), node.children[1:])
    return _Size(1, 1)


def _size_of(n_productions: int, n_symbols: int, n_aside: int) -> _Size:
    return _Size(min(n_productions, _MANY), min(n_symbols, _MANY), min(n_aside, _MANY))


def _in_a_row(one: _Size, other: _Size) -> _Size:
    return _size_of(
        one.n_productions * other.n_productions,
        one.n_symbols * other.n_productions + other.n_symbols * one.n_productions,
        one.n_aside + other.n_aside,
    )


def _repeated(inner: _Size, operator: Sequence[Node]) -> _Size:
    """Return the size of a part with ``?``, ``*``, ``+`` or ``~`` after it."""
    n_productions, n_symbols, n_aside = inner
    if operator[0] == "?":
        return _size_of(n_productions + 1, n_symbols, n_aside)
    if operator[0] in ("*", "+"):
        rule = n_productions + 2 * n_symbols
        return _size_of(1 + (operator[0] == "*"), 1, n_aside + rule)
    least, most = _times(operator)
    if most < REPEAT_BREAK_THRESHOLD:
        whole, row = _Size(0, 0), _Size(1, 0)
        for times in range(most + 1):
            if times >= least:
                whole = _size_of(
                    whole.n_productions + row.n_productions, whole.n_symbols + row.n_symbols, 0
                )
            row = _in_a_row(row, _Size(n_productions, n_symbols))
        return whole._replace(n_aside=n_aside)
    row = _Size(1, 0)
    for _ in range(_FACTOR - 1):
        row = _in_a_row(row, _Size(n_productions, n_symbols))
    rules = 2 * len(str(most)) * _FACTOR * (row.n_symbols + _FACTOR)
    return _size_of(1, 2, n_aside + rules)


def _times(operator: Sequence[Node]) -> tuple[int, int]:
    """Return how often something is repeated, of ``*`` and ``+`` at least."""
    if operator[0] == "~":
        return int(operator[1]), int(operator[-1])
    return int(operator[0] == "+"), 1


class _Writer:
    """Writes a rule as a right-linear grammar of its symbols: an automaton that reads them.

    What may come next is a set of places in the rule, so that ways with the same symbols are one,
    as they are for Lark. Names of alternatives (``-> name``) are left out.

    Parameters
    ----------
    name : str
        The rule's.
    budget : Budget
        What it may cost.

    Attributes
    ----------
    rests : list of (str, Tree)
        The rules made so far.
    """

    def __init__(self, name: str, budget: Budget) -> None:
        self._name = name
        self._budget = budget
        self._n_symbols = self._n_names = 0
        self.rests: list[tuple[str, Node]] = []

    def rule(self, tree: Node) -> Node:
        """Return the tree of the rule."""
        places = _Places(self._repeated)
        places.add(tree, places.first, places.last)
        start = places.silently([places.first])
        names: dict[tuple[int, ...], Node] = {}
        bodies: list[Node] = []
        for here in (pending := [start]):  # grows while it is walked
            body: list[Node] = [Tree("expansion", [])] if places.last in here else []
            for symbol, following in places.moves(here):
                self._n_symbols += 2
                self._budget.check("max_symbols", self._n_symbols, f"rule {self._name}")
                there = places.silently(following)
                if there not in names:
                    names[there] = self._new_name()
                    pending.append(there)
                rest = [] if there == (places.last,) else [_symbol(names[there])]
                body.append(Tree("expansion", [symbol, *rest]))
            bodies.append(Tree("expansions", body))
        self.rests += [
            (names[here], body)
            for here, body in zip(pending[1:], bodies[1:], strict=True)
            if here != (places.last,)
        ]
        return bodies[0]

    def _repeated(self, inner: Node) -> Node:
        """Return a symbol for what is repeated, if Lark would make too much of it."""
        if _size(inner).n_productions <= MAX_PRODUCTIONS:
            return inner
        name = self._new_name()
        self.rests.append((name, self.rule(inner)))
        return _symbol(name)

    def _new_name(self) -> str:
        self._n_names += 1
        return f"__{self._name}_rest_{self._n_names - 1}"


class _Places:
    """The places in a rule, and which symbols lead from one to another.

    Parameters
    ----------
    repeated : callable
        Returns what is to be repeated for a part of the rule that is.
    """

    def __init__(self, repeated: Callable[[Node], Node]) -> None:
        self._repeated = repeated
        self._moves: list[list[tuple[Node, int]]] = []
        self._silent: list[list[int]] = []
        self.first, self.last = self._new(), self._new()

    def _new(self) -> int:
        self._moves.append([])
        self._silent.append([])
        return len(self._moves) - 1

    def silently(self, places: Iterable[int]) -> tuple[int, ...]:
        """Return these places and those that follow without a symbol, ascending.

        Those that nothing but silence leaves are left out.
        """
        found = reached_from(places, self._silent.__getitem__)
        return tuple(sorted(each for each in found if each == self.last or self._moves[each]))

    def moves(self, places: Iterable[int]) -> Iterable[tuple[Node, list[int]]]:
        """Return the symbols that lead on from some places, and where to."""
        found: dict[Node, list[int]] = {}
        for place in places:
            for symbol, following in self._moves[place]:
                found.setdefault(symbol, []).append(following)
        return found.items()

    def add(self, node: Node, first: int, last: int) -> None:
        """Add a part of the rule between two places."""
        kind = node.data if isinstance(node, Tree) else ""
        if kind == "alias":
            self.add(node.children[0], first, last)
        elif kind == "expansion":
            for child in node.children:
                place = self._new()
                self.add(child, first, place)
                first = place
            self._silent[first].append(last)
        elif kind in ("expansions", "maybe"):
            for child in node.children:
                self.add(child, first, last)
            if kind == "maybe":
                self._silent[first].append(last)
        elif kind == "expr":
            self._add_repeated(node, first, last)
        else:
            self._moves[first].append((node, last))

    def _add_repeated(self, node: Node, first: int, last: int) -> None:
        inner, *operator = node.children
        least, most = _times(operator)
        if operator[0] in ("*", "+"):
            self._moves[first].append((Tree("expr", [self._repeated(inner), _PLUS]), last))
        elif not 0 <= least <= most < REPEAT_BREAK_THRESHOLD:  # wrong, or Lark makes rules of it
            self._moves[first].append((node, last))
            return
        else:
            for times in range(most):
                place = self._new()
                if times >= least:
                    self._silent[first].append(last)
                self.add(inner, first, place)
                first = place
            self._silent[first].append(last)
            return
        if least == 0:
            self._silent[first].append(last)


def _symbol(name: str) -> Node:
    return Tree("value", [NonTerminal(name)])


def _check_references(text: str, budget: Budget) -> None:
    """Refuse terminals that double with each use: Lark reads along every way.

    What is a definition is guessed from the text, before Lark reads it.
    """
    parts = _DEFINED.split(_QUOTED.sub(" ", text))
    defined = zip(parts[1::2], parts[2::2], strict=True)
    used = {name: _USED.findall(body) for name, body in defined if name.isupper()}  # not rules
    sizes: dict[str, int] = {}
    for root in used:
        path = [root]
        while path:
            name = path[-1]
            missing = [each for each in used[name] if each in used and each not in sizes]
            if not missing or name in path[:-1]:  # Lark refuses what uses itself
                path.pop()
                sizes[name] = min(1 + sum(sizes.get(each, 1) for each in used[name]), _MANY)
            else:
                path.append(missing[0])
        budget.check("max_symbols", sizes[root], f"terminal {root}")


def _check_terminals(grammar: LarkGrammar, budget: Budget) -> None:
    """Refuse terminals whose patterns get too long when other terminals are put into them."""
    lengths: dict[int, int] = {}  # by the tree: a terminal is in each that uses it as one object

    def length(tree: Node) -> int:
        if not isinstance(tree, Tree):
            return len(str(tree))
        if id(tree) not in lengths:
            lengths[id(tree)] = min(4 + sum(length(child) for child in tree.children), _MANY)
        return lengths[id(tree)]

    for name, (tree, _) in grammar.term_defs:
        if tree is not None:
            budget.check("max_symbols", length(tree), f"terminal {name}")


def _check_templates(rules: Sequence[tuple[str, Any, Node, Any]], budget: Budget) -> None:
    """Refuse templates that Lark would make endlessly many rules of, or too many."""
    templates = {name: (parameters, tree) for name, parameters, tree, _ in rules if parameters}
    made: set[str] = set()
    pending: list[tuple[Node, dict[str, str], int]] = [
        (tree, {}, 0) for _, parameters, tree, _ in rules if not parameters and tree is not None
    ]
    n_symbols = 0

    def instance(usage: Node, values: dict[str, str], depth: int) -> str:
        """Return the name of a template with arguments, and remember to look into it."""
        template = values.get(usage.children[0].name, usage.children[0].name)
        arguments = [argument(child, values, depth) for child in usage.children[1:]]
        name = f"{template}{{{','.join(arguments)}}}"
        if name not in made and template in templates:
            made.add(name)
            budget.check("max_nesting", depth + 1, f"template {template}")
            budget.check("max_symbols", 100 * max(0, len(name) - _MAX_NAME), f"template {template}")
            parameters, tree = templates[template]
            pending.append((tree, dict(zip(parameters, arguments, strict=False)), depth + 1))
        return name

    def argument(node: Node, values: dict[str, str], depth: int) -> str:
        if isinstance(node, Tree) and node.data == "value":
            node = node.children[0]
        if isinstance(node, Tree) and node.data == "template_usage":
            return instance(node, values, depth)
        name = getattr(node, "name", None) or str(node)
        return values.get(name, name)

    while pending:
        tree, values, depth = pending.pop()
        n_symbols += _size(tree).n_symbols
        budget.check("max_symbols", n_symbols, "what templates make")
        for usage in _usages(tree):
            instance(usage, values, depth)


def _usages(tree: Node) -> Iterator[Node]:
    """Yield the outermost usages of templates in a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Tree):
            if node.data == "template_usage":
                yield node
            else:
                pending += node.children
