"""The action space of a task."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from niulab.envs.settings import EnvSettings

__all__ = ["action_space"]


def action_space(settings: EnvSettings) -> spaces.Discrete | spaces.Box:
    """``Discrete`` over the menu and the settings of a hand, or a ``Box`` of stakes."""
    if settings.stakes == "continuous":
        return spaces.Box(-1.0, 1.0, (len(settings.rules.boxes),), np.float32)
    return spaces.Discrete(settings.n_actions)
