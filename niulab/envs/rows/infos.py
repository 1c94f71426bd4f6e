"""Infos of a batch: a dict of arrays in which every ``key`` has its mask ``_key``.

Where a row has no entry its mask is False and its numbers are 0, as in Gymnasium's own batches.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.envs.rows.croupier import COLUMNS
from niulab.envs.rows.table import END_NAMES, Moves, Rows, Table

__all__ = ["column_of_ends", "make_infos", "put", "standing_of"]

_Flags = NDArray[np.bool_]


def standing_of(table: Table, *, copy: bool = True) -> dict[str, NDArray[Any]]:
    """Where every row stands: what the infos of any step and reset hold.

    Without ``copy`` the mask is a view of the table's own; continuous stakes have none.
    """
    standing: dict[str, NDArray[Any]] = {}
    if table.settings.stakes == "menu":
        masks = table.masks.view(np.int8)
        standing["action_mask"] = masks.copy() if copy else masks
    return standing | {
        "bankroll_cents": table.bankrolls.copy(),
        "last_net_cents": table.last_nets.copy(),
        "rounds_left": table.rounds_left.copy(),
    }


def make_infos(
    standing: dict[str, NDArray[Any]],
    moves: Moves | None = None,
    *,
    standing_rows: _Flags | None = None,
    moved_rows: _Flags | None = None,
) -> dict[str, Any]:
    """Infos of the rows marked for each of the two parts; None marks all."""
    infos: dict[str, Any] = {}
    n = len(standing["bankroll_cents"])
    everyone = np.ones(n, dtype=np.bool_) if standing_rows is None else standing_rows
    for key, values in standing.items():
        put(infos, key, _only(values, standing_rows), everyone)
    if moves is None:
        return infos
    if moves.illegal is not None:
        illegal = _among(moves.illegal, moved_rows)
        if np.count_nonzero(illegal):
            put(infos, "illegal_action", illegal.copy(), illegal)
    _put_settlement(infos, moves, moved_rows, n)
    has_ended = _among(moves.ends > 0, moved_rows)
    if np.count_nonzero(has_ended):
        put(infos, "end", _names_of(moves.ends * has_ended), has_ended)
    return infos


def _names_of(ends: NDArray[np.int8]) -> NDArray[np.object_]:
    """What the codes of n rows say; one code for all of them is the common case of short games."""
    first = int(ends[0])
    if np.count_nonzero(ends == first) == len(ends):
        return column_of_ends(first, len(ends))
    names: NDArray[np.object_] = END_NAMES.take(ends)
    return names


def column_of_ends(end: int, n: int) -> NDArray[np.object_]:
    """The name of one end, n times."""
    return _column_of(end, n).copy()


@lru_cache(maxsize=32)
def _column_of(end: int, n: int) -> NDArray[np.object_]:
    return np.full(n, END_NAMES[end], dtype=object)


def put(infos: dict[str, Any], key: str, values: Any, rows: _Flags) -> None:
    """Add an entry of some rows; the flags are copied."""
    infos[key], infos[f"_{key}"] = values, rows.copy()


def _among(flags: _Flags, rows: _Flags | None) -> _Flags:
    return flags if rows is None else flags & rows


def _put_settlement(infos: dict[str, Any], moves: Moves, rows: _Flags | None, n: int) -> None:
    if moves.settled is None:
        return
    places = moves.settled_rows
    has = _among(_spread(np.ones(len(moves.slips), dtype=np.bool_), places, n), rows)
    if not np.count_nonzero(has):
        return
    columns = _columns(moves.settled, places, n, rows)
    by_name = dict(zip(COLUMNS, columns, strict=False))
    of_rounds = {
        "slip": _only(_spread(moves.slips, places, n), rows),
        **{key: by_name[key] for key in ("outcome", "player_rank", "dealer_rank")},
        "dealer_cards": _only(_spread(moves.dealers, places, n), rows),
        **{key: by_name[key] for key in ("net_cents", "moved_cents")},
    }
    settlement: dict[str, Any] = {}
    for key, values in of_rounds.items():
        put(settlement, key, values, has)
    nets: dict[str, Any] = {}
    for (box, flags), values in zip(moves.staked.items(), columns[len(COLUMNS) :], strict=True):
        staked = _among(_spread(flags, places, n), rows)
        if np.count_nonzero(staked):
            put(nets, box, values, staked)
    put(settlement, "net_by_box", nets, has)
    put(infos, "settlement", settlement, has)


def _spread(values: NDArray[Any], places: Rows, n: int) -> NDArray[Any]:
    """One value per row of the batch, zeros in rows without one."""
    if isinstance(places, slice):
        return values
    spread = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
    spread[places] = values
    return spread


def _only(values: NDArray[Any], rows: _Flags | None) -> NDArray[Any]:
    """The values of some rows, zeros in the others; (n,), or (n, width) of a byte each."""
    if rows is None:
        return values
    kept: NDArray[Any]
    if values.ndim == 1:
        kept = values & -rows.astype(values.dtype)  # all bits of a row, or none
    else:
        from niulab.envs.rows.kernels import keep_rows

        kept = np.empty_like(values)
        keep_rows(values.view(np.uint8), rows, kept.view(np.uint8))
    return kept


def _columns(block: NDArray[np.int64], places: Rows, n: int, rows: _Flags | None) -> list[Any]:
    """``_only`` of ``_spread`` for each column of a block (k, rows), all of them at once."""
    if not isinstance(places, slice):
        spread = np.zeros((len(block), n), dtype=np.int64)
        spread[:, places] = block
        block = spread
    return list(block if rows is None else block & -rows.astype(np.int64))
