"""What the evaluation tests share: scores of every baseline, computed once a session."""

from __future__ import annotations

import pytest

from niulab.agents.registry import SETTERS, make_agent
from niulab.envs.settings import make_settings
from niulab.evaluation.exact import evaluate_arrangement

SHEETS = {"003": "single-double-super", "hong-kong": "ngau-ngau-hong-kong"}


@pytest.fixture(scope="session")
def scores_of():
    """Exact scores of the baselines by sheet, lazily and once."""
    found = {}

    def scores(sheet):
        if sheet not in found:
            settings = make_settings("niulab/Arrange-v0", rules=SHEETS[sheet])
            found[sheet] = {
                name: evaluate_arrangement(make_agent(name, settings), settings) for name in SETTERS
            }
        return found[sheet]

    return scores


@pytest.fixture(scope="session")
def arrange():
    return make_settings("niulab/Arrange-v0")


@pytest.fixture(scope="session")
def hong_kong():
    return make_settings("niulab/Arrange-v0", rules=SHEETS["hong-kong"])
