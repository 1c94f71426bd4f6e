"""What an evaluation finds: frozen results, exact where they can be, and their plain-data forms.

Money is in base units unless the name says cents. An exact score holds Fractions; a simulated one
holds an Estimate and the reason why it could not be exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from niulab.evaluation.statistics import Estimate

__all__ = [
    "UNITS",
    "ArrangementScore",
    "Bounds",
    "Number",
    "RankRegret",
    "RoundScore",
    "Score",
    "SessionScore",
    "SimulatedScore",
]


UNITS = {
    "profit": "base units per episode",
    "target": "probability of reaching the target",
    "log_wealth": "log wealth gained per episode",
    "time_at_table": "rounds per episode",
}
"""What a value counts, by the objective of the task."""


Number = Fraction | float


_NO_SPAN = 1e-12
"""Bounds that differ by less, of the optimum or of one unit, differ by rounding alone."""


@dataclass(frozen=True)
class Bounds:
    """What the worst sensible and the best possible play are worth: uniform play and the optimum.

    In the unit of the task, per episode: Fractions of one round, floats (exact up to rounding) of
    sessions, None where no exact figure is known. gap: proven most by which the optimum may be off;
    along a shoe, whose optimum is simulated, the half-width of its interval. floor: what ``random``
    is the value of; where a look comes first, the best blind slip. ceiling: what ``optimum`` is,
    where it is only a bound from above.
    """

    random: Number | None
    optimum: Number | None
    gap: float = 0.0
    floor: str = "uniform play"
    ceiling: str = "optimum"

    def normalize(self, value: Number) -> Number | None:
        """0 at the floor, 1 at the optimum, unclipped; None where the two do not differ."""
        if self.random is None or self.optimum is None:
            return None
        span = self.optimum - self.random
        if abs(float(span)) <= _NO_SPAN * max(1.0, abs(float(self.optimum))):
            return None
        return (value - self.random) / span

    def to_dict(self) -> dict[str, Any]:
        """Both bounds, ready for JSON; with a gap, floor and ceiling where they are unusual."""
        record: dict[str, Any] = {
            "random": None if self.random is None else _exact(self.random),
            "optimum": None if self.optimum is None else _exact(self.optimum),
        }
        record |= {"gap": self.gap} if self.gap else {}
        record |= {"floor": self.floor} if self.floor != Bounds.floor else {}
        return record | ({"ceiling": self.ceiling} if self.ceiling != Bounds.ceiling else {})


@dataclass(frozen=True)
class RankRegret:
    """Hands of one rank (at their best setting): how many, how many set wrongly, at what cost.

    regret: base units per deal; the ranks' regrets add up to the agent's.
    """

    hands: int
    errors: int
    regret: Fraction


@dataclass(frozen=True)
class ArrangementScore:
    """The exact score of a policy that sets hands, over every hand of the shoe.

    source: "argmax" or "probabilities", where the figures come from. value: base units per round at
    the slip; ev: per unit staked on each box. win_probability: a push is no win. share_optimal: of
    all dealt hands, those set to an optimal setting; share_niu_found: of the hands that some
    setting ranks above high card, those set above it. n_errors: distinct hands not always set
    optimally.
    """

    agent: str
    task: str
    rules: str
    rules_hash: str
    slip: str
    source: str
    value: Fraction
    ev: Mapping[str, Fraction]
    win_probability: Fraction
    share_optimal: Fraction
    share_niu_found: Fraction
    n_hands: int
    n_errors: int
    n_illegal: int
    regret: Fraction
    regret_by_rank: Mapping[str, RankRegret]
    bounds: Bounds
    notes: tuple[str, ...] = ()

    is_exact = True
    half_width = 0.0
    unit = UNITS["profit"]

    @property
    def normalized(self) -> Number | None:
        """Normalized score; None where setting costs nothing."""
        return self.bounds.normalize(self.value)

    def to_record(self) -> dict[str, Any]:
        """Flat floats and counts, as learning curves and TensorBoard want them."""
        record: dict[str, Any] = {
            "value": float(self.value),
            "normalized_score": _number(self.normalized),
            "win_probability": float(self.win_probability),
            "share_optimal": float(self.share_optimal),
            "share_niu_found": float(self.share_niu_found),
            "n_errors": self.n_errors,
            "n_illegal": self.n_illegal,
            "regret": float(self.regret),
        }
        return record | {f"ev_{box}": float(ev) for box, ev in self.ev.items()}

    def to_dict(self) -> dict[str, Any]:
        """Everything, exact figures as "a/b" with their floats beside, ready for JSON."""
        return {
            **_heading(self),
            "slip": self.slip,
            "source": self.source,
            "value": _exact(self.value),
            "normalized_score": _number(self.normalized),
            "ev": {box: _exact(ev) for box, ev in self.ev.items()},
            "win_probability": _exact(self.win_probability),
            "share_optimal": _exact(self.share_optimal),
            "share_niu_found": _exact(self.share_niu_found),
            "n_hands": self.n_hands,
            "n_errors": self.n_errors,
            "n_illegal": self.n_illegal,
            "regret": _exact(self.regret),
            "regret_by_rank": {
                rank: {"hands": r.hands, "errors": r.errors, "regret": _exact(r.regret)}
                for rank, r in self.regret_by_rank.items()
            },
            "bounds": self.bounds.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class RoundScore:
    """The exact score of a policy that chooses a slip and sets the hand, one round long.

    slips: probability with which each slip is chosen, exact; setting_regret: base units lost by the
    settings at those slips; betting_regret: lost by the choice of slips. Both add up to ``regret``.
    """

    agent: str
    task: str
    rules: str
    rules_hash: str
    source: str
    value: Number
    win_probability: Fraction
    slips: Mapping[str, Fraction]
    setting_regret: Fraction
    betting_regret: Number
    n_illegal: int
    bounds: Bounds
    notes: tuple[str, ...] = ()

    is_exact = True
    half_width = 0.0
    unit = UNITS["profit"]

    @property
    def regret(self) -> Number:
        return self.setting_regret + self.betting_regret

    @property
    def normalized(self) -> Number | None:
        return self.bounds.normalize(self.value)

    def to_record(self) -> dict[str, Any]:
        """Flat floats and counts."""
        return {
            "value": float(self.value),
            "normalized_score": _number(self.normalized),
            "win_probability": float(self.win_probability),
            "regret": float(self.regret),
            "setting_regret": float(self.setting_regret),
            "betting_regret": float(self.betting_regret),
            "n_illegal": self.n_illegal,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            **_heading(self),
            "source": self.source,
            "value": _exact(self.value),
            "normalized_score": _number(self.normalized),
            "win_probability": _exact(self.win_probability),
            "slips": {slip: _exact(share) for slip, share in self.slips.items()},
            "regret": _exact(self.regret),
            "setting_regret": _exact(self.setting_regret),
            "betting_regret": _exact(self.betting_regret),
            "n_illegal": self.n_illegal,
            "bounds": self.bounds.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class SessionScore:
    """The exact score of a policy over a whole session: asked at every bankroll it can reach.

    value: in the unit of the objective, a float whose relative rounding error is at most ``error``.
    setting_regret: lost by the settings of hands at the agent's own bets; betting_regret: the rest,
    None where no optimum is known. mean_net: base units, whatever the objective. ends: probability
    of each way an episode ends. n_states: bankrolls asked about, over all rounds.
    """

    agent: str
    task: str
    rules: str
    rules_hash: str
    source: str
    objective: str
    value: float
    setting_regret: float
    mean_net: float
    mean_rounds: float
    ends: Mapping[str, float]
    n_states: int
    n_illegal: int
    error: float
    bounds: Bounds
    notes: tuple[str, ...] = ()

    is_exact = True
    half_width = 0.0

    @property
    def unit(self) -> str:
        return UNITS[self.objective]

    @property
    def regret(self) -> float | None:
        """Value of the optimum less the agent's; 0 where rounding and gap leave that open."""
        if self.bounds.optimum is None:
            return None
        regret = float(self.bounds.optimum) - self.value
        return regret if abs(regret) > self.bounds.gap + self.error else 0.0

    @property
    def betting_regret(self) -> float | None:
        return None if self.regret is None else self.regret - self.setting_regret

    @property
    def normalized(self) -> float | None:
        """Normalized score; None where uniform play is as good as the optimum, or neither known."""
        return _number(self.bounds.normalize(self.value))

    def to_record(self) -> dict[str, Any]:
        """Flat floats and counts."""
        return {
            "value": self.value,
            "normalized_score": self.normalized,
            "regret": self.regret,
            "setting_regret": self.setting_regret,
            "betting_regret": self.betting_regret,
            "mean_net": self.mean_net,
            "mean_rounds": self.mean_rounds,
            "n_illegal": self.n_illegal,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            **_heading(self),
            "source": self.source,
            **self.to_record(),
            "ends": dict(self.ends),
            "n_states": self.n_states,
            "error": self.error,
            "bounds": self.bounds.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class SimulatedScore:
    """The simulated score of any policy on any task: a mean return per episode with its interval.

    normalized: of the mean, where exact bounds are known. ends: episodes by why they ended; all of
    them are ``estimate.n_rounds``.
    """

    agent: str
    task: str
    rules: str
    rules_hash: str
    estimate: Estimate
    seed: int
    n_illegal: int
    bounds: Bounds
    ends: Mapping[str, int]
    notes: tuple[str, ...] = ()
    unit: str = UNITS["profit"]

    is_exact = False
    source = "simulation"

    @property
    def value(self) -> float:
        return self.estimate.mean

    @property
    def half_width(self) -> float:
        return self.estimate.half_width

    @property
    def normalized(self) -> float | None:
        """Normalized score of the simulated mean."""
        return _number(self.bounds.normalize(self.estimate.mean))

    def to_record(self) -> dict[str, Any]:
        """Flat floats and counts."""
        return {
            "value": self.value,
            "half_width": self.half_width,
            "level": self.estimate.level,
            "n_rounds": self.estimate.n_rounds,
            "normalized_score": self.normalized,
            "n_illegal": self.n_illegal,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            **_heading(self),
            "source": self.source,
            "seed": self.seed,
            **self.to_record(),
            "ends": dict(self.ends),
            "bounds": self.bounds.to_dict(),
            "notes": list(self.notes),
        }


Score = ArrangementScore | RoundScore | SessionScore | SimulatedScore


def _heading(score: Score) -> dict[str, Any]:
    return {
        "agent": score.agent,
        "task": score.task,
        "rules": score.rules,
        "rules_hash": score.rules_hash,
        "is_exact": score.is_exact,
        "unit": score.unit,
    }


def _exact(value: Number) -> dict[str, Any]:
    if isinstance(value, float):  # exact up to rounding
        return {"float": value}
    return {"exact": f"{value.numerator}/{value.denominator}", "float": float(value)}


def _number(value: Number | None) -> float | None:
    return None if value is None else float(value)
