"""How likely flat play is ruined: exact, by the diffusion, by Lundberg's bounds and simulated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from niulab.agents.systems.sitting import default_base_slip
from niulab.engine.wagers import Slip, exposure_cents
from niulab.evaluation.sessions.ruins import MOST_ROUNDS, SlipRuin, slip_ruin, walk_bytes
from niulab.evaluation.studies.study import (
    Columns,
    Picture,
    Progress,
    Section,
    Stakes,
    StudyConfig,
)
from niulab.evaluation.tables import Cells
from niulab.solvers.optimal.plays import MAX_BYTES
from niulab.solvers.values import player_edges

__all__ = ["RuinConfig", "RuinStudy", "ruin_study"]

_MOST_ROUNDS = 100_000


class RuinConfig(StudyConfig):
    """Ruin of flat play of ``slips`` (default: the required box at a base unit).

    It is looked for from each of ``bankrolls_cents`` within each of ``rounds``, and before
    ``target_cents`` without a deadline. n_sessions: simulated to the last of the rounds, for all
    bankrolls at once; n_endless: for each bankroll to the target.
    """

    kind: Literal["ruin"] = "ruin"
    title: str = "Ruin of flat play"
    slips: Annotated[tuple[Stakes, ...], Field(strict=False)] = ()
    bankrolls_cents: Annotated[tuple[int, ...], Field(strict=False, min_length=1)] = (
        *range(500, 6001, 500),
    )
    rounds: Annotated[tuple[int, ...], Field(strict=False, min_length=1)] = (60, 240, 1000)
    target_cents: Annotated[int, Field(ge=1)] = 10_000
    n_sessions: Annotated[int, Field(ge=2)] = 20_000
    n_endless: Annotated[int, Field(ge=2, le=1_000_000_000)] = 5_000
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    threads: Annotated[int, Field(ge=1, le=256)] = 2

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        mistakes = []
        for key in ("bankrolls_cents", "rounds"):
            values = getattr(self, key)
            if list(values) != sorted({*values}) or values[0] < 1:
                mistakes.append(f"{key} lists different numbers from 1 upwards, got {values}")
        if self.rounds[-1] > _MOST_ROUNDS:
            mistakes.append(f"rounds are at most {_MOST_ROUNDS:,}, got {self.rounds[-1]:,}")
        needed = walk_bytes(self.n_sessions, len(self.rounds))
        if needed > MAX_BYTES:
            mistakes.append(
                f"n_sessions={self.n_sessions} at {len(self.rounds)} rounds need {needed:,} bytes, "
                f"more than {MAX_BYTES:,}: write at most "
                f"{MAX_BYTES // walk_bytes(1, len(self.rounds))}"
            )
        if len(set(self.slips)) < len(self.slips):
            mistakes.append("slips holds a slip twice")
        most = max(self.bankrolls_cents)
        if self.target_cents <= most:
            mistakes.append(
                f"target_cents={self.target_cents} is not above the largest of bankrolls_cents, "
                f"{most}: play from there would be over"
            )
        for slip in self.played:
            needed = exposure_cents(self.rules, slip)
            if needed > most:
                mistakes.append(
                    f"no bankroll covers '{slip}', which puts {needed} cents in sight: raise "
                    f"bankrolls_cents, now up to {most}"
                )
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    @property
    def played(self) -> tuple[Slip, ...]:
        """The slips."""
        return self.slips or (default_base_slip(self.rules),)


@dataclass(frozen=True, eq=False)
class RuinStudy:
    """The ruin of every slip."""

    config: RuinConfig
    slips: tuple[SlipRuin, ...]

    @property
    def kind(self) -> str:
        """The config's kind."""
        return self.config.kind

    @property
    def title(self) -> str:
        """What heads the report."""
        return self.config.title

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """Ruin by each round, and before the target, from each bankroll."""
        return {
            str(each.slip): {
                "ruin_below_cents": each.curve.ruin_below_cents,
                "ruined": {
                    f"{cents} cents": each.curve.ruined[each.place(cents)]
                    for cents in self.config.bankrolls_cents
                },
                "ruined_before_target": {
                    f"{cents} cents": float(each.goal.p_ruin[each.place(cents)])
                    for cents in self.config.bankrolls_cents
                },
            }
            for each in self.slips
        }

    def columns(self) -> Columns:
        """By slip, bankroll and rounds; and to the target by slip and bankroll."""
        tables: Columns = {"ruin": {}, "target": {}}
        parts = [self._ruin_columns(each) for each in self.slips]
        goals = [self._goal_columns(each) for each in self.slips]
        for name, found in (("ruin", parts), ("target", goals)):
            tables[name] = {key: [v for one in found for v in one[key]] for key in found[0]}
        return tables

    def sections(self) -> tuple[Section, ...]:
        """For every slip ruin within some rounds, and before the target."""
        return tuple(
            section
            for each in self.slips
            for section in (self._rounds_section(each), self._goal_section(each))
        )

    # ------------------------------------------------------------ parts of the report

    def _ruin_columns(self, each: SlipRuin) -> dict[str, NDArray[Any]]:
        curve = each.curve
        n_starts, n_rounds = curve.ruined.shape
        shares = [share for row in each.simulated for share in row]
        return {
            "slip": np.repeat(np.array([str(each.slip)], dtype=object), n_starts * n_rounds),
            "bankroll_cents": np.repeat(curve.starts_cents, n_rounds),
            "rounds": np.tile(curve.rounds, n_starts),
            "exact": curve.ruined.ravel(),
            "overflow": np.repeat(curve.overflow, n_rounds),
            "diffusion": curve.diffusion.ravel(),
            "only_at_the_end": each.at_end.ravel(),
            "simulated": np.array([share.mean for share in shares]),
            "simulated_low": np.array([share.low for share in shares]),
            "simulated_high": np.array([share.high for share in shares]),
            "sessions": np.array([share.n for share in shares]),
        }

    def _goal_columns(self, each: SlipRuin) -> dict[str, Any]:
        goal, starts = each.goal, each.goal.starts_cents.tolist()
        shares = [goal.simulated.get(start, (None, None)) for start in starts]
        return {
            "slip": [str(each.slip)] * len(starts),
            "bankroll_cents": starts,
            "exact": goal.p_ruin,
            "error_bound": [goal.error_bound] * len(starts),
            "lundberg_low": goal.lundberg[:, 0],
            "lundberg_high": goal.lundberg[:, 1],
            "diffusion": goal.diffusion,
            "expected_rounds": goal.rounds,
            **{
                f"simulated_{what}": [share and getattr(share, what) for share, _ in shares]
                for what in ("mean", "low", "high")
            },
            "sessions": [share and share.n for share, _ in shares],
            "sessions_without_end": [unended for _, unended in shares],
            "p_ruin_without_target_low": [endless.p_ruin[0] for endless in goal.endless],
            "rounds_without_target_low": [endless.rounds[0] for endless in goal.endless],
            "rounds_without_target_high": [endless.rounds[1] for endless in goal.endless],
        }

    def _rounds_section(self, each: SlipRuin) -> Section:
        from niulab.evaluation.plots.ruins import ruin_curves

        unit, curve, config = self.config.rules.base_unit_cents, each.curve, self.config
        places = [each.place(cents) for cents in config.bankrolls_cents]
        rows, n_held = [], 0
        for place in places:
            for column, n in enumerate(config.rounds):
                share, chance = each.simulated[place][column], float(curve.ruined[place, column])
                n_held += share.covers(chance)
                rows.append(
                    [
                        f"{curve.starts_cents[place] / unit:g}",
                        f"{n:,}",
                        f"{chance:.7f}",
                        f"{share.mean:.5f}",
                        f"{share.low:.5f} to {share.high:.5f}",
                        f"{curve.diffusion[place, column]:.5f}",
                        f"{each.at_end[place, column]:.5f}",
                    ]
                )
        bound = curve.rounding_bound + float(curve.overflow.max())
        exact = (
            f"`{each.slip}` is ruined below {curve.ruin_below_cents / unit:g} base units, what it "
            "puts in sight (stake and cover): it cannot be placed again. Exact: a programme on the "
            f"lattice of the nets with absorbing ruin, within {bound:.0e}. Simulated: "
            f"{config.n_sessions:,} sessions, the same for all bankrolls; {n_held} of {len(rows)} "
            f"intervals of {100 * config.level:g} % hold the exact chance. Diffusion: Brownian "
            "motion with the same mean and variance."
        )
        missed = (
            "Only at the end: exact too, but of a bankroll that plays on below ruin and is looked "
            "at after the last round alone. Sessions that were ruined and would have recovered are "
            f"missed, here up to {(curve.ruined - each.at_end).max():.4f} of all."
        )
        header = ["bankroll, base units", "rounds", "exact", "simulated", "interval"]
        cells: Cells = ([*header, "diffusion", "only at the end"], rows)
        png = ruin_curves(curve, each.at_end, each.simulated, shown=places, unit_cents=unit)
        alt = f"Ruin of {each.slip} by bankroll: exact, diffusion, at the end alone, simulated"
        name = f"ruin-{self.slips.index(each) + 1}"
        return Section(f"Ruin of {each.slip}", (exact, missed), cells, (Picture(name, alt, png),))

    def _goal_section(self, each: SlipRuin) -> Section:
        from niulab.evaluation.plots.ruins import goal_curves

        unit, goal, config = self.config.rules.base_unit_cents, each.goal, self.config
        rows = []
        for cents in config.bankrolls_cents:
            place, (share, _) = each.place(cents), goal.simulated[cents]
            rows.append(
                [
                    f"{cents / unit:g}",
                    f"{goal.p_ruin[place]:.7f}",
                    f"{goal.lundberg[place, 0]:.5f} to {goal.lundberg[place, 1]:.5f}",
                    f"{goal.diffusion[place]:.5f}",
                    f"{share.mean:.5f}",
                    f"{share.low:.5f} to {share.high:.5f}",
                    f"{goal.rounds[place]:,.1f}",
                    " to ".join(f"{n:,.0f}" for n in goal.endless[place].rounds),
                ]
            )
        n_held = sum(map(goal.holds, config.bankrolls_cents))
        n_unended = sum(unended for _, unended in goal.simulated.values())
        certain = all(endless.is_ruin_certain for endless in goal.endless)
        line = (
            f"Until ruin or a target of {config.target_cents / unit:g} base units, without a "
            f"deadline. Exact: a banded linear system, within {goal.error_bound:.0e}. Lundberg: "
            "bounds that the root of E exp(tX) = 1 proves. "
            f"Simulated: {config.n_endless:,} sessions each; {n_held} of {len(rows)} intervals "
            f"hold the exact chance, and {n_unended:,} sessions met no end in "
            f"{MOST_ROUNDS:,} rounds. "
        ) + (
            "Without a target ruin is certain; the last column bounds the rounds until then."
            if certain
            else "The last column bounds the rounds until ruin without a target."
        )
        header = ["bankroll, base units", "exact", "Lundberg", "diffusion", "simulated"]
        header += ["interval", "rounds", "rounds without target"]
        png = goal_curves(goal, unit_cents=unit)
        alt = (
            f"Ruin of {each.slip} before the target: exact, Lundberg's bounds, diffusion, simulated"
        )
        name = f"target-{self.slips.index(each) + 1}"
        title = f"Ruin of {each.slip} before the target"
        return Section(title, (line,), (header, rows), (Picture(name, alt, png),))


def ruin_study(
    config: RuinConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> RuinStudy:
    """Ruin of every slip; formulas and bounds as in ``solvers.sessions.barriers``.

    Raises ConfigError where a lattice does not fit into memory.
    """
    found = []
    for place, slip in enumerate(config.played):

        def report(share: float, place: int = place, slip: Slip = slip) -> None:
            if progress is not None:
                progress(str(slip), int(1000 * (place + share)), 1000 * len(config.played))

        found.append(
            slip_ruin(
                config.rules,
                slip,
                bankrolls_cents=config.bankrolls_cents,
                rounds=config.rounds,
                target_cents=config.target_cents,
                n_sessions=config.n_sessions,
                n_endless=config.n_endless,
                seed=config.seed,
                level=config.level,
                threads=config.threads,
                progress=report,
            )
        )
    return RuinStudy(config, tuple(found))
