"""One bucket of players, folded version by version and month by month: what a worker does."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from niulab.evaluation.detection.excess import fold_excess, round_gains
from niulab.evaluation.detection.fold import fold
from niulab.evaluation.detection.monitoring.audits import RECORDED, Audits
from niulab.evaluation.detection.monitoring.people import People
from niulab.evaluation.detection.monitoring.sources import (
    Sheets,
    are_among,
    column_hashes,
    round_hashes,
)
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.scores import round_starts
from niulab.evaluation.playlog.flat import TIMES
from niulab.evaluation.playlog.plays import Flag, Plays
from niulab.evaluation.playlog.store.columns import HANDS, MONEY, plays_of, utc_times
from niulab.evaluation.playlog.store.manifest import write_atomically

__all__ = [
    "BucketPiece",
    "BucketTask",
    "FoldedBucket",
    "fold_bucket",
    "fold_people",
    "read_portfolio",
    "write_portfolio",
]

Floats = NDArray[np.float64]

_TEXTS = ("player", "table", "dealer", "rules", "void")
_COLUMNS = (
    *_TEXTS, "round_id", *TIMES, "seat", "flags", *MONEY, *HANDS,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class BucketPiece:
    """A bucket's files of a part. given: by slice, the files of places and of factors that need
    whole rounds, and where the bucket's begin and end in them. known: as of ``RoundsTask``.
    """

    version: int
    paths: tuple[Path, ...]
    given: tuple[tuple[Path, Path, int, int], ...]
    known: Path | None


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketTask:
    """What to fold into which states.

    before: the states so far, None for none; after: where the new ones go. rules: names of sheets
    by the store's codes. portfolio: its file.
    """

    bucket: int
    pieces: tuple[BucketPiece, ...]
    before: Path | None
    after: Path
    sheets: Sheets
    rules: tuple[str, ...]
    portfolio: Path
    alpha: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldedBucket:
    """What a bucket's rows were, by version."""

    bucket: int
    audits: dict[int, Audits]

    @property
    def n_rows(self) -> int:
        """Rows folded."""
        return sum(one.n_rows for one in self.audits.values())


def write_portfolio(portfolio: Portfolio, path: Path) -> None:
    """For workers: making one takes longer than reading it."""
    path.write_bytes(pickle.dumps(portfolio))


@lru_cache(maxsize=2)
def read_portfolio(path: Path) -> Portfolio:
    """What ``write_portfolio`` wrote in this run; kept."""
    portfolio: Portfolio = pickle.loads(path.read_bytes())  # noqa: S301 - written by this run
    return portfolio


def fold_bucket(task: BucketTask) -> FoldedBucket:
    """Fold a bucket and write its states whole."""
    portfolio = read_portfolio(task.portfolio)
    people = People.read(task.before) if task.before else People.fresh((), portfolio)
    found = FoldedBucket(bucket=task.bucket, audits={})
    for piece in task.pieces:
        audits = found.audits.setdefault(piece.version, Audits())
        given = _Given(piece, portfolio.n_given)
        for first, table in _chunks(piece.paths):
            plays = task.sheets.recode(_plays(table, task.rules))
            rounds = _round_hashes(table)
            people = people.with_names(plays.texts.players, portfolio)
            go_on = _go_on(people, plays, rounds, piece.known)
            audits.add_rows(
                plays, task.sheets.rules, is_new=~go_on,
                recorded={name: len(table) - table[name].null_count for name in RECORDED},
            )  # fmt: skip
            odd = _maybe_odd(plays)
            if len(odd):
                audits.add_odd(
                    task.sheets.recode(plays_of(table.take(pa.array(odd)), task.rules)),
                    task.sheets.rules,
                )
            factors = given.of_rows(first, len(table))
            order = _by_player(plays)
            if order is not None:
                plays, rounds, factors = plays.take(order), rounds[order], factors[order]
                go_on = go_on[order]
            people = fold_people(
                portfolio, people, plays, factors, rounds, alpha=task.alpha, go_on=go_on
            )
    write_atomically(task.after, people.as_bytes())
    return found


class _Given:
    """Factors of a bucket's rows, out of the files of all slices."""

    def __init__(self, piece: BucketPiece, n_given: int) -> None:
        self._n = n_given
        self._slices = [
            (np.fromfile(rows, np.int32, high - low, offset=4 * low), factors, low)
            for rows, factors, low, high in piece.given
            if high > low
        ]

    def of_rows(self, first: int, n: int) -> Floats:
        """Those of n rows, (n, n_given); ones where nothing was kept."""
        given = np.ones((n, self._n))
        for rows, path, begin in self._slices:
            low, high = np.searchsorted(rows, [first, first + n]).tolist()
            size = (high - low) * self._n
            if size:
                at = 8 * self._n * (begin + low)
                given[rows[low:high] - first] = np.fromfile(
                    path, np.float64, size, offset=at
                ).reshape(-1, self._n)
        return given


def _chunks(paths: Sequence[Path]) -> Iterator[tuple[int, pa.Table]]:
    """Rows by row group, no round of a player in two, and where each begins.

    A part that lies in several files comes at once: together they are in no order.
    """
    if len(paths) > 1:
        yield 0, pa.concat_tables([_read(pq.ParquetFile(path, read_dictionary=_TEXTS), None)
                                   for path in paths])  # fmt: skip
        return
    file = pq.ParquetFile(paths[0], read_dictionary=_TEXTS)
    first, held = 0, None
    for group in range(file.num_row_groups):
        table = _read(file, group)
        if held is not None:
            table = pa.concat_tables([held, table])
        is_last = group == file.num_row_groups - 1
        cut = len(table) if is_last else _start_of_last(table)
        yield first, table.slice(0, cut)
        first, held = first + cut, table.slice(cut)


def _read(file: pq.ParquetFile, group: int | None) -> pa.Table:
    columns = list(_COLUMNS)
    table = file.read(columns) if group is None else file.read_row_group(group, columns)
    return utc_times(table)


def _start_of_last(table: pa.Table) -> int:
    """Where the last player begins, or if it is all his, his last round; all rows if it is one."""
    last, is_same = len(table) - 1, None
    for name in ("player", "round_id", "table"):
        column = table[name].cast(pa.string())
        same = pc.fill_null(pc.equal(column, column[last]), fill_value=False)
        is_same = same if is_same is None else pc.and_(is_same, same)
        others = np.flatnonzero(~np.asarray(is_same.to_numpy()))
        if len(others):
            return int(others[-1]) + 1
    return len(table)


def _plays(table: pa.Table, rules: Sequence[str]) -> Plays:
    """Rows whose rounds have codes that change from one to the next, and no texts: there is one a
    row, and hardly any is asked for.
    """
    rounds = _round_hashes(table)
    codes = np.cumsum(np.r_[False, rounds[1:] != rounds[:-1]], dtype=np.int32)
    return replace(plays_of(table.drop_columns(["round_id"]), rules), round=codes)


def _round_hashes(table: pa.Table) -> NDArray[np.uint64]:
    return column_hashes(table["table"], table["round_id"])


def _go_on(
    people: People, plays: Plays, rounds: NDArray[np.uint64], known: Path | None
) -> NDArray[np.bool_]:
    """Whether rows go on with a round that may be folded already of their player, who is one of
    ``people``; (n,).

    It is his last one; or an earlier version of the log brought the round, and it is no later
    than the last one.
    """
    codes = people.codes_of(plays.texts.players)[plays.player]
    goes_on: NDArray[np.bool_] = rounds == people.last_rounds[codes]
    if known is not None:
        is_past = (people.at_last[codes] > 0) & (plays.time <= people.last_times[codes])
        if is_past.any():
            goes_on |= is_past & ~are_among(rounds, known)
    return goes_on


def _maybe_odd(plays: Plays) -> NDArray[np.int64]:
    """Rows among which all lie whose payment or cover may be wrong, or whose round is void."""
    is_odd = (plays.flags & int(Flag.RESIDUAL | Flag.VOID)) != 0
    for column in range(2):
        is_odd |= (plays.stakes[:, column + 1] > 0) & (plays.cover[:, column] >= 0)
    return np.flatnonzero(is_odd)


def _by_player(plays: Plays) -> NDArray[np.int64] | None:
    """The order by player and time, None where rows stand in it; ties stay as they are."""
    player, time = plays.player, plays.time
    is_same = player[1:] == player[:-1]
    is_next = (player[1:] > player[:-1]) | (is_same & (time[1:] >= time[:-1]))
    return None if is_next.all() else np.lexsort((time, player))


def fold_people(
    portfolio: Portfolio,
    people: People,
    plays: Plays,
    given: Floats,
    rounds: NDArray[np.uint64] | None = None,
    *,
    alpha: float,
    go_on: NDArray[np.bool_] | None = None,
) -> People:
    """Fold rows sorted by player and time into the states of their players.

    Money counts in every row. Rows that came late, and further rows of a round that was folded,
    have factor one: they are left out, and their rounds are not counted. rounds: ``round_hashes``
    of the rows, where they are at hand. go_on: (n,), rows of rounds that were folded; by default
    those of the last one.
    """
    from niulab.evaluation.detection.kernels import keep_paths
    from niulab.evaluation.detection.monitoring.kernels import count_ties

    rounds = round_hashes(plays) if rounds is None else rounds
    people = people.with_names(plays.texts.players, portfolio)
    plays = replace(
        plays,
        player=people.codes_of(plays.texts.players)[plays.player],
        texts=replace(plays.texts, players=people.names),
    )
    nets = people.nets.copy()
    np.add.at(nets, plays.player, sum(plays.nets.T))
    is_late = (plays.flags & int(Flag.LATE_ROW)) != 0
    if go_on is None:
        go_on = rounds == people.last_rounds[plays.player]
    counts = ~is_late & ~go_on
    # who sits by tells nothing, and turns no clock
    counts &= np.logical_or.reduce([column != 0 for column in (*plays.stakes.T, *plays.late.T)])
    if not counts.any():
        return replace(people, nets=nets)
    if not counts.all():
        plays, given, rounds = plays.take(counts), given[counts], rounds[counts]
    together = _rounds_together(plays, rounds)
    if together is not None:
        order, numbers = together
        given, rounds = given[order], rounds[order]
        plays = replace(plays.take(order), round=numbers)
    before = people.states.n_rounds
    folded = fold(portfolio, people.states, plays, alpha=alpha, given=given)
    starts = folded.starts
    gains = round_gains(plays, starts, folded.results, portfolio.sheets)
    paths, strides = people.paths.copy(), people.strides.copy()
    keep_paths(starts.players, starts.codes, before, folded.log_es, paths, strides)
    last_rounds = people.last_rounds.copy()
    last_rounds[starts.codes] = rounds[starts.rounds[starts.players[1:] - 1]]
    clock = people.last_times.copy(), people.at_last.copy(), people.ties.copy()
    count_ties(starts.players, starts.codes, plays.time[starts.rounds[:-1]], *clock)
    return replace(
        people,
        states=folded.states,
        excess=fold_excess(people.excess, starts, gains),
        nets=nets,
        last_rounds=last_rounds,
        paths=paths,
        strides=strides,
        last_times=clock[0],
        at_last=clock[1],
        ties=clock[2],
    )


def _rounds_together(
    plays: Plays, rounds: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
    """The order of rows by player and time with the seats of a round side by side, and codes of
    their rounds; None if they stand so.

    Rounds of one player at one time stand in the order first met.
    """
    starts = round_starts(plays)
    heads = starts.rounds[:-1]
    keys = np.sort(_keys(plays.player[heads], rounds[heads]))
    if (keys[1:] != keys[:-1]).all():
        return None
    _, first, inverse = np.unique(
        _keys(plays.player, rounds), return_index=True, return_inverse=True
    )
    order = np.argsort(first[inverse], kind="stable")
    return order, inverse[order].astype(np.int32)


def _keys(players: NDArray[np.int32], rounds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each player and round, from hashes of rounds."""
    keys: NDArray[np.uint64] = rounds ^ (
        (players.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    )
    return keys
