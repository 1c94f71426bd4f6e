"""Sessions played path by path in Fractions: the slow second road beside the compiled programmes.

Nets come from settling every cell of the joint law; nothing of ``solvers.sessions`` is used but the
tables' own arrays.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from niulab.engine.wagers import exposure_cents, least_slip
from niulab.solvers.joint_law import joint_law

PLAYING, RUINED, REACHED, LEFT = "playing", "ruined", "reached", "left"


@dataclass
class Walk:
    """``by[status][t]`` along the path; ``states``: (status, bankroll, drawdown) at the end."""

    by: dict[str, list[Fraction]] = field(
        default_factory=lambda: {status: [] for status in (RUINED, REACHED, LEFT)}
    )
    laws: list[Counter] = field(default_factory=list)
    drawdowns: Counter = field(default_factory=Counter)
    staked: Fraction = Fraction(0)
    moved: Fraction = Fraction(0)
    rounds: Fraction = Fraction(0)

    def place(self, slip, law, share):
        self.staked += share * slip.total_cents
        self.moved += share * law[1]
        self.rounds += share

    def mean(self, t):
        return sum(cents * p for cents, p in self.laws[t].items())

    def quantile(self, t, p):
        total = Fraction(0)
        for cents, mass in sorted(self.laws[t].items()):
            total += mass
            if total >= p:
                return cents
        raise AssertionError


def unit_laws(rules, slips, law=None):
    """For each slip: the Counter of its net, and mean chips moved, as Fractions."""
    law = joint_law(rules) if law is None else law
    laws = []
    for slip in slips:
        nets, moved = Counter(), Fraction(0)
        for cell, n in law.cells.items():
            settled = cell.settle(rules, slip)
            nets[settled.net_cents] += Fraction(n, law.n_deals)
            moved += Fraction(n * settled.moved_cents, law.n_deals)
        laws.append((nets, moved))
    return laws


def walk_paths(rules, tables, *, start_cents, n_rounds, target_cents=None, law=None):
    """Sum over all paths, merged where memory, bankroll, peak, drawdown and status agree."""
    nets_of = unit_laws(rules, tables.slips, law)
    ruin = exposure_cents(rules, least_slip(rules))
    walk = Walk()

    def status_of(bankroll):
        if target_cents is not None and bankroll >= target_cents:
            return REACHED
        return RUINED if bankroll < ruin else PLAYING

    states = Counter({(tables.initial, start_cents, start_cents, 0, status_of(start_cents)): 1})
    for played in range(n_rounds + 1):
        following = Counter()
        for (memory, bankroll, peak, fall, status), mass in states.items():
            if status != PLAYING or played == n_rounds:
                following[memory, bankroll, peak, fall, status] += mass
                continue
            drawn = range(len(tables.choice)) if tables.redraws else [memory]
            for m in drawn:
                share = Fraction(mass) / len(drawn)
                place = int(tables.choice[m, bankroll // tables.step_cents])
                if place < 0:
                    following[m, bankroll, peak, fall, LEFT] += share
                    continue
                walk.place(tables.slips[place], nets_of[place], share)
                for net, p in nets_of[place][0].items():
                    after, top = bankroll + net, max(peak, bankroll + net)
                    heir = int(tables.next[m, (net > 0) - (net < 0) + 1])
                    key = heir, after, top, max(fall, top - after), status_of(after)
                    following[key] += share * p
        # ruin and target as of round ``played``; those who leave do so before the next round
        for status, reached in walk.by.items():
            counted = following if status == LEFT else states
            reached.append(sum(mass for key, mass in counted.items() if key[4] == status))
        walk.laws.append(_margin(states, 1))
        if played < n_rounds:
            states = following
    walk.drawdowns = _margin(states, 3)
    return walk


def _margin(states, place):
    law = Counter()
    for key, mass in states.items():
        law[key[place]] += mass
    return law
