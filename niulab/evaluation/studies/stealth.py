"""Trained agents that hide beside the stealth frontier: profit, nats told, rounds to an alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from niulab.agents.advantage.config import RatedPlayer
from niulab.agents.registry import make_agent
from niulab.engine.cards import HAND_SIZE
from niulab.engine.wagers import Slip, least_slip
from niulab.envs.settings import EnvSettings, make_settings
from niulab.envs.watch import watched_bets
from niulab.errors import NiuLabError
from niulab.evaluation.detection.features import top_box
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.portfolio import declared_portfolio
from niulab.evaluation.edges.stealth import policy_of
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.playlog.plays import boxes_of
from niulab.evaluation.statistics import Estimate, mean_interval
from niulab.evaluation.studies.study import (
    Columns,
    OfConfig,
    Picture,
    Progress,
    Section,
    StudyConfig,
)
from niulab.evaluation.tables import Cells
from niulab.seeding import stream_seed
from niulab.solvers.limits.detector import WatchedBets
from niulab.solvers.limits.information import best_delay
from niulab.solvers.values import player_edges

__all__ = ["Hider", "StealthConfig", "StealthStudy", "stealth_study"]

Floats = NDArray[np.float64]

_TASK = "niulab/Peek-v0"
_SILENT = 1e-12  # nats of rounding
_BLOCK = 32  # rounds played between two looks at who is found

_TABLE = (
    "Who sees the rank of one card and then stakes `{low}` or `{high}`. Units: profit a round, the "
    "least slip's loss counted. Nats a round told to a log of the card; frontier: the largest "
    "profit of a policy that tells no more, and gap what the policy misses of it; both exact. "
    "Ideal alarm: ln(1/alpha) / nats rounds at alpha = {alpha:g}. Measured: mean rounds to the "
    "alarm of the declared detector of this place and box, {players:,} players each, 95 % interval."
)
_LEARNED = (
    "Agents are scored by their probabilities. An agent trained at the price mu maximizes profit "
    "less mu times the nats told: `value`, beside the frontier's own."
)


class StealthConfig(StudyConfig):
    """agents, mus: names of agents, each with the price it was trained at; they bet between two
    slips, the least one and with a base unit on the box of the highest odds besides. position:
    whose first card is seen. see_rates, camouflage: of players who stake when the card favors it.
    players, rounds: of the measured delays, each player for so many rounds at most.
    """

    kind: Literal["stealth"] = "stealth"
    title: str = "Agents that hide, beside the stealth frontier"
    position: Literal["own", "dealer"] = "dealer"
    agents: Annotated[tuple[str, ...], Field(strict=False)] = ()
    mus: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(strict=False, min_length=1)] = (
        0.02,
        0.05,
        0.08,
        0.12,
    )
    see_rates: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1, strict=False)], ...], Field(strict=False)
    ] = (1.0, 0.5)
    camouflage: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.2
    alpha: Annotated[float, Field(gt=0, lt=1)] = 1e-3
    players: Annotated[int, Field(ge=2, le=1_000_000)] = 400
    rounds: Annotated[int, Field(ge=1, le=1_000_000)] = 4_000

    @model_validator(mode="after")
    def _agents_have_prices(self) -> Self:
        mistakes = []
        if self.agents and len(self.agents) != len(self.mus):
            mistakes.append(
                f"agents and mus go together, one price each: got {len(self.agents)} and "
                f"{len(self.mus)}"
            )
        try:
            self.settings(self.mus[0])
        except NiuLabError as error:
            lines = str(error).splitlines()
            mistakes += [line.strip().removeprefix("- ") for line in lines[1:] or lines]
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    @property
    def top(self) -> str:
        """The box of the highest odds."""
        return boxes_of(self.rules)[top_box(self.rules)] or ""

    @property
    def slips(self) -> tuple[Slip, Slip]:
        """The least slip, and the same with a base unit on the top box."""
        low = least_slip(self.rules)
        return low, Slip.of(dict(low.stakes) | {self.top: self.rules.base_unit_cents})

    @property
    def place(self) -> int:
        """Of the card in the deal."""
        return 0 if self.position == "own" else HAND_SIZE

    def settings(self, mu: float) -> EnvSettings:
        """The task at a price; raises ConfigError."""
        return make_settings(
            _TASK,
            rules=self.rules,
            channel={"position": self.position},
            menu=self.slips,
            detector={"mu": mu},
        )


@dataclass(frozen=True, eq=False)
class Hider:
    """One policy: rates (n_classes,), the chance of the high slip by class of the card.

    mu: the price it answers, NaN for none. profit: units a round. information: nats a round.
    frontier: the largest profit of as many. best: the frontier's profit less mu times its nats at
    mu. limit: rounds to an ideal alarm. delay: measured rounds, None where not found by anybody;
    n_found: of the players.
    """

    name: str
    mu: float
    rates: tuple[float, ...]
    profit: float
    information: float
    frontier: float
    best: float
    limit: float
    delay: Estimate | None
    n_found: int

    @property
    def gap(self) -> float:
        """What the frontier earns more at this information."""
        return self.frontier - self.profit

    @property
    def value(self) -> float:
        """Profit less mu times the nats."""
        return self.profit - self.mu * self.information


@dataclass(frozen=True, eq=False)
class StealthStudy(OfConfig):
    """trained: by agent. frontier: by price. plain: who stakes when the card favors it."""

    config: StealthConfig
    trained: tuple[Hider, ...]
    frontier: tuple[Hider, ...]
    plain: tuple[Hider, ...]

    @property
    def hiders(self) -> tuple[Hider, ...]:
        return (*self.trained, *self.frontier, *self.plain)

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player without any look."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """Gaps of the agents in units a round, and delays over the limit."""
        return {
            "gap": {one.name: one.gap for one in self.trained},
            "value_missed": {one.name: one.best - one.value for one in self.trained},
            "delay_over_limit": {
                one.name: None if one.delay is None else one.delay.mean / one.limit
                for one in self.hiders
            },
        }

    def columns(self) -> Columns:
        """A line for each policy, and one for each class of the card."""
        hiders, names = self.hiders, self._bets.channel.values(self.config.rules)
        delays = [one.delay for one in hiders]
        return {
            "hiders": {
                "policy": [one.name for one in hiders],
                "mu": [one.mu for one in hiders],
                "profit": [one.profit for one in hiders],
                "nats": [one.information for one in hiders],
                "frontier_profit": [one.frontier for one in hiders],
                "gap": [one.gap for one in hiders],
                "value": [one.value for one in hiders],
                "frontier_value": [one.best for one in hiders],
                "ideal_rounds": [one.limit for one in hiders],
                "measured_rounds": [nan if d is None else d.mean for d in delays],
                "measured_half_width": [nan if d is None else d.half_width for d in delays],
                "found": [one.n_found for one in hiders],
            },
            "rates": {
                "policy": [one.name for one in hiders for _ in names],
                "card": [name for _ in hiders for name in names],
                "rate": [rate for one in hiders for rate in one.rates],
            },
        }

    def sections(self) -> tuple[Section, ...]:
        """The table, what the agents reach of their own task, and their chances by card."""
        config = self.config
        low, high = config.slips
        words = {"low": low, "high": high, "alpha": config.alpha, "players": config.players}
        sections = [Section("Profit, nats, alarms", (_TABLE.format(**words),), self._cells(),
                            (self._picture(),))]  # fmt: skip
        if self.trained:
            rows = [
                [one.name, f"{one.mu:g}", f"{one.value:+.6f}", f"{one.best:+.6f}",
                 f"{one.best - one.value:.6f}"]
                for one in self.trained
            ]  # fmt: skip
            header = ["agent", "mu", "value", "frontier's value", "missed"]
            sections.append(Section("The price they pay", (_LEARNED,), (header, rows)))
        names = [*self._bets.channel.values(config.rules)]
        shares = [[one.name, *(f"{rate:.3f}" for rate in one.rates)] for one in self.hiders]
        line = f"Chance of `{high}` by the {config.position} card's rank."
        return (*sections, Section("Chances by card", (line,), (["policy", *names], shares)))

    @property
    def _bets(self) -> WatchedBets:
        return watched_bets(self.config.settings(self.config.mus[0]))

    def _cells(self) -> Cells:
        header = ["policy", "mu", "profit", "nats", "frontier", "gap", "ideal alarm", "measured"]
        rows = [
            [
                one.name,
                f"{one.mu:g}" if isfinite(one.mu) else "",
                f"{one.profit:+.6f}",
                f"{one.information:.6f}",
                f"{one.frontier:+.6f}",
                f"{max(one.gap, 0.0):.6f}",
                f"{one.limit:,.1f}" if isfinite(one.limit) else "never",
                _measured(one, self.config.players),
            ]
            for one in self.hiders
        ]
        return header, rows

    def _picture(self) -> Picture:
        from niulab.evaluation.plots.stealth import stealth_picture

        loss = float(self._bets.chances @ self._bets.values[:, 0])
        told = np.geomspace(1e-3, max(one.information for one in self.hiders), 25)
        gains = np.array([self._bets.frontier_at(float(nats)).profit for nats in told]) - loss
        curves = {"frontier": (told, gains)}
        for name, hiders in (("trained", self.trained), ("staking when favored", self.plain)):
            if hiders:
                rows = sorted((one.information, one.profit - loss) for one in hiders)
                curves[name] = (np.array(rows)[:, 0], np.array(rows)[:, 1])
        alt = "Units a round over the least slip against nats told: the frontier, agents, others"
        return Picture("stealth", alt, stealth_picture(curves, {}, alpha=self.config.alpha))


def stealth_study(
    config: StealthConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> StealthStudy:
    """Ask every agent for its chances, and play all policies until the detector alarms."""
    bets = watched_bets(config.settings(config.mus[0]))
    favored = (bets.values[:-1, 1] > bets.values[:-1, 0]).astype(np.float64)
    trained = [
        (name, mu, policy_of(make_agent(name, config.settings(mu)), config.settings(mu))[:-1, 1])
        for name, mu in zip(config.agents, config.mus, strict=False)
    ]
    frontier = [(f"frontier at {mu:g}", mu, bets.frontier(mu).policy[:-1, 1]) for mu in config.mus]
    plain = [(f"sees {100 * q:g} %", nan, q * favored) for q in config.see_rates]
    if (hides := config.camouflage) > 0:
        rates = favored * (1 - hides) + (1 - favored) * hides
        plain.append((f"always, {100 * hides:g} % camouflage", nan, rates))
    found, n = list[Hider](), len(trained) + len(frontier) + len(plain)
    for name, mu, rates in (*trained, *frontier, *plain):
        if progress is not None:
            progress(name, len(found), n)
        found.append(_hider(config, bets, name, mu, rates))
    ends = len(trained), len(trained) + len(frontier)
    groups = tuple(found[: ends[0]]), tuple(found[ends[0] : ends[1]]), tuple(found[ends[1] :])
    return StealthStudy(config, *groups)


def _hider(
    config: StealthConfig, bets: WatchedBets, name: str, mu: float, rates: Sequence[float] | Floats
) -> Hider:
    chances = np.clip(np.append(rates, 0.0), 0.0, 1.0)  # nothing is never shown
    policy = np.stack([1 - chances, chances], axis=1)
    told = bets.information(policy)
    told = told if told > _SILENT else 0.0
    best = bets.frontier(mu).value if isfinite(mu) else nan
    given = tuple(chances[:-1].tolist())
    delays, n_found = _delays(config, given, name) if told else (None, 0)
    return Hider(
        name=name,
        mu=mu,
        rates=given,
        profit=bets.profit(policy),
        information=told,
        frontier=bets.frontier_at(told).profit,
        best=best,
        limit=best_delay(told, config.alpha),
        delay=delays,
        n_found=n_found,
    )


def _delays(
    config: StealthConfig, rates: tuple[float, ...], name: str
) -> tuple[Estimate | None, int]:
    """Rounds to the alarm of players alone at tables; who is not found counts all his rounds."""
    low, high = config.slips
    player = RatedPlayer(
        count=config.players, place=config.place, rates=rates, low=str(low), high=str(high)
    )
    floor = FloorConfig(
        rules=config.rules,
        players=(player,),
        rounds=config.rounds,
        seed=stream_seed(config.seed, f"stealth/{name}"),
        seats=1,
        dealers=1,
    )
    portfolio = declared_portfolio(config.rules, place=config.place, box=config.top, low=str(low))
    states = PlayerStates.fresh(config.players, portfolio)
    for plays in simulate_blocks(floor, pairs=False, rounds_named=False, block_rounds=_BLOCK):
        states = fold(portfolio, states, plays, alpha=config.alpha).states
        if (states.alarms > 0).all():
            break
    n_found = int((states.alarms > 0).sum())
    if not n_found:
        return None, 0
    return mean_interval(np.where(states.alarms > 0, states.alarms, config.rounds)), n_found


def _measured(one: Hider, n: int) -> str:
    if one.delay is None:
        return "none found"
    more = "" if one.n_found == n else f", {one.n_found:,} of {n:,} found"
    return f"{one.delay.mean:,.1f} ± {one.delay.half_width:.1f}{more}"
