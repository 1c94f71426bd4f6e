"""The law of the bankroll, moved round by round through one task until every episode has ended.

This is the environment's own session (its masks, its ends, its objectives) on the lattice of the
nets: no sampling and no discretization.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import log

import numpy as np
from numpy.typing import NDArray

from niulab.engine.wagers import Slip, cover_from
from niulab.envs.encoding import BETTING
from niulab.envs.rows.masks import LegalActions
from niulab.envs.settings import EnvSettings
from niulab.envs.stakes.mapping import StakeMap
from niulab.solvers.joint_law import JointLaw
from niulab.solvers.sessions.net_law import NetLaw, net_law

__all__ = ["Choose", "SessionEnds", "SessionWalk", "Weights", "masks_at", "uniform_choice"]

_EPSILON = float(np.finfo(np.float64).eps)

Weights = NDArray[np.float64]
Choose = Callable[[NDArray[np.int64], int | None, NDArray[np.bool_]], Weights]
"""Probabilities of the actions (n, n_actions) at bankrolls (n,), rounds left and masks."""


@dataclass
class SessionEnds:
    """What became of all probability: the value it earned and how episodes ended.

    by_end: probability of each end. rounds, net_cents: means. n_states: bankrolls asked about, over
    all rounds. error: bound of the relative rounding error of each probability.
    """

    value: float = 0.0
    rounds: float = 0.0
    net_cents: float = 0.0
    n_states: int = 0
    error: float = 0.0
    by_end: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class SessionWalk:
    """The forward programme of one task under one law of the round for each slip.

    ``law_of`` takes a menu index.
    """

    def __init__(self, settings: EnvSettings, law_of: Callable[[int], JointLaw]) -> None:
        self.settings = settings
        self._law_of = law_of
        self._legal = LegalActions(settings)
        self._laws: dict[tuple[int, Slip], NetLaw] = {}

    def run(self, choose: Choose) -> SessionEnds:
        """Move the law of the bankroll until every episode has ended."""
        settings, ends = self.settings, SessionEnds()
        bankrolls = np.array([settings.bankroll_cents], dtype=np.int64)
        masses = np.ones(1)
        left = settings.n_rounds
        while len(bankrolls):
            masks = masks_at(settings, self._legal, bankrolls)
            weights = choose(bankrolls, left, masks)
            ends.n_states += len(bankrolls)
            self._leave(bankrolls, masses, weights, ends)
            moved, mass = self._move(bankrolls, masses, weights, ends)
            left = None if left is None else left - 1
            bankrolls, masses = self._end(moved, mass, left, ends)
        return ends

    def _move(
        self,
        bankrolls: NDArray[np.int64],
        masses: Weights,
        weights: Weights,
        ends: SessionEnds,
    ) -> tuple[NDArray[np.int64], Weights]:
        """Play a round: bankrolls after it, each once, and their probabilities."""
        parts, chances = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        for index in np.flatnonzero(weights[:, : len(self.settings.menu)].any(axis=0)).tolist():
            rows = np.flatnonzero(weights[:, index])
            for slip, among in self._placed(index, bankrolls[rows]):
                law = self._net_law(index, slip)
                at = rows[among]
                share = masses[at] * weights[at, index]
                parts.append((bankrolls[at, None] + law.nets).ravel())
                chances.append((share[:, None] * law.probabilities).ravel())
        places, mass = np.concatenate(parts), np.concatenate(chances)
        reached, at = np.unique(places, return_inverse=True)
        merged: Weights = np.zeros(len(reached))
        np.add.at(merged, at, mass)
        n_terms = int(np.bincount(at, minlength=1).max(initial=0)) + 2  # and two products
        ends.error += (n_terms + len(bankrolls)) * _EPSILON  # all terms are positive
        ends.rounds += float(merged.sum())
        if self.settings.objective == "time_at_table":
            ends.value = ends.rounds
        return reached, merged

    def _placed(
        self, index: int, bankrolls: NDArray[np.int64]
    ) -> list[tuple[Slip, NDArray[np.int64]]]:
        """The slip as it lies at each bankroll: another one where short cover caps losses."""
        slip, rules = self.settings.menu[index], self.settings.rules
        if all(rules.boxes[box].cover.shortfall == "refuse" for box in slip.boxes):
            return [(slip, np.arange(len(bankrolls)))]
        lying = [cover_from(rules, slip, int(bankroll)) for bankroll in bankrolls]
        return [
            (one, np.array([i for i, other in enumerate(lying) if other == one]))
            for one in dict.fromkeys(lying)
        ]

    def _net_law(self, index: int, slip: Slip) -> NetLaw:
        key = index, slip  # two of the menu can lie alike under short cover
        if key not in self._laws:
            self._laws[key] = net_law(self.settings.rules, slip, self._law_of(index))
        return self._laws[key]

    def _leave(
        self, bankrolls: NDArray[np.int64], masses: Weights, weights: Weights, ends: SessionEnds
    ) -> None:
        leave = self.settings.leave_action
        if leave is not None:
            self._close("left", bankrolls, masses * weights[:, leave], ends)

    def _end(
        self, bankrolls: NDArray[np.int64], masses: Weights, left: int | None, ends: SessionEnds
    ) -> tuple[NDArray[np.int64], Weights]:
        """Close the episodes that a round ended, in the environment's order of reasons."""
        settings = self.settings
        reasons = np.full(len(bankrolls), "", dtype=object)
        if left == 0:
            reasons[:] = "n_rounds"
        reasons[bankrolls < self._legal.needs[0]] = "ruin"
        if settings.target_cents is not None:
            reasons[bankrolls >= settings.target_cents] = "target"
        for reason in ("target", "ruin", "n_rounds"):
            rows = reasons == reason
            self._close(reason, bankrolls[rows], masses[rows], ends)
        going_on = (reasons == "") & (masses > 0)
        return bankrolls[going_on], masses[going_on]

    def _close(
        self, reason: str, bankrolls: NDArray[np.int64], masses: Weights, ends: SessionEnds
    ) -> None:
        mass = float(masses.sum())
        if not mass:
            return
        settings, unit = self.settings, self.settings.rules.base_unit_cents
        start = settings.bankroll_cents or 0
        ends.by_end[reason] += mass
        net = float(masses @ (bankrolls - start))
        ends.net_cents += net
        if settings.objective == "target" and reason == "target":
            ends.value += mass
        elif settings.objective == "profit":
            ends.value += net / unit
        elif settings.objective == "log_wealth":
            logs = np.array([log(b + unit) for b in bankrolls.tolist()])
            ends.value += float(masses @ (logs - log(start + unit)))


def masks_at(
    settings: EnvSettings, legal: LegalActions, bankrolls: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Masks of the betting phase at some bankrolls: bool (n, n_actions)."""
    masks = np.ones((len(bankrolls), settings.n_actions), dtype=np.bool_)
    legal.write(np.full(len(bankrolls), BETTING, dtype=np.int8), bankrolls, masks)
    return masks


def uniform_choice(settings: EnvSettings) -> Choose:
    """Uniform play: over the legal actions, or over the vectors of continuous stakes."""
    if settings.stakes == "continuous":
        stakes = StakeMap(settings)
        return lambda bankrolls, _left, _masks: stakes.shares(bankrolls)

    def choose(
        _bankrolls: NDArray[np.int64], _left: int | None, masks: NDArray[np.bool_]
    ) -> Weights:
        shares: Weights = masks / masks.sum(axis=1, keepdims=True)
        return shares

    return choose
