"""What masks change: a model beside a grammar, and its answers beside what is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfgguide.base.lazy import lazy_names

if TYPE_CHECKING:
    from cfgguide.studio.evaluation.comparison import Answer as Answer
    from cfgguide.studio.evaluation.comparison import Comparison as Comparison
    from cfgguide.studio.evaluation.comparison import Interval as Interval
    from cfgguide.studio.evaluation.comparison import compare as compare
    from cfgguide.studio.evaluation.disagreement import Evaluation as Evaluation
    from cfgguide.studio.evaluation.evaluation import evaluate as evaluate
    from cfgguide.studio.evaluation.mass import kept_mass as kept_mass
    from cfgguide.studio.evaluation.mass import log_probabilities as log_probabilities
    from cfgguide.studio.evaluation.mass import token_log_probabilities as token_log_probabilities
    from cfgguide.studio.evaluation.teacher_forcing import masks_for as masks_for
    from cfgguide.studio.evaluation.teacher_forcing import stack_masks as stack_masks

_NAMES = {
    "Answer": "studio.evaluation.comparison",
    "Comparison": "studio.evaluation.comparison",
    "Evaluation": "studio.evaluation.disagreement",
    "Interval": "studio.evaluation.comparison",
    "compare": "studio.evaluation.comparison",
    "evaluate": "studio.evaluation.evaluation",
    "kept_mass": "studio.evaluation.mass",
    "log_probabilities": "studio.evaluation.mass",
    "masks_for": "studio.evaluation.teacher_forcing",
    "stack_masks": "studio.evaluation.teacher_forcing",
    "token_log_probabilities": "studio.evaluation.mass",
}

__all__ = sorted(_NAMES)
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
