"""Whole sessions scored exactly: against enumeration in Fractions, the environment and by parts."""

from dataclasses import replace
from fractions import Fraction
from math import log

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.base import CallableAgent
from niulab.agents.registry import make_agent
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import cover_from, exposure_cents
from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation.sessions.exact import (
    evaluate_session,
    session_bounds,
    why_session_simulated,
)
from niulab.evaluation.sessions.walk import SessionWalk
from niulab.evaluation.simulate import simulate
from niulab.solvers.joint_law import joint_law
from niulab.solvers.sessions.net_law import net_law

MENU = ["single=100", "single=300", "single=100,double=100", "single=100,super=40"]


def session(**keywords):
    words = {"menu": MENU, "bankroll_cents": 700, "target_cents": 1000, "n_rounds": 3}
    return make_settings("niulab/Session-v0", **{**words, **keywords})


def by_chips(settings, thresholds=(400, 600, 800)):
    """An agent that bets by the bankroll it sees, and by the rounds left: 0, 1, 2 or 3."""
    encoding = Encoding(settings)
    layout = {field.name: field.start for field in encoding.layout}
    target = settings.target_cents or 0

    def act(observations, masks):
        share = observations[:, layout["bankroll"]].astype(np.float64)
        chips = share * target if target else share * settings.bankroll_cents / (1 - share)
        late = observations[:, layout["rounds left"]] < 0.4
        bets = np.searchsorted(thresholds, np.rint(chips)) + late
        bets = bets % len(settings.menu)
        return np.where(masks[np.arange(len(bets)), bets], bets, 0)

    return act


def enumerate_session(settings, choose, worth):
    """Exact value by walking through every round, slip and net with Fractions; slow and plain."""
    rules, menu = settings.rules, settings.menu
    laws = {}

    def law(slip):
        if slip not in laws:
            found = net_law(rules, slip)
            laws[slip] = [
                (int(net), Fraction(n, found.n_deals))
                for net, n in zip(found.nets, found.counts, strict=True)
            ]
        return laws[slip]

    def walk(bankroll, left):
        if settings.target_cents and bankroll >= settings.target_cents:
            return worth(bankroll, "target")
        if bankroll < exposure_cents(rules, cover_from(rules, menu[0], 0)):
            return worth(bankroll, "ruin")
        if left == 0:
            return worth(bankroll, "n_rounds")
        total = Fraction(0)
        for index, share in choose(bankroll, left).items():
            if index == settings.leave_action:
                total += share * worth(bankroll, "left")
                continue
            slip = cover_from(rules, menu[index], bankroll)
            for net, chance in law(slip):
                total += share * chance * walk(bankroll + net, left - 1)
        return total

    return walk(settings.bankroll_cents, settings.n_rounds)


def legal_slips(settings, bankroll):
    rules = settings.rules
    return [
        index
        for index, slip in enumerate(settings.menu)
        if exposure_cents(rules, cover_from(rules, slip, 0)) <= bankroll
    ] + ([settings.leave_action] if settings.can_leave else [])


def uniform(settings):
    def choose(bankroll, _left):
        legal = legal_slips(settings, bankroll)
        return dict.fromkeys(legal, Fraction(1, len(legal)))

    return choose


@pytest.mark.parametrize("can_leave", [False, True])
def test_uniform_play_is_enumerated_exactly(can_leave):
    settings = session(can_leave=can_leave)
    by_hand = enumerate_session(
        settings, uniform(settings), lambda _, end: Fraction(end == "target")
    )
    assert session_bounds(settings).random == pytest.approx(float(by_hand), rel=1e-13)


@pytest.mark.parametrize("objective", ["target", "profit", "log_wealth", "time_at_table"])
def test_a_policy_is_scored_as_by_enumeration(objective):
    settings = session(objective=objective)
    act = by_chips(settings)
    agent = CallableAgent(act, "by chips")
    score = evaluate_session(agent, settings)
    wanted = make_settings(settings)
    encoding = Encoding(wanted)

    def choose(bankroll, left):
        shown = encoding.encode_bets(1, bankrolls=np.array([bankroll]), rounds_left=left)
        masks = np.isin(np.arange(settings.n_actions), legal_slips(settings, bankroll))[None]
        return {int(act(shown, masks)[0]): Fraction(1)}

    def worth(bankroll, end):
        if objective == "target":
            return Fraction(end == "target")
        if objective == "profit":
            return Fraction(bankroll - 700, 100)
        if objective == "log_wealth":
            return Fraction(log(bankroll + 100) - log(800))
        return Fraction(0)

    if objective == "time_at_table":
        net = enumerate_session(settings, choose, lambda b, _: Fraction(b - 700, 100))
        assert score.mean_net == pytest.approx(float(net), abs=1e-12)
        assert score.value == score.mean_rounds
    else:
        by_hand = enumerate_session(settings, choose, worth)
        assert score.value == pytest.approx(float(by_hand), abs=1e-12)
    assert sum(score.ends.values()) == pytest.approx(1, abs=1e-12)
    assert score.error < 1e-10


def test_the_environment_plays_what_the_score_says():
    settings = make_settings("niulab/Session-v0")
    agent = make_agent("flat:7", settings)
    score = evaluate_session(agent, settings)
    seen = simulate(agent, settings, n_rounds=40_000, seed=3)
    assert seen.estimate.covers(score.value)
    assert set(seen.ends) == set(score.ends)
    for end, times in seen.ends.items():
        assert times / 40_000 == pytest.approx(score.ends[end], abs=0.01)


def test_settings_of_hands_enter_and_their_regret_is_split():
    settings = make_settings("niulab/NiuNiu-v0")
    score = evaluate_session(make_agent("flat:7+never-claim", settings), settings)
    bets_only = make_settings("niulab/Session-v0")
    best = evaluate_session(make_agent("flat:7", bets_only), bets_only)
    assert best.setting_regret == 0
    assert score.setting_regret > 0.2
    assert score.value + score.setting_regret == pytest.approx(best.value, abs=1e-15)
    seen = simulate(make_agent("flat:7+never-claim", settings), settings, n_rounds=4_000)
    assert abs(seen.estimate.mean - score.value) < 4e-3


def test_short_cover_makes_another_law_at_every_bankroll():
    rules = overlay(
        "single-double-super", '[boxes.super.cover]\nmultiple = 10\nshortfall = "cap_loss"\n'
    )
    settings = session(rules=rules, menu=["single=100", "single=100,super=100"])
    by_hand = enumerate_session(
        settings, uniform(settings), lambda _, end: Fraction(end == "target")
    )
    assert session_bounds(settings).random == pytest.approx(float(by_hand), rel=1e-13)


def test_slips_that_lie_alike_keep_the_settings_of_their_own():
    rules = overlay(
        "single-double-super", '[boxes.super.cover]\nmultiple = 10\nshortfall = "cap_loss"\n'
    )
    menu = ["single=100", "single=100,super=100", "single=100,super=100/300"]
    settings = session(rules=rules, menu=menu, bankroll_cents=400, n_rounds=1, objective="profit")
    best = joint_law(rules)
    poor = replace(best, cells={c: n for c, n in best.cells.items() if c.outcome != Outcome.WIN})

    def value(*weights):
        walk = SessionWalk(settings, lambda index: poor if index == 2 else best)
        return walk.run(lambda *_: np.array([weights])).value

    first, second = value(0.0, 1.0, 0.0), value(0.0, 0.0, 1.0)
    assert second < first - 1
    assert value(0.0, 0.5, 0.5) == pytest.approx((first + second) / 2, rel=1e-12)


def test_what_has_no_exact_score_says_why():
    settings = session()
    random = make_agent("random", settings)
    assert evaluate_session(random, settings, stochastic=True).source == "probabilities"
    rng = np.random.default_rng(0)  # an agent with chance of its own
    moody = CallableAgent(lambda obs: rng.integers(0, 2, len(obs)), "moody")
    reason = why_session_simulated(moody, settings)
    assert reason is not None
    assert reason.startswith("it bets by chance or memory")
    with pytest.raises(ConfigError, match="has no exact score: it bets by chance"):
        evaluate_session(moody, settings)
    shoe = session(rules="six-deck-shoe-bonus", menu=["even=100", "even=200"])
    assert why_session_simulated(random, shoe) == "rounds of one shoe depend on each other"
    assert session_bounds(shoe).random is None


class _Chaser:
    """Doubles after a loss that it reads off the infos, or off the bankroll it saw before."""

    name = "chaser"

    def __init__(self, *, reads_infos):
        self._reads_infos = reads_infos

    def initial_state(self, n):
        return None

    def act(self, observations, masks, infos, state, rng):
        chips = observations.sum(axis=1)  # of the betting phase: bankroll and rounds left
        if self._reads_infos:
            has_lost = infos.get("last_net_cents", np.zeros(len(masks))) < 0
        else:
            has_lost = np.zeros(len(masks), dtype=bool) if state is None else chips < state
        return (has_lost & masks[:, 1]).astype(np.int64), chips


@pytest.mark.parametrize("reads_infos", [True, False])
@pytest.mark.parametrize("can_leave", [True, False])
def test_bets_that_hang_on_the_round_before_are_simulated(reads_infos, can_leave):
    settings = session(menu=["single=100", "single=200"], n_rounds=4, can_leave=can_leave)
    reason = why_session_simulated(_Chaser(reads_infos=reads_infos), settings)
    assert reason is not None
    assert reason.startswith("it acts by memory or by the infos: asked without them, it acted ")
    for name in ("least-slip", "system:bold"):  # who looks at the bankroll only
        assert why_session_simulated(make_agent(name, settings), settings) is None


def test_settings_that_depend_on_the_bankroll_are_simulated():
    settings = make_settings("niulab/NiuNiu-v0", n_rounds=2, menu=["single=100", "single=1000"])
    encoding = Encoding(settings)
    column = next(field.start for field in encoding.layout if field.name == "bankroll")

    def act(observations):
        is_bet = encoding.decode_phase(observations) == "betting"
        is_rich = observations[:, column] > 0.5
        return np.where(is_bet, 1, np.where(is_rich, 9, 0))

    reason = why_session_simulated(CallableAgent(act, "moody"), settings)
    assert reason is not None
    assert reason.startswith("its settings depend on the bankroll or the rounds left, for ")


def test_illegal_answers_count_as_action_0_and_are_counted():
    settings = session()
    wild = CallableAgent(lambda obs: np.full(len(obs), 99), "wild")
    least = evaluate_session(make_agent("least-slip", settings), settings)
    score = evaluate_session(wild, settings)
    assert score.value == least.value
    assert score.n_illegal == score.n_states == least.n_states
