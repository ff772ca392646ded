"""Pictures of configuration tries: what an index has stored so far.

In: an index. Out: a picture of its paths. A path begins with a state of the scanner and goes on
with states of the parser, from the top of the stack; at its end stands how many tokens the mask
allows.
"""

from __future__ import annotations

from collections.abc import Hashable

from cfgguide.engine.index.index import Index
from cfgguide.errors import DrawingError, shown
from cfgguide.grammar.lr.stack import Stack
from cfgguide.studio.draw.graph import Arrow, Graph, State
from cfgguide.studio.draw.picture import DEFAULT_MAX_STATES, Picture, check_options, picture_of

_MAX_NAMES = 3


def trie(index: Index, *, layout: str = "auto", max_states: int = DEFAULT_MAX_STATES) -> Picture:
    r"""Return the picture of the configuration trie of an index, as far as it is filled.

    Parameters
    ----------
    index : Index
        The index; masks that are only in a file are not shown.
    layout, max_states
        As for :func:`cfgguide.draw.fsm`; the nodes are the states.

    Raises
    ------
    DrawingError
        If this is no index, or an argument is wrong.

    Examples
    --------
    >>> import cfgguide
    >>> vocabulary = cfgguide.Vocabulary([b"(", b"a", b")", None], eos_token_ids=3)
    >>> index = cfgguide.compile(cfgguide.Grammar('start: "(" start ")" | A\nA: /a+/'), vocabulary)
    >>> len(cfgguide.Guide(index).allowed_token_ids())
    2
    >>> "2 tokens" in cfgguide.draw.trie(index, layout="layers").svg
    True
    """
    check_options(layout, max_states)
    if not isinstance(index, Index):
        raise DrawingError(f"a configuration trie is that of an Index, not of {shown(index)}")
    states = [State(("index",), is_start=True)]
    arrows: list[Arrow] = []
    numbers: dict[tuple[Hashable, ...], int] = {(): 0}
    entries = sorted(index.entries().items(), key=lambda entry: _sortable(entry[0]))
    for path, subset in entries:
        for depth in range(1, len(path) + 1):
            prefix = path[:depth]
            if prefix in numbers:
                continue
            numbers[prefix] = len(states)
            lines = _lines(prefix[-1], is_first=depth == 1)
            is_end = depth == len(path)
            if is_end:
                lines += (f"{subset.n_tokens:,} token{'s' * (subset.n_tokens != 1)}",)
            states.append(State(lines, is_final=is_end, tip=str(prefix[-1])))
            arrows.append(Arrow(numbers[prefix[:-1]], numbers[prefix]))
    said = f"{len(entries):,} masks, {index.n_subsets:,} of them different"
    title = "configuration trie: scanner state, then parse states from the top of the stack"
    graph = Graph(title, tuple(states), tuple(arrows), (said,), noun="nodes")
    return picture_of(graph, layout=layout, max_states=max_states)


def _sortable(path: tuple[Hashable, ...]) -> list[tuple[bool, int, str]]:
    """Return what paths are sorted by; their parts are numbers, or tuples of these."""
    return [(False, part, "") if isinstance(part, int) else (True, 0, repr(part)) for part in path]


def _lines(part: Hashable, *, is_first: bool) -> tuple[str, ...]:
    kind = "scanner" if is_first else "parser"
    if isinstance(part, int):
        return (f"{kind} {part}",)
    lexers = part[0] if is_first and isinstance(part, tuple) and part else part
    if isinstance(part, Stack):  # with a monitor masks depend on whole stacks
        states = [str(state) for state in part]
        above = [*states[:_MAX_NAMES], *["…"] * (len(states) > _MAX_NAMES)]
        return (f"{kind} {', '.join(above)}",)
    if not isinstance(lexers, tuple):
        return (f"{kind} …",)
    names = [str(each[0] if isinstance(each, tuple) and each else each) for each in lexers]
    more = ["…"] if len(names) > _MAX_NAMES else []
    return (f"{kind} {' | '.join([*names[:_MAX_NAMES], *more])}",)
