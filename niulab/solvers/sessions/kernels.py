"""The compiled sweep over a bankroll lattice that ``ruin`` calls."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["NETS_AT_ONCE", "ruin_sweep"]

NETS_AT_ONCE = 4
_BLOCK = 1024  # levels whose sums stay in the nearest cache while every net adds to them
_TINY = 1e-290  # chances below it are dropped: arithmetic is slow down there


@njit(cache=True, nogil=True)
def ruin_sweep(shifts, chances, below, n_levels, above, wanted, rounds, result):
    """P(ruined within n rounds) by starting level, backwards: h_n[l] = sum of p[c] h_(n-1)[l + s].

    shifts, chances (m,), m a multiple of ``NETS_AT_ONCE``: a round's nets in levels. Levels 0 to
    ``n_levels`` - 1 play; the ``below`` levels under them are ruin, the ``above`` ones over them
    are safe. wanted (b,): levels reported after ``rounds`` (r,), ascending. result float64 (b, r).
    """
    now = np.zeros(below + n_levels + above)
    following = np.zeros(below + n_levels + above)
    now[:below] = 1.0
    following[:below] = 1.0
    sums = np.zeros(_BLOCK)
    done = 0
    for column in range(len(rounds)):
        while done < rounds[column]:
            for start in range(below, below + n_levels, _BLOCK):
                n = min(_BLOCK, below + n_levels - start)
                sums[:] = 0.0
                for c in range(0, len(shifts), NETS_AT_ONCE):
                    # views from 0, so that the compiler sees four plain streams
                    a = now[start + shifts[c] : start + shifts[c] + n]
                    b = now[start + shifts[c + 1] : start + shifts[c + 1] + n]
                    d = now[start + shifts[c + 2] : start + shifts[c + 2] + n]
                    e = now[start + shifts[c + 3] : start + shifts[c + 3] + n]
                    p, q, r, s = chances[c], chances[c + 1], chances[c + 2], chances[c + 3]
                    for i in range(n):
                        sums[i] += p * a[i] + q * b[i] + r * d[i] + s * e[i]
                for i in range(n):
                    following[start + i] = sums[i] if sums[i] > _TINY else 0.0
            now, following = following, now
            done += 1
        for row in range(len(wanted)):
            result[row, column] = now[below + wanted[row]]
