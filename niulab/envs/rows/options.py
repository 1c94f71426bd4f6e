"""What ``reset`` and ``step`` of a batch are given, read and checked before anything changes."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.envs.seat.core import read_deal
from niulab.errors import ConfigError

__all__ = ["read_actions", "read_options", "read_seeds", "row_seeds"]

_SEED_MASK = (1 << 64) - 1
_NONE = np.empty(0, dtype=np.intp)

_Flags = NDArray[np.bool_]


def row_seeds(seed: int, n: int) -> NDArray[np.uint64]:
    """Seeds of n rows, ``seed`` and up, modulo 2**64."""
    with np.errstate(over="ignore"):
        return np.uint64(seed & _SEED_MASK) + np.arange(n, dtype=np.uint64)


def read_seeds(
    seed: int | Sequence[int | None] | NDArray[np.integer] | None, n: int
) -> tuple[NDArray[np.uint64], _Flags]:
    """Seeds (n,) and which rows they are for: an int is ``seed + i``, a list one per row."""
    if seed is None:
        return np.zeros(n, dtype=np.uint64), np.zeros(n, dtype=np.bool_)
    if not isinstance(seed, Sequence | np.ndarray):
        whole = operator.index(seed)
        if whole < 0:
            raise ValueError(f"a seed is 0 or more, got {whole}")
        return row_seeds(whole, n), np.ones(n, dtype=np.bool_)
    seeds = [None if one is None else operator.index(one) for one in seed]
    if len(seeds) != n:
        raise ValueError(f"one seed per row: {n} rows, got {len(seeds)} seeds")
    if min((one for one in seeds if one is not None), default=0) < 0:
        raise ValueError(f"seeds are 0 or more, got {seeds}")
    flags = np.array([one is not None for one in seeds], dtype=np.bool_)
    return np.array([(one or 0) & _SEED_MASK for one in seeds], dtype=np.uint64), flags


def read_options(
    options: Mapping[str, Any] | None, n: int, rules: RuleSet
) -> tuple[_Flags, NDArray[np.uint8] | None, _Flags]:
    """The rows to reset, the hands (n, 2, 5) forced on them if any, and the rows these are for.

    Raises ConfigError for other options and CardError for hands that the shoe cannot deal.
    """
    rest = dict(options or {})
    rows = np.asarray(rest.pop("reset_mask", np.ones(n, dtype=np.bool_)))
    if rows.shape != (n,) or rows.dtype != np.bool_ or not rows.any():
        raise ConfigError(f"reset_mask is a bool array of shape ({n},) with a True, got {rows!r}")
    deal, deals = rest.pop("deal", None), rest.pop("deals", None)
    if rest or (deal is not None and deals is not None):
        raise ConfigError(
            "reset() of a batch takes the options 'reset_mask' and either 'deal', two hands for "
            f"all rows, or 'deals', two hands or None for each, got {sorted(options or {})}"
        )
    if deal is not None:
        hands = np.array(read_deal(deal, rules), dtype=np.uint8)
        return rows.copy(), np.repeat(hands[None], n, axis=0), rows.copy()
    if deals is None:
        return rows.copy(), None, np.zeros(n, dtype=np.bool_)
    if len(deals) != n:
        raise ConfigError(f"'deals' has two hands or None for each of {n} rows, got {len(deals)}")
    flags = np.array([one is not None for one in deals], dtype=np.bool_) & rows
    forced = np.zeros((n, 2, 5), dtype=np.uint8)
    for row in np.flatnonzero(flags).tolist():
        forced[row] = read_deal(deals[row], rules)
    return rows.copy(), forced, flags


def read_actions(
    actions: Any,
    *,
    n_actions: int,
    masks: NDArray[np.bool_],
    is_free: bool,
    ignored: _Flags | None,
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Actions (n,) of the space, and the rows whose action is masked now: none if all ``is_free``.

    The actions of ``ignored`` rows may be anything whole. The actions are a copy if any may be
    changed. Raises InvalidAction.
    """
    given = np.asarray(actions)
    n = len(masks)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise InvalidAction(
            f"actions are whole numbers of shape ({n},), got {given.dtype} of shape {given.shape}"
        )
    chosen = given.astype(np.int64, copy=not is_free or ignored is not None)
    if ignored is not None:
        chosen[ignored] = masks[ignored].argmax(axis=1)
    if chosen.view(np.uint64).max() >= n_actions:  # negative numbers are huge ones there
        row = int(np.flatnonzero((chosen < 0) | (chosen >= n_actions))[0])
        raise InvalidAction(
            f"action {given[row]} of row {row} is none: actions are 0 to {n_actions - 1}"
        )
    if is_free or np.count_nonzero(masks) == masks.size:
        return chosen, _NONE
    places = np.arange(0, masks.size, n_actions) + chosen
    return chosen, np.flatnonzero(~masks.take(places))
