"""``niulab simulate``: rounds by the billion beside the exact values, or a floor's labelled log."""

from __future__ import annotations

import re
from collections import Counter
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
    "niulab simulate --players floor --log runs/floor   [dim]# plays.csv, labels.csv[/dim]",
)

_NUMBER = re.compile(r"[0-9]+(_[0-9]+)*(\.[0-9]+)?([eE]\+?[0-9]{1,2})?")


def run(
    rules: Annotated[
        str | None,
        typer.Argument(
            help="A shipped name or the path of a rules file; not with --players.",
            metavar="RULES",
            show_default=False,
        ),
    ] = None,
    rounds: Annotated[
        str | None,
        typer.Option(
            help="Rounds to play, as 1e9 or 1_000_000. Default: 1e7, or the players file's.",
            metavar="N",
        ),
    ] = None,
    slip: Annotated[
        str | None,
        typer.Option(
            help="Every seat's stakes in cents, as single=100,super=40. Default: the least.",
            metavar="STAKES",
        ),
    ] = None,
    seats: Annotated[int, typer.Option(help="Seats at the table.", min=1)] = 1,
    threads: Annotated[int, typer.Option(help="Threads; they change no total.", min=1)] = 1,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of the deals. Default: 0, or the players file's.", min=0),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File that keeps the totals, and from which the same command goes on.",
            metavar="FILE",
        ),
    ] = None,
    players: Annotated[
        str | None,
        typer.Option(
            help="A shipped floor of players, or the path of its TOML file.", metavar="NAME"
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Folder for the floor's plays and labels.csv.", metavar="DIR"),
    ] = None,
    log_format: Annotated[
        str, typer.Option("--format", help="Of the plays: csv or parquet.", metavar="FORMAT")
    ] = "csv",
    json: JsonFlag = False,
) -> None:
    """Play rounds in constant memory and show their mean results beside the exact ones.

    Both hands are best set. The same seed gives the same totals for any number
    of threads, and whether or not the run was interrupted and resumed.

    With --players and --log: play a floor of many players, some of whom know
    more than they should, and write the log of all plays with a label for
    every player.
    """
    if players is not None or log is not None:
        for name, given in (
            ("RULES", rules),
            ("--slip", slip),
            ("--checkpoint", checkpoint),
            ("--seats", None if seats == 1 else seats),
            ("--threads", None if threads == 1 else threads),
        ):
            if given is not None:
                raise ConfigError(
                    f"{name} does not go with --players: the file of players says who plays what"
                )
        _log_floor(players, log, log_format, rounds=rounds, seed=seed, as_json=json)
        return
    if rules is None:
        raise ConfigError(
            "RULES is missing: name a sheet, as 'single-double-super', or give --players and --log"
        )
    if log_format != "csv":
        raise ConfigError("--format says how plays are written: give --players and --log too")
    n_rounds = _whole("1e7" if rounds is None else rounds)
    from niulab.evaluation.streaming import simulate_stream

    with progress_bar(with_eta=True) as report:
        score = simulate_stream(
            rules,
            slip,
            n_rounds=n_rounds,
            n_seats=seats,
            threads=threads,
            seed=seed or 0,
            checkpoint=checkpoint,
            progress=None if report is None else lambda done, n: report("rounds", done, n),
        )
    warn(score.warnings)
    if json:
        print_json(_record(score))
    else:
        _print(score)


def _log_floor(
    players: str | None,
    log: Path | None,
    log_format: str,
    *,
    rounds: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Write a floor's labelled log and say what was written."""
    if players is None or log is None:
        raise ConfigError("--players and --log belong together: say who plays and where to")
    if log_format not in {"csv", "parquet"}:
        raise ConfigError(f"--format is csv or parquet, got '{log_format}'")
    from niulab.evaluation.logged.config import read_floor
    from niulab.evaluation.logged.writing import write_floor
    from niulab.solvers.values import player_edges

    floor = read_floor(players).changed(
        rounds=None if rounds is None else _whole(rounds), seed=seed
    )
    warnings = player_edges(floor.rules)
    warn(warnings)
    with progress_bar(with_eta=True) as report:
        written = write_floor(
            floor,
            log,
            log_format="csv" if log_format == "csv" else "parquet",
            progress=None if report is None else lambda done, n: report("rounds", done, n),
        )
    attacks = dict(sorted(Counter(one.attack for one in written.labels if one.attack).items()))
    n_players = len(written.labels)
    if as_json:
        record = {
            "plays": str(written.plays_path),
            "labels": str(written.labels_path),
            "rules": floor.rules.name,
            "rules_hash": floor.rules.rules_hash,
            "seed": floor.seed,
            "rounds": floor.rounds,
            "rows": written.n_rows,
            "players": n_players,
            "attacks": attacks,
            "warnings": warnings,
        }
        print_json(record)
        return
    out = console()
    out.print(f"[bold]{floor.title}[/bold]  {floor.rules.name}, seed {floor.seed}")
    out.print(f"{written.n_rows:,} plays of {n_players:,} players in {floor.rounds:,} rounds")
    found = table("\nAttackers, partners among them", "attack", "players")
    for attack, n in attacks.items():
        found.add_row(attack, f"{n:,}")
    out.print(found)
    out.print(f"{written.plays_path}\n{written.labels_path}")


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
