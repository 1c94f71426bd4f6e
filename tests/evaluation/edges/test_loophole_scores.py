"""A sheet drawn for every round: exact scores of any policy, and the environment beside them.

Most tests draw from sheets of one ranking, whose law is solved once.
"""

from fractions import Fraction

import numpy as np
import pytest

from niulab.agents.base import CallableAgent
from niulab.agents.registry import agent_names, make_agent
from niulab.engine.rules import load_rules
from niulab.envs.settings import make_settings
from niulab.envs.sheets.values import sheet_values
from niulab.errors import ConfigError
from niulab.evaluation import benchmark, evaluate, known_bounds
from niulab.evaluation.config import parse_benchmark, read_benchmark
from niulab.evaluation.edges.loophole import (
    evaluate_loophole,
    loophole_bounds,
    why_loophole_simulated,
)
from niulab.evaluation.rounds import why_round_simulated
from niulab.evaluation.simulate import simulate
from niulab.evaluation.tables import score_lines
from niulab.evaluation.tables.league import legend
from niulab.solvers.values import box_values

LOOPHOLE = "niulab/Loophole-v0"
BASE = "even-double-super-bonus"
SHEETS = [BASE, f"{BASE}-literal-note", f"{BASE}-half-on-7", "single-double-super"]

# Known figures per unit staked, of no solver here.
EVEN, HALF_ON_7 = Fraction(-8991591383, 398664610344), Fraction(-6262911266, 249165381465)
DOUBLE, SUPER = Fraction(-8134827643, 302018644200), Fraction(-466382605027, 3322205086200)
NOTE, SINGLE = Fraction(4590028421549, 9966615258600), Fraction(-1, 40)


@pytest.fixture(scope="module")
def task():
    return make_settings(LOOPHOLE, sheets=SHEETS)


@pytest.fixture(scope="module")
def hidden():
    return make_settings(LOOPHOLE, sheets=SHEETS, rules_visible=False)


def score_of(policy, settings, **words):
    return evaluate_loophole(make_agent(policy, settings), settings, **words)


def test_the_optimum_is_put_together_from_published_edges(task):
    score = score_of("optimal", task)
    optimum = (EVEN + (EVEN + NOTE) + HALF_ON_7 + SINGLE) / 4
    assert score.value == score.bounds.optimum == optimum
    assert (score.normalized, score.regret) == (1, 0)
    assert score.slips == {"even=100": Fraction(3, 4), "even=100,super=100": Fraction(1, 4)}
    assert score.win_probability == Fraction(1, 2)
    assert known_bounds(task) == score.bounds
    assert score.rules == f"{BASE} and 3 more"
    assert score.bounds.ceiling == "optimum"


def test_one_slip_for_all_sheets_earns_the_mean_of_its_edges(task):
    values = sheet_values(task)
    required = (2 * EVEN + HALF_ON_7 + SINGLE) / 4
    supers = (3 * SUPER + NOTE) / 4
    assert score_of("flat:6", task).value == required + supers
    assert score_of("flat:5", task).value == required + 5 * DOUBLE
    assert values.blind_cents[6] == 100 * (required + supers)
    assert "the best slip for all sheets is worth -0.013964" in score_of("flat:6", task).notes[1]


@pytest.mark.parametrize("place", range(4))
def test_the_edges_of_a_sheet_are_those_of_solve(task, place):
    """Values of slips are sums of stakes times the EVs that ``niulab solve`` prints."""
    rules, nets = load_rules(SHEETS[place]), sheet_values(task).nets_cents[place]
    evs = {box: values.ev for box, values in box_values(rules).items()}
    for slip, net in zip(task.menu, nets, strict=True):
        stakes = {rules.required_box if box == "even" else box: c for box, c in slip.stakes}
        if set(stakes) <= set(evs):
            assert net == sum(cents * evs[box] for box, cents in stakes.items())
        else:
            assert net == nets[0]  # the slip is replaced by the least one


def test_uniform_play_is_over_the_slips_of_the_mask(task, hidden):
    score = score_of("random", task, stochastic=True)
    assert score.source == "probabilities"
    nets = sheet_values(task).nets_cents
    exact = (sum(sum(line) for line in nets[:3]) / 10 + sum(nets[3][:9]) / 9) / 400
    assert score.bounds.random == exact
    assert float(score.value) == pytest.approx(float(exact), abs=1e-6)  # to the last bit of weights
    assert abs(float(score.normalized)) < 1e-5
    assert loophole_bounds(hidden).random == sum(sum(line) for line in nets) / 4_000


@pytest.mark.parametrize("policy", ["optimal", "random", "flat:9"])
@pytest.mark.parametrize("is_visible", [True, False])
def test_the_environment_pays_what_the_exact_score_says(policy, is_visible):
    settings = make_settings(LOOPHOLE, sheets=SHEETS, rules_visible=is_visible)
    agent = make_agent(policy, settings)
    exact = evaluate_loophole(agent, settings, stochastic=policy == "random")
    seen = simulate(agent, settings, n_rounds=20_000, seed=3).estimate
    assert abs(seen.mean - float(exact.value)) < 2 * seen.half_width


def test_hidden_rules_are_scored_against_a_bound_that_is_no_optimum(task, hidden):
    score = score_of("optimal", hidden)
    values = sheet_values(hidden)
    assert score.value == max(values.blind_cents) / 100
    assert score.bounds.optimum == known_bounds(task).optimum > score.value
    assert score.bounds.ceiling == "upper bound of full information"
    assert score.normalized < 1
    labels = [label for label, _ in score_lines(score)]
    assert score.bounds.ceiling in labels
    assert "optimum" not in labels
    assert score.to_dict()["bounds"]["ceiling"] == score.bounds.ceiling
    assert "no policy more while the rules are hidden" in score.notes[1]


def test_hidden_one_function_of_one_observation_is_one_slip(hidden):
    seen = []

    def note(observations, masks):
        seen.append((len(np.unique(observations, axis=0)), bool(masks.all())))
        return np.full(len(observations), 6)

    score = evaluate_loophole(CallableAgent(note), hidden)
    assert set(seen) == {(1, True)}
    assert score.slips == {"even=100,super=100": 1}


def test_any_function_of_the_terms_is_scored(task):
    column = 1 + make_agent("optimal", task)._encoding.terms.index("super.lose_odds.niu_6")

    def on_the_note(observations, masks):
        return np.where(observations[:, column] < 1, 6, 0)

    assert evaluate_loophole(CallableAgent(on_the_note), task).regret == 0


def test_illegal_answers_become_the_least_slip(task):
    score = score_of("flat:6", task)
    wild = evaluate_loophole(CallableAgent(lambda seen: np.full(len(seen), 9)), task)
    assert (score.n_illegal, wild.n_illegal) == (0, 1)
    assert wild.slips == {"even=100": Fraction(1, 4), "even=100,bonus=100": Fraction(3, 4)}
    outside = evaluate_loophole(CallableAgent(lambda seen: np.full(len(seen), 10)), task)
    assert (outside.n_illegal, outside.slips) == (4, {"even=100": 1})


def test_what_is_not_exact_says_so(task):
    several = make_settings(task, n_rounds=3)
    agent = make_agent("least-slip", several)
    assert "more than one round" in why_loophole_simulated(agent, several)
    assert known_bounds(several).optimum is None
    with pytest.raises(ConfigError, match="simulate it instead"):
        evaluate_loophole(agent, several)
    assert "drawn anew" in why_round_simulated(agent, task)
    plain = make_settings(LOOPHOLE, rules=BASE)
    assert "draws no sheets" in why_loophole_simulated(agent, plain)
    with pytest.raises(ConfigError, match="draws no sheets"):
        sheet_values(plain)

    def by_chance(observations, masks):
        return np.random.default_rng().integers(0, 9, len(observations))

    score = evaluate(by_chance, LOOPHOLE, sheets=SHEETS, rounds=2_000)
    assert not score.is_exact
    assert score.bounds.optimum == known_bounds(task).optimum


def test_three_rounds_are_worth_three(task):
    several = make_settings(task, n_rounds=3)
    score = simulate(make_agent("optimal", several), several, n_rounds=20_000, seed=1)
    expected = 3 * float(known_bounds(task).optimum)
    assert abs(score.estimate.mean - expected) < 2 * score.estimate.half_width


def test_a_league_warns_of_every_sheet_and_of_no_honest_gain():
    tree = {"task": LOOPHOLE, "agents": ["optimal", "random"], "rounds": 3_000, "seed": 0}
    league = benchmark(parse_benchmark(tree | {"env": {"sheets": SHEETS, "rules_visible": False}}))
    assert [row.name for row in league.rows] == ["optimal", "random"]
    assert len(league.warnings) == 1
    assert "literal-note pays the PLAYER" in league.warnings[0]
    assert any("upper bound of full information" in line for line in legend(league))
    assert league.provenance.rules == f"{BASE} and 3 more"


def test_the_shipped_benchmark_names_the_task_and_optimal_is_offered(task):
    config = read_benchmark("loophole")
    assert config.task == LOOPHOLE
    assert config.agents[0] == "optimal"
    assert "optimal" in agent_names(task)
    with pytest.raises(ConfigError, match="sheets=None"):
        type(make_agent("optimal", task))(make_settings(LOOPHOLE, rules=BASE))
