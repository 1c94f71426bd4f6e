"""Tables about play logs on the screen."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from niulab.cli.output import console, percent, table

if TYPE_CHECKING:
    from niulab.evaluation.playlog.store.importing import Checked
    from niulab.evaluation.playlog.store.manifest import Counts
    from niulab.evaluation.playlog.store.stats import StoreStats

__all__ = ["flag_names", "print_check", "print_counts", "print_stats"]

_MOST_REASONS = 10


def print_counts(title: str, counts: Counts) -> None:
    listing = table(
        title, "rows", "", note="read = kept + duplicates + quarantined + blank + headers"
    )
    for name, n in asdict(counts).items():
        listing.add_row("of these late" if name == "late" else name, f"{n:,}")
    console().print(listing)


def print_check(found: Checked) -> None:
    print_counts("Checked", found.counts)
    for title, figures in (("Reasons", found.reasons), ("Flags", found.rows_by_flag)):
        rows = sorted(((n, name) for name, n in figures.items() if n), reverse=True)
        if not rows:
            continue
        listing = table(title, "", "rows")
        for n, name in rows[:_MOST_REASONS]:
            listing.add_row(_plain(name), f"{n:,}")
        if len(rows) > _MOST_REASONS:
            listing.add_row("others", f"{sum(n for n, _ in rows[_MOST_REASONS:]):,}")
        console().print(listing)


def print_stats(found: StoreStats) -> None:
    listing = table(f"Version {found.version}", "", "")
    span = f"{found.first_time or '?'} to {found.last_time or '?'}"
    for name, text in (
        ("rows", f"{found.n_plays:,}"),
        ("with a stake", f"{found.n_staked:,}"),
        ("rounds", f"{found.n_rounds:,}"),
        ("rounds missing by their numbers", f"{found.missing_rounds:,}"),
        ("players", f"{found.n_players:,}"),
        ("tables", f"{found.n_tables:,}"),
        ("dealers", f"{found.n_dealers:,}"),
        ("time", span),
        ("rows with a late stake", f"{found.n_late_stakes:,}"),
        ("bytes a row", f"{found.bytes_on_disk / max(found.n_plays, 1):.1f}"),
    ):
        listing.add_row(name, text)
    console().print(listing)
    money = table("Cents", "box", "stakes", "players' nets", "residuals")
    for box, cents in found.stake_cents.items():
        money.add_row(
            box, f"{cents:,}", f"{found.net_cents[box]:,}", f"{found.residual_cents[box]:,}"
        )
    console().print(money)
    shares = table("Recorded", "column", "of rows")
    for name, share in found.recorded.items():
        shares.add_row(name, percent(share, 1))
    console().print(shares)
    flags = [(name, n) for name, n in found.rows_by_flag.items() if n]
    if flags:
        flagged = table("Flags", "", "rows")
        for name, n in flags:
            flagged.add_row(_plain(name), f"{n:,}")
        console().print(flagged)


def flag_names(flags: int) -> str:
    from niulab.evaluation.playlog.plays import Flag

    return ", ".join(_plain(flag.name or "") for flag in Flag if flags & flag)


def _plain(name: str) -> str:
    return name.lower().replace("_", " ") if name.isupper() else name
