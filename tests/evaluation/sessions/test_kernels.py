"""The compiled session: no choice knows the round it is made for."""

from __future__ import annotations

import numpy as np

from niulab.engine.rules import load_rules
from niulab.evaluation.sessions.kernels import PLAYING, play_block

RULES = load_rules("single-double-super")
N_LEVELS, N_SLIPS, N_CLASSES = 40, 3, 3


def placed_by(cells, level, memory):
    """(slip placed in each round, last level) of one session of known cells."""
    choices = (np.arange(2 * N_LEVELS) * 7 // 3 % N_SLIPS).astype(np.int32)
    followings = np.array([1, 0, 1, 0, 1, 0], dtype=np.int32)
    nets = np.array([[-1, 0, 1], [-2, 0, 2], [-3, 0, 3]])
    offsets = np.array([[0, 0, 0, N_LEVELS, 1, N_LEVELS, 0, 2]])
    levels, memories, ends, played = (np.array([[x]]) for x in (level, memory, PLAYING, 0))
    slips = []
    for cell in cells:
        placed = np.zeros(N_SLIPS, dtype=np.int64)
        play_block(
            np.array([[cell]]), np.arange(N_CLASSES), np.zeros((1, 0), dtype=np.uint64),
            np.array([0]), choices, followings, offsets, nets, levels, memories, ends, played,
            placed,
        )  # fmt: skip
        slips.append(placed.argmax())
    return slips, int(levels[0, 0])


def test_stakes_are_placed_before_the_deal():
    """The same past, every possible round: the slip is one, only the result differs."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        past = rng.integers(N_CLASSES, size=4).tolist()
        memory = int(rng.integers(2))
        plays = [placed_by([*past, cell], 20, memory) for cell in range(N_CLASSES)]
        assert len({tuple(slips) for slips, _ in plays}) == 1
        assert len({level for _, level in plays}) == N_CLASSES
