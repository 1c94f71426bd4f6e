"""The fan of a bankroll: its quantiles after every round, and single sessions to lay over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.sessions.simulate import sample_paths
from niulab.evaluation.sessions.system_figures import SystemTask, tables_of
from niulab.evaluation.sessions.systems import fits_budget
from niulab.solvers.sessions.programme import play_session

__all__ = ["Fan", "bankroll_fan"]

_BANDS = (0.05, 0.25, 0.5, 0.75, 0.95)
_N_PATHS = 8
_N_QUANTILES = 2000  # sessions whose quantiles stand in for exact ones


@dataclass(frozen=True, eq=False)
class Fan:
    """The bankroll of one system over a session, in cents.

    bands: int64 (n_rounds + 1, q), its quantiles at ``levels`` after each round, exact where
    ``is_exact``, else of ``n_sessions``. mean: float64 (n_rounds + 1,). paths: int64 (k, n_rounds +
    1), the first simulated sessions.
    """

    name: str
    levels: tuple[float, ...]
    bands: NDArray[np.int64]
    mean: NDArray[np.float64]
    paths: NDArray[np.int64]
    n_sessions: int | None

    @property
    def is_exact(self) -> bool:
        """Whether no quantile is sampled."""
        return self.n_sessions is None


def bankroll_fan(task: SystemTask, name: str) -> Fan:
    """The fan of a system, exact within the task's budget."""
    tables = tables_of(task, name)
    session: dict[str, Any] = {
        "start_cents": task.start_cents,
        "n_rounds": task.n_rounds,
        "target_cents": task.target_cents,
    }
    is_exact = fits_budget(task, tables)
    n = _N_PATHS if is_exact else _N_QUANTILES
    paths = sample_paths(task.rules, tables, **session, n_sessions=n, seed=task.seed)
    if is_exact:
        law = play_session(task.rules, tables, **session, quantiles=_BANDS)
        return Fan(name, _BANDS, law.bands, law.mean_cents, paths, None)
    found = np.quantile(paths, _BANDS, axis=0, method="inverted_cdf").T.astype(np.int64)
    return Fan(name, _BANDS, found, paths.mean(axis=0), paths[:_N_PATHS], n)
