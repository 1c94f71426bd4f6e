"""Exact scores: the published figures, laws for any policy, and what has no exact score."""

from fractions import Fraction

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.base import CallableAgent
from niulab.agents.by_hand import TableAgent
from niulab.agents.registry import SETTERS, make_agent
from niulab.engine.hands import SPLITS, arrange
from niulab.engine.ranking import all_hands
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation.asking import HandAsker
from niulab.evaluation.exact import actions_of, evaluate_arrangement, why_simulated
from niulab.solvers.hand_values import hand_values
from niulab.solvers.one_hand import hand_report
from niulab.solvers.values import box_values

N = 2_598_960


def share(value, digits):
    return round(float(value), digits)


# ---------------------------------------------------------------- published figures


def test_the_oracle_wins_half_and_pays_the_commission(scores_of):
    score = scores_of("003")["oracle"]
    assert score.win_probability == Fraction(1, 2)
    assert score.ev == {box: found.ev for box, found in box_values(load_rules()).items()}
    assert score.value == score.ev["single"] == Fraction(-1, 40)
    assert score.n_errors == 0
    assert score.share_optimal == score.share_niu_found == 1


def test_uniform_play_wins_22_percent_and_is_right_on_44(scores_of):
    score = scores_of("003")["random"]
    assert score.source == "probabilities"
    assert float(score.win_probability) == pytest.approx(0.2231446, abs=5e-8)
    assert share(score.share_optimal, 3) == 0.443
    assert score.normalized == 0
    assert score.value == score.bounds.random


def test_never_claiming_wins_17_percent(scores_of):
    # .1689506 if every hand counts as a high card (tests/solvers); 4,368 hands of tens and faces
    # rank Niu Niu however they are set, which no agent can help
    score = scores_of("003")["never-claim"]
    assert share(score.win_probability, 7) == 0.1701396
    assert score.share_niu_found == Fraction(4368, N - 872_128)
    assert score.n_errors == N - 872_128 - 4368
    assert score.normalized < 0


def test_any_base_is_the_best_base_under_003_but_not_in_hong_kong(scores_of):
    plain, hong_kong = (scores_of(sheet)["first-found-base"] for sheet in ("003", "hong-kong"))
    assert plain.regret == plain.n_errors == 0
    assert hong_kong.n_errors == 44_548
    assert share(hong_kong.regret, 7) == 0.0430125
    assert hong_kong.share_niu_found == 1
    assert share(hong_kong.normalized, 6) == 0.961645


def test_greedy_pairs_find_few_niu_hands(scores_of):
    score = scores_of("003")["greedy-pair"]
    assert score.n_errors == 1_492_968
    assert share(score.value, 7) == -0.5339387
    assert score.regret_by_rank["niu_niu"].errors == 0


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("sheet", ["003", "hong-kong"])
@pytest.mark.parametrize("name", SETTERS)
def test_value_and_regret_add_up_to_the_optimum(name, sheet, scores_of):
    score = scores_of(sheet)[name]
    assert score.value + score.regret == score.bounds.optimum
    assert score.regret >= 0
    assert (score.regret == 0) == (name == "oracle" or (name, sheet) == ("first-found-base", "003"))
    ranks = score.regret_by_rank.values()
    assert sum(rank.regret for rank in ranks) == score.regret
    assert sum(rank.errors for rank in ranks) == score.n_errors
    assert sum(rank.hands for rank in ranks) == score.n_hands == N
    assert all(rank.regret >= 0 and (rank.regret > 0) == (rank.errors > 0) for rank in ranks)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_table_of_actions_has_a_negative_regret(seed, hong_kong):
    table = np.random.default_rng(seed).integers(10, size=N)
    score = evaluate_arrangement(TableAgent(table, hong_kong), hong_kong)
    values = hand_values(hong_kong.rules, hong_kong.slip)
    right = values.is_optimal(table)
    assert score.regret == score.bounds.optimum - score.value > 0
    assert score.share_optimal == Fraction(int(right.sum()), N)
    assert score.n_errors == N - int(right.sum())
    assert score.value * 100 == values.mean(values.of(table))


def test_one_wrong_hand_costs_what_enumerating_its_opponents_says(arrange):
    """The slow road for single hands: another evaluator, no kernel."""
    table = make_agent("oracle", arrange).set_hands(all_hands())
    rows = [2_000_001, 777_777]
    lost = Fraction(0)
    for row in rows:
        hand = all_hands()[row].tolist()
        report = hand_report(arrange.rules, hand, arrange.slip)
        worst = min(report.settings, key=lambda setting: setting.ev_cents)
        assert worst.ev_cents < report.best.ev_cents
        table[row] = worst.action
        lost += (report.best.ev_cents - worst.ev_cents) / 100
    score = evaluate_arrangement(TableAgent(table, arrange), arrange)
    assert score.n_errors == 2
    assert score.regret == lost / N


def test_the_slip_and_every_box_are_scored_apart():
    settings = make_settings("niulab/Arrange-v0", slip="single=200,double=100,super=40")
    score = evaluate_arrangement(make_agent("greedy-pair", settings), settings)
    ev = score.ev
    assert score.value == 2 * ev["single"] + ev["double"] + Fraction(2, 5) * ev["super"]
    assert share(ev["super"], 7) == -2.6137457


def test_where_the_dealer_arranges_setting_is_free_and_the_score_says_so():
    rules = overlay("single-double-super", 'arrangement = "dealer_corrects"\n')
    settings = make_settings("niulab/Arrange-v0", rules=rules)
    score = evaluate_arrangement(make_agent("never-claim", settings), settings)
    assert score.value == Fraction(-1, 40)
    assert score.regret == score.n_errors == 0
    assert score.normalized is None
    assert "setting costs nothing" in score.notes[0]


# ---------------------------------------------------------------- asking


class FirstBase:
    """A policy of its own making: reads flags, knows points, asks nobody."""

    name = "own"

    def __init__(self, settings, *, hook=None):
        self._encoding = Encoding(settings)
        self._hook = hook or plainly

    def initial_state(self, n):
        return 0

    def act(self, observations, masks, infos, state, rng):
        hands = self._encoding.decode_hands(observations)
        points = np.minimum(hands // 4 + 1, 10)
        total = points.sum(axis=1, keepdims=True)
        fronts = points[:, np.array(SPLITS)].sum(axis=2)
        actions = ((total - fronts) % 10 == 0).argmax(axis=1)
        return self._hook(actions, state, rng), state + 1


def test_any_policy_that_reads_observations_is_asked_about_every_hand(arrange, scores_of):
    seen = []
    agent = FirstBase(arrange)
    score = evaluate_arrangement(
        agent, arrange, chunk=1 << 19, progress=lambda done, total: seen.append((done, total))
    )
    assert score.source == "argmax"
    assert score.regret == 0
    assert score.win_probability == scores_of("003")["oracle"].win_probability
    assert seen[-1] == (N, N)
    assert len(seen) == 5


def plainly(actions, state, rng):
    return actions


def by_chance(actions, state, rng):
    return np.where(rng.random(len(actions)) < 0.01, 0, actions)


def by_memory(actions, state, rng):
    return actions if state == 0 else np.zeros_like(actions)


def by_place(actions, state, rng):
    return np.where(np.arange(len(actions)) % 2 == 0, 0, actions)


@pytest.mark.parametrize(
    ("hook", "reason"),
    [(by_chance, "by chance or memory"), (by_memory, "chance or memory"), (by_place, "place")],
)
def test_an_answer_that_depends_on_more_than_the_hand_is_noticed(hook, reason, arrange):
    agent = FirstBase(arrange, hook=hook)
    assert reason in why_simulated(agent, arrange)
    with pytest.raises(ConfigError, match=f"'own' has no exact score: .*{reason}.*simulate"):
        evaluate_arrangement(agent, arrange)


def test_a_shortcut_that_disagrees_with_the_policy_is_not_taken(arrange):
    class TwoFaced(FirstBase):
        def set_hands(self, hands):
            return np.zeros(len(hands), dtype=np.int64)

    assert not HandAsker(TwoFaced(arrange), arrange).can_set_directly()
    assert HandAsker(make_agent("oracle", arrange), arrange).can_set_directly()


def test_illegal_answers_count_as_action_0_and_are_counted(arrange):
    def outside(observations):
        return np.where(observations[:, 0] > 0, 12, 0)  # hands whose lowest card is an ace

    agent = CallableAgent(outside)
    score = evaluate_arrangement(agent, arrange)
    n_with_ace = N - 1_712_304
    assert score.n_illegal == n_with_ace
    assert (
        score.share_optimal
        == evaluate_arrangement(TableAgent(np.zeros(N, dtype=int), arrange), arrange).share_optimal
    )
    strict = make_settings("niulab/Arrange-v0", illegal="raise")
    with pytest.raises(ConfigError, match=rf"{n_with_ace} hands with an action outside 0\.\.9"):
        evaluate_arrangement(agent, strict)


def test_probabilities_are_used_on_request_and_said(arrange):
    class Doubtful(FirstBase):
        def probabilities(self, observations, masks):
            actions, _ = self.act(observations, masks, {}, 0, None)
            rows = np.full((len(actions), 10), 0.02)
            rows[np.arange(len(actions)), actions] += 0.8
            return rows

    agent = Doubtful(arrange)
    assert evaluate_arrangement(agent, arrange).source == "argmax"
    score = evaluate_arrangement(agent, arrange, stochastic=True)
    bounds = score.bounds
    assert score.source == "probabilities"
    # a mixture of four parts best and one part uniform
    assert float(score.value) == pytest.approx(
        float(bounds.optimum) * 0.8 + float(bounds.random) * 0.2, abs=1e-7
    )
    assert float(score.normalized) == pytest.approx(0.8, abs=1e-6)
    with pytest.raises(ConfigError, match="gives no probabilities"):
        evaluate_arrangement(make_agent("oracle", arrange), arrange, stochastic=True)


def test_actions_of_lists_a_setting_for_every_hand(arrange):
    actions = actions_of(make_agent("first-found-base", arrange), arrange)
    assert actions.dtype == np.uint8
    assert actions.shape == (N,)
    hand = all_hands()[1_000_000].tolist()
    best = max(arrange_rank(hand, split) for split in SPLITS)
    assert arrange_rank(hand, SPLITS[actions[1_000_000]]) == best


def arrange_rank(hand, split):
    return arrange(hand, split, load_rules()).rank_index


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"card_order": "dealt"}, "120 orders"),
        ({"n_rounds": 5}, "whole sessions"),
        (
            {"rules": overlay("single-double-super", 'dealer_opens = "before_players"\n')},
            "the dealer's open hand",
        ),
    ],
)
def test_tasks_that_show_more_than_a_hand_have_no_exact_score_yet(words, reason):
    settings = make_settings("niulab/Arrange-v0", **words)
    agent = make_agent("first-found-base", settings)
    assert reason in why_simulated(agent, settings)


def test_a_score_prints_exact_figures_beside_their_floats(scores_of):
    score = scores_of("003")["oracle"]
    plain = score.to_dict()
    assert plain["value"] == {"exact": "-1/40", "float": -0.025}
    assert plain["bounds"]["optimum"]["exact"] == "-1/40"
    assert plain["regret_by_rank"]["niu_niu"]["hands"] == 191_808
    assert score.to_record()["n_errors"] == 0
    assert score.to_record()["normalized_score"] == 1.0
    assert Slip.parse(plain["slip"]) == Slip.parse("single=100")
