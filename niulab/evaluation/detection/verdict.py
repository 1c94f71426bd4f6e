"""Verdicts: what the states of players say, in the words that it warrants and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError
from niulab.evaluation.detection.fold import PlayerStates, log_e_values, shares_now
from niulab.evaluation.detection.lists import e_bh
from niulab.evaluation.detection.portfolio import Portfolio

__all__ = ["AMBER", "LARGEST_E", "Verdict", "e_value_of", "judge", "verify_levels", "words_of"]

AMBER = 20.0
"""The e-value from which a player is looked at by hand."""

LARGEST_E = 1e300
"""Where e-values as plain numbers end; their logarithms go on."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is known of one player, or of a declared group.

    log_e, peak: natural logarithms of the e-value now and of its largest so far. is_alarm: the
    largest has reached 1/alpha, and nothing holds the alarm back; alarm_round: at which of the
    player's rounds it did so first, held back or not, None if never. is_listed: on the list of
    false discovery rate fdr. explanations: attacks and their shares of the e-value, at the alarm
    round or else now, the largest first. low, high: ends of the excess edge in base units per 100
    rounds, None while nothing is known. held: why an alarm waits, "" if it does not.
    """

    player: str
    rounds: int
    log_e: float
    peak: float
    is_alarm: bool
    alarm_round: int | None
    is_listed: bool
    explanations: dict[str, float]
    low: float | None
    high: float | None
    net_cents: int
    held: str = ""

    @property
    def e_value(self) -> float:
        """The e-value now, ``LARGEST_E`` at most."""
        return e_value_of(self.log_e)

    @property
    def is_amber(self) -> bool:
        """Whether the e-value is or was so large that somebody should look."""
        return self.peak >= log(AMBER)

    @property
    def words(self) -> str:
        """The verdict in a sentence or two."""
        if not self.is_amber:
            return "The stakes carried no information about cards not yet dealt that can be shown."
        if self.log_e >= log(AMBER) or self.is_alarm or self.is_listed:
            sentence = words_of(self.log_e)
        else:
            sentence = f"The e-value is {_figure(self.log_e)} now."
        if self.log_e < log(AMBER):
            sentence += f" At its largest it was {_figure(self.peak)}."
        if self.held:
            sentence += f" Held back: {self.held}"
        return sentence

    def as_dict(self) -> dict[str, object]:
        """The verdict as ``niulab detect --json`` prints it."""
        return {
            "player": self.player,
            "rounds": self.rounds,
            "e_value": self.e_value,
            "log_e": self.log_e,
            "alarm": self.is_alarm,
            "alarm_round": self.alarm_round,
            "listed": self.is_listed,
            "explanations": self.explanations,
            "excess_edge": {"low": self.low, "high": self.high},
            "net_cents": self.net_cents,
        }


def words_of(log_e: float) -> str:
    """The sentence for an e-value."""
    return f"The stakes carried information about cards not yet dealt, at e-value {_figure(log_e)}."


def e_value_of(log_e: float) -> float:
    """An e-value from its logarithm, ``LARGEST_E`` at most."""
    return exp(min(log_e, log(LARGEST_E)))


def _figure(log_e: float) -> str:
    digits = log_e / log(10)
    return f"{exp(log_e):,.3g}" if digits < 3 else f"10^{digits:.1f}"


def verify_levels(alpha: float, fdr: float) -> None:
    """Raise ConfigError unless both are chances."""
    for name, value in (("alpha", alpha), ("fdr", fdr)):
        if not 0 < value < 1:
            raise ConfigError(f"{name} is above 0 and below 1, got {value:g}: write 0.01, say")


def judge(
    portfolio: Portfolio,
    states: PlayerStates,
    names: Sequence[str],
    intervals: NDArray[np.float64],
    nets: NDArray[np.int64],
    *,
    alpha: float,
    fdr: float,
    held: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """Verdicts on all players, the largest e-value first.

    intervals: (P, 2), ends of the excess edge. nets: (P,), cents. held: reasons why alarms of some
    players wait; they are not listed meanwhile. The list is made of the e-values of now, and its
    bar rises with the number of players who have played.
    """
    verify_levels(alpha, fdr)
    reasons = held or {}
    log_es = log_e_values(portfolio, states)
    now = shares_now(portfolio, states)
    has_played = np.flatnonzero(states.n_rounds > 0)
    listed = np.zeros(len(names), dtype=np.bool_)
    listed[has_played] = e_bh(log_es[has_played], fdr)
    verdicts = []
    for place, name in enumerate(names):
        alarm = int(states.alarms[place])
        shares = states.shares[place] if alarm else now[place]
        by_share = sorted(
            zip(portfolio.attacks, shares.tolist(), strict=True), key=lambda item: -item[1]
        )
        low, high = (float(end) if isfinite(end) else None for end in intervals[place])
        verdicts.append(
            Verdict(
                player=name,
                rounds=int(states.n_rounds[place]),
                log_e=float(log_es[place]),
                peak=max(float(states.peaks[place]), 0.0),
                is_alarm=alarm > 0 and name not in reasons,
                alarm_round=alarm or None,
                is_listed=bool(listed[place]) and name not in reasons,
                explanations=dict(by_share),
                low=low,
                high=high,
                net_cents=int(nets[place]),
                held=reasons.get(name, "") if alarm or listed[place] else "",
            )
        )
    return sorted(verdicts, key=lambda verdict: (-verdict.log_e, verdict.player))
