"""Continuous stakes: which slip a vector comes to, and how likely slips are under uniform ones."""

import pickle
from itertools import product

import numpy as np
import pytest
from gymnasium.error import InvalidAction
from rows import assert_same, row_of
from strategies import overlay

from niulab.engine.wagers import Slip, can_place, cover_from, exposure_cents
from niulab.envs.rows.masks import LegalActions
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.stakes.mapping import StakeMap
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

STAKE = "niulab/SessionStake-v0"
SHORT_COVER = "even-double-super-bonus"
"""A sheet on which short cover caps losses, and with four boxes."""
SHOE = "six-deck-shoe-flush"

TASKS = [
    {},
    {"chip_cents": 200, "maximum_cents": None},
    {"rules": SHORT_COVER, "target_cents": 2_100, "chip_cents": 200},
    {
        "rules": overlay(
            "single-double-super",
            "[boxes.single]\nminimum_cents = 300\n[boxes.double]\nminimum_cents = 260\n"
            "[boxes.super]\nminimum_cents = 2_000\n",
        )
    },
]


def brute_slips(settings, bankroll):
    """Slips of the task that a bankroll covers, tried one by one."""
    rules, axes = settings.rules, []
    for terms in rules.boxes.values():
        most = min(terms.maximum_cents, settings.maximum_cents or bankroll, bankroll)
        chips = range(0, most + 1, settings.chip_cents)
        axes.append([c for c in chips if c >= terms.minimum_cents or not (c or terms.required)])
    slips = (Slip(tuple(zip(rules.boxes, stakes, strict=True))) for stakes in product(*axes))
    return {slip for slip in slips if can_place(rules, slip, bankroll)}


@pytest.mark.parametrize("keywords", TASKS, ids=lambda k: str(list(k)))
def test_vectors_come_to_every_slip_the_chips_cover_and_to_no_other(keywords):
    settings = make_settings(STAKE, **keywords)
    stakes = StakeMap(settings)
    rng = np.random.default_rng(3)
    least = exposure_cents(settings.rules, cover_from(settings.rules, settings.menu[0], 0))
    for bankroll in {least, least + 95, 1_000, 2_000}:
        affordable = brute_slips(settings, bankroll)
        places = np.array([settings.menu.index(slip) for slip in affordable])
        chips = np.full(len(places), bankroll)
        assert (stakes.slips(stakes.vectors(places, chips), chips) == places).all()
        drawn = rng.uniform(-1.2, 1.2, (3_000, stakes.n_boxes)).astype(np.float32)
        drawn[:8] = np.sign(drawn[:8]) * np.inf
        found = stakes.slips(drawn, np.full(len(drawn), bankroll))
        assert {settings.menu[i] for i in set(found.tolist())} <= affordable
        shares = stakes.shares(np.array([bankroll]))[0]
        assert set(np.flatnonzero(shares).tolist()) == set(places.tolist())


def test_the_menu_is_the_grid_and_holds_the_sessions_menu():
    settings = make_settings(STAKE)
    assert set(settings.menu) == brute_slips(settings, settings.target_cents - 1)
    assert len(settings.menu) == len(set(settings.menu)) == 195
    assert settings.menu[0] == Slip.parse("single=100")
    assert set(make_settings("niulab/Session-v0").menu) <= set(settings.menu)


@pytest.mark.parametrize(
    ("bankroll", "vector", "slip"),
    [
        (2_000, (-1, -1, -1), "single=100"),
        (2_000, (1, 1, 1), "single=1000,double=200"),  # 1,000 + 800 of 2,000; no 1,100 for super
        (2_000, (1, -1, -1), "single=1000"),
        (2_000, (-1, 1, 1), "single=100,double=400"),  # 1,900 left cover 400 on double, then 300
        (2_000, (-1, -1, 1), "single=100,super=100"),
        (3_900, (-1, -1, 1), "single=100,super=300"),
        (2_000, (0, -1, -1), "single=600"),  # 100 + 900 / 2 = 550, halves up
        (2_000, (-1, -0.76, -1), "single=100"),  # .12 of 400 is less than half a chip
        (599, (1, 1, 1), "single=500"),
        (99, (1, 1, 1), "single=100"),  # no bankroll to bet from, and no error
        (2_000, (7, -7, 0.9), "single=1000"),
    ],
)
def test_the_mapping_by_hand(bankroll, vector, slip):
    settings = make_settings(STAKE, rules=overlay("single-double-super", ONE_CHIP))
    stakes = StakeMap(settings)
    found = stakes.slips(np.array([vector], dtype=np.float32), np.array([bankroll]))[0]
    assert str(settings.menu[found]) == slip


ONE_CHIP = "[boxes.double]\nminimum_cents = 100\n[boxes.super]\nminimum_cents = 100\n"


@pytest.mark.parametrize("keywords", TASKS[:3], ids=lambda k: str(list(k)))
def test_shares_are_those_of_an_even_lattice_of_vectors(keywords):
    """Midpoints of m cells an axis count cell lengths to 1 / m, and so shares to n_boxes / m."""
    settings = make_settings(STAKE, **keywords)
    stakes = StakeMap(settings)
    m = 24 if stakes.n_boxes == 4 else 80
    ticks = (np.arange(m) + 0.5) * 2 / m - 1
    lattice = np.array(list(product(ticks, repeat=stakes.n_boxes)))
    for bankroll in (700, 2_000):
        found = stakes.slips(lattice, np.full(len(lattice), bankroll))
        counts = np.bincount(found, minlength=len(settings.menu)) / len(lattice)
        shares = stakes.shares(np.array([bankroll]))[0]
        assert shares.sum() == pytest.approx(1, abs=1e-12)
        assert np.abs(counts - shares).max() < stakes.n_boxes / m


def test_shares_by_hand():
    """300 cents: single 100, 200, 300 with 1/4, 1/2, 1/4; what is left covers no double."""
    settings = make_settings(STAKE, rules=overlay("single-double-super", ONE_CHIP))
    shares = StakeMap(settings).shares(np.array([300, 500]))
    by_slip = {str(settings.menu[i]): shares[0, i] for i in np.flatnonzero(shares[0])}
    assert by_slip == {"single=100": 0.25, "single=200": 0.5, "single=300": 0.25}
    with_double = {str(settings.menu[i]): shares[1, i] for i in np.flatnonzero(shares[1])}
    assert with_double["single=100"] == with_double["single=100,double=100"] == 1 / 16


@pytest.mark.parametrize("keywords", TASKS, ids=lambda k: str(list(k)))
def test_rows_play_what_single_environments_play(keywords):
    batch = NiuNiuVectorEnv(3, STAKE, **keywords)
    singles = [NiuNiuEnv(STAKE, **keywords) for _ in range(3)]
    seen, _ = batch.reset(seed=11)
    for row, env in enumerate(singles):
        assert (env.reset(seed=11 + row)[0] == seen[row]).all()
    batch.action_space.seed(0)
    for _ in range(25):
        actions = batch.action_space.sample()
        masks = batch.action_masks()
        seen, rewards, terminated, _, infos = batch.step(actions)
        for row, env in enumerate(singles):
            assert (env.action_masks() == masks[row]).all()
            shown, reward, has_ended, _, info = env.step(actions[row])
            assert (reward, has_ended) == (rewards[row], terminated[row])
            told = infos["final_info"] if has_ended else infos
            assert_same(row_of(told, row), info)
            if has_ended:
                shown, _ = env.reset()
            assert (shown == seen[row]).all()


def test_what_lies_was_covered_and_nothing_is_masked():
    env = NiuNiuEnv(STAKE, rules=SHORT_COVER, target_cents=2_100)
    env.action_space.seed(1)
    _, info = env.reset(seed=2)
    needs = LegalActions(env.settings).needs
    for _ in range(200):
        before = int(info["bankroll_cents"])
        _, _, ended, _, info = env.step(env.action_space.sample())
        assert not {"action_mask", "illegal_action"} & set(info)
        assert needs[info["settlement"]["slip"]] <= before
        if ended:
            _, info = env.reset()


@pytest.mark.parametrize(
    "action", [0, [0.0, 0.0], [[0.0, 0.0, 0.0]], [0.0, np.nan, 0.0], "bold", [None, 1, 1]], ids=str
)
def test_what_is_no_vector_is_refused_and_changes_nothing(action):
    env, batch = NiuNiuEnv(STAKE), NiuNiuVectorEnv(2, STAKE)
    env.reset(seed=0)
    batch.reset(seed=0)
    for played, given in ((env, action), (batch, [action, action])):
        before = played.get_state()
        with pytest.raises(InvalidAction, match="stakes are numbers from -1 to 1 of shape"):
            played.step(given)
        assert played.get_state() == before


def test_whole_numbers_and_float64_are_vectors_too():
    env = NiuNiuEnv(STAKE)
    env.reset(seed=0)
    assert env.step([1, -1, -1])[4]["settlement"]["slip"] == env.settings.menu.index(
        Slip.parse("single=1000")
    )


def test_rows_that_wait_for_their_reset_may_be_given_anything():
    batch = NiuNiuVectorEnv(2, STAKE, autoreset_mode="NextStep", n_rounds=1)
    batch.reset(seed=0)
    batch.step(np.zeros((2, 3)))
    seen, rewards, *_ = batch.step(np.full((2, 3), np.nan))
    assert rewards.tolist() == [0, 0]
    assert seen in batch.observation_space


def test_settings_survive_pickle_json_and_changes():
    settings = make_settings(STAKE)
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301, our own bytes
    assert make_settings(STAKE, **settings.to_json()) == settings
    changed = make_settings(settings, target_cents=3_000)
    assert changed.menu == make_settings(STAKE, target_cents=3_000).menu
    assert len(changed.menu) < len(settings.menu)


@pytest.mark.parametrize(
    ("keywords", "part"),
    [
        ({"decisions": "bet_and_set"}, "needs decisions='bet', not 'bet_and_set'"),
        ({"decisions": "set"}, "needs decisions='bet', not 'set'"),
        ({"bankroll_cents": None}, "give bankroll_cents"),
        ({"can_leave": True}, "can_leave is one more action"),
        ({"mask": "observation"}, "choose 'info'"),
        ({"channel": {"position": "own", "shows": "rank"}}, "channel shows a card before a bet"),
        ({"rules": SHOE, "shoe": "counts"}, "shoe shows cards before a bet from a menu"),
        ({"sheets": [SHORT_COVER, "single-double-super"]}, "stakes='menu', not 'continuous'"),
        ({"menu": "grid"}, "leave slip and menu out"),
        ({"slip": "single=100"}, "leave slip and menu out"),
        ({"stakes": "menu"}, "chip_cents limits continuous stakes"),
        ({"stakes": "continous"}, "did you mean 'continuous'"),
        ({"chip_cents": 0}, "chip_cents is a whole number of at least 1"),
        ({"maximum_cents": 50}, "takes no single stake from 100 cents"),
        ({"chip_cents": None, "maximum_cents": None}, "give coarser chips"),
        ({"target_cents": None, "objective": "profit", "maximum_cents": None}, "single alone"),
        ({"target_cents": 50}, "target_cents=50 is above bankroll_cents=2000, or there is no game"),
    ],
    ids=str,
)
def test_mistakes_name_the_remedy(keywords, part):
    with pytest.raises(ConfigError) as caught:
        make_settings(STAKE, **keywords)
    assert part in str(caught.value)


def test_without_a_target_the_table_limits_are_the_grid():
    settings = make_settings(
        STAKE, target_cents=None, objective="profit", chip_cents=500, maximum_cents=1_000
    )
    assert len(settings.menu) == 2 * 3 * 3
