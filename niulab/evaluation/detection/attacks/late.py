"""Past posting and pinching: stakes changed after the close, against the results that followed.

A stake that is changed before anything is known changes whatever the result; who raises after he
has seen that he won does not. Rounds without a change speak where a rate of raises is supposed.
Where neither late changes nor times are recorded, a past-posted stake is a large stake: the blocks
of results test it in every round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome
from niulab.evaluation.detection.factors import likelihood_table, tilt_table
from niulab.evaluation.detection.features import AWARD, RESULT, award_law, result_law, top_box
from niulab.evaluation.detection.portfolio import Block, Component
from niulab.evaluation.playlog.plays import boxes_of
from niulab.solvers.joint_law import Cell

__all__ = ["LATE", "change_table", "late_blocks"]

LATE = "stakes after the close"

_SURE = (0.98, 0.6)
"""How often a late change follows the result; else it comes whatever the result is."""

_POSTS = np.array([[0.9, 0.02], [0.5, 0.02], [0.2, 0.02]])
"""Chances to raise when the round is won, and else: who raises rarely loses nothing by it, for
rounds without a raise then speak too."""

_THETAS = (0.5,)
_CHANGES = np.array([-1.0, 0.0, 1.0])

Floats = NDArray[np.float64]


def change_table(
    is_good: NDArray[np.bool_], is_bad: NDArray[np.bool_], law: Floats, sure: Sequence[float]
) -> Floats:
    """Factors of a late fall, no change and a late rise, (3, n_levels, len(sure)).

    With the chance ``sure`` a rise comes only where the level is good and a fall only where it is
    bad: 1 - q + q 1[good] / P(good). is_good, is_bad, law: (n_levels,).
    """
    rates = np.asarray(sure, dtype=np.float64)
    table = np.ones((3, len(law), len(rates)))
    for change, holds in ((0, is_bad), (2, is_good)):
        chance = float(law @ holds)
        if chance > 0:
            table[change] = 1 - rates + rates * (holds / chance)[:, None]
    return table


def late_blocks(sheets: Sequence[RuleSet]) -> Iterator[Block]:
    """Late changes of the main boxes against the result, of the Bonus against the award.

    The second where a sheet has a Bonus.
    """
    yield _result_block(sheets)
    if any(boxes_of(rules)[3] for rules in sheets):
        yield _award_block(sheets)


def _result_block(sheets: Sequence[RuleSet]) -> Block:
    n_cells = max(len(result_law(rules).cells) for rules in sheets)
    names = ("the round won", "the round won at 2:1 or more")
    components = [
        Component(LATE, name, RESULT, "late", f"sure {q:g}") for name in names for q in _SURE
    ]
    components += [
        Component(LATE, names[0], RESULT, "late", f"raised {sure:g}, else {base:g}")
        for sure, base in _POSTS
    ]
    components += [
        Component(LATE, "result of the top box", RESULT, "late", f"theta {theta:g}")
        for theta in _THETAS
    ]
    tables, laws = [], []
    for rules in sheets:
        known = result_law(rules)
        spare = n_cells - len(known.cells)
        law = np.pad(known.law, (0, spare))
        nets, is_win, is_high = _results(rules, known.cells, spare)
        is_loss = np.array([c.outcome == Outcome.LOSE for c in known.cells] + [False] * spare)
        big_loss = is_loss & (nets < np.where(is_high.any(), -1.5, 0))
        parts = [
            change_table(is_win, is_loss, law, _SURE),
            change_table(is_high, big_loss, law, _SURE),
            likelihood_table(is_win, law, _POSTS)[[0, 0, 1]],
            tilt_table(nets, law, _CHANGES, _THETAS),
        ]
        tables.append(np.concatenate(parts, axis=2))
        laws.append(law)
    return Block(tuple(components), tuple(tables), tuple(laws))


def _results(
    rules: RuleSet, cells: Sequence[Cell], spare: int
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """By cell, and ``spare`` more: the top box's result, whether it wins, and at 2:1 or more."""
    n = len(cells) + spare
    nets, is_win, is_high = np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    box = boxes_of(rules)[top_box(rules)]
    for place, cell in enumerate(cells):
        is_win[place] = cell.outcome == Outcome.WIN
        if box is not None:
            unit = cell.unit(rules, box)
            nets[place] = float(unit.net)
            is_high[place] = is_win[place] and unit.moved >= 2
    return nets, is_win, is_high


def _award_block(sheets: Sequence[RuleSet]) -> Block:
    n_levels = max(1 << len(rules.events) for rules in sheets)
    components = tuple(
        Component(LATE, "an award", AWARD, "late bonus", f"sure {q:g}") for q in _SURE
    )
    tables, laws = [], []
    for rules in sheets:
        box = boxes_of(rules)[3]
        law, pays = award_law(rules), np.zeros(1 << len(rules.events), dtype=np.bool_)
        if box is not None:
            cells = [Cell(0, 0, Outcome.LOSE, mask) for mask in range(len(pays))]
            pays = np.array([cell.unit(rules, box).net > 0 for cell in cells])
        spare = n_levels - len(law)
        law, pays = np.pad(law, (0, spare)), np.pad(pays, (0, spare))
        tables.append(change_table(pays, ~pays, law, _SURE))
        laws.append(law)
    return Block(components, tuple(tables), tuple(laws))
