"""How betting systems rank over one session: exact figures and paired differences to flat play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from niulab.agents.systems.catalog import SYSTEMS, make_system
from niulab.agents.systems.sitting import default_base_slip
from niulab.agents.systems.system import AFFORDS_LESS
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.evaluation.sessions.fan import Fan, bankroll_fan
from niulab.evaluation.sessions.kept import KeptParts
from niulab.evaluation.sessions.system_figures import QUANTILES, SystemTask
from niulab.evaluation.sessions.systems import BASELINE, CHECKED, SystemScore, score_systems
from niulab.evaluation.statistics import Estimate
from niulab.evaluation.studies.study import (
    Columns,
    OptionalStakes,
    Picture,
    Progress,
    Section,
    StudyConfig,
)
from niulab.evaluation.tables import Cells
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.values import player_edges

__all__ = ["SystemsConfig", "SystemsStudy", "systems_study"]

_SIMULATED = ("final_cents", "ruin", "target", "ahead", "left", "overflow", "rounds")

_SESSION = (
    "Money in base units. EV: mean of the last bankroll less the first. EV less flat: the mean of "
    "the paired difference to flat play. Handle: all that is staked. Ruin: the bankroll falls "
    "below the table's least slip. Ruin and target count in the round that brings them."
)
_SPREAD = (
    "Result: the last bankroll less the first. CVaR: mean result of the worst 5 % of sessions. "
    "Drawdown: the deepest fall below the highest bankroll so far, from sampled sessions."
)


class SystemsConfig(StudyConfig):
    """One session for all ``systems``, which multiply ``base_slip`` (default: the required box at a
    base unit). Without ``systems`` all of the catalog play that can, and some with a stop line.

    n_sessions: simulated for a system whose exact figures take more than ``budget``
    multiply-and-adds; n_checks: for the others. n_paths: looked at round by round for drawdowns.
    fan: the system whose bankroll is drawn.
    """

    kind: Literal["systems"] = "systems"
    title: str = "Betting systems over one session"
    bankroll_cents: Annotated[int, Field(ge=1)] = 10_000
    target_cents: Annotated[int, Field(ge=1)] | None = None
    n_rounds: Annotated[int, Field(ge=1, le=100_000)] = 1000
    base_slip: OptionalStakes = None
    systems: Annotated[tuple[str, ...], Field(strict=False)] = ()
    fan: str = "dalembert"
    n_sessions: Annotated[int, Field(ge=2, le=1_000_000_000)] = 1_000_000
    n_checks: Annotated[int, Field(ge=2, le=1_000_000_000)] = 100_000
    n_paths: Annotated[int, Field(ge=20)] = 10_000
    budget: Annotated[int, Field(ge=0)] = 50_000_000_000
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    threads: Annotated[int, Field(ge=1, le=256)] = 2

    @model_validator(mode="after")
    def _session_can_be_played(self) -> Self:
        try:
            sitting = self.task().sitting
        except ConfigError as error:
            raise ValueError(str(error)) from None
        mistakes = []
        for name in dict.fromkeys((*self.systems, self.fan)):
            try:
                make_system(name).verify(sitting)
            except ConfigError as error:
                mistakes.append(f"{'systems' if name in self.systems else 'fan'}: {error}")
        if len(set(self.systems)) < len(self.systems):
            mistakes.append(f"systems lists one twice: {', '.join(self.systems)}")
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    @property
    def slip(self) -> Slip:
        """The slip that systems multiply."""
        return default_base_slip(self.rules) if self.base_slip is None else self.base_slip

    @property
    def played(self) -> tuple[str, ...]:
        """The systems that play."""
        if self.systems:
            return self.systems
        half = self.bankroll_cents / self.rules.base_unit_cents / 2
        lines = (
            f"stop-loss:{half:g}:flat",
            f"win-goal:{half / 2:g}:martingale",
            f"win-goal:{half:g}:stop-loss:{half:g}:dalembert",
        )
        has_target = self.target_cents is not None
        can_play = (has_target or "target_cents" not in make().NEEDS for make in SYSTEMS.values())
        return (*compress(SYSTEMS, can_play), *lines)

    def task(self) -> SystemTask:
        """The session and what is spent on it."""
        return SystemTask(
            rules=self.rules,
            base_slip=self.slip,
            start_cents=self.bankroll_cents,
            n_rounds=self.n_rounds,
            target_cents=self.target_cents,
            seed=self.seed,
            level=self.level,
            n_sessions=self.n_sessions,
            n_checks=self.n_checks,
            n_paths=self.n_paths,
            budget=self.budget,
        )


@dataclass(frozen=True, eq=False)
class SystemsStudy:
    """Scores in the order of the league: the least expected loss first."""

    config: SystemsConfig
    scores: tuple[SystemScore, ...]
    fan: Fan

    @property
    def kind(self) -> str:
        """The config's kind."""
        return self.config.kind

    @property
    def title(self) -> str:
        """What heads the report."""
        return self.config.title

    @cached_property
    def house_edge(self) -> Fraction:
        """Of the base slip: what systems that stake nothing but its multiples lose per unit."""
        law = net_law(self.config.rules, self.config.slip)
        return -law.ev_cents / law.slip.total_cents

    @cached_property
    def by_name(self) -> dict[str, SystemScore]:
        """Scores by system."""
        return {score.name: score for score in self.scores}

    @property
    def _unit(self) -> int:
        return self.config.rules.base_unit_cents

    def _less_flat(self, score: SystemScore) -> float:
        """EV less that of flat play, in cents; the paired mean where it is not exact."""
        flat, paired = self.by_name[BASELINE], score.simulated.difference
        if paired is None or (score.is_exact and flat.is_exact):
            return score.figures.ev_cents - flat.figures.ev_cents
        return paired.final_cents.mean

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """EV and chances of every system, in base units."""
        return {
            "house_edge": self.house_edge,
            "exact": sum(score.is_exact for score in self.scores),
            "systems": {
                score.name: {
                    "is_exact": score.is_exact,
                    "ev": score.figures.ev_cents / self._unit,
                    "handle": score.figures.staked_cents / self._unit,
                    "p_ruin": score.figures.p_ruin,
                    "p_target": score.figures.p_target,
                    "p_ahead": score.figures.p_ahead,
                }
                for score in self.scores
            },
        }

    def columns(self) -> Columns:
        """Systems with their figures, what was simulated, differences to flat play, and the fan."""
        scores, flat = self.scores, self.by_name[BASELINE]
        names = [score.name for score in scores]
        figures = [asdict(score.figures) for score in scores]
        quantiles = [each.pop("quantiles_cents") for each in figures]
        policies = [score.simulated.policy for score in scores]
        differences = [score.simulated.difference for score in scores]
        return {
            "systems": {
                "system": names,
                "is_exact": [score.is_exact for score in scores],
                **{key: [each[key] for each in figures] for key in figures[0]},
                **_by_quantile("result", quantiles),
                **_by_quantile("drawdown", [score.sampled.drawdowns_cents for score in scores]),
                "sampled_sessions": [score.sampled.n for score in scores],
                "memories": [score.n_memories for score in scores],
                "levels": [score.n_levels for score in scores],
                "multiply_adds": [score.n_operations for score in scores],
            },
            "simulation": {
                "system": names,
                "sessions": [score.n_sessions for score in scores],
                **{
                    f"{key}_{what}": [getattr(getattr(p, key), what) for p in policies]
                    for key in _SIMULATED
                    for what in ("mean", "low", "high")
                },
                "staked_cents_mean": [p.staked_cents for p in policies],
            },
            "differences": {
                "system": names,
                "is_exact": [score.is_exact and flat.is_exact for score in scores],
                "ev_cents": [self._less_flat(score) for score in scores],
                "sessions": [score.n_sessions for score in scores],
                **{
                    f"paired_{key}_{what}": [
                        0.0 if d is None else getattr(getattr(d, key), what) for d in differences
                    ]
                    for key in ("final_cents", "ruin", "target", "ahead")
                    for what in ("mean", "half_width")
                },
            },
            "fan": {
                "round": np.arange(len(self.fan.mean)),
                "mean_cents": self.fan.mean,
                **{
                    f"quantile_{100 * level:g}_cents": self.fan.bands[:, place]
                    for place, level in enumerate(self.fan.levels)
                },
            },
        }

    def sections(self) -> tuple[Section, ...]:
        """The league, spreads, the fan, what is exact and how it was checked, the systems."""
        return (
            self._league_section(),
            Section("Results and drawdowns", (_SPREAD,), self._spread_cells()),
            self._fan_section(),
            self._check_section(),
            self._rules_section(),
        )

    # ------------------------------------------------------------ parts of the report

    def _league_section(self) -> Section:
        from niulab.evaluation.plots.sessions import session_league

        config, unit, target = self.config, self._unit, self.config.target_cents
        n_simulated = sum(not score.is_exact for score in self.scores)
        goal = f"a target of {target / unit:g}" if target else "no target"
        source = (
            f"{n_simulated} of {len(self.scores)} systems take more than the budget of exact "
            "figures and are simulated."
            if n_simulated
            else "All figures of the league are exact."
        )
        session = (
            f"{config.bankroll_cents / unit:g} base units, {goal}, at most {config.n_rounds:,} "
            f"rounds, multiples of `{config.slip}`. {source}"
        )
        price = (
            f"No system changes the price: a unit staked loses {100 * float(self.house_edge):g} % "
            "on average. Systems differ in how much they stake, and how the loss is spread."
        )
        alt = "EV of every system less that of flat play, and its chances of ruin, target and gain"
        png = session_league(self.scores, baseline=BASELINE, unit_cents=unit)
        lines, picture = (session, _SESSION, price), Picture("league", alt, png)
        return Section("League", lines, self._league_cells(), (picture,))

    def _league_cells(self) -> Cells:
        unit = self._unit
        header = ["system", "figures", "EV", "EV less flat", "paired, simulated", "handle"]
        header += ["EV / handle", "P(ruin)", "P(target)", "P(ahead)", "P(left)", "rounds"]
        target, rows = header.index("P(target)"), []
        for score in self.scores:
            f, d = score.figures, score.simulated.difference
            rows.append(
                [
                    score.name,
                    "exact" if score.is_exact else f"{score.n_sessions:,} sessions",
                    f"{f.ev_cents / unit:+.3f}",
                    f"{self._less_flat(score) / unit:+.3f}",
                    "" if d is None else _plus_minus(d.final_cents, unit),
                    f"{f.staked_cents / unit:,.1f}",
                    f"{100 * f.ev_cents / f.staked_cents:+.4f} %" if f.staked_cents else "",
                    *(f"{p:.4f}" for p in (f.p_ruin, f.p_target, f.p_ahead, f.p_left)),
                    f"{f.mean_rounds:,.0f}",
                ]
            )
        if self.config.target_cents is None:
            for line in (header, *rows):
                del line[target]
        return header, rows

    def _spread_cells(self) -> Cells:
        unit = self._unit
        header = ["system", "SD", "5 %", "median", "95 %", "CVaR", "drawdown: median", "95 %"]
        return header, [
            [
                score.name,
                f"{score.figures.sd_cents / unit:.2f}",
                *(f"{cents / unit:+.2f}" for cents in score.figures.quantiles_cents),
                f"{score.figures.cvar_cents / unit:+.2f}",
                *(f"{cents / unit:.2f}" for cents in score.sampled.drawdowns_cents[1:]),
            ]
            for score in self.scores
        ]

    def _fan_section(self) -> Section:
        from niulab.evaluation.plots.sessions import draw_fan

        fan = self.fan
        source = "Exact quantiles" if fan.is_exact else f"Quantiles of {fan.n_sessions:,} sessions"
        line = (
            f"{source} of the bankroll of `{fan.name}`, sessions that are over included, and the "
            f"first {len(fan.paths)} simulated sessions."
        )
        alt = f"Quantiles of the bankroll of {fan.name} by round, with single sessions"
        picture = Picture("fan", alt, draw_fan(fan, unit_cents=self._unit))
        return Section(f"Bankroll of {fan.name}", (line,), pictures=(picture,))

    def _check_section(self) -> Section:
        unit, start, rows = self._unit, self.config.bankroll_cents, []
        header = ["system", "memories", "levels", "multiply-adds", "rounding", "overflow"]
        header += ["simulated", "EV", "P(ruin)", "P(ahead)", "outside"]
        for score in self.scores:
            f, policy = score.figures, score.simulated.policy
            rows.append(
                [
                    score.name,
                    f"{score.n_memories:,}",
                    f"{score.n_levels:,}",
                    f"{score.n_operations:.1e}",
                    f"{f.rounding_bound:.0e}" if score.is_exact else "",
                    f"{f.overflow:.0e}",
                    f"{score.n_sessions:,}",
                    _plus_minus(policy.final_cents, unit, start),
                    *(f"{p.low:.4f} to {p.high:.4f}" for p in (policy.ruin, policy.ahead)),
                    ", ".join(score.missed(start)) if score.is_exact else "",
                ]
            )
        missed = [len(score.missed(start)) for score in self.scores if score.is_exact]
        n_checks = len(missed) * len(CHECKED)
        line = (
            "Exact figures come from a programme over (memory, bankroll) on the lattice of the "
            f"nets, up to {self.config.budget:.0e} multiply-adds. Rounding bounds what float64 "
            "adds to any probability; overflow is mass that left the top of a lattice without a "
            "target. EV, ruin, target, gain and rounds of exact rows lie inside "
            f"{n_checks - sum(missed)} of {n_checks} simulated intervals of "
            f"{100 * self.config.level:g} %; systems share their rounds, and so their luck."
        )
        return Section("What is exact, and its check", (line,), (header, rows))

    def _rules_section(self) -> Section:
        made = map(make_system, self.by_name)
        rows = [[s.name, s.summary, s.fallback.replace(AFFORDS_LESS, "").strip()] for s in made]
        cells = ["system", "rule", "besides"], rows
        return Section("Systems", (f"Stakes are in units of the slip. {AFFORDS_LESS}",), cells)


def systems_study(
    config: SystemsConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> SystemsStudy:
    """Score every system, flat play always among them; finished parts lie in ``keep``.

    Exact figures as in ``solvers.sessions.programme``. Raises ConfigError where a lattice does not
    fit into memory.
    """
    task, names = config.task(), tuple(dict.fromkeys((BASELINE, *config.played)))
    scores = score_systems(
        task, names, threads=config.threads, kept=KeptParts(keep), progress=progress
    )
    ranked = sorted(scores, key=lambda score: -score.figures.ev_cents)
    return SystemsStudy(config, tuple(ranked), bankroll_fan(task, config.fan))


def _by_quantile(name: str, values: Sequence[Sequence[int]]) -> dict[str, list[int]]:
    return {
        f"{name}_{100 * p:g}_cents": [row[place] for row in values]
        for place, p in enumerate(QUANTILES)
    }


def _plus_minus(estimate: Estimate, unit_cents: int, start_cents: int = 0) -> str:
    mean = (estimate.mean - start_cents) / unit_cents
    return f"{mean:+.3f} ± {estimate.half_width / unit_cents:.3f}"
