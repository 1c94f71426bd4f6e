"""One dealer card's rank seen before a unit goes on Super, under the sheets 001 and 003."""

import numpy as np
import pytest

from niulab.engine.cards import RANKS
from niulab.engine.rules import load_rules
from niulab.solvers.information import law_given_card, value_given_card


@pytest.fixture(scope="session")
def seen_laws():
    rules = load_rules("single-double-super")
    return [law_given_card(rules, rank, "dealer") for rank in RANKS]


@pytest.fixture(scope="session")
def super_values():
    rules = load_rules("single-double-super")
    return np.array([float(value_given_card(rules, "super", rank, "dealer")) for rank in RANKS])


@pytest.fixture(scope="session")
def ranks_law():
    return np.full(len(RANKS), 1 / len(RANKS))
