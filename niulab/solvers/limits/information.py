"""How much a policy's stakes tell of what was seen, in nats, and how soon a detector can know."""

from __future__ import annotations

from math import inf, log

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError

__all__ = ["best_delay", "mutual_information", "verify_policy"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-9


def mutual_information(chances: Floats, policy: Floats, logged: Floats | None = None) -> float:
    """I(stake; seen), or I(stake; logged), in nats.

    chances: (n_seen,), the law of what is seen. policy: (n_seen, n_stakes), rows add up to one.
    logged: (n_seen, n_logged), the law of what the log records given what was seen. Raises
    ConfigError for rows that are no laws.
    """
    verify_policy(chances, policy)
    joint = chances[:, None] * policy
    if logged is not None:
        verify_policy(chances, logged)
        joint = logged.T @ joint
    own, stakes = joint.sum(axis=1), joint.sum(axis=0)
    held = joint > 0
    ratios = joint[held] / np.outer(own, stakes)[held]
    return max(float(joint[held] @ np.log(ratios)), 0.0)


def best_delay(information: float, alpha: float) -> float:
    """Rounds before which no test with false alarms up to ``alpha`` alarms on average.

    ln(1 / alpha) / I (Wald's bound; Lorden 1971, doi:10.1214/aoms/1177693055, for changes):
    infinite where stakes tell nothing.
    """
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha is above 0 and below 1, got {alpha:g}: write 0.01, say")
    return log(1 / alpha) / information if information > 0 else inf


def verify_policy(chances: Floats, policy: Floats) -> None:
    """Raise ConfigError unless chances and every row of the policy are laws."""
    if policy.ndim != 2 or len(policy) != len(chances):
        raise ConfigError(
            f"a policy has one row for each of the {len(chances)} values seen, got shape "
            f"{policy.shape}"
        )
    for what, rows in (("chances", chances[None, :]), ("a row of the policy", policy)):
        if not (rows >= 0).all() or np.abs(rows.sum(axis=1) - 1).max() > _TOLERANCE:
            raise ConfigError(f"{what} must be at least 0 and add up to 1")
