"""What explains the tokens of an index, whatever kind of index it is."""

from __future__ import annotations

import sys
from typing import Any

from cfgguide.diagnostics.explain import Explainer, ExplainsTokens, MessageExplainer
from cfgguide.index.index import Index
from cfgguide.recognizer.recognizer import Configuration


def explainer_of(
    index: Index, before: bytes = b"", configuration: Configuration | None = None
) -> ExplainsTokens:
    """Return what explains pieces after a text; some need the configuration that it has come to."""
    monitored = sys.modules.get("cfgguide.index.monitored_index")  # else there is no such index
    is_monitored = monitored is not None and isinstance(index, monitored.MonitoredIndex)
    if index.has_tables and not is_monitored:
        return Explainer(index, before)
    if configuration is None:
        configuration = index.recognizer.advance(index.recognizer.initial, before)
        assert configuration is not None, "a text can follow"
    if not is_monitored:
        return MessageExplainer(index, configuration)
    from cfgguide.diagnostics.explain_monitor import MonitorExplainer

    watched: Any = index
    return MonitorExplainer(watched, before, configuration)
