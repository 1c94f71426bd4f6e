"""What the slips of a task that draws its sheet are worth under each sheet, exactly."""

from __future__ import annotations

from fractions import Fraction

from niulab.engine.settlement import Outcome
from niulab.envs.settings import EnvSettings
from niulab.envs.sheets.drawing import Sheets
from niulab.errors import ConfigError
from niulab.solvers.channels import SignalValues
from niulab.solvers.joint_law import joint_law
from niulab.solvers.mixes import mix_values

__all__ = ["sheet_values", "uniform_cents"]

_KEPT: dict[tuple[str, tuple[object, ...]], SignalValues] = {}
_MOST_KEPT = 64


def sheet_values(settings: EnvSettings) -> SignalValues:
    """Exact values of the menu's slips under each sheet, hands set best: signal i is sheet i.

    A slip that a sheet does not take is worth what slip 0 is, by which it is replaced. About a
    second for each new ranking. Raises ConfigError for a task that draws no sheets.
    """
    if settings.sheets is None:
        raise ConfigError(
            "the task draws no sheets: use niulab/Loophole-v0, or give sheets=[...] of two or more"
        )
    key = (settings.rules_hash, settings.menu)
    if key not in _KEPT:
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
        _KEPT[key] = _solve(Sheets(settings.sheets, settings.menu))
    return _KEPT[key]


def _solve(sheets: Sheets) -> SignalValues:
    nets, wins = [], []
    for rules, menu in zip(sheets.rules, sheets.menus, strict=True):
        law = joint_law(rules)
        nets.append(tuple(values.ev_cents for values in mix_values(rules, menu, law)))
        wins.append(law.probability(Outcome.WIN))
    n = len(nets)
    return SignalValues(
        names=tuple(rules.name for rules in sheets.rules),
        chances=(Fraction(1, n),) * n,
        nets_cents=tuple(nets),
        wins=tuple(wins),
        blind_cents=tuple(sum(column, Fraction(0)) / n for column in zip(*nets, strict=True)),
    )


def uniform_cents(settings: EnvSettings) -> Fraction:
    """Exact mean of uniform play over the actions that the mask shows as legal, in cents."""
    values = sheet_values(settings)
    takes = Sheets(settings.every_sheet, settings.menu).takes | (not settings.rules_visible)
    means = [
        sum((net for net, is_legal in zip(nets, line, strict=True) if is_legal), Fraction(0))
        / int(line.sum())
        for nets, line in zip(values.nets_cents, takes, strict=True)
    ]
    return sum(means, Fraction(0)) / len(means)
