"""What was found: of each honest kind, of each attack, at each horizon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.agents.advantage.config import AttackConfig, SightConfig, Steerer
from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.calibration.config import DetectionConfig
from niulab.evaluation.detection.calibration.exact import (
    best_rounds,
    component_weight,
    information_of,
    start_weight,
    units_a_round,
)
from niulab.evaluation.detection.calibration.permuted import LogPart
from niulab.evaluation.detection.calibration.pieces import AttackPart, HonestPart, ScorePart
from niulab.evaluation.detection.calibration.watching import (
    attack_named,
    boxes_raised,
    full_for,
)
from niulab.evaluation.statistics.intervals import mean_interval, normal_quantile, wilson_interval

__all__ = [
    "Delays",
    "Found",
    "Honest",
    "Permuted",
    "Roc",
    "found_of",
    "honest_of",
    "permuted_of",
    "roc_of",
]

_FALSE_RATE = 0.01


@dataclass(frozen=True)
class Honest:
    """One honest kind; counts by alpha of the config: who reached 1/alpha at any time (alarms), and
    whose z-test reached its bar at any round (peeked) or after the last one (once).
    """

    name: str
    n_players: int
    n_rows: int
    alarms: tuple[int, ...]
    peeked: tuple[int, ...]
    once: tuple[int, ...]

    def interval(self, place: int) -> tuple[float, float]:
        """Wilson's 95 % interval of the false alarms at an alpha."""
        return wilson_interval(self.alarms[place], self.n_players)


@dataclass(frozen=True)
class Delays:
    """Rounds from the start to the alarm: mean and half-width of its 95 % interval.

    Who was not found counts as if found when play ended: then the mean is too low. Who was accused
    before the start is left out.
    """

    mean: float
    half_width: float
    n_found: int
    n_early: int
    n: int


@dataclass(frozen=True)
class Found:
    """One attack: limit, and measured delays; NaN for a limit that is not known.

    limit: ln(1/alpha)/I rounds. priced: with the published weight of one of its components besides;
    and since: with that of its start as well. named: of the full portfolio's alarms, the share that
    names it first. is_one_box: whether one box alone changes with what is seen. won_units: mean
    net of the attack's rounds to the alarm; units: exact, a round.
    """

    attack: str
    see_rate: float
    spread: str
    camouflage: float
    start: int
    information: float
    units: float
    limit: float
    priced: float
    since: float
    is_one_box: bool
    declared: Delays | None
    full: Delays
    named: float
    won_units: float


@dataclass(frozen=True)
class Roc:
    """At a horizon, of e-values and of z-tests of results: area, and power at 1 % false alarms.

    alarmed: the share of seers whose e-value is 1/alpha or more.
    """

    rounds: int
    area: float
    power: float
    area_z: float
    power_z: float
    alarmed: float


@dataclass(frozen=True)
class Permuted:
    """A log with its deals permuted; counts by alpha of the config.

    n_attackers: those of its n_players who are labelled so, accused: how many of them the log as it
    is accuses, and accused_others of the rest. alarms: players who reach 1/alpha, over all
    permutations; most: in the worst of them. n_fixed: rounds, of n_rounds, without another of as
    many seats to change with.
    """

    n_players: int
    n_attackers: int
    n_rounds: int
    n_fixed: int
    n_permutations: int
    accused: tuple[int, ...]
    accused_others: tuple[int, ...]
    alarms: tuple[int, ...]
    most: tuple[int, ...]

    def interval(self, place: int) -> tuple[float, float]:
        """Wilson's 95 % interval of the alarms of permuted logs at an alpha."""
        return wilson_interval(self.alarms[place], self.n_players * self.n_permutations)


def honest_of(config: DetectionConfig, name: str, parts: Sequence[HonestPart]) -> Honest:
    """Count the pieces of one honest kind."""
    peaks, largest, last = (
        np.array([*chain.from_iterable(getattr(part, key) for part in parts)])
        for key in ("peaks", "largest_z", "last_z")
    )
    bars = [normal_quantile(1 - 2 * alpha) for alpha in config.alphas]
    return Honest(
        name=name,
        n_players=len(peaks),
        n_rows=sum(part.n_rows for part in parts),
        alarms=tuple(int((peaks >= -log(alpha)).sum()) for alpha in config.alphas),
        peeked=tuple(int((largest >= bar).sum()) for bar in bars),
        once=tuple(int((last >= bar).sum()) for bar in bars),
    )


def found_of(config: DetectionConfig, name: str, player: AttackConfig, part: AttackPart) -> Found:
    """An attack's delays beside its limits."""
    keys, alpha, rules = player.parameters, config.alpha, config.rules_of(player)
    information, attack = information_of(rules, player), attack_named(player)
    portfolio = full_for(rules, player)
    weight = component_weight(portfolio, attack)
    named, can_err = [one for one in part.named if one], len(portfolio.attacks) > 1
    won = np.array(part.won_cents)[np.array(part.full) >= 0]
    return Found(
        attack=name,
        see_rate=float(keys.get("see_rate", keys.get("post_rate", keys.get("rate", 1.0)))),
        spread=_spread(rules, player),
        camouflage=float(keys.get("cover_bet", 0.0)),
        start=player.start,
        information=information,
        units=units_a_round(rules, player),
        limit=best_rounds(information, alpha),
        priced=best_rounds(information, alpha, weight),
        since=best_rounds(information, alpha, weight, start_weight(portfolio, player.start)),
        is_one_box=not isinstance(player, SightConfig) or len(boxes_raised(rules, player)) == 1,
        declared=_delays(part.declared, config.attack_rounds) if part.declared else None,
        full=_delays(part.full, config.attack_rounds),
        named=float(np.mean([one == attack for one in named])) if can_err and named else nan,
        won_units=float(won.mean()) / rules.base_unit_cents if len(won) else nan,
    )


def _spread(rules: RuleSet, player: AttackConfig) -> str:
    """What he stakes when something favors him."""
    high = str(getattr(player, "high", None) or "")
    return f"{rules.required_box}={player.bid},{high}" if isinstance(player, Steerer) else high


def roc_of(config: DetectionConfig, honest: ScorePart, seers: ScorePart) -> tuple[Roc, ...]:
    """Compare both scores at every horizon."""
    bar, found = -log(config.alpha), list[Roc]()
    for place, rounds in enumerate(config.horizons):
        rows = [np.array(part.log_es[place]) for part in (honest, seers)]
        zs = [np.array(part.zs[place]) for part in (honest, seers)]
        found.append(
            Roc(
                rounds=rounds,
                area=_area(*rows),
                power=_power(*rows),
                area_z=_area(*zs),
                power_z=_power(*zs),
                alarmed=float((rows[1] >= bar).mean()),
            )
        )
    return tuple(found)


def permuted_of(alphas: Sequence[float], parts: Sequence[LogPart]) -> Permuted:
    """Count the log as it is, the first part, and its permutations."""
    logged, *others = parts
    is_attacker = np.array(logged.is_attacker, dtype=np.bool_)
    peaks, bars = np.array(logged.peaks), [-log(alpha) for alpha in alphas]
    counts = [[int((np.array(part.peaks) >= bar).sum()) for part in others] for bar in bars]
    return Permuted(
        n_players=len(peaks),
        n_attackers=int(is_attacker.sum()),
        n_rounds=logged.n_rounds,
        n_fixed=max(part.n_fixed for part in others),
        n_permutations=len(others),
        accused=tuple(int((is_attacker & (peaks >= bar)).sum()) for bar in bars),
        accused_others=tuple(int((~is_attacker & (peaks >= bar)).sum()) for bar in bars),
        alarms=tuple(sum(count) for count in counts),
        most=tuple(max(count) for count in counts),
    )


def _delays(rounds: Sequence[int], most: int) -> Delays:
    delays = np.array(rounds)
    counted = np.where(delays == 0, most, delays)[delays >= 0].astype(np.float64)
    n = len(counted)
    return Delays(
        mean=float(counted.mean()) if n else nan,
        half_width=mean_interval(counted).half_width if n > 1 else nan,
        n_found=int((delays > 0).sum()),
        n_early=int((delays < 0).sum()),
        n=len(delays),
    )


def _area(negatives: ArrayLike, positives: ArrayLike) -> float:
    """P(a positive scores higher) + P(equal) / 2."""
    low: NDArray[np.float64] = np.sort(np.asarray(negatives))
    high = np.asarray(positives)
    below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(below.mean()) / (2 * len(low))


def _power(negatives: NDArray[np.float64], positives: NDArray[np.float64]) -> float:
    """Share of the positives above all but 1 % of the negatives."""
    allowed = int(_FALSE_RATE * len(negatives))
    bar = np.sort(negatives)[-allowed - 1]
    return float((positives > bar).mean())
