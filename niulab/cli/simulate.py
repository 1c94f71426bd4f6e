"""``niulab simulate``: rounds by the billion beside the exact values."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from niulab.cli.output import (
    JsonFlag,
    console,
    exact,
    examples,
    print_json,
    progress_bar,
    table,
    warn,
)
from niulab.errors import ConfigError

if TYPE_CHECKING:
    from niulab.evaluation.streaming import Compared, StreamedScore

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab simulate single-double-super --rounds 1e7 --slip single=100,super=40",
    "niulab simulate even-double-super-bonus --seats 3 --threads 2 --json",
    "niulab simulate single-double-super --rounds 1e10 --checkpoint runs/long.json   "
    "[dim]# run it again to go on[/dim]",
)

_NUMBER = re.compile(r"[0-9]+(_[0-9]+)*(\.[0-9]+)?([eE]\+?[0-9]{1,2})?")


def run(
    rules: Annotated[
        str, typer.Argument(help="A shipped name or the path of a rules file.", metavar="RULES")
    ],
    rounds: Annotated[
        str, typer.Option(help="Rounds to play, as 1e9 or 1_000_000.", metavar="N")
    ] = "1e7",
    slip: Annotated[
        str | None,
        typer.Option(
            help="Every seat's stakes in cents, as single=100,super=40. Default: the least.",
            metavar="STAKES",
        ),
    ] = None,
    seats: Annotated[int, typer.Option(help="Seats at the table.", min=1)] = 1,
    threads: Annotated[int, typer.Option(help="Threads; they change no total.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the deals.", min=0)] = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps the totals, and from which the same command goes on.",
            metavar="FILE",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Play rounds in constant memory and show their mean results beside the exact ones.

    Both hands are best set. The same seed gives the same totals for any number
    of threads, and whether or not the run was interrupted and resumed.
    """
    n_rounds = _whole(rounds)
    from niulab.evaluation.streaming import simulate_stream

    with progress_bar(with_eta=True) as report:
        score = simulate_stream(
            rules,
            slip,
            n_rounds=n_rounds,
            n_seats=seats,
            threads=threads,
            seed=seed,
            checkpoint=checkpoint,
            progress=None if report is None else lambda done, n: report("rounds", done, n),
        )
    warn(score.warnings)
    if json:
        print_json(_record(score))
    else:
        _print(score)


def _whole(text: str) -> int:
    """A positive whole number, with or without an exponent; raises ConfigError."""
    number = Fraction(text) if _NUMBER.fullmatch(text) else Fraction(0)
    if number <= 0 or number.denominator > 1:
        raise ConfigError(
            f"--rounds '{text}' is no positive whole number: write 1000000, 1_000_000 or 1e6"
        )
    return int(number)


def _record(score: StreamedScore) -> dict[str, Any]:
    mean, half_width, value = _figures(score.slip_cents)
    return {
        "rules": score.rules.name,
        "rules_hash": score.rules.rules_hash,
        "slip": dict(score.slip.stakes),
        "seats": score.n_seats,
        "seed": score.seed,
        "rounds": score.n_rounds,
        "rounds_resumed": score.n_resumed,
        "seconds": score.seconds,
        "rounds_per_second": score.rounds_per_second,
        "level": score.slip_cents.estimate.level,
        "boxes": {box: _box_record(compared) for box, compared in score.boxes.items()},
        "slip_values": {
            "ev_cents": mean,
            "half_width": half_width,
            "ev_cents_exact": exact(value),
            "ev_cents_exact_float": float(value),
        },
        "outcomes": {
            outcome.name.lower(): {
                "count": seen.count,
                "share": seen.share,
                "share_exact": exact(seen.exact),
                "share_exact_float": float(seen.exact),
            }
            for outcome, seen in score.outcomes.items()
        },
        "warnings": list(score.warnings),
    }


def _box_record(compared: Compared) -> dict[str, Any]:
    mean, half_width, value = _figures(compared)
    return {
        "ev": mean,
        "half_width": half_width,
        "ev_exact": exact(value),
        "ev_exact_float": float(value),
    }


def _figures(compared: Compared) -> tuple[float, float, Fraction]:
    return compared.estimate.mean, compared.estimate.half_width, compared.exact


def _print(score: StreamedScore) -> None:
    rules, out = score.rules, console()
    out.print(f"[bold]{rules.name}[/bold]  {rules.title}  [dim](hash {rules.rules_hash})[/dim]")
    out.print(f"{score.n_rounds:,} rounds of {score.n_seats} seat(s), seed {score.seed}")
    if score.rounds_per_second is not None:
        out.print(f"{score.seconds:.1f} s, {score.rounds_per_second:,.0f} rounds/s")
    if score.n_resumed:
        out.print(f"{score.n_resumed:,} of the rounds were read from the checkpoint")
    level = f"± at {100 * score.slip_cents.estimate.level:g} %"
    columns = ("EV", level, "EV exactly", "exactly", "inside")
    boxes = table("\nBoxes, per unit staked", "box", *columns)
    for box, compared in score.boxes.items():
        boxes.add_row(box, *_cells(compared))
    out.print(boxes)
    slip = table("Slip, cents per seat and round", "stakes, cents", *columns)
    slip.add_row(str(score.slip), *_cells(score.slip_cents))
    out.print(slip)
    outcomes = table("Rounds of a seat", "outcome", "count", "share", "exactly")
    for outcome, seen in score.outcomes.items():
        shares = (f"{seen.share:.9f}", f"{float(seen.exact):.9f}")
        outcomes.add_row(outcome.name.lower(), f"{seen.count:,}", *shares)
    out.print(outcomes)


def _cells(compared: Compared) -> tuple[str, ...]:
    mean, half_width, value = _figures(compared)
    is_inside = "yes" if compared.is_inside else "no"
    return (f"{mean:+.8f}", f"{half_width:.8f}", f"{float(value):+.8f}", exact(value), is_inside)
