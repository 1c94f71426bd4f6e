"""Large arrays that are used again once nobody holds them.

Memory fresh from the operating system costs more than the numbers written to it: two new float32
observation arrays of 4,096 rows take 1.4 ms, two old ones 0.1 ms.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Recycler"]

_MOST = 8


class Recycler:
    """Hands out arrays of one shape and dtype, contents arbitrary.

    An array comes back only when no reference to it or to a view of it is left, so whoever keeps
    one never sees it change. Copies and pickles of a recycler start empty.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike) -> None:
        self._shape = shape
        self._dtype = np.dtype(dtype)
        self._arrays: list[NDArray[Any]] = []
        self._unheld = 0

    def __reduce__(self) -> tuple[type[Recycler], tuple[Any, ...]]:
        return Recycler, (self._shape, self._dtype)

    def take(self) -> NDArray[Any]:
        """An array that nobody else holds."""
        for place in range(len(self._arrays)):
            if self._n_references(place) == self._unheld:
                return self._arrays[place]
        if len(self._arrays) == _MOST:
            return np.empty(self._shape, dtype=self._dtype)
        self._arrays.append(np.empty(self._shape, dtype=self._dtype))
        self._unheld = self._n_references(len(self._arrays) - 1)
        return self._arrays[-1]

    def _n_references(self, place: int) -> int:
        return sys.getrefcount(self._arrays[place])
