"""``niulab detect``: whether stakes of a log carried information about cards not yet dealt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from niulab.cli.output import (
    JsonFlag,
    Report,
    command_line,
    console,
    examples,
    print_json,
    progress_bar,
    table,
    warn,
)
from niulab.errors import ConfigError

if TYPE_CHECKING:
    from niulab.engine.rules import RuleSet
    from niulab.evaluation.detection.monitoring.judging import Judged
    from niulab.evaluation.logged.comparing import Named
    from niulab.evaluation.playlog.store.folder import Store

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab detect night.csv --rules single-double-super",
    "niulab detect plays --state watch --report reports/floor",
    "niulab detect plays --groups groups.toml --json > verdicts.json",
    "niulab detect plays --state watch --workers 2",
    "niulab detect plays --labels runs/floor/labels.csv   [dim]# of a simulated log[/dim]",
)

_MOST_ROWS = 25


def run(
    log: Annotated[
        Path,
        typer.Argument(help="Folder of a store, or a flat log: CSV or JSON Lines.", metavar="LOG"),
    ],
    rules: Annotated[
        str | None,
        typer.Option(help="Sheet of rows that name none, or one of your own that the log names."),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Chance that an honest player ever raises an alarm.")
    ] = 1e-3,
    fdr: Annotated[float, typer.Option(help="Share of honest players on the list.")] = 0.05,
    state: Annotated[
        Path | None,
        typer.Option(help="Folder of what is kept, so that only new rows are read.", metavar="DIR"),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML report here.", metavar="DIR")
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(help="Groups declared to play together, a .toml file.", metavar="FILE"),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Labels of a simulated log, to compare with.", metavar="FILE"),
    ] = None,
    workers: Annotated[int, typer.Option(help="Parts folded at a time.", min=1)] = 1,
    engine: Annotated[
        Literal["processes", "ray"], typer.Option(help="Where they are folded.")
    ] = "processes",
    address: Annotated[str | None, typer.Option(help="A Ray to join.", metavar="HOST:PORT")] = None,
    json: JsonFlag = False,
) -> None:
    """Judge the players of a log: did their stakes know cards not yet dealt?

    The guarantee holds however often and whenever this is run: an honest player
    raises an alarm with probability alpha at most. An alarm is a reason to look
    at recordings, and no proof of who did what.
    """
    from niulab.engine.rules import load_rules
    from niulab.evaluation.detection.monitoring.judging import judge_log, read_groups
    from niulab.evaluation.detection.monitoring.monitor import monitor
    from niulab.evaluation.detection.verdict import verify_levels
    from niulab.evaluation.logged.comparing import read_labels
    from niulab.parallel import verify_engine

    verify_levels(alpha, fdr)
    verify_engine(engine, workers, address)
    sheet = load_rules(rules) if rules else None
    declared = read_groups(groups) if groups else []
    known = read_labels(labels) if labels else None
    with progress_bar() as progress, _kept(state) as folder:
        store = _store(log, folder, sheet, progress)
        monitored = monitor(
            store, folder / "states", rules=[sheet] if sheet else (), alpha=alpha, engine=engine,
            workers=workers, address=address, progress=progress,
        )  # fmt: skip
        judged = judge_log(monitored, fdr=fdr, groups=declared)
        compared = _compared(judged, known) if known is not None else {}
        page = None
        if report is not None:
            from niulab.evaluation.detection.report import write_report

            page = write_report(judged, report, command=command_line())
    warn(judged.data_quality["warnings"])
    if json:
        labelled = {name: one.as_dict() for name, one in compared.items()}
        print_json(judged.as_dict() | ({"labels": labelled} if compared else {}))
    else:
        _print(judged, page, compared)


@contextmanager
def _kept(state: Path | None) -> Iterator[Path]:
    if state is not None:
        if state.exists() and not state.is_dir():
            raise ConfigError(f"--state '{state}' is a file: give a folder")
        yield state
        return
    with TemporaryDirectory(prefix="niulab-") as folder:
        yield Path(folder)


def _store(log: Path, folder: Path, sheet: RuleSet | None, progress: Report | None) -> Store:
    """The store in a folder, or a flat log imported into one beside the states."""
    from niulab.evaluation.playlog.chunk import ReadOptions
    from niulab.evaluation.playlog.store.folder import begin_store, open_store
    from niulab.evaluation.playlog.store.importing import import_log

    if not log.exists():
        raise ConfigError(f"no log '{log}': give the folder of a store, or a flat log")
    if log.is_dir():
        store = open_store(log)
    else:
        declared = {sheet.name: sheet} if sheet else {}
        options = ReadOptions(rules=declared, default_rules=sheet)
        with begin_store(folder / "log") as store:
            import_log([log], store, options=options, progress=progress)
    if not store.manifest.n_plays and log.is_dir():
        raise ConfigError(f"the store in '{log}' holds no rows: niulab log import brings some in")
    if not store.manifest.n_plays:
        raise ConfigError(f"no row of '{log}' could be kept: see niulab log check {log}")
    return store


def _compared(judged: Judged, labels: Mapping[str, str]) -> dict[str, Named]:
    """Those listed and those with an alarm beside the labels; declared groups are left out."""
    from niulab.evaluation.logged.comparing import compare

    verdicts = [one for one in judged.verdicts if one.player not in judged.groups]
    players = [one.player for one in verdicts]
    return {
        "listed": compare(labels, players, [one.player for one in verdicts if one.is_listed]),
        "alarm": compare(labels, players, [one.player for one in verdicts if one.is_alarm]),
    }


def _print(judged: Judged, page: Path | None, compared: Mapping[str, Named]) -> None:
    out = console()
    listing = table(
        "Players by e-value", "player", "rounds", "ln E", "", "explained by", "excess per 100",
        "net cents",
        note=f"alarm: E has reached 1/{judged.alpha:g}; list: false discovery rate {judged.fdr:g}",
    )  # fmt: skip
    for verdict in judged.verdicts[:_MOST_ROWS]:
        marks = [
            "alarm" if verdict.is_alarm else "held" if verdict.held else "",
            "listed" if verdict.is_listed else "",
            "amber" if verdict.is_amber and not verdict.is_alarm else "",
        ]
        attack, share = next(iter(verdict.explanations.items()))
        low, high = verdict.low, verdict.high
        listing.add_row(
            verdict.player,
            f"{verdict.rounds:,}",
            f"{verdict.log_e:.2f}",
            " ".join(mark for mark in marks if mark),
            f"{attack} {share:.0%}" if verdict.is_amber else "",
            f"{low:.0f} to {high:.0f} units" if low is not None and high is not None else "",
            f"{verdict.net_cents:,}",
        )
    out.print(listing)
    if len(judged.verdicts) > _MOST_ROWS:
        out.print(f"... and {len(judged.verdicts) - _MOST_ROWS:,} more with --json")
    for verdict in judged.verdicts:
        if verdict.is_alarm or verdict.is_listed or verdict.held:
            out.print(f"{verdict.player}: {verdict.words}", markup=False)
    found = ", ".join(
        f"{name.replace('_', ' ')} {len(rows):,}" for name, rows in judged.audit.items()
    )
    out.print(f"audit: {found}", markup=False)
    for name, one in compared.items():
        power = "" if one.power is None else f", power {one.power:.3f}"
        out.print(
            f"labels: {name} {one.named:,}, of {one.attackers:,} attackers {one.right:,}: "
            f"{one.false_share:.3f} of those named are honest{power}",
            markup=False,
        )
    if page is not None:
        out.print(f"report: {page}", markup=False)
