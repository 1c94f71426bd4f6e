"""OpenSpiel on the same rules: its tree of every deal, and the values it finds there.

The package open_spiel is no dependency; where it is not installed these tests are skipped.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "openspiel_round.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("openspiel_round", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_openspiels_random_simulations_pass(example):
    game = pyspiel.load_game("niulab_round")
    assert isinstance(game, example.RoundGame)
    pyspiel.random_sim_test(game, num_sims=10, serialize=False, verbose=False)


@pytest.mark.long  # walks all 332,640 ends of the game, three times
def test_openspiels_values_of_uniform_and_best_play_are_the_solvers(example):
    theirs = example.values(pyspiel.load_game("niulab_round"))
    rules = example.ROUNDS.rules
    bounds = example.niulab.evaluate("random", example.TASK, rules=rules, menu=example.MENU).bounds
    assert theirs["optimum"] > theirs["uniform"] + 0.1
    assert theirs["uniform"] == pytest.approx(float(bounds.random), abs=1e-12)
    assert theirs["optimum"] == pytest.approx(float(bounds.optimum), abs=1e-12)
