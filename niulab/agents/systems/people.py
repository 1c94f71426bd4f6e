"""People without a system: bettors that know nothing, for whom a detector must stay silent."""

from __future__ import annotations

import numpy as np

from niulab.agents.systems.system import (
    AFFORDS_LESS,
    Automaton,
    BettingSystem,
    make_automaton,
)
from niulab.errors import ConfigError

__all__ = ["human", "random"]


def random(max_: int = 10) -> BettingSystem:
    """Any number of units from 1 to ``max``, drawn anew and uniformly before every round."""
    _verify(max_)
    memories = np.arange(max_, dtype=np.int32)
    drawn = Automaton(
        states=tuple(range(1, max_ + 1)),
        units=memories.astype(np.int64) + 1,
        next=np.repeat(memories[:, None], 3, axis=1),
        depths=np.zeros(max_, dtype=np.int32),
    )
    return BettingSystem(
        name="random",
        summary=f"draws 1 to {max_} units anew before every round, each as likely",
        automaton=drawn,
        redraws=True,
    )


def human(max_: int = 8) -> BettingSystem:
    """Chases streaks: raises by 1 with every win in a row after the first, doubles with every loss
    in a row after the first.

    The rule is ours; that people stake more both ahead and behind is Thaler and Johnson's (1990),
    "Gambling with the house money and trying to break even".
    """
    _verify(max_)

    def units(streak: int) -> int:
        raised = streak if streak > 0 else 1 << max(-streak - 1, 0)
        return min(max(raised, 1), max_)

    def longer(streak: int, by: int) -> int:
        if streak * by < 0:
            return by
        # at the cap one more changes nothing
        is_capped = streak != 0 and units(streak) == max_
        return streak if is_capped else streak + by

    return BettingSystem(
        name="human",
        summary="after two or more wins in a row as many units as wins, after k losses in a row "
        "2^(k-1) units, else 1",
        fallback=f"It never wants more than {max_} units and stays there until the streak breaks. "
        f"{AFFORDS_LESS}",
        automaton=make_automaton(
            0,
            units=units,
            won=lambda streak: longer(streak, 1),
            lost=lambda streak: longer(streak, -1),
        ),
    )


def _verify(most: int) -> None:
    if not 1 <= most <= 1000:
        raise ConfigError(f"max is a whole number from 1 to 1000, got {most}")
