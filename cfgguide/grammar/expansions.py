"""What Lark would write out of a grammar: counted first, and written shorter where it explodes.

In: a grammar. Out: the trees that Lark reads, with a few rules more (:func:`read`).

Lark writes each way through an alternative as a production of its own, so 24 optional words in a
row make 16 million of them. An alternative with more than `MAX_PRODUCTIONS` is given a rule for
what is left of it after each choice; everything is still decided at its end, as Lark would::

    start: "a"? "b"? "c"      start: "a" rest_0 | rest_0
                              rest_0: "b" rest_1 | rest_1
                              rest_1: "c"

An LALR state of the one stands for an LALR state of the other: the items that begin with the same
symbols, wherever their rest is written. So it has the same conflicts, and the language stays.

Terminals and templates are only counted: a terminal that stands twice in the next, and this twice
in the one after it, doubles each time; a template that uses itself with something larger never
ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from lark import Token, Tree
from lark.grammar import NonTerminal
from lark.load_grammar import REPEAT_BREAK_THRESHOLD, load_grammar
from lark.load_grammar import Grammar as LarkGrammar

from cfgguide.grammar.grammar import Grammar
from cfgguide.grammar.imports import ImportedFiles
from cfgguide.limits import Budget

#: Productions that Lark may make of one rule.
MAX_PRODUCTIONS = 1000
_MANY = 10**15  # and more: nobody counts on
_MAX_NAME = 10_000  # characters of a template with its arguments, which are a part of its name
_FACTOR = 5  # Lark splits large repetitions into rules of about so many symbols

Node = Any  # a tree or a token of Lark's
Nodes = tuple[Node, ...]


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
    found, _ = load_grammar(grammar.text, source, imports.import_paths, False)  # type: ignore[arg-type]
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
    >>> [name for name, *_ in bounded(read, Budget()).rule_defs][:3]
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
    """Return the numbers after ``~``."""
    return int(operator[1]), int(operator[-1])


class _Writer:
    """Writes an alternative as a rule for each rest of it.

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
        self.rests: list[tuple[str, Node]] = []

    def rule(self, tree: Node) -> Node:
        """Return the tree of the rule."""
        written = []
        for child in tree.children:
            is_alias = child.data == "alias"
            expansion = child.children[0] if is_alias else child
            for symbols in self._sequences(expansion.children, ()):
                alternative = Tree("expansion", symbols)
                written.append(
                    Tree("alias", [alternative, *child.children[1:]]) if is_alias else alternative
                )
        return Tree("expansions", written)

    def _sequences(self, items: Sequence[Node], rest: Nodes) -> list[list[Node]]:
        """Return the alternatives for items in a row and then a rest, which is one symbol or none.

        The first item that leaves a choice gets an alternative for each option; what comes after it
        becomes a rule.
        """
        self._budget.check("max_symbols", len(self.rests), f"rule {self._name}")
        for place, item in enumerate(items):
            options = self._options(item)
            if options is not None:
                before, after = items[:place], items[place + 1 :]
                if after:
                    rest = (self._new_rule(after, rest),)
                return [
                    sequence
                    for option in options
                    for sequence in self._sequences([*before, *option], rest)
                ]
        return [[*items, *rest]]

    def _new_rule(self, items: Sequence[Node], rest: Nodes) -> Node:
        """Return the symbol of a new rule for items in a row and then a rest."""
        name = f"__{self._name}_rest_{len(self.rests)}"
        self.rests.append((name, None))  # those that it needs come after it
        place = len(self.rests) - 1
        body = [Tree("expansion", each) for each in self._sequences(items, rest)]
        self.rests[place] = name, Tree("expansions", body)
        return _symbol(name)

    def _options(self, item: Node) -> list[list[Node]] | None:
        """Return what an item stands for, a list of items for each choice; None if for itself."""
        if not isinstance(item, Tree) or item.data not in ("expansions", "maybe", "expr"):
            return None
        if item.data != "expr":
            options = [_items(child) for child in item.children]
            return options if item.data == "expansions" else [*options, []]
        inner, *operator = item.children
        if operator[0] == "?":
            return [[inner], []]
        if operator[0] in ("*", "+"):
            if _size(inner).n_productions > MAX_PRODUCTIONS:
                inner = self._new_rule([inner], ())
                return self._options(Tree("expr", [inner, *operator])) or [[Tree("expr", [inner, *operator])]]
            return None if operator[0] == "+" else [[Tree("expr", [inner, Token("OP", "+")])], []]
        least, most = _times(operator)
        if not 0 <= least <= most < REPEAT_BREAK_THRESHOLD:
            return None  # wrong, or Lark makes rules of it
        if least:
            more = [_up_to(inner, most - least)] if most > least else []
            return [[*[inner] * least, *more]]
        return [[inner, _up_to(inner, most - 1)], []] if most else [[]]


def _up_to(inner: Node, most: int) -> Node:
    """Return an item that is at most so many times another."""
    return Tree("expr", [inner, Token("TILDE", "~"), Token("NUMBER", "0"), Token("NUMBER", str(most))])


def _items(alternative: Node) -> list[Node]:
    return list(alternative.children) if alternative.data == "expansion" else [alternative]


def _symbol(name: str) -> Node:
    return Tree("value", [NonTerminal(name)])


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
