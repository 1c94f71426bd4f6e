"""Each id is worth solving: exact values of uniform play, simple rules and the optimum, as printed.

The betting tasks are solved by a finite-horizon programme over all bankrolls, which the lattice of
nets makes exact; it is written here apart from the package, on the law of a round alone.
"""

from functools import cache
from math import gcd, sqrt

import numpy as np
import pytest
from worth import WORTH, published

from niulab.agents.baselines import FirstFoundBaseAgent, GreedyPairAgent
from niulab.engine.ranking import ranker
from niulab.engine.settlement import settle
from niulab.engine.wagers import exposure_cents
from niulab.envs.settings import make_settings
from niulab.envs.stakes.mapping import StakeMap
from niulab.solvers.hand_values import hand_values
from niulab.solvers.joint_law import joint_law
from niulab.solvers.matchups import matchups
from niulab.solvers.policy_law import policy_law, uniform_weights
from niulab.solvers.values import box_values, slip_values


@cache
def law_of(name, setting):
    rules = make_settings(name).rules
    if setting == "best":
        return joint_law(rules)
    return policy_law(rules, uniform_weights(matchups(rules)))


@cache
def nets(name, setting):
    """For each slip of the menu: distinct nets in cents and their probabilities."""
    settings, law = make_settings(name), law_of(name, setting)
    result = []
    for slip in settings.menu:
        found = {}
        for cell, n in law.cells.items():
            net = settle(
                settings.rules, slip,
                outcome=cell.outcome, player_rank=cell.player_rank,
                dealer_rank=cell.dealer_rank, events=cell.events,
            ).net_cents  # fmt: skip
            found[net] = found.get(net, 0) + n
        result.append({net: n / law.n_deals for net, n in found.items()})
    return result


class Programme:
    """P(target) of stationary rules of play, by backward steps over all bankrolls below it."""

    def __init__(self, name, setting, **changes):
        self.settings = make_settings(name, **changes)
        self.laws = nets(name, setting)
        self.step = gcd(*(net for law in self.laws for net in law))
        self.bankrolls = np.arange(0, self.settings.target_cents, self.step)
        needs = np.array([exposure_cents(self.settings.rules, s) for s in self.settings.menu])
        self.can_place = needs[:, None] <= self.bankrolls
        self.needs = needs

    def values_of_slips(self, after):
        """P(target) of each slip at each bankroll, given the values after the round."""
        size = len(self.bankrolls)
        values = np.zeros(self.can_place.shape)
        for slip, law in enumerate(self.laws):
            for net, probability in law.items():
                place = np.arange(size) + net // self.step
                reached = np.where(place >= size, 1.0, after[np.clip(place, 0, size - 1)])
                values[slip] += probability * np.where(place < 0, 0.0, reached)
        return np.where(self.can_place, values, -1.0)

    def value(self, choose):
        """P(target) from the start when ``choose`` maps values of slips to the value of a state."""
        after = np.zeros(len(self.bankrolls))
        for _ in range(self.settings.n_rounds):
            of_slips = self.values_of_slips(after)
            after = np.where(self.can_place[0], choose(of_slips), 0.0)
        return after[self.settings.bankroll_cents // self.step], of_slips

    def optimum(self):
        return self.value(lambda values: values.max(axis=0))[0]

    def uniform(self):
        legal = self.can_place
        return self.value(
            lambda values: np.where(legal, values, 0).sum(0) / np.maximum(legal.sum(0), 1)
        )[0]

    def flat(self, slip):
        """One slip as long as it can be placed, then the least."""
        return self.value(lambda values: np.where(self.can_place[slip], values[slip], values[0]))[0]

    def bold(self):
        """The slip with the most chips in sight that the bankroll covers."""
        order = np.argsort(-self.needs, kind="stable")

        def choose(values):
            first = self.can_place[order].argmax(axis=0)
            return values[order[first], np.arange(values.shape[1])]

        return self.value(choose)[0]

    def just_enough(self):
        """The least chips in sight that can reach the target at once, else bold play."""
        most = np.array([max(law) for law in self.laws])[:, None]
        reaches = self.can_place & (self.bankrolls + most >= self.settings.target_cents)
        small, large = (np.argsort(sign * self.needs, kind="stable") for sign in (1, -1))

        def choose(values):
            columns = np.arange(values.shape[1])
            bold = large[self.can_place[large].argmax(axis=0)]
            enough = small[reaches[small].argmax(axis=0)]
            return values[np.where(reaches.any(axis=0), enough, bold), columns]

        return self.value(choose)[0]

    def n_reachable(self):
        """Bankrolls x rounds left at which a decision can have to be made."""
        reached, total = {self.settings.bankroll_cents}, 0
        for _ in range(self.settings.n_rounds):
            total += len(reached)
            after = {
                bankroll + net
                for bankroll in reached
                for need, law in zip(self.needs, self.laws, strict=True)
                if need <= bankroll
                for net in law
            }
            reached = {b for b in after if self.needs[0] <= b < self.settings.target_cents}
        return total

    def first_choice(self):
        """The optimum and how much the second best first slip falls short of it."""
        start = self.settings.bankroll_cents // self.step
        optimum, of_slips = self.value(lambda values: values.max(axis=0))
        best, second = sorted(of_slips[:, start], reverse=True)[:2]
        return optimum, best - second

    def simple_rules(self):
        rules = {f"flat {slip}": self.flat(i) for i, slip in enumerate(self.settings.menu)}
        return rules | {"bold play": self.bold(), "just enough": self.just_enough()}


class StakeProgramme(Programme):
    """The same over all slips of the chip grid, with uniform play over vectors."""

    def uniform(self):
        shares = StakeMap(self.settings).shares(self.bankrolls).T
        return self.value(lambda values: np.where(shares > 0, shares * values, 0).sum(0))[0]

    def flats(self):
        """Each slip as long as it can be placed, then the least; each with values of its own."""
        size, at = len(self.bankrolls), np.arange(len(self.bankrolls))

        def mean(law, after):
            known = np.append(after, 1.0)
            places = [np.clip(at + net // self.step, -1, size) for net in law]
            return sum(p * known[place] for p, place in zip(law.values(), places, strict=True))

        result = []
        for law, can_place in zip(self.laws, self.can_place, strict=True):
            after = np.zeros(size)
            for _ in range(self.settings.n_rounds):
                bet = np.where(can_place, mean(law, after), mean(self.laws[0], after))
                after = np.where(self.can_place[0], bet, 0.0)
            result.append(after[self.settings.bankroll_cents // self.step])
        return result

    def simple_rules(self):
        flats = dict(zip(map(str, self.settings.menu), self.flats(), strict=True))
        rules = {f"flat {slip}": value for slip, value in flats.items()}
        return rules | {"bold play": self.bold(), "just enough": self.just_enough()}

    def n_reachable(self):
        reached = self.bankrolls == self.settings.bankroll_cents
        total = 0
        for _ in range(self.settings.n_rounds):
            total += np.count_nonzero(reached)
            after = np.zeros_like(reached)
            for can_place, law in zip(self.can_place, self.laws, strict=True):
                for net in law:
                    place = np.flatnonzero(reached & can_place) + net // self.step
                    after[place[place < len(after)]] = True
            reached = after & self.can_place[0]
        return int(total)


def test_session_is_a_decision():
    programme = Programme("niulab/Session-v0", "best")
    optimum, uniform = programme.optimum(), programme.uniform()
    simple = programme.simple_rules()
    best = max(simple.values())
    assert optimum - best > WORTH * (optimum - uniform)
    assert max(simple, key=simple.get) == "just enough"
    assert uniform < best
    flat = max(value for rule, value in simple.items() if rule.startswith("flat"))
    least, bold = simple["flat single=100"], simple["bold play"]
    published("Session.md", *(f"{v:.6f}" for v in (least, uniform, flat, bold, best, optimum)))


@pytest.mark.parametrize("n_rounds", [2, 4, 8, 12])
def test_session_stays_a_decision_over_other_horizons(n_rounds):
    programme = Programme("niulab/Session-v0", "best", n_rounds=n_rounds)
    optimum, uniform = programme.optimum(), programme.uniform()
    bold, enough = programme.bold(), programme.just_enough()
    assert optimum - max(bold, enough) > WORTH * (optimum - uniform)
    published("../sweeps.md", *(f"{value:.6f}" for value in (uniform, bold, enough, optimum)))


def test_session_stake_is_a_decision_and_its_hardness_is_published():
    programme = StakeProgramme("niulab/SessionStake-v0", "best")
    uniform, simple = programme.uniform(), programme.simple_rules()
    optimum, gap = programme.first_choice()
    best = max(simple.values())
    assert optimum - best > WORTH * (optimum - uniform)
    assert max(simple, key=simple.get) == "just enough"
    assert uniform < best
    flat = max(value for rule, value in simple.items() if rule.startswith("flat"))
    least, bold = simple["flat single=100"], simple["bold play"]
    figures = (f"{v:.6f}" for v in (least, uniform, flat, bold, best, optimum))
    published("SessionStake.md", *figures, f"{(optimum - best) / (optimum - uniform):.3f}")
    edges = box_values(programme.settings.rules).values()
    published("SessionStake.md", *(f"{-float(box.ev):.4f}" for box in edges))
    sd = sqrt(optimum * (1 - optimum))
    published("SessionStake.md", f"{sd:.3f} / {gap:.4f} = {sd / gap:.0f}")
    published("SessionStake.md", f"{programme.n_reachable():,}")


def test_the_sessions_hardness_is_published():
    programme = Programme("niulab/Session-v0", "best")
    optimum, gap = programme.first_choice()
    sd = sqrt(optimum * (1 - optimum))
    hardness = f"{sd:.3f} / {gap:.4f} = {sd / gap:.0f}"
    for page in ("Session.md", "NiuNiu.md"):
        published(page, hardness, f"{programme.n_reachable():,}")


def test_niuniu_is_a_decision_twice_over():
    best_set, badly_set = (Programme("niulab/NiuNiu-v0", s) for s in ("best", "uniform"))
    optimum, uniform = best_set.optimum(), badly_set.uniform()
    simple = max(best_set.simple_rules().values())
    blind = badly_set.optimum()
    assert optimum - max(simple, blind) > WORTH * (optimum - uniform)
    published("NiuNiu.md", *(f"{v:.6f}" for v in (uniform, blind, simple, optimum)))


def test_table_is_a_sanity_check_for_the_bet_and_a_decision_for_the_hand():
    def means(setting):
        return [
            sum(net * p for net, p in law.items()) / 100 for law in nets("niulab/Table-v0", setting)
        ]

    best_set, badly_set = means("best"), means("uniform")
    assert max(best_set) == best_set[0] == pytest.approx(-0.025)  # least slip: by proof
    uniform = float(np.mean(badly_set))
    published("Table.md", *(f"{v:.6f}" for v in (uniform, badly_set[0], best_set[0])))
    assert best_set[0] - badly_set[0] > WORTH * (best_set[0] - uniform)


class Settings:
    """Values in base units of every setting of every hand of a task, and of rules that set them."""

    def __init__(self, name):
        self.settings = make_settings(name)
        self.values = values = hand_values(self.settings.rules, self.settings.slip)
        self.unit = 100 * values.denominator
        self.rows = np.arange(len(values.numerators))
        columns = [values.numerators[self.rows, options] for options in values.option_of.T]
        self.best, self.least = np.maximum.reduce(columns), np.minimum.reduce(columns)
        self.uniform = float(np.mean([column.mean() for column in columns])) / self.unit
        self.worst, self.optimum = self.least.mean() / self.unit, self.best.mean() / self.unit

    def rule(self, agent):
        """The mean of a rule, and the share of hands it sets best."""
        options = self.values.option_of[self.rows, agent.set_hands(self.values.table.hands)]
        found = self.values.numerators[self.rows, options]
        return found.mean() / self.unit, (found == self.best).mean()

    def hardness(self):
        has_choice = self.least < self.best
        gap = (self.best - self.least)[has_choice].mean() / self.unit
        sd = slip_values(self.settings.rules, self.settings.slip).sd_cents / 100
        return f"{sd:.3f} / {gap:.3f} = {sd / gap:.2f}", f"{has_choice.mean():.3f}"


@pytest.mark.parametrize(
    ("env_id", "optimum"), [("niulab/Arrange-v0", -0.025), ("niulab/ArrangeHK-v0", 0.0)]
)
def test_arranging_measures_learning_and_its_hardness_is_published(env_id, optimum):
    task = Settings(env_id)
    exact = task.values.mean(task.values.best)
    assert task.optimum == pytest.approx(float(exact) / 100) == pytest.approx(optimum)
    greedy, _ = task.rule(GreedyPairAgent(task.settings))
    assert optimum - max(task.uniform, greedy) > WORTH * (optimum - task.uniform)
    figures = (f"{v:.6f}" for v in (task.uniform, task.worst, greedy, optimum))
    published(f"{env_id[7:-3]}.md", *figures, *task.hardness())


def test_the_choice_among_bases_of_hong_kong_is_published():
    task = Settings("niulab/ArrangeHK-v0")
    span = task.optimum - task.uniform
    greedy, _ = task.rule(GreedyPairAgent(task.settings))
    value, share = task.rule(FirstFoundBaseAgent(task.settings))
    ranks = ranker(task.settings.rules).split_ranks(task.values.table.hands)
    has_base = (ranks > 0).any(axis=1)
    least = np.where(ranks > 0, ranks, 99).min(axis=1)
    differ = (has_base & (least < ranks.max(axis=1))).mean()
    left = [f"{(task.optimum - v) / span:.3f}" for v in (greedy, value)]
    published("ArrangeHK.md", f"{value:.6f}", f"{share:.3f}", f"{differ:.3f}", *left)
