"""What a model writes around its values: thinking, text, and calls of tools.

In: a structural tag, or tools and the format of a model. Out: a
:class:`~cfgguide.schema.messages.message_grammar.MessageGrammar`. ::

    structural_tag.py   reads the tags that vLLM, SGLang and XGrammar have
    tools.py            writes such tags for the formats of models, and reads calls back
    grammar_tools.py    tools with arguments in a grammar, such as SQL
    thinking.py         puts thinking before an answer
    parts.py            what a message is made of
    structure.py        its automaton, but for the JSON values in it
    automaton.py        the same with the values: the pushdown automaton of the index
    message_grammar.py  the grammar, which makes all of that
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.schema.messages.message import Message as Message
    from cfgguide.schema.messages.message import ToolCall as ToolCall
    from cfgguide.schema.messages.message_grammar import MessageGrammar as MessageGrammar

_NAMES = {
    "Message": "schema.messages.message",
    "MessageGrammar": "schema.messages.message_grammar",
    "ToolCall": "schema.messages.message",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
