"""Tasks with a channel: the signal is that of the card as dealt, in every kind of environment."""

import json

import gymnasium
import numpy as np
import pytest

from niulab.engine.shoe import deal_round
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

PEEK = "niulab/Peek-v0"
NOISY = {"position": "dealer", "shows": ["A 2 3", "J Q K"], "see_rate": 0.8, "noise": 0.3}
CHANNELS = [{}, {"position": "dealer", "shows": "card"}, NOISY]


def shown(env, observation):
    names = env.encoding.signals.names
    return names[int(env.encoding.decode_signal(observation[None])[0])]


@pytest.mark.parametrize(("position", "packet"), [("own", 0), ("dealer", 1)])
def test_the_signal_is_the_card_dealt_first(position, packet):
    env = NiuNiuEnv(PEEK, channel={"position": position})
    ranks = env.encoding.signals.names
    env.reset(seed=4)
    for index in range(1, 100):
        observation, _ = env.reset()
        card = deal_round(env.settings.rules, 4, index, 2)[packet][0]
        assert shown(env, observation) == ranks[card // 4]


def test_after_the_end_nothing_is_shown():
    env = NiuNiuEnv(PEEK)
    env.reset(seed=1)
    assert shown(env, env.step(0)[0]) == "nothing"


def test_a_channel_changes_no_card_and_no_state():
    one, other = NiuNiuEnv(PEEK, channel=NOISY), NiuNiuEnv(PEEK, channel=None)
    for env in (one, other):
        env.reset(seed=9)
    for _ in range(50):
        assert one.get_state()["state"] == other.get_state()["state"]
        results = [env.step(8) for env in (one, other)]
        cards = [result[4]["settlement"]["dealer_cards"].tolist() for result in results]
        assert cards[0] == cards[1]
        for env in (one, other):
            env.reset()
    assert other.observation_space.shape == (1,)


@pytest.mark.parametrize(("position", "name"), [("own", "7"), ("dealer", "A")])
def test_forced_deals_are_seen_in_the_order_given(position, name):
    deal = ("7S AD 10D QH KS", "AC 2D 3D 4D 8C")
    env = NiuNiuEnv(PEEK, channel={"position": position})
    observation, _ = env.reset(seed=1, options={"deal": deal})
    assert shown(env, observation) == name
    batch = NiuNiuVectorEnv(3, PEEK, channel={"position": position})
    rows, _ = batch.reset(seed=1, options={"deals": [None, deal, None]})
    single = [env.reset(seed=seed)[0] for seed in (1, 3)]
    assert (rows == np.stack([single[0], observation, single[1]])).all()
    rows, *_ = batch.step(np.zeros(3, dtype=np.int64))  # dealt again after an automatic reset
    assert shown(env, rows[1]) == name


@pytest.mark.parametrize("channel", CHANNELS, ids=str)
@pytest.mark.parametrize("observation", ["float32", "uint8"])
def test_rows_see_what_single_environments_see(channel, observation):
    words = {
        "channel": channel,
        "observation": observation,
        "n_rounds": 3,
        "bankroll_cents": 3_000,
        "can_leave": True,
    }
    batch = NiuNiuVectorEnv(7, PEEK, autoreset_mode="Disabled", **words)
    singles = [NiuNiuEnv(PEEK, **words) for _ in range(7)]
    rows, _ = batch.reset(seed=20)
    alone = np.stack([env.reset(seed=20 + i)[0] for i, env in enumerate(singles)])
    rng = np.random.default_rng(1)
    for _ in range(60):
        assert rows.tobytes() == alone.tobytes()
        actions = rng.integers(0, 11, 7)
        rows, _, ended, _, _ = batch.step(actions)
        alone = np.stack([singles[i].step(action)[0] for i, action in enumerate(actions)])
        if ended.any():
            assert rows.tobytes() == alone.tobytes()
            rows, _ = batch.reset(options={"reset_mask": ended})
            for i in np.flatnonzero(ended):
                alone[i] = singles[i].reset()[0]


def test_rounds_of_one_shoe_show_its_next_cards():
    words = {"rules": "six-deck-shoe-bonus", "channel": {"position": "dealer", "shows": "card"}}
    env, batch = NiuNiuEnv(PEEK, **words), NiuNiuVectorEnv(1, PEEK, **words)
    seen, rows = env.reset(seed=8)[0], batch.reset(seed=8)[0]
    names = env.encoding.signals.names
    for index in range(60):
        card = deal_round(env.settings.rules, 8, index, 2)[1][0]
        assert shown(env, seen) == names[card]
        assert (rows[0] == seen).all()
        env.step(0)
        seen, rows = env.reset()[0], batch.step(np.zeros(1, dtype=np.int64))[0]


def test_a_saved_batch_shows_the_same_signals_again():
    batch, twin = (NiuNiuVectorEnv(50, PEEK, channel=NOISY) for _ in range(2))
    seen, _ = batch.reset(seed=2)
    seen, *_ = batch.step(np.zeros(50, dtype=np.int64))
    twin.reset(seed=77)
    again, _ = twin.set_state(json.loads(json.dumps(batch.get_state())))
    assert again.tobytes() == seen.tobytes()
    future = [env.step(np.full(50, 8))[0].tobytes() for env in (batch, twin)]
    assert future[0] == future[1]


def test_sync_batches_show_what_the_native_one_shows():
    words = {"num_envs": 5, "channel": NOISY}
    native = gymnasium.make_vec(PEEK, **words)
    sync = gymnasium.make_vec(
        PEEK,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP},
        **words,
    )
    seen = [env.reset(seed=6)[0] for env in (native, sync)]
    for action in range(10):
        assert (seen[0] == seen[1]).all()
        seen = [env.step(np.full(5, action))[0] for env in (native, sync)]


def test_the_table_in_words_says_what_is_seen():
    env = NiuNiuEnv(PEEK, render_mode="ansi")
    env.reset(options={"deal": ("7S AD 10D QH KS", "AC 2D 3D 4D 8C")})
    assert "seen of the own first card: 7" in env.render()


@pytest.mark.parametrize(
    ("preset", "channel", "part"),
    [
        (PEEK, 3, "channel takes its keywords"),
        (PEEK, {"noise": 2}, "channel: noise is a number from 0 to 1"),
        (PEEK, {"shows": ["A", "A 2"]}, "channel: the class 'A 2' shares cards"),
        ("niulab/Table-v0", {}, "it needs decisions='bet', not 'bet_and_set'"),
        ("niulab/Arrange-v0", {}, "it needs decisions='bet', not 'set'"),
    ],
)
def test_mistakes_are_refused_with_the_remedy(preset, channel, part):
    with pytest.raises(ConfigError) as caught:
        make_settings(preset, channel=channel)
    assert part in str(caught.value)


def test_settings_without_a_channel_name_none():
    assert "channel" not in make_settings("niulab/Session-v0").to_json()
    settings = make_settings("niulab/Session-v0", channel=NOISY)
    assert make_settings("niulab/Session-v0", **settings.to_json()) == settings
    assert make_settings(settings, n_rounds=3).channel == settings.channel
