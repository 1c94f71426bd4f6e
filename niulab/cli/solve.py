"""``niulab solve``: the exact law of a rule set, its boxes and a slip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from niulab.cli.output import JsonFlag, console, exact, examples, percent, print_json, table, warn

if TYPE_CHECKING:
    from niulab.solvers.solution import Solution
    from niulab.solvers.values import BoxValues, SlipValues

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab solve single-double-super",
    "niulab solve single-double-super --slip single=100,super=40 --json",
    "niulab solve even-double-super-bonus-literal-note   [dim]# a sheet that pays the player[/dim]",
    "niulab solve ./mine.toml --slip single=100 --bankroll 500",
)


def run(
    rules: Annotated[
        str, typer.Argument(help="A shipped name or the path of a rules file.", metavar="RULES")
    ],
    slip: Annotated[
        str | None,
        typer.Option(help="Stakes in cents by box, as single=100,super=40.", metavar="STAKES"),
    ] = None,
    bankroll: Annotated[
        int | None,
        typer.Option(help="Chips in cents that must cover the slip.", metavar="CENTS", min=0),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Solve a rule set exactly: how often each rank wins, and what every box is worth.

    Box figures are per unit staked, slip figures in cents. Nothing is sampled:
    all deals of two hands are counted, both hands best set.
    """
    if bankroll is not None and slip is None:
        message = "a bankroll covers a slip: give --slip as well"
        raise typer.BadParameter(message, param_hint="--bankroll")
    from niulab.solvers.solution import solve

    solution = solve(rules, slip, bankroll_cents=bankroll)
    warn(solution.warnings)
    if json:
        print_json(_record(solution))
    else:
        _print(solution)


def _record(solution: Solution) -> dict[str, Any]:
    rules, law = solution.rules, solution.law
    return {
        "rules": rules.name,
        "rules_hash": rules.rules_hash,
        "deals": law.n_deals,
        "ranks": {
            name: {
                "hands": law.rank_hands[rank],
                "win_with": float(law.win_with(rank)),
                "win_with_exact": exact(law.win_with(rank)),
            }
            for rank, name in enumerate(rules.ranks)
        },
        "boxes": {box: _box_record(values) for box, values in solution.boxes.items()},
        "slip": None if solution.slip is None else _slip_record(solution.slip),
        "warnings": list(solution.warnings),
    }


def _box_record(values: BoxValues) -> dict[str, Any]:
    return {
        "ev": exact(values.ev),
        "ev_float": float(values.ev),
        "sd": values.sd,
        "house_edge": float(values.house_edge),
        "element_of_risk": float(values.element_of_risk),
    }


def _slip_record(values: SlipValues) -> dict[str, Any]:
    return {
        "stakes": dict(values.slip.stakes),
        "ev_cents": float(values.ev_cents),
        "ev_cents_exact": exact(values.ev_cents),
        "sd_cents": values.sd_cents,
        "house_edge": float(values.house_edge),
        "element_of_risk": float(values.element_of_risk),
    }


def _print(solution: Solution) -> None:
    rules, law, out = solution.rules, solution.law, console()
    out.print(f"[bold]{rules.name}[/bold]  {rules.title}  [dim](hash {rules.rules_hash})[/dim]")
    out.print(f"{law.n_deals:,} deals of two hands, counted exactly\n")
    ranks = table("Ranks", "rank", "hands", "P(player wins with it)")
    for rank, name in reversed(list(enumerate(rules.ranks))):
        ranks.add_row(name, f"{law.rank_hands[rank]:,}", f"{float(law.win_with(rank)):.12f}")
    out.print(ranks)
    if solution.boxes:
        columns = ("EV", "EV exactly", "SD", "house edge", "element of risk")
        boxes = table("Boxes, per unit staked", "box", *columns)
        for box, values in solution.boxes.items():
            style = "bold red" if values.ev > 0 else None
            boxes.add_row(box, *_figures(values.ev, values, values.sd), style=style)
        out.print(boxes)
    if solution.slip is not None:
        staked = solution.slip
        columns = ("EV, cents", "EV exactly", "SD, cents", "house edge", "element of risk")
        slip = table("Slip", "stakes, cents", *columns)
        slip.add_row(str(staked.slip), *_figures(staked.ev_cents, staked, staked.sd_cents))
        out.print(slip)


def _figures(ev: Any, values: BoxValues | SlipValues, sd: float) -> tuple[str, ...]:
    shares = (percent(values.house_edge), percent(values.element_of_risk))
    return (f"{float(ev):+.10f}", exact(ev), f"{sd:.6f}", *shares)
