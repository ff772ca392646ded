"""Why: whether a text is a sentence, why a token is refused, reports on grammars and tokenizers.

Asks the machine that makes the masks, so that what it says is true of them. Explaining reads a text
again; nothing of it is needed to write one.

Read first: ``diagnosis``, ``explanation``, ``explain``, ``trace``; ``inspection`` and
``report`` for grammars, ``tokenizer`` for tokenizers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.diagnostics.diagnosis import check as check
    from cfgguide.diagnostics.explanation import Explanation as Explanation
    from cfgguide.diagnostics.inspection import inspect as inspect
    from cfgguide.diagnostics.report import Report as Report
    from cfgguide.diagnostics.tokenizer import TokenizerReport as TokenizerReport
    from cfgguide.diagnostics.tokenizer import check_tokenizer as check_tokenizer

_NAMES = {
    "Explanation": "diagnostics.explanation",
    "Report": "diagnostics.report",
    "TokenizerReport": "diagnostics.tokenizer",
    "check": "diagnostics.diagnosis",
    "check_tokenizer": "diagnostics.tokenizer",
    "inspect": "diagnostics.inspection",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
