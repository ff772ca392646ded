"""Pictures of automata, parsers, tries and masks, drawn from the real objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.draw.machines import fsm as fsm
    from cfgguide.draw.machines import scanner as scanner
    from cfgguide.draw.machines import terminal as terminal
    from cfgguide.draw.parsers import parser as parser
    from cfgguide.draw.parsers import tree as tree
    from cfgguide.draw.picture import Picture as Picture
    from cfgguide.draw.texts import text as text
    from cfgguide.draw.tries import trie as trie

_NAMES = {
    "Picture": "picture",
    "fsm": "machines",
    "parser": "parsers",
    "scanner": "machines",
    "terminal": "machines",
    "text": "texts",
    "tree": "parsers",
    "trie": "tries",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
