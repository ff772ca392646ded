"""How far a model disagrees with a grammar, over sentences that are there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.evaluation.disagreement import Evaluation as Evaluation
    from cfgguide.evaluation.evaluation import evaluate as evaluate
    from cfgguide.evaluation.mass import kept_mass as kept_mass
    from cfgguide.evaluation.mass import log_probabilities as log_probabilities
    from cfgguide.evaluation.mass import token_log_probabilities as token_log_probabilities
    from cfgguide.evaluation.teacher_forcing import masks_for as masks_for
    from cfgguide.evaluation.teacher_forcing import stack_masks as stack_masks

_NAMES = {
    "Evaluation": "disagreement",
    "evaluate": "evaluation",
    "kept_mass": "mass",
    "log_probabilities": "mass",
    "masks_for": "teacher_forcing",
    "stack_masks": "teacher_forcing",
    "token_log_probabilities": "mass",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
