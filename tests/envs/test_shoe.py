"""The shoe before the bet: what is shown of it, and that one episode is one shoe."""

import gymnasium
import numpy as np
import pytest

import niulab  # noqa: F401, registers the ids
from niulab.engine.shoe import deal_round, rounds_per_shoe
from niulab.envs.checker import check_environment
from niulab.envs.encoding import NO_CARD
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

SHOE = "niulab/Shoe-v0"
VIEWS = [
    {},
    {"shoe": "cards"},
    {"shoe": "counts", "observation": "uint8"},
    {"shoe": "cards", "encoding": "ids"},
    {"shoe": "cards", "point_flags": True},
    {"n_rounds": 3},
]


@pytest.mark.parametrize("words", VIEWS, ids=str)
def test_every_view_keeps_the_promises_and_a_batch_shows_what_single_ones_do(words):
    check_environment(NiuNiuEnv(SHOE, **words))
    batch = NiuNiuVectorEnv(3, SHOE, **words)
    seen, _ = batch.reset(seed=5)
    singles = [NiuNiuEnv(SHOE, **words) for _ in range(3)]
    assert (seen == [env.reset(seed=5 + i)[0] for i, env in enumerate(singles)]).all()
    rng = np.random.default_rng(0)
    for step in range(60):
        actions = rng.integers(10, size=3)
        seen, rewards, ended, _, infos = batch.step(actions)
        for i, env in enumerate(singles):
            observation, reward, terminated, _, _ = env.step(int(actions[i]))
            assert (reward, terminated) == (rewards[i], ended[i])
            if terminated:
                assert (infos["final_obs"][i] == observation).all()
                observation, _ = env.reset()
            assert (observation == seen[i]).all()
        if step == 40:
            other = NiuNiuVectorEnv(3, SHOE, **words)
            assert (other.set_state(batch.get_state())[0] == seen).all()


def test_what_is_left_is_the_shoe_less_the_cards_dealt():
    env = NiuNiuEnv(SHOE, shoe="counts")
    observation, _ = env.reset(seed=3)
    left = np.full(52, 6)
    n_rounds = env.settings.n_rounds
    assert n_rounds == rounds_per_shoe(env.settings.rules, 2) == 26
    for index in range(n_rounds):
        assert env.encoding.decode_left(observation[None])[0].tolist() == left.tolist()
        for hand in deal_round(env.settings.rules, 3, index, 2):
            np.subtract.at(left, list(hand), 1)
        observation, _, terminated, *_ = env.step(0)
    assert terminated
    assert left.sum() == 312 - 260
    assert env.encoding.decode_left(observation[None])[0].tolist() == left.tolist()
    observation, _ = env.reset()
    assert (env.encoding.decode_left(observation[None]) == 6).all()


def test_the_cards_of_the_last_round_are_shown_and_none_of_a_new_shoe():
    env = NiuNiuEnv(SHOE, shoe="cards", encoding="ids")
    observation, _ = env.reset(seed=3)
    assert (env.encoding.decode_last_cards(observation[None]) == NO_CARD).all()
    for index in range(3):
        observation, *_ = env.step(9)
        hands = deal_round(env.settings.rules, 3, index, 2)
        shown = [card for hand in hands for card in sorted(hand)]
        assert env.encoding.decode_last_cards(observation[None])[0].tolist() == shown
    observation, _ = env.reset()
    assert (env.encoding.decode_last_cards(observation[None]) == NO_CARD).all()


def test_an_episode_opens_a_shoe_however_the_last_one_ended():
    env = NiuNiuEnv(SHOE)
    env.reset(seed=0)
    env.step(0)
    env.reset()
    assert env.get_state()["state"]["round_index"] == 26
    batch = NiuNiuVectorEnv(2, SHOE, max_episode_steps=5)
    batch.reset(seed=0)
    for _ in range(5):
        _, _, terminated, truncated, _ = batch.step(np.zeros(2, dtype=np.int64))
    assert truncated.all()
    assert not terminated.any()
    assert batch.get_state()["rows"]["rounds"] == [26, 26]


def test_classes_in_bytes_are_read_back_exactly():
    env = NiuNiuEnv(SHOE, observation="uint8")
    same = NiuNiuEnv(SHOE)
    one, two = env.reset(seed=1)[0], same.reset(seed=1)[0]
    for _ in range(25):
        left = env.encoding.decode_left(one[None])
        assert left.tolist() == same.encoding.decode_left(two[None]).tolist()
        one, two = env.step(0)[0], same.step(0)[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"shoe": "count"}, "did you mean 'counts'"),
        ({"decisions": "bet_and_set"}, "needs decisions='bet'"),
        ({"channel": {}}, "leave one of them out"),
        (
            {"stakes": "continuous", "menu": None, "chip_cents": 100, "maximum_cents": 200},
            "choose stakes='menu'",
        ),
        (
            {"sheets": ["six-deck-shoe-flush", "six-deck-shoe-bonus"]},
            "shoe=None, not 'classes'",
        ),
        ({"n_rounds": 27}, "serves 26 rounds"),
        ({"rules": "even-double-super-bonus"}, "shuffles before every round"),
    ],
    ids=str,
)
def test_what_does_not_go_with_a_shoe_is_refused(words, said):
    with pytest.raises(ConfigError, match=said):
        make_settings(SHOE, **words)


def test_forced_hands_are_refused():
    deal = {"deal": ("KS 10D 10H AC 9S", "AD 2D 4D 6C 9C")}
    with pytest.raises(ConfigError, match="forced hands do not come from it"):
        NiuNiuEnv(SHOE).reset(seed=0, options=deal)
    with pytest.raises(ConfigError, match="forced hands do not come from it"):
        NiuNiuVectorEnv(2, SHOE).reset(seed=0, options=deal)


def test_settings_are_made_again_from_json():
    settings = make_settings(SHOE, shoe="cards")
    assert make_settings(SHOE, **settings.to_json()) == settings
    assert gymnasium.make(SHOE).unwrapped.settings == make_settings(SHOE)
