"""The bettor that plays the exact optimum of its task, read off the solved programme.

It decodes bankroll and rounds left from the observation alone. For tasks that also set hands pair
it with a setter (``BetAndSetAgent``): the constructor checks that the highest setting, which the
programme assumes, is best at every bankroll.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Actions, Infos, Masks, Observations
from niulab.envs.encoding import BETTING, PHASES, Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.setting import keeps_highest_setting
from niulab.solvers.optimal.values import OptimalBetting, solve_betting
from niulab.solvers.sessions.tables import STOP

__all__ = ["OptimalBettor", "problem_of", "solve_task"]


def problem_of(settings: EnvSettings) -> BettingProblem:
    """The betting problem of a task with a bankroll; raises ConfigError for any other."""
    if not settings.bets or settings.bankroll_cents is None:
        raise ConfigError(
            "the optimal bettor chooses slips against a bankroll, this task has "
            f"decisions='{settings.decisions}' and bankroll_cents={settings.bankroll_cents}: "
            "use niulab/Session-v0 or niulab/NiuNiu-v0"
        )
    if settings.channel is not None:
        raise ConfigError(
            "the optimum over a bankroll knows no card before the bet: choose channel=None, or "
            "niulab/Peek-v0 for one round after a look"
        )
    if settings.rules.deck.reshuffle == "penetration":
        raise ConfigError(
            f"'{settings.rules.name}' deals on without shuffling: rounds are not independent, and "
            "the optimum is not offered; choose rules with reshuffle='every_round'"
        )
    return BettingProblem(
        rules=settings.rules,
        slips=settings.menu,
        start_cents=settings.bankroll_cents,
        target_cents=settings.target_cents,
        n_rounds=settings.n_rounds,
        objective=settings.objective,
        can_leave=settings.can_leave,
    )


def solve_task(settings: EnvSettings) -> OptimalBetting:
    """The optimum of a task with a bankroll, hands set at their highest.

    Raises ConfigError where ``problem_of`` does, and where setting hands high is not always best.
    """
    betting = solve_betting(problem_of(settings))
    _verify_setting(settings, betting)
    return betting


class OptimalBettor:
    """Bets the optimum of its task: ``betting`` holds the values and their proven gap.

    Raises ConfigError where the observation does not tell bankrolls apart (bytes), where the task
    has no bankroll, and where setting hands high is not always best.
    """

    def __init__(self, settings: EnvSettings, name: str = "optimal") -> None:
        self.name = name
        self.betting = solve_task(settings)
        self._encoding = Encoding(settings)
        self._bankroll = _column(self._encoding, "bankroll")
        self._rounds = _column(self._encoding, "rounds left")
        self._codes, self._n_rounds = self._known_codes(settings)
        self._actions = self._table(settings)

    def initial_state(self, n: int) -> None:
        """Nothing is remembered."""

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Actions, Any]:
        """The best slip by row; 0 where no bet is due. Raises ConfigError for a bankroll that play
        from the task's start cannot come to.
        """
        actions = np.zeros(len(observations), dtype=np.int64)
        is_bet = self._encoding.decode_phase(observations) == PHASES[BETTING]
        if is_bet.any():
            actions[is_bet] = self._bet(observations[is_bet])
        return actions, state

    def _bet(self, observations: Observations) -> Actions:
        seen = observations[:, self._bankroll]
        levels = np.searchsorted(self._codes, seen).clip(max=len(self._codes) - 1)
        rows = np.zeros(len(observations), dtype=np.int64)
        if self._rounds is not None:
            left = observations[:, self._rounds].astype(np.float64) * self._n_rounds
            rows = self._n_rounds - np.rint(left).astype(np.int64)
        actions: Actions = self._actions[rows, levels]
        strange = (self._codes[levels] != seen) | (actions == _NONE)
        if strange.any():
            raise ConfigError(
                f"'{self.name}' meets a bankroll that no play from the task's start comes to "
                f"(observed as {seen[strange][0]!r}): make the bettor of the settings it plays"
            )
        return actions

    def _known_codes(self, settings: EnvSettings) -> tuple[NDArray[Any], int]:
        """How each level's bankroll is shown, ascending, and the deadline (1 for none)."""
        n_levels = self.betting.choice.shape[1]
        bankrolls = np.arange(n_levels) * self.betting.step_cents
        codes = self._encoding.encode_bets(n_levels, bankrolls=bankrolls)[:, self._bankroll]
        if (codes[1:] <= codes[:-1]).any():
            raise ConfigError(
                f"the observation ({self._encoding.name}) shows some of the {n_levels} bankrolls "
                "alike, and the optimum tells them apart: use observation='float32', encoding="
                "'flags', or a shorter session"
            )
        return codes, settings.n_rounds or 1

    def _table(self, settings: EnvSettings) -> NDArray[np.int64]:
        """Action by rounds played and level; _NONE where no bet is due or play cannot lead."""
        betting = self.betting
        menu = np.append(betting.plays.menu, _NONE)  # STOP, which is -1, takes the last
        table = menu[betting.choice]
        if settings.leave_action is not None:
            is_here = ~np.isnan(betting.low)
            is_here[:, : -(-betting.problem.ruin_cents // betting.step_cents)] = False
            table[(betting.choice == STOP) & is_here] = settings.leave_action
        return table


_NONE = -1


def _column(encoding: Encoding, name: str) -> int | None:
    return next((field.start for field in encoding.layout if field.name == name), None)


def _verify_setting(settings: EnvSettings, betting: OptimalBetting) -> None:
    """Refuse a task with hands to set whose best setting depends on the bankroll."""
    if not settings.sets_hand:
        return
    if not keeps_highest_setting(betting):
        raise ConfigError(
            f"under '{settings.rules.name}' and objective='{settings.objective}' a hand set below "
            "its highest rank can be worth more at some bankroll: the optimum of this task is not "
            "offered; use decisions='bet'"
        )
