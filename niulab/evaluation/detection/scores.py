"""Stake scores: what a seat's stakes say, in bins known when betting closes.

    total        how large the round's total stake is beside the player's own running mean and SD
    share        the same of the share on the box with the highest odds
    slip         which boxes are raised, and whether that box is staked at all
    late         whether the stakes on the main boxes fell, stayed or rose after the close; a stake
                 whose own time lies after the close rose
    late bonus   the same of the Bonus
    always       one bin: features that no stake has to choose

The first two are predictable: a round's score uses rounds before it only. They are clipped to 3 and
snapped to a grid, so that moment generating functions are tables. A slip says of each main box
whether the player has varied it so far, this round's stake included, and whether it is now above
its own mean before: 0 never varied, 1 not raised, 2 raised. In the first rounds of a player a box
that has not varied is measured by the least stake of the table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.playlog.plays import NO_TIME, Plays

__all__ = [
    "N_MAIN",
    "N_STATISTICS",
    "RAISED_DIGITS",
    "SCORES",
    "Z_GRID",
    "RoundStarts",
    "Scores",
    "round_starts",
    "score_bins",
]

SCORES = ("total", "share", "slip", "late", "late bonus", "always")

Z_GRID = np.linspace(-3.0, 3.0, 25)
"""Values of the running scores by bin."""

N_MAIN = 3
"""Main boxes: the columns of BOXES without the Bonus."""

RAISED_DIGITS = np.indices((3,) * N_MAIN).reshape(N_MAIN, -1).T[:, ::-1]
"""What a bin of ``slip`` says of each main box, (27, N_MAIN): the first box counts one, the second
three, the third nine. 27 bins more follow, with the box of the highest odds staked."""

N_STATISTICS = 6 + 3 * N_MAIN
"""Numbers kept of a player for the running scores: rounds, mean and squares of the first two; sum,
least and most of each main box."""


class RoundStarts(NamedTuple):
    """Where the rounds and the players of rows sorted by player begin; one place more ends each.

    rounds: int64 (n_rounds + 1,), rows. players: int64 (n_players + 1,), rounds. codes: int32
    (n_players,), the players.
    """

    rounds: NDArray[np.int64]
    players: NDArray[np.int64]
    codes: NDArray[np.int32]


class Scores(NamedTuple):
    """Bins int16 (n, len(SCORES)) by row, and the players' statistics after the last round."""

    bins: NDArray[np.int16]
    statistics: NDArray[np.float64]


def round_starts(plays: Plays) -> RoundStarts:
    """Group rows sorted by player, time and round; a round is one of its table."""
    n = len(plays)
    if n == 0:
        empty = np.zeros(1, dtype=np.int64)
        return RoundStarts(empty, empty, np.empty(0, dtype=np.int32))
    is_player = np.r_[True, plays.player[1:] != plays.player[:-1]]
    is_other = (plays.round[1:] != plays.round[:-1]) | (plays.table[1:] != plays.table[:-1])
    is_round = is_player | np.r_[True, is_other]
    rounds = np.flatnonzero(is_round)
    players = np.flatnonzero(is_player[rounds])
    return RoundStarts(
        np.append(rounds, n), np.append(players, len(rounds)), plays.player[rounds[players]]
    )


def score_bins(
    plays: Plays,
    starts: RoundStarts,
    statistics: NDArray[np.float64],
    *,
    base_units: NDArray[np.float64],
    top_boxes: NDArray[np.int64],
    least: NDArray[np.float64],
) -> Scores:
    """Scores of rows sorted by player, whose ``statistics`` (n_players, N_STATISTICS) go on.

    base_units, top_boxes: (n_sheets,), cents and column by the code of a row's rules; least:
    (n_sheets, N_MAIN), cents on each main box of a seat that raises none. Seats of one player in
    one round share the scores of their stakes together.
    """
    from niulab.evaluation.detection.kernels import running_bins, slip_bins, stake_sums

    n = len(plays)
    bins = np.zeros((n, len(SCORES)), dtype=np.int16)
    after = statistics.copy()
    if n:
        n_rounds = len(starts.rounds) - 1
        units, shares = np.empty((2, n_rounds))
        heights = np.empty((n_rounds, N_MAIN))
        by_round = np.empty((n_rounds, 3), dtype=np.int16)
        # a sheet that is not known (-1) takes the last one's unit; its rows have no levels anyway
        stake_sums(
            starts.rounds, plays.rules, plays.stakes, top_boxes, base_units, least, units, shares,
            heights, by_round[:, 2],
        )  # fmt: skip
        slip_bins(starts.players, heights, after, by_round[:, 2])
        running_bins(starts.players, np.log1p(units), shares, len(Z_GRID), after, by_round)
        is_each_one = n_rounds == n
        bins[:, :3] = by_round if is_each_one else by_round.repeat(np.diff(starts.rounds), axis=0)
        bins[:, 3] = 1 + _late_signs(plays)
        bins[:, 4] = 1 + np.sign(plays.late[:, 3])
    return Scores(bins, after)


def _late_signs(plays: Plays) -> NDArray[np.int64]:
    """-1, 0 or 1 by row: whether the main boxes' stakes changed after the close."""
    signs = np.sign(plays.late[:, 0] + plays.late[:, 1] + plays.late[:, 2])
    is_timed = (plays.bet_time != NO_TIME) & (plays.close_time != NO_TIME)
    came_late = is_timed & (plays.bet_time > plays.close_time)
    result: NDArray[np.int64] = np.where((signs == 0) & came_late, 1, signs)
    return result
