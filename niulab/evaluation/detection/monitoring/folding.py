"""One bucket of players, folded version by version: what a worker does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.excess import fold_excess, round_gains
from niulab.evaluation.detection.fold import fold
from niulab.evaluation.detection.monitoring.people import People
from niulab.evaluation.detection.monitoring.sources import Sheets, row_keys
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.scores import round_starts
from niulab.evaluation.detection.watch import watch_portfolio
from niulab.evaluation.playlog.plays import Flag, Plays
from niulab.evaluation.playlog.store.folder import open_store
from niulab.evaluation.playlog.store.loading import bucket_plays
from niulab.evaluation.playlog.store.manifest import write_atomically

__all__ = ["BucketTask", "fold_bucket", "fold_people", "portfolio_of", "read_given"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketTask:
    """What to fold into which states.

    versions: by version of the store, its files of this bucket and the folder with the factors that
    need whole rounds. before: the states so far, None for none; after: where the new ones go.
    """

    store: Path
    bucket: int
    versions: tuple[tuple[tuple[Path, ...], tuple[Path, ...]], ...]
    before: Path | None
    after: Path
    sheets: Sheets
    ordered: bool
    alpha: float


@lru_cache(maxsize=4)
def _portfolio(hashes: tuple[str, ...], ordered: bool) -> Portfolio:  # noqa: FBT001 - a key
    return watch_portfolio(_SHEETS[hashes], ordered=ordered)


_SHEETS: dict[tuple[str, ...], tuple[RuleSet, ...]] = {}


def portfolio_of(sheets: Sequence[RuleSet], *, ordered: bool) -> Portfolio:
    """The portfolio that a log of these sheets is watched with; kept."""
    hashes = tuple(rules.rules_hash for rules in sheets)
    _SHEETS[hashes] = tuple(sheets)
    return _portfolio(hashes, ordered)


def fold_bucket(task: BucketTask) -> tuple[int, int]:
    """Fold a bucket and write its states whole; returns its players and the rows folded."""
    portfolio = portfolio_of(task.sheets.rules, ordered=task.ordered)
    people = People.read(task.before) if task.before else People.fresh((), portfolio)
    store = open_store(task.store)
    n_rows = 0
    for paths, spilled in task.versions:
        plays = task.sheets.recode(bucket_plays(store, paths))
        given = read_given(spilled, row_keys(plays), portfolio.n_given)
        people = fold_people(portfolio, people, plays, given, alpha=task.alpha)
        n_rows += len(plays)
    write_atomically(task.after, people.as_bytes())
    return len(people), n_rows


def read_given(paths: Sequence[Path], keys: NDArray[np.uint64], n_given: int) -> Floats:
    """Factors (n, n_given) by row; ones where nothing was kept."""
    given = np.ones((len(keys), n_given))
    order = np.argsort(keys)
    for path in paths:
        with np.load(path, allow_pickle=False) as file:
            kept, factors = file["keys"], file["factors"]
        at = np.searchsorted(keys, kept, sorter=order)
        rows = order[np.minimum(at, len(keys) - 1)]
        is_here = keys[rows] == kept
        given[rows[is_here]] = factors[is_here]
    return given


def fold_people(
    portfolio: Portfolio, people: People, plays: Plays, given: Floats, *, alpha: float
) -> People:
    """Fold one version's rows, sorted by player and time, into the states of their players.

    Money counts in every row. Rows that came late, and further rows of the last round folded, have
    factor one: they are left out, and their rounds are not counted.
    """
    from niulab.evaluation.detection.kernels import keep_paths

    people = people.with_names(plays.texts.players, portfolio)
    places = {name: place for place, name in enumerate(people.names)}
    codes = np.array([places[name] for name in plays.texts.players], dtype=np.int32)
    plays = replace(
        plays,
        player=codes[plays.player],
        texts=replace(plays.texts, players=people.names),
    )
    nets = people.nets.copy()
    np.add.at(nets, plays.player, plays.nets.sum(axis=1))
    rounds = row_keys(plays, with_player=False)
    is_late = (plays.flags & int(Flag.LATE_ROW)) != 0
    counts = ~is_late & (rounds != people.last_rounds[plays.player])
    # who sits by tells nothing, and turns no clock
    counts &= plays.is_staked | (plays.late != 0).any(axis=1)
    plays, given, rounds = plays.take(counts), given[counts], rounds[counts]
    if not len(plays):
        return replace(people, nets=nets)
    plays, order = _rounds_together(plays, rounds)
    given, rounds = given[order], rounds[order]
    before = people.states.n_rounds
    folded = fold(portfolio, people.states, plays, alpha=alpha, given=given)
    starts = folded.starts
    gains = round_gains(plays, starts, folded.results, portfolio.sheets)
    paths, strides = people.paths.copy(), people.strides.copy()
    keep_paths(starts.players, starts.codes, before, folded.log_es, paths, strides)
    last_rounds = people.last_rounds.copy()
    last_rounds[starts.codes] = rounds[starts.rounds[starts.players[1:] - 1]]
    return replace(
        people,
        states=folded.states,
        excess=fold_excess(people.excess, starts, gains),
        nets=nets,
        last_rounds=last_rounds,
        paths=paths,
        strides=strides,
    )


def _rounds_together(plays: Plays, rounds: NDArray[np.uint64]) -> tuple[Plays, NDArray[np.int64]]:
    """Rows by player and time with the seats of a round side by side, and the order taken.

    Rounds of one player at one time stand in the order first met.
    """
    starts = round_starts(plays)
    lengths = np.diff(starts.rounds)
    by_round = np.repeat(np.arange(len(lengths)), lengths)
    keys = np.stack([plays.player.astype(np.uint64), rounds], axis=1)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(lengths):
        return plays, np.arange(len(plays))
    order = np.argsort(by_round[first][inverse.ravel()], kind="stable")
    return plays.take(order), order
