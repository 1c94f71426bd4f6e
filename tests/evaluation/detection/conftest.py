"""Plays of honest players and of card seers, dealt by the engine."""

import numpy as np
import pytest

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.evaluation.detection.watch import full_portfolio
from niulab.evaluation.playlog.plays import Plays, Vocabularies


@pytest.fixture(scope="session")
def sheet():
    return load_rules("single-double-super")


@pytest.fixture(scope="session")
def full(sheet):
    return full_portfolio([sheet])


@pytest.fixture(scope="session")
def make_plays(sheet):
    """n players of n_rounds rounds; ``super_of(cards, dealers, rng)`` says who stakes Super."""

    def make(n, n_rounds, super_of, *, seed=0):
        rows = n * n_rounds
        seeds = np.arange(rows, dtype=np.uint64) + np.uint64(seed << 32)
        packets = BatchEngine(sheet).deal(seeds, np.zeros(rows, dtype=np.int64))
        stakes = np.zeros((rows, 4), dtype=np.int64)
        stakes[:, 0] = 100
        rng = np.random.default_rng(seed)
        stakes[:, 2] = 100 * super_of(packets[:, 0], packets[:, 1], rng)
        return Plays.of(
            rows,
            Vocabularies(players=tuple(f"p{i}" for i in range(n)), rules=(sheet.name,)),
            player=np.repeat(np.arange(n), n_rounds),
            round=np.arange(rows),
            time=np.tile(np.arange(n_rounds), n),
            rules=0,
            stakes=stakes,
            cards=packets[:, 0],
            dealer_cards=packets[:, 1],
        )

    return make
