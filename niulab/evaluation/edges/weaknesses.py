"""Everything a sheet gives away, in one record: looks, frontiers, boxes, dealing, hands."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np

from niulab.engine.rules.model import RuleSet
from niulab.errors import ConfigError
from niulab.evaluation.detection.features import verify_one_deck
from niulab.evaluation.edges.defects import (
    BoxLeak,
    Estimate,
    Switching,
    box_leaks,
    short_cover,
    steering_edge,
    switching_worth,
)
from niulab.evaluation.edges.vulnerability import (
    ChannelWorth,
    channel_worth,
    channels_of,
    stealth_curve,
)
from niulab.evaluation.studies.study import read_sheet
from niulab.solvers.channels import Channel
from niulab.solvers.limits.frontier import FrontierPoint
from niulab.solvers.limits.information import best_delay
from niulab.solvers.limits.looks import look_at
from niulab.solvers.values import player_edges

__all__ = ["Weaknesses", "find_weaknesses"]

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Weaknesses:
    """See the functions of ``vulnerability`` and ``defects``.

    frontiers: by the look's name, of a unit on its best box. limits: mu* and mu* ln(1 / alpha), or
    None where a box needs no look or no card favors one. switching: None for a shoe of more than
    one deck, or where no deals were asked for.
    """

    rules: RuleSet
    alpha: float
    channels: tuple[ChannelWorth, ...]
    frontiers: dict[str, tuple[FrontierPoint, ...]]
    limits: dict[str, tuple[float, float] | None]
    leaks: tuple[BoxLeak, ...]
    short_cover: dict[str, Fraction]
    steering: Fraction | None
    switching: Switching | None
    warnings: tuple[str, ...]

    def delay(self, information: float) -> float:
        """Rounds before an ideal alarm on average."""
        return best_delay(information, self.alpha)

    def record(self) -> dict[str, Any]:
        """All figures in JSON's types; null where nothing is ever known, or there is no figure."""
        return {
            "rules": self.rules.name,
            "rules_hash": self.rules.rules_hash,
            "alpha": self.alpha,
            "channels": [_channel_record(worth) for worth in self.channels],
            "frontiers": {
                name: {
                    **dict(
                        zip(
                            ("limit_price", "limit_exposure"),
                            self.limits[name] or (None, None),
                            strict=True,
                        )
                    ),
                    "points": [_point_record(point) for point in points],
                }
                for name, points in self.frontiers.items()
            },
            "boxes": {
                leak.box: {
                    "ev": _exact(leak.ev),
                    "ev_float": float(leak.ev),
                    "short_cover_ev": _float(self.short_cover.get(leak.box)),
                    "posted": float(leak.posted),
                    "pinched": float(leak.pinched),
                    "late_rounds": _finite(leak.late_rounds),
                }
                for leak in self.leaks
            },
            "steering": _float(self.steering),
            "switching": None if self.switching is None else _switching_record(self.switching),
            "warnings": list(self.warnings),
        }

    def text(self) -> str:
        """The record as a JSON file."""
        return json.dumps(self.record(), indent=2, allow_nan=False) + "\n"

    def picture(self) -> bytes:
        """The frontiers as a PNG."""
        from niulab.evaluation.plots.stealth import stealth_picture

        curves, plain = {}, {}
        for name, points in self.frontiers.items():
            curves[name] = (
                np.array([point.information for point in points]),
                np.array([point.profit for point in points]),
            )
        for worth in self.channels:
            name = _name_of(worth.channel)
            if worth.channel.see_rate == 1 and name in curves and worth.detections[0].information:
                plain[name] = worth.detections[0].information, float(worth.top_edge)
        return stealth_picture(curves, plain, alpha=self.alpha)


def find_weaknesses(
    rules: str | RuleSet,
    *,
    alpha: float = 1e-3,
    see_rates: Sequence[float] = (1.0, 0.5, 0.1),
    deals: int = 100_000,
    seed: int = 0,
    tell: Tell | None = None,
) -> Weaknesses:
    """All of them; a quarter of a minute for one deck the first time.

    Raises RulesError for a sheet that only ranks hands, and ConfigError for a level or a see-rate
    that is none.
    """
    sheet = read_sheet(rules)
    best_delay(1.0, alpha)
    channels = channels_of(sheet, see_rates)
    worths = []
    for place, channel in enumerate(channels):
        if tell is not None:
            tell(_name_of(channel), place, len(channels))
        worths.append(channel_worth(sheet, channel, alpha=alpha))
    frontiers, limits = {}, dict[str, tuple[float, float] | None]()
    for channel in channels_of(sheet, (1.0,)):
        points, look = stealth_curve(look_at(sheet, channel)), look_at(sheet, channel)
        if points and look.blind[look.best_box] < 0:
            name = _name_of(channel)
            worth = channel_worth(sheet, channel, alpha=alpha)
            frontiers[name] = points
            pair = worth.price, worth.limit_exposure
            limits[name] = None if pair[0] is None or pair[1] is None else (pair[0], pair[1])
    does_switch = deals > 0 and _one_deck(sheet)
    return Weaknesses(
        rules=sheet,
        alpha=alpha,
        channels=tuple(worths),
        frontiers=frontiers,
        limits=limits,
        leaks=box_leaks(sheet, alpha=alpha),
        short_cover=short_cover(sheet),
        steering=steering_edge(sheet),
        switching=switching_worth(sheet, n_deals=deals, seed=seed) if does_switch else None,
        warnings=tuple(player_edges(sheet)),
    )


def _one_deck(rules: RuleSet) -> bool:
    try:
        verify_one_deck(rules)
    except ConfigError:
        return False
    return True


def _name_of(channel: Channel) -> str:
    shows = channel.shows if isinstance(channel.shows, str) else " | ".join(channel.shows)
    return f"{channel.position} {shows}"


def _channel_record(worth: ChannelWorth) -> dict[str, Any]:
    return {
        **worth.channel.to_json(),
        "top_box": worth.top_box,
        "top_edge": _exact(worth.top_edge),
        "top_edge_float": float(worth.top_edge),
        "unit_edge": float(worth.unit_edge),
        "table_edge": float(worth.table_edge),
        "growth": worth.growth,
        "limit_price": worth.price,
        "limit_exposure": worth.limit_exposure,
        "detection": {
            one.log: {
                "information": one.information,
                "rounds": _finite(one.rounds),
                "exposure": _finite(one.exposure),
            }
            for one in worth.detections
        },
        "seen": {
            one.name: {
                "chance": _exact(one.chance),
                "evs": {box: _exact(ev) for box, ev in one.evs.items()},
                "slip": dict(one.slip.stakes),
                "worth": float(one.gain),
            }
            for one in worth.seen
        },
    }


def _point_record(point: FrontierPoint) -> dict[str, Any]:
    return {
        "mu": point.mu,
        "profit": point.profit,
        "information": point.information,
        "gap": point.gap,
        "stake_chances": point.policy[:, 1].tolist(),
    }


def _switching_record(found: Switching) -> dict[str, Any]:
    return {
        "deals": found.n_deals,
        "seed": found.seed,
        "wins": _estimate_record(found.wins),
        "evs": {box: _estimate_record(one) for box, one in found.evs.items()},
    }


def _estimate_record(found: Estimate) -> dict[str, float]:
    return {"mean": found.mean, "half_width": found.half_width}


def _exact(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
