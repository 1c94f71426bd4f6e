"""Advantage players by kind: configs by name, crowds of them, and what each earns a round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from niulab.agents.advantage.config import (
    AttackConfig,
    Beneficiary,
    CardSwitcher,
    Colluders,
    EdgeSorter,
    Exploiter,
    FrontierPlayer,
    HoldOut,
    HoleCarder,
    LatePlayer,
    RatedPlayer,
    Steerer,
)
from niulab.agents.advantage.crowd import Attackers, Seats
from niulab.agents.advantage.hiding import RatedSeers, hidden_edge
from niulab.agents.advantage.late import LatePlayers, late_edge
from niulab.agents.advantage.paid import Beneficiaries, Exploiters, exploited_edge, mispaid_edge
from niulab.agents.advantage.sight import Seers, Steerers, Team, seen_edge, steered_edge
from niulab.agents.advantage.switching import HoldersOut, Switchers
from niulab.engine.rules import RuleSet

__all__ = ["ATTACKS", "attack_edge", "make_attackers"]

ATTACKS: Mapping[str, type[AttackConfig]] = MappingProxyType(
    {
        "hole_carder": HoleCarder,
        "edge_sorter": EdgeSorter,
        "colluders": Colluders,
        "frontier": FrontierPlayer,
        "rated": RatedPlayer,
        "steerer": Steerer,
        "late_player": LatePlayer,
        "beneficiary": Beneficiary,
        "exploiter": Exploiter,
        "card_switcher": CardSwitcher,
        "hold_out": HoldOut,
    }
)

_CROWDS: Mapping[str, Callable[[RuleSet, Seats, Any], Attackers]] = MappingProxyType(
    {
        "hole_carder": Seers,
        "edge_sorter": Seers,
        "colluders": Team,
        "frontier": RatedSeers,
        "rated": RatedSeers,
        "steerer": Steerers,
        "late_player": LatePlayers,
        "beneficiary": Beneficiaries,
        "exploiter": Exploiters,
        "card_switcher": Switchers,
        "hold_out": HoldersOut,
    }
)

_EDGES: Mapping[str, Callable[[RuleSet, Any], Fraction]] = MappingProxyType(
    {
        "hole_carder": seen_edge,
        "edge_sorter": seen_edge,
        "colluders": seen_edge,
        "frontier": hidden_edge,
        "rated": hidden_edge,
        "steerer": steered_edge,
        "late_player": late_edge,
        "beneficiary": mispaid_edge,
        "exploiter": exploited_edge,
    }
)


def make_attackers(rules: RuleSet, seats: Seats, config: AttackConfig) -> Attackers:
    """The crowd of a config at some seats; members of a team follow each other."""
    return _CROWDS[config.kind](rules, seats, config)


def attack_edge(rules: RuleSet, config: AttackConfig) -> Fraction | None:
    """Exact mean cents a round of the one who stakes; None where only a simulation tells.

    Conditions are those of the edge of each kind; starts and stops are left out.
    """
    edge = _EDGES.get(config.kind)
    return None if edge is None else edge(rules, config)
