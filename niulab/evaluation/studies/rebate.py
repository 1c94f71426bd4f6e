"""What a loss rebate is worth: over its rate, with the best quit points, and without a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from niulab.engine.wagers import Slip
from niulab.envs.settings.menus import default_menu
from niulab.errors import ConfigError, WagerError
from niulab.evaluation.edges.rebates import (
    Offer,
    PlainPlay,
    break_even_rebate,
    make_offer,
    play_once,
    play_plainly,
)
from niulab.evaluation.studies.study import (
    Columns,
    OfConfig,
    Picture,
    Progress,
    Section,
    Stakes,
    StudyConfig,
)
from niulab.evaluation.tables import Cells
from niulab.solvers.optimal.problem import needed_cents
from niulab.solvers.optimal.rebate import RebateProblem, RebateSolution, solve_rebate
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.tables import STOP
from niulab.solvers.values import player_edges

__all__ = ["RebateConfig", "RebateStudy", "rebate_study"]

_Rate = Annotated[float, Field(gt=0, lt=1)]

_RATES = (
    "The casino refunds a share of the loss when the player quits; his wins stay whole. Values in "
    "base units, refund included, with the best slip at every bankroll and quitting where that is "
    "best; the proven bounds lie the gap apart. Without a plan: one slip for a fixed number of "
    "rounds, or as long as it is covered; the best of the menu. 0: not to play is best."
)
_SLIPS = (
    "Each slip by itself that the buy-in covers. With a plan: quitting at the quit points. The "
    "break-even rate of one round, expected loss by expected losing part, is exact."
)
_MAP = (
    "What to place at each bankroll, or to quit, and how much playing on adds to quitting at once."
)


class RebateConfig(StudyConfig):
    """``rebates`` of the loss of a buy-in ``start_cents``, with the menu ``slips`` (default: the
    ten slips of the environments). ``rebate`` is the one looked at slip by slip and bankroll by
    bankroll. n_rounds: the deadline (default: none); plain_rounds: of who has no plan.
    """

    kind: Literal["rebate"] = "rebate"
    title: str = "A loss rebate and its quit points"
    start_cents: Annotated[int, Field(ge=1)] = 10_000
    slips: Annotated[tuple[Stakes, ...], Field(strict=False)] = ()
    rebates: Annotated[tuple[_Rate, ...], Field(strict=False, min_length=1)] = (
        *(0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3),
    )
    rebate: _Rate = 0.1
    n_rounds: Annotated[int, Field(ge=1)] | None = None
    plain_rounds: Annotated[int, Field(ge=1, le=100_000)] = 60

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        mistakes = []
        if list(self.rebates) != sorted({*self.rebates}):
            mistakes.append(f"rebates lists different shares in rising order, got {self.rebates}")
        try:
            problem = self.problem(self.rebate)
        except (ConfigError, WagerError) as error:
            lines = str(error).splitlines()
            mistakes += [line.strip().removeprefix("- ") for line in lines[1:] or lines]
        else:
            winners = [slip for slip in problem.slips if net_law(self.rules, slip).ev_cents >= 0]
            if winners and self.n_rounds is None:
                mistakes.append(
                    f"slips: '{winners[0]}' does not lose on average, so there is no best moment "
                    "to quit: give n_rounds"
                )
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    @property
    def menu(self) -> tuple[Slip, ...]:
        """The slips to choose from."""
        return self.slips or default_menu(self.rules)

    @property
    def n_plain(self) -> int:
        """Rounds of who has no plan, within the deadline."""
        return min(self.plain_rounds, self.n_rounds or self.plain_rounds)

    @property
    def covered(self) -> tuple[Slip, ...]:
        """Those of the menu that the buy-in covers."""
        needs = ((needed_cents(self.rules, slip), slip) for slip in self.menu)
        return tuple(slip for need, slip in needs if need <= self.start_cents)

    def problem(self, rebate: float, slips: Sequence[Slip] | None = None) -> RebateProblem:
        """The offer at a rate, for the whole menu or some slips."""
        return RebateProblem(
            rules=self.rules,
            slips=tuple(slips or self.menu),
            start_cents=self.start_cents,
            rebate=rebate,
            n_rounds=self.n_rounds,
        )

    @property
    def shown_left(self) -> int | None:
        """Rounds left where policies are shown: half of them, None without a deadline."""
        return None if self.n_rounds is None else (self.n_rounds + 1) // 2


@dataclass(frozen=True, eq=False)
class RebateStudy(OfConfig):
    """Values in base units.

    offers: the whole menu at each rate. alone: each covered slip by itself at ``config.rebate``.
    plain, one_round: each of them without a plan, the latter exact. break_even: a bracket of the
    least rate at which the menu is worth playing; None if none is. solution: the menu at
    ``config.rebate``.
    """

    config: RebateConfig
    offers: tuple[Offer, ...]
    alone: tuple[Offer, ...]
    plain: tuple[PlainPlay, ...]
    one_round: tuple[PlainPlay, ...]
    break_even: tuple[float, float] | None
    solution: RebateSolution

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player without any rebate."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """The offer at ``config.rebate``, and where it begins to be worth anything."""
        offer = make_offer(self.solution, self.config.shown_left)
        return {
            "rebate": offer.rebate,
            "value": offer.value,
            "gap": offer.gap,
            "first_slip": str(offer.slip or ""),
            "quit_points_cents": offer.quit_points,
            "without_a_plan": max(plain.value(offer.rebate) for plain in self.plain),
            "break_even_rebate": self.break_even,
            "break_even_of_one_round": self._fair_once(),
        }

    def columns(self) -> Columns:
        """The menu over the rates, slips by themselves, and the best slip by bankroll."""
        return {
            "rebates": self._offer_columns(self.offers),
            "slips": {
                **self._offer_columns(self.alone),
                "plain_net": [plain.net for plain in self.plain],
                "plain_loss": [plain.loss for plain in self.plain],
                "one_round_break_even_exact": [once.break_even for once in self.one_round],
                "one_round_break_even": [float(once.break_even) for once in self.one_round],
            },
            "bankrolls": self._bankroll_columns(),
        }

    def sections(self) -> tuple[Section, ...]:
        """Value over the rate, slips by themselves, best slips by bankroll."""
        return (self._rate_section(), self._slip_section(), self._bankroll_section())

    # ------------------------------------------------------------ parts of the report

    def _offer_columns(self, offers: Sequence[Offer]) -> dict[str, Any]:
        points = [offer.quit_points or (None, None) for offer in offers]
        return {
            "rebate": [offer.rebate for offer in offers],
            "slips": [" or ".join(map(str, offer.slips)) for offer in offers],
            "low": [offer.low for offer in offers],
            "high": [offer.high for offer in offers],
            "first_slip": [str(offer.slip or "") for offer in offers],
            "stop_loss_cents": [below for below, _ in points],
            "win_goal_cents": [above for _, above in points],
            "without_a_plan": [self._plain(offer) for offer in offers],
        }

    def _plain(self, offer: Offer) -> float:
        """The best value without a plan among the offer's slips."""
        return max(plain.value(offer.rebate) for plain in self.plain if plain.slip in offer.slips)

    def _fair_once(self) -> float | Fraction:
        """The least rate at which one round of some slip is fair, exactly."""
        return min(once.break_even for once in self.one_round)

    def _shown(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Bankrolls in cents, choices and what playing adds, up to where play can still lead."""
        solution, n_rounds = self.solution, self.config.n_rounds
        row = 0 if n_rounds is None else n_rounds - (self.config.shown_left or 0)
        is_open = ~np.isnan(solution.low[row])
        played = np.flatnonzero(is_open & (solution.choice[row] != STOP))
        top = 1.1 * max(played, default=solution.start)
        levels = np.arange(min(int(top) + 2, int(is_open.sum())))
        bankrolls, choice = levels * solution.plays.step_cents, solution.choice[row, levels]
        middle = (solution.low[row, levels] + solution.high[row, levels]) / 2
        gains = np.where(choice == STOP, 0.0, middle - solution.problem.payoff(bankrolls))
        return bankrolls, choice, gains

    def _bankroll_columns(self) -> dict[str, Any]:
        bankrolls, choice, gains = self._shown()
        return {
            "bankroll_cents": bankrolls,
            "slip": [self._named(play, "") for play in choice],
            "added_by_playing": gains,
            "quitting": self.solution.problem.payoff(bankrolls),
        }

    def _named(self, play: int, stop: str) -> str:
        return stop if play == STOP else str(self.solution.plays.slips[play])

    def _rate_section(self) -> Section:
        from niulab.evaluation.plots.optimal import quit_bands, rebate_values

        config, rates = self.config, self.config.rebates
        unit = config.rules.base_unit_cents
        header = ["rebate", "value", "gap", "first slip", "stop-loss", "win goal"]
        header += [f"{config.n_plain} rounds without a plan", "one round"]
        one_round = [max(plain.value(rate) for plain in self.one_round) for rate in rates]
        plain = [self._plain(offer) for offer in self.offers]
        rows = [
            [
                *(f"{100 * offer.rebate:g} %", *_value_cells(offer), str(offer.slip or "-")),
                *_quit_cells(offer, unit),
                *(f"{without:+.6f}", f"{once:+.6f}"),
            ]
            for offer, without, once in zip(self.offers, plain, one_round, strict=True)
        ]
        values = {
            "best play, quit points": [offer.value for offer in self.offers],
            "best slip, one round": one_round,
            f"best slip, {config.n_plain} rounds": plain,
        }
        pictures = [
            Picture(
                "value_by_rebate",
                "Value of the offer over the rebate rate, with and without a plan",
                rebate_values(rates, values),
            )
        ]
        points = [(offer.rebate, *offer.quit_points) for offer in self.offers if offer.quit_points]
        if points:
            alt = "Stop-loss and win goal over the rebate rate"
            drawn = quit_bands(points, start_cents=config.start_cents, unit_cents=unit)
            pictures.append(Picture("quit_points", alt, drawn))
        lines = (_RATES, self._break_even_line(), *self._deadline_lines())
        return Section("Value over the rate", lines, (header, rows), tuple(pictures))

    def _break_even_line(self) -> str:
        if self.break_even is None:
            return "No rebate below the whole loss makes the menu worth playing."
        low, high = (100 * rate for rate in self.break_even)
        if not high:
            return "A slip does not lose on average: any rebate makes it worth playing."
        once = self._fair_once()
        return (
            f"Break-even: at {high:.6f} % playing is provably worth more than nothing, at "
            f"{low:.6f} % no longer. One round of the best slip is fair at "
            f"{100 * float(once):.6f} % (exactly {once})."
        )

    def _deadline_lines(self) -> tuple[str, ...]:
        left = self.config.shown_left
        if left is None:
            return ()
        return (f"Quit points and best slips are those with {left} rounds left.",)

    def _slip_section(self) -> Section:
        config = self.config
        header = ["slip, cents", "value with a plan", "gap", "stop-loss", "win goal"]
        header += [f"{config.n_plain} rounds without", "one round", "fair at", "exactly"]
        rows = [
            [
                *(str(offer.slips[0]), *_value_cells(offer)),
                *_quit_cells(offer, config.rules.base_unit_cents),
                *(f"{plain.value(offer.rebate):+.6f}", f"{once.value(offer.rebate):+.6f}"),
                *(f"{100 * float(once.break_even):.4f} %", f"{once.break_even}"),
            ]
            for offer, plain, once in zip(self.alone, self.plain, self.one_round, strict=True)
        ]
        return Section(f"Slips at {100 * config.rebate:g} %", (_SLIPS,), (header, rows))

    def _bankroll_section(self) -> Section:
        from niulab.evaluation.plots.optimal import slip_map

        unit = self.config.rules.base_unit_cents
        bankrolls, choice, gains = self._shown()
        names = [self._named(play, "quit") for play in choice]
        order = [*map(str, self.solution.plays.slips), "quit"]
        alt = "The best slip at every bankroll, and what playing adds to quitting"
        drawn = slip_map(
            bankrolls / unit, names, order, gains, start=self.config.start_cents / unit
        )
        title = f"Best slips at {100 * self.config.rebate:g} %"
        cells = self._run_cells(bankrolls, names)
        return Section(title, (_MAP,), cells, (Picture("best_slips", alt, drawn),))

    def _run_cells(self, bankrolls: NDArray[np.int64], names: Sequence[str]) -> Cells:
        """Stretches of bankrolls with one answer."""
        unit = self.config.rules.base_unit_cents
        ends = [place for place in range(1, len(names)) if names[place] != names[place - 1]]
        rows = [
            [f"{bankrolls[first] / unit:g}", f"{bankrolls[last - 1] / unit:g}", names[first]]
            for first, last in zip([0, *ends], [*ends, len(names)], strict=True)
        ]
        return ["from, base units", "to", "place"], rows


def rebate_study(
    config: RebateConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> RebateStudy:
    """Solve the offer at every rate (see ``solvers.optimal.rebate``), and play without a plan."""
    rules, covered = config.rules, config.covered
    total, begun = len(config.rebates) + len(covered) + 2, 0

    def tell(what: str) -> None:
        nonlocal begun
        if progress is not None:
            progress(what, begun, total)
        begun += 1

    def solved(rebates: Iterable[float], slips: Sequence[Slip]) -> list[Offer]:
        offers = []
        for rebate in rebates:
            tell(f"rebate {100 * rebate:g} %")
            solution = solve_rebate(config.problem(rebate, slips))
            offers.append(make_offer(solution, config.shown_left))
        return offers

    offers = solved(config.rebates, config.menu)
    alone = [offer for slip in covered for offer in solved([config.rebate], [slip])]
    tell("play without a plan")
    plain = tuple(play_plainly(rules, slip, config.start_cents, config.n_plain) for slip in covered)
    one_round = tuple(play_once(rules, slip) for slip in covered)
    tell("break-even")
    fair_once = min(float(once.break_even) for once in one_round)
    return RebateStudy(
        config=config,
        offers=tuple(offers),
        alone=tuple(alone),
        plain=plain,
        one_round=one_round,
        break_even=break_even_rebate(config.problem, fair_once),
        solution=solve_rebate(config.problem(config.rebate)),
    )


def _value_cells(offer: Offer) -> tuple[str, str]:
    return f"{offer.value:+.6f}", f"{offer.gap:.0e}"


def _quit_cells(offer: Offer, unit_cents: int) -> list[str]:
    if offer.quit_points is None:
        return ["not to play", ""]
    return ["-" if cents is None else f"{cents / unit_cents:g}" for cents in offer.quit_points]
