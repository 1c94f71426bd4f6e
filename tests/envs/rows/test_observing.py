"""Observations of many rows are those of the encoding, in arrays of the caller or in the same."""

import numpy as np
import pytest

from niulab.envs.encoding import NO_CARD, Encoding, Sight
from niulab.envs.rows.observing import Observer
from niulab.envs.settings import make_settings

TASKS = [
    ("niulab/Arrange-v0", {}),
    ("niulab/Arrange-v0", {"observation": "uint8", "point_flags": True}),
    ("niulab/Arrange-v0", {"encoding": "ids"}),
    ("niulab/Arrange-v0", {"rules": "even-double-super-bonus"}),
    ("niulab/NiuNiu-v0", {"rules": "even-double-super-bonus", "point_flags": True}),
    ("niulab/NiuNiu-v0", {"encoding": "ids"}),
    ("niulab/NiuNiu-v0", {"observation": "uint8"}),
    ("niulab/Session-v0", {}),
]


def sight_of(settings, n):
    rng = np.random.default_rng(0)
    hands, dealers = rng.integers(0, NO_CARD + 1, (2, n, 5)).astype(np.uint8)
    slips = rng.integers(-1, len(settings.menu), n)
    return Sight(
        hands, dealers, rng.integers(0, 3, n), slips, rng.integers(0, 9_000, n), np.arange(n) % 7
    )


@pytest.mark.parametrize(("preset", "keywords"), TASKS, ids=str)
def test_rows_are_encoded_as_the_encoding_does(preset, keywords):
    settings = make_settings(preset, **keywords)
    encoding = Encoding(settings)
    observer, sight = Observer(encoding, 300, copy=True), sight_of(settings, 300)
    for _ in range(3):
        seen = observer.observe(sight)
        assert seen.dtype == encoding.dtype
        assert (seen == encoding.encode(sight)).all()
        seen[...] = 1  # what a caller leaves behind is not seen again
        del seen


def test_without_copies_there_are_two_arrays():
    settings = make_settings("niulab/Arrange-v0")
    observer, sight = Observer(Encoding(settings), 5, copy=False), sight_of(settings, 5)
    first, final = observer.observe(sight), observer.observe(sight, is_final=True)
    assert observer.observe(sight) is first
    assert observer.observe(sight, is_final=True) is final
    assert not np.shares_memory(first, final)
