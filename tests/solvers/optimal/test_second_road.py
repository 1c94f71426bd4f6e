"""The optimum again by roads that share nothing with the solver: Fractions, linear programming."""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from strategies import PLAYABLE, overlay

from niulab.engine.wagers import Slip, exposure_cents
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.values import solve_betting

RULES = PLAYABLE["single-double-super"]
COARSE = overlay(
    "single-double-super", '[boxes.single]\ncommission = { rate = "1/5", least_odds = 1 }\n'
)
TEXTS = ("single=100", "single=200", "single=100,double=100", "single=100,super=20")


def laws(rules, texts):
    """(exposure, {net: probability}) of each slip, settled cell by cell in Fractions."""
    law = joint_law(rules)
    result = []
    for text in texts:
        slip = Slip.of(text)
        nets = {}
        for cell, n in law.cells.items():
            net = cell.settle(rules, slip).net_cents
            nets[net] = nets.get(net, 0) + Fraction(n, law.n_deals)
        result.append((exposure_cents(rules, slip), nets))
    return result


def problem(texts, rules=RULES, **words):
    slips = tuple(Slip.of(text) for text in texts)
    return BettingProblem(rules=rules, slips=slips, **words)


OBJECTIVES = ("profit", "survival", "target", "time_at_table")


def ending(objective, start, target):
    """What a session that ends with some cents is worth."""
    if objective == "target":
        return lambda cents: Fraction(cents >= target)
    if objective == "survival":
        return lambda cents: Fraction(cents >= 100)
    unit = int(objective == "profit")
    return lambda cents: Fraction(unit * (cents - start), 100)


@pytest.mark.parametrize("can_leave", [False, True])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_backward_induction_in_fractions(objective, can_leave):
    start, target, n_rounds = 300, 700, 3
    known, end = laws(RULES, TEXTS), ending(objective, start, target)
    bonus = int(objective == "time_at_table")

    @cache
    def value(cents, left):
        worth = end(cents)
        if cents >= target or cents < 100 or not left:
            return worth
        best = max(
            bonus + sum(p * value(cents + net, left - 1) for net, p in nets.items())
            for need, nets in known
            if need <= cents
        )
        return max(best, worth) if can_leave else best

    solution = solve_betting(
        problem(
            TEXTS, start_cents=start, target_cents=target, n_rounds=n_rounds,
            objective=objective, can_leave=can_leave,
        )
    )  # fmt: skip
    exact = value(start, n_rounds)
    assert solution.gap < 1e-11
    assert solution.low[0, solution.start] <= exact <= solution.high[0, solution.start]
    for cents in (100, 200, 405, 590):
        if not np.isnan(solution.low[1, cents // solution.step_cents]):
            low, high = (
                bound[1, cents // solution.step_cents] for bound in (solution.low, solution.high)
            )
            assert low <= value(cents, 2) <= high


def solve_fractions(matrix, right):
    """x of matrix x = right by elimination."""
    rows = [[*row, r] for row, r in zip(matrix, right, strict=True)]
    n = len(rows)
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i and rows[k][i]:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("objective", ["target", "time_at_table", "profit"])
def test_without_a_deadline_the_policy_is_exactly_optimal(objective):
    """Its values solve a linear system of Fractions, and no other slip is better anywhere."""
    start, target, step = 200, 400, 20
    texts = ("single=100", "single=200", "single=300")
    known = laws(COARSE, texts)
    solution = solve_betting(
        problem(texts, COARSE, start_cents=start, target_cents=target, objective=objective)
    )
    assert solution.step_cents == step
    bonus, end = int(objective == "time_at_table"), ending(objective, start, target)
    playing = list(range(100, target, step))
    place = {cents: i for i, cents in enumerate(playing)}

    def one_step(cents, slip, values):
        _, nets = known[slip]
        return bonus + sum(
            p * (values[place[cents + net]] if cents + net in place else end(cents + net))
            for net, p in nets.items()
        )

    matrix, right = [], []
    for cents in playing:
        slip = solution.best_index(cents)
        row = [Fraction(int(other == cents)) for other in playing]
        for net, p in known[slip][1].items():
            if cents + net in place:
                row[place[cents + net]] -= p
        matrix.append(row)
        right.append(one_step(cents, slip, [0] * len(playing)))
    values = solve_fractions(matrix, right)
    for cents in playing:
        options = [one_step(cents, s, values) for s, (need, _) in enumerate(known) if need <= cents]
        assert max(options) == values[place[cents]]
        level = cents // step
        assert solution.low[0, level] <= values[place[cents]] <= solution.high[0, level]
    assert solution.max_gap < 1e-9


def test_a_linear_programme_finds_the_same_target_value():
    """The least function that no slip improves on (d'Epenoux 1963), on 240 bankrolls."""
    start, target, step = 600, 1200, 5
    texts = ("single=100", "single=500", "single=100,double=100", "single=100,super=100")
    known = laws(RULES, texts)
    n = target // step
    rows, right = [], []
    for level in range(100 // step, n):
        for need, nets in known:
            if need > level * step:
                continue
            row, reached = np.zeros(n), 0.0
            row[level] = -1
            for net, p in nets.items():
                after = level + net // step
                if after >= n:
                    reached += float(p)
                else:
                    row[after] += float(p)
            rows.append(row)
            right.append(-reached)
    found = linprog(np.ones(n), A_ub=np.array(rows), b_ub=right, bounds=(0, 1), method="highs")
    solution = solve_betting(problem(texts, start_cents=start, target_cents=target))
    assert found.fun == pytest.approx(
        float((solution.low[0] + solution.high[0]).sum() / 2), abs=1e-6
    )
    assert found.x[start // step] == pytest.approx(solution.value, abs=1e-8)


def test_the_mean_of_the_worst_share_over_all_policies():
    """Two rounds, three slips of one box: all 3 * 3 * 3 plans that look at the bankroll."""
    texts = ("single=100", "single=200", "single=300")
    known = [nets for _, nets in laws(RULES, texts)]

    def worst_mean(law, share):
        total, left = Fraction(0), share
        for net, p in sorted(law.items()):
            taken = min(p, left)
            total, left = total + taken * net, left - taken
        return total / share / 100

    def law_of(first, after_win, after_loss):
        law = {}
        for net, p in known[first].items():
            for second, q in known[after_win if net > 0 else after_loss].items():
                law[net + second] = law.get(net + second, 0) + p * q
        return law

    for share in (Fraction(1, 10), Fraction(1, 3), Fraction(4, 5), Fraction(1)):
        best = max(worst_mean(law_of(*plan), share) for plan in product(range(3), repeat=3))
        solution = solve_betting(
            problem(texts, start_cents=2000, n_rounds=2, objective="cvar", level=float(1 - share))
        )
        assert solution.value == pytest.approx(float(best), abs=1e-9)
        assert solution.gap < 1e-9


def test_all_thresholds_agree_with_the_search():
    """On a menu whose best plan mixes boxes, against every threshold of the lattice."""
    start, n_rounds, share = 600, 2, 0.25
    known = laws(RULES, TEXTS)

    def best_at(threshold):
        @cache
        def value(cents, left):
            if cents < 100 or not left:
                return min(cents - start - threshold, 0) / 100
            return max(
                sum(float(p) * value(cents + net, left - 1) for net, p in nets.items())
                for need, nets in known
                if need <= cents
            )

        return threshold / 100 + value(start, n_rounds) / share

    best = max(best_at(threshold) for threshold in range(-600, 200, 5))
    words = {"start_cents": start, "n_rounds": n_rounds, "objective": "cvar", "level": 1 - share}
    solution = solve_betting(problem(TEXTS, **words))
    assert solution.value == pytest.approx(best, abs=1e-9)
    assert best_at(solution.threshold_cents) == pytest.approx(best, abs=1e-12)
