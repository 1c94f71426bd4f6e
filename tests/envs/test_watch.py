"""Tasks that a detector watches: exact prices, rows like single environments, the saddle point."""

import copy
import json
import pickle

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.shoe import deal_round
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.envs.watch import Watch, watched_bets
from niulab.errors import ConfigError
from niulab.evaluation.detection.factors import likelihood_table
from niulab.evaluation.detection.features import card_law, card_values
from niulab.evaluation.edges.stealth import stealth_bounds
from niulab.solvers.limits.detector import (
    Detector,
    declared_log_factors,
    frontier_log_factors,
    ideal_log_factors,
)

PEEK = "niulab/Peek-v0"
TWO = {"channel": {"position": "dealer"}, "menu": ["single=100", "single=100,super=100"]}
BETTOR = {"mu": 0.1, "sees": 0.5, "base": 0.25, "box": "super"}
MIXED = {"position": "dealer", "shows": ["A 2 3 4 5", "J Q K"], "see_rate": 0.8, "noise": 0.3}


def law_of(settings, seed=0):
    bets = watched_bets(settings)
    shape = len(bets.chances), len(bets.menu)
    return np.random.default_rng(seed).dirichlet(np.ones(shape[1]), shape[0])


def test_nobody_watches_by_default():
    settings = make_settings(PEEK)
    assert settings.detector is None
    assert "detector" not in settings.to_json()
    env, plain = NiuNiuEnv(PEEK, detector=None), NiuNiuEnv(PEEK)
    for one in (env, plain):
        one.reset(seed=3)
    assert env.get_state() == plain.get_state()
    assert "watched_policy" not in env.get_state()


@pytest.mark.parametrize("reward", ["settled", "expected"])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_a_round_costs_the_log_factor_of_the_card_that_was_dealt(reward, scale):
    words = {"menu": TWO["menu"], "reward": reward, "reward_scale": scale}
    watched, plain = NiuNiuEnv(PEEK, detector=BETTOR, **words), NiuNiuEnv(PEEK, **words)
    bets = watched_bets(watched.settings)
    logs = declared_log_factors(bets, watched.settings.detector)
    for seed in range(60):
        action = seed % 2
        rewards = []
        for env in (watched, plain):
            env.reset(seed=seed)
            rewards.append(env.step(action)[1])
        rank = deal_round(watched.settings.rules, seed, 0, 2)[0][0] // 4
        price = scale * 0.1 * logs[rank, action]
        assert rewards[0] == pytest.approx(rewards[1] - price, abs=1e-15)
        assert type(rewards[0]) is float


@pytest.mark.parametrize("position", ["own", "dealer"])
def test_factors_of_the_declared_bettor_are_those_of_the_detectors_portfolio(position):
    rules = load_rules("single-double-super")
    settings = make_settings(PEEK, **TWO | {"channel": {"position": position}}, detector=BETTOR)
    is_good = card_values(rules, "super")[int(position == "dealer")] > 0
    table = likelihood_table(is_good, card_law(), np.array([[0.5, 0.25]]))[:, :, 0]  # by card
    factors = np.exp(declared_log_factors(watched_bets(settings), settings.detector))
    assert factors == pytest.approx(table[:, ::4].T, abs=1e-14)


@pytest.mark.parametrize("channel", [{}, {"position": "dealer"}, MIXED], ids=str)
def test_factors_have_mean_one_and_the_ideal_rate_is_the_information(channel):
    settings = make_settings(PEEK, channel=channel, detector={"mu": 0.2})
    bets, policy = watched_bets(settings), law_of(settings)
    logs = ideal_log_factors(bets, policy)
    assert bets.card_chances @ np.exp(logs) == pytest.approx(1, abs=1e-12)
    # slow: every card, signal and slip, from the words of the channel
    k, sees, noise = len(bets.card_chances), bets.channel.see_rate, bets.channel.noise
    joint = np.zeros((k, len(bets.menu)))
    for card, chance in enumerate(bets.card_chances):
        for signal in range(k):
            shown = sees * ((1 - noise) * (signal == card) + noise / k)
            joint[card] += chance * shown * policy[signal]
        joint[card] += chance * (1 - sees) * policy[k]
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    nats = (joint * np.log(joint / apart)).sum()
    assert bets.information(policy) == pytest.approx(nats, abs=1e-13)
    assert bets.log_rate(policy, logs) == pytest.approx(nats, abs=1e-8)  # 1e-9 is kept back


def test_no_other_detector_is_as_fast_as_the_ideal_one():
    settings = make_settings(PEEK, **TWO, detector={"mu": 0.1})
    bets, policy = watched_bets(settings), law_of(settings)
    best = bets.information(policy)
    others = [ideal_log_factors(bets, law_of(settings, seed)) for seed in range(1, 40)]
    others.append(declared_log_factors(bets, Detector(**BETTOR)))
    assert max(bets.log_rate(policy, logs) for logs in others) < best


@pytest.mark.parametrize("words", [TWO, {}, {"channel": {"shows": ["A 2 3", "J Q K"]}}], ids=str)
@pytest.mark.parametrize("mu", [0.02, 0.1, 0.4])
def test_under_the_frontiers_detector_the_optimum_is_the_frontiers_value(words, mu):
    bets = watched_bets(make_settings(PEEK, **words))
    point = bets.frontier(mu)
    value = point.profit - mu * point.information
    factors = np.exp(frontier_log_factors(bets, mu)).tolist()
    settings = make_settings(PEEK, **words, detector={"mu": mu, "factors": factors})
    logs = declared_log_factors(bets, settings.detector)
    gains = bets.gains(mu, logs)
    assert bets.chances @ gains.max(axis=1) == pytest.approx(value, abs=1e-9)
    assert stealth_bounds(settings).optimum == pytest.approx(value, abs=1e-9)
    # the frontier's own policy attains it, and so does every slip that it uses
    assert bets.profit(point.policy) - mu * bets.log_rate(point.policy, logs) == pytest.approx(
        value, abs=1e-9
    )
    used = point.stake_law > 1e-6
    assert np.ptp(gains[:-1, used], axis=1).max() < 1e-5 * mu


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("channel", [{}, {"position": "dealer", "shows": "card"}, MIXED], ids=str)
def test_rows_pay_what_single_environments_pay(channel, is_told):
    detector = {"mu": 0.3} if is_told else BETTOR
    words = {"channel": channel, "detector": detector, "reward_scale": 0.7}
    batch = NiuNiuVectorEnv(9, PEEK, **words)
    singles = [NiuNiuEnv(PEEK, **words) for _ in range(9)]
    if is_told:
        for env in (batch, *singles):
            env.teach_detector(law_of(batch.settings))
    batch.reset(seed=40)
    for i, env in enumerate(singles):
        env.reset(seed=40 + i)
    rng = np.random.default_rng(1)
    for _ in range(40):
        actions = rng.integers(0, 10, 9)
        rewards = batch.step(actions)[1]
        alone = [env.step(action)[1] for env, action in zip(singles, actions, strict=True)]
        assert rewards.tobytes() == np.array(alone).tobytes()
        for env in singles:
            env.reset()


def test_forced_cards_are_priced_as_they_lie():
    deal = ("7S AD 10D QH KS", "AC 2D 3D 4D 8C")
    env, batch = (
        NiuNiuEnv(PEEK, **TWO, detector=BETTOR),
        NiuNiuVectorEnv(1, PEEK, **TWO, detector=BETTOR),
    )
    logs = declared_log_factors(watched_bets(env.settings), env.settings.detector)
    plain = NiuNiuEnv(PEEK, **TWO)
    for one in (env, plain):
        one.reset(seed=1, options={"deal": deal})
    paid = env.step(1)[1]
    assert paid == plain.step(1)[1] - 0.1 * logs[0, 1]  # the dealer's ace
    batch.reset(seed=1, options={"deal": deal})
    assert batch.step(np.ones(1, dtype=np.int64))[1][0] == paid


def test_the_mean_price_of_played_rounds_is_that_of_the_enumeration():
    settings = make_settings(PEEK, **TWO, detector={"mu": 1.0})
    watched, plain = NiuNiuVectorEnv(20_000, settings), NiuNiuVectorEnv(20_000, PEEK, **TWO)
    policy, bets = law_of(settings), watched_bets(settings)
    watched.teach_detector(policy)
    seen, _ = watched.reset(seed=0)
    plain.reset(seed=0)
    rng, prices = np.random.default_rng(2), []
    for _ in range(10):
        chances = policy[watched.encoding.decode_signal(seen)]
        actions = (rng.random(20_000) > chances[:, 0]).astype(np.int64)
        seen, paid, *_ = watched.step(actions)
        prices.append(plain.step(actions)[1] - paid)
    prices = np.concatenate(prices)
    error = prices.std() / len(prices) ** 0.5
    assert abs(prices.mean() - bets.information(policy)) < 4 * error
    assert error < 0.003


def test_what_was_told_is_part_of_the_state_and_of_copies():
    for env in (
        NiuNiuEnv(PEEK, **TWO, detector={"mu": 0.1}),
        NiuNiuVectorEnv(1, PEEK, **TWO, detector={"mu": 0.1}),
    ):
        act = 1 if isinstance(env, NiuNiuEnv) else np.ones(1, dtype=np.int64)
        env.reset(seed=5)
        state = env.get_state()
        env.teach_detector(law_of(env.settings))
        told = json.loads(json.dumps(env.get_state()))
        twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]  # noqa: S301, our own
        paid = env.step(act)[1]
        assert [twin.step(act)[1] for twin in twins] == [paid, paid]
        env.set_state(state)  # of before
        assert env.step(act)[1] != paid
        env.set_state(told)
        assert env.step(act)[1] == paid
        env.teach_detector(None)
        assert "watched_policy" not in env.get_state()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ({"detector": 0.1}, "detector takes its keywords, as {'mu': 0.1}"),
        ({"detector": {}}, "mu, the price of a nat in base units, is missing"),
        ({"detector": {"mu": 0}}, "mu is a finite number above 0, got 0"),
        ({"detector": {"mu": 0.1, "see": 0.5}}, "unknown key 'see'; did you mean 'sees'"),
        ({"detector": {"mu": 0.1, "sees": 0.5}}, "sees and base go together"),
        ({"detector": {"mu": 0.1, "sees": 1.0, "base": 0.5}}, "sees is a number between 0 and 1"),
        ({"detector": {"mu": 0.1, "box": "super"}}, "give sees and base as well"),
        ({"detector": BETTOR | {"box": "supper"}}, "no box 'supper'"),
        ({"detector": BETTOR | {"box": 3}}, "box is the name of a box, as 'super', or left out"),
        ({"detector": {"mu": 0.1, "factors": [[1.0]]}}, "a row for each of 13 classes"),
        ({"detector": {"mu": 0.1, "factors": [[1.0], [1.0, 2.0]]}}, "rows of one length"),
        ({"detector": {"mu": 0.1, "factors": [[2.0, 1.0]] * 13}}, "slip 'single=100' have mean 2"),
        ({"detector": {"mu": 0.1, "factors": [[0.0, 1.0]] * 13}}, "finite and above 0"),
        ({"detector": {"mu": 0.1}, "channel": None}, "watches who looks at a card"),
        ({"detector": {"mu": 0.1}, "n_rounds": 2}, "one round's profit: n_rounds=1, not 2"),
        ({"detector": {"mu": 0.1}, "can_leave": True}, "can_leave=False, not True"),
        ({"reward": "expected"}, "takes the dealer's cards as unseen"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_the_remedy(words, part):
    with pytest.raises(ConfigError) as caught:
        make_settings(PEEK, **TWO | words)
    assert part in str(caught.value)


def test_settings_and_what_can_be_told():
    settings = make_settings(PEEK, **TWO, detector=BETTOR)
    assert make_settings(PEEK, **json.loads(json.dumps(settings.to_json()))) == settings
    with pytest.raises(ConfigError, match="a declared detector learns nothing"):
        NiuNiuEnv(settings).teach_detector(None)
    with pytest.raises(ConfigError, match="nobody watches"):
        NiuNiuVectorEnv(2, PEEK).teach_detector(None)
    watch = Watch(make_settings(PEEK, **TWO, detector={"mu": 0.1}))
    assert not watch.prices.any()
    with pytest.raises(ConfigError, match=r"shape \(signals, slips\) \(14, 2\), got \(13, 2\)"):
        watch.learn(np.full((13, 2), 0.5))
    with pytest.raises(ConfigError, match="add up to 1"):
        watch.learn(np.full((14, 2), 0.4))
