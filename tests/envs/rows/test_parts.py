"""Parts below the batch: recycled arrays, masks by table, sorting."""

import pickle
from copy import deepcopy

import numpy as np
import pytest

from niulab.envs.encoding import BETTING, ENDED, SETTING
from niulab.envs.rows import masks as masks_room
from niulab.envs.rows.masks import LegalActions
from niulab.envs.rows.recycling import Recycler
from niulab.envs.rows.table import some_rows
from niulab.envs.seat.core import Core
from niulab.envs.settings import make_settings


def test_an_array_comes_back_only_when_nobody_holds_it_or_a_view_of_it():
    recycler = Recycler((4, 3), np.float32)
    first, second = recycler.take(), recycler.take()
    assert (first.shape, first.dtype) == ((4, 3), np.float32)
    assert not np.shares_memory(first, second)
    place = first.ctypes.data
    view = first[1:, ::2]
    del first
    assert recycler.take().ctypes.data != place
    del view
    assert recycler.take().ctypes.data == place


def test_a_recycler_keeps_few_arrays_and_never_lends_one_twice():
    recycler = Recycler((8,), np.int64)
    held = [recycler.take() for _ in range(30)]
    assert len({array.ctypes.data for array in held}) == 30
    assert len(recycler._arrays) == 8


def pickled(it):
    return pickle.loads(pickle.dumps(it))  # noqa: S301, our own bytes


@pytest.mark.parametrize("copied", [deepcopy, pickled])
def test_copies_of_a_recycler_start_empty(copied):
    recycler = Recycler((8,), np.int64)
    recycler.take()
    twin = copied(recycler)
    assert twin._arrays == []
    assert twin.take().shape == (8,)


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize(
    "task",
    [
        ("niulab/NiuNiu-v0", {}),
        ("niulab/Session-v0", {"can_leave": True}),
        ("niulab/NiuNiu-v0", {"menu": ["single=100", "single=900,super=700"]}),
        ("niulab/Table-v0", {"menu": ["single=100", "single=200"]}),
        ("niulab/Arrange-v0", {"bankroll_cents": 500}),
    ],
    ids=str,
)
def test_masks_are_the_cores_in_every_phase_and_at_every_bankroll(task, is_listed, monkeypatch):
    preset, keywords = task
    settings = make_settings(preset, **keywords)
    if not is_listed:
        monkeypatch.setattr(masks_room, "_MOST_ENTRIES", 0)
    core, legal = Core(settings), LegalActions(settings)
    start = core.start(0)
    phases, chips, expected = [], [], []
    for cents in range(100, 6_000, 60):
        for phase in (BETTING, SETTING, ENDED):
            if phase == BETTING and not settings.bets:
                continue
            state = {**start.to_json(), "phase": phase, "bankroll_cents": cents}
            expected.append(core.mask(type(start).from_json(state)))
            phases.append(phase)
            chips.append(cents)
    masks = np.ones((len(phases), settings.n_actions), dtype=np.bool_)
    legal.write(np.array(phases, dtype=np.int8), np.array(chips), masks)
    assert (masks == np.stack(expected)).all()


def test_some_rows_is_none_a_slice_or_numbers():
    flags = np.array([True, False, True])
    assert some_rows(np.zeros(3, dtype=np.bool_)) is None
    assert some_rows(np.ones(3, dtype=np.bool_)) == slice(None)
    assert some_rows(flags).tolist() == [0, 2]
    assert some_rows(flags, among=np.array([1, 2])).tolist() == [2]
    assert some_rows(flags, among=np.array([1])) is None
