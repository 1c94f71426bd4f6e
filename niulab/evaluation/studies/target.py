"""The best chance of a target before ruin, and the slip for it, with and without a deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from niulab.agents.systems.catalog import make_system
from niulab.agents.systems.compile import system_tables
from niulab.agents.systems.sitting import Sitting
from niulab.engine.wagers import Slip
from niulab.envs.settings.menus import default_menu, grid_menu
from niulab.errors import ConfigError, WagerError
from niulab.evaluation.studies.study import (
    Columns,
    OptionalStakes,
    Picture,
    Progress,
    Section,
    Stakes,
    StudyConfig,
)
from niulab.solvers.optimal.plays import make_plays
from niulab.solvers.optimal.problem import BettingProblem, needed_cents
from niulab.solvers.optimal.recursion import policy_values
from niulab.solvers.optimal.values import OptimalBetting, make_game, solve_betting
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import STOP, BettingTables
from niulab.solvers.values import player_edges

__all__ = ["TargetConfig", "TargetStudy", "target_study"]

_PLAYS = ("bold", "timid")  # systems that the optimum is compared with, on the same menu
_MOST_UNITS = 2000
_N_SHOWN = 20  # bankrolls in a table
_Floats = NDArray[np.float64]


class TargetConfig(StudyConfig):
    """From ``bankroll_cents`` to ``target_cents`` before ruin, by slips of a menu.

    menu: "units" (multiples of ``base_slip``, by default the required box at a base unit, as far as
    the target covers them), "default" (the environments' ten slips) or "grid" (every slip); or
    ``slips`` of one's own. n_rounds: deadlines up to it (default: none).
    """

    kind: Literal["target"] = "target"
    title: str = "Target or ruin"
    bankroll_cents: Annotated[int, Field(ge=1)] = 2000
    target_cents: Annotated[int, Field(ge=1)] = 4000
    base_slip: OptionalStakes = None
    menu: Literal["units", "default", "grid"] = "units"
    slips: Annotated[tuple[Stakes, ...], Field(strict=False)] = ()
    n_rounds: Annotated[int, Field(ge=1, le=500)] | None = None

    @model_validator(mode="after")
    def _is_a_problem(self) -> Self:
        try:
            self.problem()
            Sitting.at(self.rules, self.base_slip).multiples_on(self.offered)
        except (ConfigError, WagerError) as error:
            raise ValueError("\n".join(str(error).splitlines()[1:]) or str(error)) from None
        return self

    @cached_property
    def offered(self) -> tuple[Slip, ...]:
        """The slips to choose from."""
        if self.slips:
            return self.slips
        if self.menu != "units":
            return {"default": default_menu, "grid": grid_menu}[self.menu](self.rules)
        sitting = Sitting.at(self.rules, self.base_slip)
        multiples = map(sitting.multiple, range(1, min(sitting.most_units, _MOST_UNITS) + 1))
        rules, target = self.rules, self.target_cents
        return tuple(takewhile(lambda slip: needed_cents(rules, slip) < target, multiples))

    def problem(self) -> BettingProblem:
        """Without a deadline; raises ConfigError with every mistake."""
        if (target := self.target_cents) <= (start := self.bankroll_cents):
            raise ConfigError(f"target_cents={target} is not above bankroll_cents={start}")
        return BettingProblem(
            rules=self.rules,
            slips=self.offered,
            start_cents=self.bankroll_cents,
            target_cents=self.target_cents,
        )


@dataclass(frozen=True, eq=False)
class TargetStudy:
    """Solved problems, and what bold and timid play are worth; all probabilities of the target.

    endless: without a deadline. timed: with one, from every bankroll below the target; None if the
    config has no deadline. Of bold and timid play: tables; values, float64 (L,), by level without a
    deadline; reached, float64 (n_rounds + 1,), from the start within so many rounds. replayed: of
    the optimum's tables in the forward programme, to the deadline.
    """

    config: TargetConfig
    endless: OptimalBetting
    timed: OptimalBetting | None
    tables: dict[str, BettingTables]
    values: dict[str, _Floats]
    reached: dict[str, _Floats]
    replayed: float | None

    @property
    def kind(self) -> str:
        """The config's kind."""
        return self.config.kind

    @property
    def title(self) -> str:
        """What heads the report."""
        return self.config.title

    @property
    def start(self) -> int:
        """The level of the bankroll."""
        return self.endless.start

    @cached_property
    def bankrolls_cents(self) -> NDArray[np.int64]:
        """Of all levels below the target, int64 (L,)."""
        return self.endless.step_cents * np.arange(self.endless.choice.shape[1])

    @cached_property
    def optimum_by_rounds(self) -> tuple[_Floats, _Floats]:
        """Bounds from the start with 0 to ``n_rounds`` rounds left, float64 (n_rounds + 1,)."""
        if self.timed is None:
            return np.zeros(1), np.zeros(1)
        low, high = (bound[::-1, self.start] for bound in (self.timed.low, self.timed.high))
        return np.concatenate([[0.0], low]), np.concatenate([[0.0], high])

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """From the bankroll: the optimum with its gap, bold and timid play."""
        low, high = self.optimum_by_rounds
        return {
            "optimum": self.endless.value,
            "gap": self.endless.gap,
            "max_gap": self.endless.max_gap,
            **{name: float(values[self.start]) for name, values in self.values.items()},
            "deadline": None
            if self.timed is None
            else {
                "n_rounds": self.config.n_rounds,
                "optimum": float(low[-1] + high[-1]) / 2,
                "gap": float(high[-1] - low[-1]),
                "replayed": self.replayed,
                **{name: float(values[-1]) for name, values in self.reached.items()},
            },
        }

    def columns(self) -> Columns:
        """By bankroll; with a deadline by rounds left from the start, and by both."""
        best, n_levels = self.endless, len(self.bankrolls_cents)
        tables: Columns = {
            "bankrolls": {
                "bankroll_cents": self.bankrolls_cents,
                "optimum_low": best.low[0],
                "optimum_high": best.high[0],
                "best_slip": _names(best.slips)[best.choice[0]],
                **self.values,
                **{
                    f"{name}_slip": _names(tables.slips)[tables.choice[0, :n_levels]]
                    for name, tables in self.tables.items()
                },
            }
        }
        if self.timed is None:
            return tables
        low, high = self.optimum_by_rounds
        n = len(self.timed.low)
        return tables | {
            "rounds": {
                "rounds": np.arange(n + 1),
                "optimum_low": low,
                "optimum_high": high,
                **self.reached,
            },
            "deadline": {
                "rounds_left": np.repeat(np.arange(n, 0, -1), n_levels),
                "bankroll_cents": np.tile(self.bankrolls_cents, n),
                "optimum_low": self.timed.low.ravel(),
                "optimum_high": self.timed.high.ravel(),
                "best_slip": _names(self.timed.slips)[self.timed.choice.ravel()],
            },
        }

    def sections(self) -> tuple[Section, ...]:
        """The chances, the best slips, and both with a deadline."""
        sections = [self._chance_section(), self._slip_section()]
        return (*sections, *([] if self.timed is None else [self._deadline_section(self.timed)]))

    # ------------------------------------------------------------ parts of the report

    def _chance_section(self) -> Section:
        from niulab.evaluation.plots.targets import chance_curves

        config, best = self.config, self.endless
        unit = config.rules.base_unit_cents
        line = (
            f"From {config.bankroll_cents / unit:g} to {config.target_cents / unit:g} base units "
            f"before ruin, by {len(config.offered):,} slips on a lattice of {best.step_cents} "
            "cents. Bold play stakes all it has, at most what reaches the target; timid play one "
            "base slip."
        )
        proof = (
            f"The optimum lies between two bounds, {best.gap:.1e} apart at the bankroll and "
            f"{best.max_gap:.1e} at most at any other. "
        )
        low, high = self.optimum_by_rounds
        if self.replayed is not None:
            proof += (
                f"With the deadline they are {high[-1] - low[-1]:.1e} apart, and its policy played "
                f"forwards reaches the target with {self.replayed:.10f}."
            )
        timed = float(low[-1] + high[-1]) / 2
        rows = [["optimum", f"{best.value:.7f}", "", f"{timed:.7f}", ""]]
        for name in _PLAYS:
            value, within = float(self.values[name][self.start]), float(self.reached[name][-1])
            rows.append(
                [
                    name,
                    f"{value:.7f}",
                    f"{best.value - value:.7f}",
                    f"{within:.7f}",
                    f"{timed - within:.7f}",
                ]
            )
        short, n_columns = "short of the optimum", 3 if self.timed is None else 5
        header = ["play", "P(target)", short, f"in {config.n_rounds} rounds", short][:n_columns]
        cells = header, [row[:n_columns] for row in rows]
        middle = (best.low[0] + best.high[0]) / 2
        png = chance_curves(
            self.bankrolls_cents / unit,
            {"optimum": middle, **self.values},
            start=config.bankroll_cents / unit,
        )
        alt = "P(target) by bankroll of the optimum, bold and timid play, and what these fall short"
        return Section(
            "Chance of the target", (line, proof), cells, (Picture("chances", alt, png),)
        )

    def _slip_section(self) -> Section:
        from niulab.evaluation.plots.targets import best_stakes

        unit, best = self.config.rules.base_unit_cents, self.endless
        line = "Of slips that are equally good but for rounding, the menu's first is the one shown."
        every = max(unit // best.step_cents, 1)
        some = _some(range(best.plays.ruin_level, len(self.bankrolls_cents), every))
        bold = self.tables["bold"]
        middle, names = (best.low[0] + best.high[0]) / 2, _names(best.slips)
        rows = [
            [
                f"{self.bankrolls_cents[level] / unit:g}",
                names[best.choice[0, level]],
                f"{middle[level]:.7f}",
                _names(bold.slips)[bold.choice[0, level]],
                *(f"{self.values[name][level]:.7f}" for name in _PLAYS),
            ]
            for level in sorted({*some, self.start})
        ]
        header = ["bankroll, base units", "best slip, cents", "P(target)", "bold slip", *_PLAYS]
        bold_choice = bold.choice[0, : len(self.bankrolls_cents)]
        stakes = {
            box: (
                _stakes(best.slips, best.choice[0], box) / unit,
                _stakes(bold.slips, bold_choice, box) / unit,
            )
            for box in self.config.rules.boxes
            if any(slip.stake(box) for slip in best.slips)
        }
        png = best_stakes(self.bankrolls_cents / unit, stakes)
        alt = "Stakes of the best slip by bankroll, and bold play's"
        return Section("Best slips", (line,), (header, rows), (Picture("stakes", alt, png),))

    def _deadline_section(self, timed: OptimalBetting) -> Section:
        from niulab.evaluation.plots.targets import deadline_map

        unit = self.config.rules.base_unit_cents
        low, high = self.optimum_by_rounds
        names, n = _names(timed.slips), len(timed.low)
        rows = [
            [
                f"{left}",
                names[timed.choice[n - left, self.start]],
                f"{(low[left] + high[left]) / 2:.7f}",
                *(f"{self.reached[name][left]:.7f}" for name in _PLAYS),
            ]
            for left in _some(range(1, n + 1))
        ]
        header = ["rounds left", "best slip, cents", "P(target)", *_PLAYS]
        stakes = _stakes(timed.slips, timed.choice) / unit
        chances = (timed.low + timed.high)[::-1] / 2
        png = deadline_map(self.bankrolls_cents / unit, stakes[::-1], chances)
        line = (
            "From the bankroll, by rounds that are left. The map shows all stakes of the best slip "
            "together, and lines of equal chance."
        )
        alt = "Best stake by bankroll and rounds left, with lines of equal chance"
        return Section("With a deadline", (line,), (header, rows), (Picture("deadline", alt, png),))


def target_study(
    config: TargetConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> TargetStudy:
    """Solve the problem of a config; bounds as ``solvers.optimal.recursion`` proves them.

    Raises ConfigError where its lattice does not fit into memory, and where the menu has no
    multiple of the base slip for bold and timid play.
    """
    report = progress or (lambda *_: None)
    report("without a deadline", 0, 3)
    problem = config.problem()
    endless = solve_betting(problem)
    tables = {name: _tables(config, name, endless.step_cents) for name in _PLAYS}
    values = {name: _values(problem, tables[name]) for name in _PLAYS}
    report("bold and timid play", 1, 3)
    reached = {
        name: play_session(
            config.rules,
            tables[name],
            start_cents=config.bankroll_cents,
            n_rounds=config.n_rounds or 0,
            target_cents=config.target_cents,
        ).reached_by
        for name in _PLAYS
    }
    report("with a deadline", 2, 3)
    timed, replayed = None, None
    if config.n_rounds is not None:
        last = config.target_cents - endless.step_cents  # from there every bankroll is in reach
        timed = solve_betting(replace(problem, start_cents=last, n_rounds=config.n_rounds))
        replayed = play_session(
            config.rules,
            timed.tables(),
            start_cents=config.bankroll_cents,
            n_rounds=config.n_rounds,
            target_cents=config.target_cents,
        ).p_target
    report("done", 3, 3)
    return TargetStudy(config, endless, timed, tables, values, reached, replayed)


def _tables(config: TargetConfig, name: str, step_cents: int) -> BettingTables:
    return system_tables(
        make_system(name),
        config.rules,
        base_slip=config.base_slip,
        start_cents=config.bankroll_cents,
        step_cents=step_cents,
        n_levels=-(-config.target_cents // step_cents),
        target_cents=config.target_cents,
        menu=config.offered,
    )


def _values(problem: BettingProblem, tables: BettingTables) -> _Floats:
    """P(target) of a policy without memory at every level, as good as a linear solver is."""
    plays = make_plays(
        problem.rules,
        tables.slips,
        problem.start_cents,
        problem.target_cents or 0,
        step_cents=tables.step_cents,
    )
    place_of = {int(menu): place for place, menu in enumerate(plays.menu)}
    choice = np.array([*(place_of[slip] for slip in range(len(tables.slips))), STOP])[tables.choice]
    values: _Floats = policy_values(make_game(problem, plays), choice.astype(np.int32))[0]
    return values


def _names(slips: Sequence[Slip]) -> NDArray[np.object_]:
    """Slips as texts, and at STOP nothing."""
    return np.array([*map(str, slips), ""], dtype=object)


def _stakes(slips: Sequence[Slip], choice: NDArray[np.int32], box: str | None = None) -> _Floats:
    """Cents on a box, or in all, of every choice; nan at STOP."""
    cents = [slip.total_cents if box is None else slip.stake(box) for slip in slips]
    return np.array([*cents, np.nan])[choice]


def _some(numbers: range) -> list[int]:
    """At most twenty of them, the first and the last among them."""
    places = np.unique(np.linspace(0, len(numbers) - 1, _N_SHOWN).round().astype(int))
    return [numbers[place] for place in places.tolist()]
