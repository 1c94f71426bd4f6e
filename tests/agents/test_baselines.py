"""Each baseline does what its name says, card by card."""

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.baselines import OracleAgent, RandomAgent
from niulab.agents.registry import make_agent
from niulab.engine.cards import parse_hand
from niulab.engine.hands import SPLITS, arrangements
from niulab.engine.ranking import all_hands
from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.solvers.one_hand import best_setting, hand_report

ARRANGE = make_settings("niulab/Arrange-v0")
HONG_KONG = make_settings("niulab/Arrange-v0", rules="ngau-ngau-hong-kong")


def front(agent, text):
    """The cards an agent puts in front."""
    hand = sorted(parse_hand(text))
    action = int(agent.set_hands(np.array([hand], dtype=np.uint8))[0])
    return {hand[place] for place in SPLITS[action]}


@pytest.fixture(scope="module")
def sample():
    rows = np.random.default_rng(3).choice(len(all_hands()), 300, replace=False)
    return all_hands()[rows]


def ranks_set(agent, hands):
    actions = agent.set_hands(hands)
    return [
        arrangements(hand, agent.settings.rules)[action].rank_index
        for hand, action in zip(hands.tolist(), actions.tolist(), strict=True)
    ]


@pytest.mark.parametrize("settings", [ARRANGE, HONG_KONG], ids=["003", "hong-kong"])
def test_never_claim_ranks_as_low_as_a_hand_can(settings, sample):
    lowest = [
        min(a.rank_index for a in arrangements(hand, settings.rules)) for hand in sample.tolist()
    ]
    assert ranks_set(make_agent("never-claim", settings), sample) == lowest


def test_greedy_pair_takes_the_highest_digit_even_without_a_base():
    agent = make_agent("greedy-pair", ARRANGE)
    assert front(agent, "9D AC KS QH 5D") == set(parse_hand("9D AC KS QH 5D")[:2])  # K Q 5: no base
    assert front(agent, "4D 6S 5C QH AD") == set(parse_hand("4D 6S 5C QH AD")[:2])  # nor 5 Q A
    assert front(agent, "3C 6H 2D 6S AD") == set(parse_hand("3C 6H 2D 6S AD")[:2])  # the first 9


@pytest.mark.parametrize("settings", [ARRANGE, HONG_KONG], ids=["003", "hong-kong"])
def test_first_found_base_takes_the_first_setting_with_a_base(settings, sample):
    actions = make_agent("first-found-base", settings).set_hands(sample).tolist()
    for hand, action in zip(sample.tolist(), actions, strict=True):
        ways = arrangements(hand, settings.rules)
        if len({way.rank_index for way in ways}) > 1:  # a five-card special holds however it is set
            assert action == [way.has_base for way in ways].index(True)
        else:
            assert action == 0


def test_the_oracle_agrees_with_direct_enumeration(sample):
    agent = OracleAgent(HONG_KONG)
    actions = agent.set_hands(sample[:2]).tolist()
    for hand, action in zip(sample[:2].tolist(), actions, strict=True):
        report = hand_report(HONG_KONG.rules, hand, HONG_KONG.slip)
        assert report.settings[action].ev_cents == report.best.ev_cents


def test_the_oracle_sets_for_the_slip_it_sees_at_stake():
    odd = overlay(
        "single-double-super",
        "[boxes.double]\nwin_odds = { default = 1, high_card = 50 }\nlose_odds = { default = 1 }\n",
    )
    settings = make_settings(
        "niulab/Table-v0", rules=odd, menu=["single=100", "single=100,double=100"]
    )
    hand = np.array([sorted(parse_hand("KS KH 10D AC 10S"))], dtype=np.uint8)
    encoding = Encoding(settings)
    seen = np.concatenate([encoding.encode_hands(hand, slip=slip) for slip in (0, 1)])
    masks = np.ones((2, settings.n_actions), dtype=np.bool_)
    actions, _ = OracleAgent(settings).act(seen, masks, {}, None, np.random.default_rng(0))
    ranks = [arrangements(hand[0].tolist(), odd)[a].rank_index for a in actions.tolist()]
    assert ranks == [1, 0]  # 50 to 1 for a high card: then the niu is not claimed


def test_the_oracle_plays_against_the_dealers_open_hand():
    rules = overlay("single-double-super", 'dealer_opens = "before_players"\n')
    settings = make_settings("niulab/Arrange-v0", rules=rules)
    rng = np.random.default_rng(5)
    cards = np.stack([rng.choice(52, 10, replace=False) for _ in range(50)]).astype(np.uint8)
    hands, dealers = np.sort(cards[:, :5], axis=1), np.sort(cards[:, 5:], axis=1)
    seen = Encoding(settings).encode_hands(hands, dealers)
    masks = np.ones((50, 10), dtype=np.bool_)
    actions, _ = OracleAgent(settings).act(seen, masks, {}, None, rng)
    best = [
        best_setting(rules, hand, settings.slip, dealer)
        for hand, dealer in zip(hands.tolist(), dealers.tolist(), strict=True)
    ]
    assert actions.tolist() == best


def test_random_play_is_uniform_over_legal_actions_and_knows_it():
    masks = np.zeros((60_000, 10), dtype=np.bool_)
    masks[:, [1, 4, 6]] = True
    agent = RandomAgent()
    seen = np.zeros((len(masks), 1))
    actions, _ = agent.act(seen, masks, {}, None, np.random.default_rng(0))
    counts = np.bincount(actions, minlength=10) / len(masks)
    assert set(np.flatnonzero(counts)) == {1, 4, 6}
    assert np.allclose(counts[[1, 4, 6]], 1 / 3, atol=0.01)
    assert np.allclose(agent.probabilities(seen, masks)[0, [1, 4, 6]], 1 / 3)
