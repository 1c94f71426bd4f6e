"""What lies in a store: sizes, money, flags, how much was recorded, and rounds that are missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np

from niulab.evaluation.playlog.plays import BOXES, Flag
from niulab.evaluation.playlog.store.columns import PLAYS
from niulab.evaluation.playlog.store.database import DEFAULT_MEMORY, database, parquet
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.manifest import Counts
from niulab.evaluation.playlog.store.merging import PLAYERS, ROUNDS

__all__ = ["Gap", "StoreStats", "iso_text", "missing_rounds", "store_stats"]

_MOST_GAPS = 1_000
_RECORDED = {
    "cards": "cards",
    "dealer_cards": "dealer_cards",
    "pair": "pair",
    "dealer_pair": "dealer_pair",
    "cards_shown": "cards_shown",
    "time": "time",
    "bet_time": "bet_time",
    "close_time": "close_time",
}


@dataclass(frozen=True)
class Gap:
    """Numbers missing among the round ids of a table ("" where ids run over all tables).

    prefix: what stands before the number in the ids. missing = last - first + 1 - n_rounds.
    """

    table: str
    prefix: str
    first: int
    last: int
    n_rounds: int
    missing: int


@dataclass(frozen=True, kw_only=True)
class StoreStats:
    """Money is in cents by box; times are ISO-8601 (UTC), None where no row has one.

    rows_by_flag: rows with each flag. recorded: the share of rows that know a column.
    n_late_stakes: rows whose stake changed after the close. n_tied_rounds: players' rounds beside
    another of theirs at the same time, or without one: no clock tells their order. gaps: where ids
    end in a number, the first 1,000; missing_rounds: of all. Ids that are one sequence over all
    tables are counted so.
    """

    version: int
    n_plays: int
    n_staked: int
    n_rounds: int
    n_players: int
    n_tables: int
    n_dealers: int
    first_time: str | None
    last_time: str | None
    stake_cents: dict[str, int]
    net_cents: dict[str, int]
    residual_cents: dict[str, int]
    n_late_stakes: int
    n_tied_rounds: int
    rows_by_flag: dict[str, int]
    rows_by_rules: dict[str, int]
    recorded: dict[str, float]
    gaps: list[Gap]
    missing_rounds: int
    counts: Counts
    warnings: dict[str, int]
    months: list[str]
    n_buckets: int
    bytes_on_disk: int


def store_stats(store: Store, *, memory: str = DEFAULT_MEMORY) -> StoreStats:
    """Figures of all rows of a store, in one pass over its files."""
    manifest = store.manifest
    with TemporaryDirectory(prefix="niulab-") as spill, database(Path(spill), memory=memory) as db:
        db.execute(f"CREATE VIEW plays AS SELECT * FROM {parquet(store.files('plays'), PLAYS)}")
        db.execute(f"CREATE VIEW rounds AS SELECT * FROM {parquet(store.files('rounds'), ROUNDS)}")
        row = _one(db, f"SELECT {', '.join(_figures())} FROM plays")
        of_rounds = _one(
            db, 'SELECT count(*) AS n, count(DISTINCT "table") AS n_tables, '
            "count(DISTINCT dealer) AS n_dealers FROM rounds"
        )  # fmt: skip
        players = _one(db, f"SELECT count(*) AS n FROM {parquet(store.files('players'), PLAYERS)}")
        rules = db.execute(
            "SELECT coalesce(rules, ''), count(*) FROM plays GROUP BY 1 ORDER BY 1"
        ).fetchall()
        gaps, missing = _gaps(db)
        tied = _one(db, _tied_rounds())
    n = row["n"]
    return StoreStats(
        version=manifest.version,
        n_plays=n,
        n_staked=row["n_staked"],
        n_rounds=of_rounds["n"],
        n_players=players["n"],
        n_tables=of_rounds["n_tables"],
        n_dealers=of_rounds["n_dealers"],
        first_time=iso_text(row["first_time"]),
        last_time=iso_text(row["last_time"]),
        stake_cents={box: row[f"stake_{box}"] for box in BOXES},
        net_cents={box: row[f"net_{box}"] for box in BOXES},
        residual_cents={box: row[f"residual_{box}"] for box in BOXES},
        n_late_stakes=row["n_late_stakes"],
        n_tied_rounds=tied["n"],
        rows_by_flag={flag.name or "": row[f"flag_{flag.name}"] for flag in Flag},
        rows_by_rules=dict(rules),
        recorded={name: row[f"has_{name}"] / n if n else 0.0 for name in _RECORDED},
        gaps=gaps,
        missing_rounds=missing,
        counts=manifest.counts,
        warnings=manifest.warnings,
        months=manifest.months,
        n_buckets=manifest.buckets,
        bytes_on_disk=sum(file.size for file in manifest.files),
    )


def missing_rounds(store: Store, *, memory: str = DEFAULT_MEMORY) -> tuple[list[Gap], int]:
    """Gaps in the numbers of round ids, the first 1,000, and how many rounds are missing in all."""
    with TemporaryDirectory(prefix="niulab-") as spill, database(Path(spill), memory=memory) as db:
        db.execute(f"CREATE VIEW rounds AS SELECT * FROM {parquet(store.files('rounds'), ROUNDS)}")
        return _gaps(db)


def iso_text(micros: int | None) -> str | None:
    """A time in microseconds as ISO-8601 in UTC; None for none."""
    if micros is None:
        return None
    return f"{np.datetime_as_string(np.datetime64(micros, 'us'), unit='s')}Z"


_STAKED = " + ".join(f'"{box}"' for box in BOXES)
_CHANGED = " OR ".join(f"late_{box} <> 0" for box in BOXES)


def _tied_rounds() -> str:
    played = (
        'SELECT DISTINCT player, time, hash("table", round_id) AS k FROM plays '
        f"WHERE {_STAKED} > 0 OR {_CHANGED}"
    )
    together = f"SELECT count(*) AS n FROM ({played}) GROUP BY player, time"
    return f"SELECT coalesce(sum(n), 0)::BIGINT AS n FROM ({together}) WHERE n > 1"


def _figures() -> list[str]:
    figures = [
        "count(*) AS n",
        f"count(*) FILTER ({_STAKED} > 0) AS n_staked",
        f"count(*) FILTER ({_CHANGED}) AS n_late_stakes",
        "epoch_us(min(time)) AS first_time",
        "epoch_us(max(time)) AS last_time",
    ]
    for box in BOXES:
        figures += [
            f'coalesce(sum("{box}"), 0)::BIGINT AS stake_{box}',
            f"coalesce(sum(net_{box}), 0)::BIGINT AS net_{box}",
            f"coalesce(sum(residual_{box}), 0)::BIGINT AS residual_{box}",
        ]
    figures += [f"count(*) FILTER (flags & {int(f)} <> 0) AS flag_{f.name}" for f in Flag]
    return figures + [f'count("{column}") AS has_{name}' for name, column in _RECORDED.items()]


def _one(db: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    found = db.sql(query)
    [row] = found.fetchall()
    return dict(zip(found.columns, row, strict=True))


def _gaps(db: duckdb.DuckDBPyConnection) -> tuple[list[Gap], int]:
    """Gaps in the numbers at the ends of round ids, by table or over all: where fewer lack."""
    db.execute(
        'CREATE TEMP TABLE ids AS SELECT place AS "table", id.prefix AS prefix, '
        "try_cast(id.number AS BIGINT) AS number FROM (SELECT coalesce(\"table\", '') AS place, "
        r"regexp_extract(round_id, '^(.*?)(\d{1,18})$', ['prefix', 'number']) AS id FROM rounds)"
    )
    best: tuple[list[Gap], int] | None = None
    for table in ('"table"', "''"):
        db.execute(
            f"CREATE OR REPLACE TEMP TABLE spans AS SELECT {table} AS place, prefix, "
            "min(number) AS low, max(number) AS high, count(DISTINCT number) AS n FROM ids "
            "WHERE number IS NOT NULL GROUP BY 1, 2"
        )
        [(missing,)] = db.execute(
            "SELECT coalesce(sum(high - low + 1 - n), 0)::BIGINT FROM spans"
        ).fetchall()
        if best is None or missing < best[1]:
            rows = db.execute(
                "SELECT place, prefix, low, high, n, high - low + 1 - n AS missing FROM spans "
                f"WHERE missing > 0 ORDER BY place, prefix LIMIT {_MOST_GAPS}"
            ).fetchall()
            best = [Gap(*row) for row in rows], missing
    return best or ([], 0)
