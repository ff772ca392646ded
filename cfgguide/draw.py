"""Pictures of automata, parsers, tries and masks, drawn from the real objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.studio.draw.machines import fsm as fsm
    from cfgguide.studio.draw.machines import scanner as scanner
    from cfgguide.studio.draw.machines import terminal as terminal
    from cfgguide.studio.draw.parsers import parser as parser
    from cfgguide.studio.draw.parsers import tree as tree
    from cfgguide.studio.draw.picture import Picture as Picture
    from cfgguide.studio.draw.texts import text as text
    from cfgguide.studio.draw.tries import trie as trie

_NAMES = {
    "Picture": "studio.draw.picture",
    "fsm": "studio.draw.machines",
    "parser": "studio.draw.parsers",
    "scanner": "studio.draw.machines",
    "terminal": "studio.draw.machines",
    "text": "studio.draw.texts",
    "tree": "studio.draw.parsers",
    "trie": "studio.draw.tries",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
