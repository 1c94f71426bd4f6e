import pytest

from niulab.engine.rules.toml import overridden
from niulab.errors import ConfigError

RULES = "single-double-super"
TREE = {
    "seed": 0,
    "env": {"rules": RULES},
    "algorithm": {"gamma": 0.0, "n_steps": 4},
}


def test_words_are_laid_over_the_tree_one_after_the_other():
    words = ["algorithm.n_steps=8", "seed = 3", "seed = 4", "network.hidden=[64, 64]"]
    assert overridden(TREE, words) == {
        "seed": 4,
        "env": {"rules": RULES},
        "algorithm": {"gamma": 0.0, "n_steps": 8},
        "network": {"hidden": [64, 64]},
    }
    assert TREE["seed"] == 0


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("env.rules=bull-bull-live", "bull-bull-live"),
        ('env.rules="bull-bull-live"', "bull-bull-live"),
        ("env.slip=single=100,super=40", "single=100,super=40"),
        ("env.x=true", True),
        ("env.x=100_000", 100_000),
        ("env.x={ start = 0.1, end = 0.0 }", {"start": 0.1, "end": 0.0}),
    ],
)
def test_a_value_is_toml_or_a_text(word, value):
    key = word.partition("=")[0].removeprefix("env.")
    assert overridden(TREE, [word])["env"][key] == value


@pytest.mark.parametrize("word", ["seed", "seed=", "=3", "a b=3", "a..b=1", "x='"])
def test_words_that_set_nothing_are_refused(word):
    with pytest.raises(ConfigError, match="sets nothing: write key=value"):
        overridden(TREE, [word])


def test_a_table_gives_way_to_a_value_and_the_other_way_round():
    assert overridden(TREE, ["env=3"])["env"] == 3
    assert overridden(TREE, ["seed.x=3"])["seed"] == {"x": 3}


@pytest.mark.parametrize("word", ["algorithm.gamma=none", " algorithm.gamma = none "])
def test_none_takes_a_key_out(word):
    assert overridden(TREE, [word])["algorithm"] == {"n_steps": 4}
    assert TREE["algorithm"]["gamma"] == 0.0
    assert "env" not in overridden(TREE, ["env=none"])
    assert overridden(TREE, ["seed=none", "seed=3"])["seed"] == 3
    assert overridden(TREE, ['seed="none"'])["seed"] == "none"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("sed=none", "'sed=none' takes out nothing: 'sed'; did you mean 'seed'?"),
        ("env.slip=none", "'env.slip=none' takes out nothing: 'slip'; known: rules"),
        ("seed.x=none", "'seed.x=none' takes out nothing: 'seed'"),
        ("a b=none", "sets nothing: write key=value"),
    ],
)
def test_words_that_take_out_nothing_are_refused(word, message):
    with pytest.raises(ConfigError) as error:
        overridden(TREE, [word])
    assert message in str(error.value)
