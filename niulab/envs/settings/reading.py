"""How settings are read: keywords over a preset, with every mistake in one error."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from niulab.engine.rules import DEFAULT_RULES, RuleSet, check_rules, load_rules
from niulab.engine.shoe import rounds_per_shoe
from niulab.engine.wagers import Slip, least_slip, verify_slip
from niulab.envs.presets import PRESETS, full_id
from niulab.envs.settings import model
from niulab.envs.settings.contradictions import contradictions
from niulab.envs.settings.menus import default_menu, grid_menu
from niulab.envs.settings.model import EnvSettings
from niulab.envs.sheets.reading import read_sheets
from niulab.envs.stakes.grid import stake_grid
from niulab.envs.watch import read_detector
from niulab.errors import ConfigError, RulesError, WagerError, nearest
from niulab.solvers.channels import Channel

__all__ = ["make_settings"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "decisions": get_args(model.Decisions),
    "objective": get_args(model.Objective),
    "reward": get_args(model.Reward),
    "card_order": get_args(model.CardOrder),
    "observation": get_args(model.Observation),
    "encoding": get_args(model.EncodingName),
    "illegal": get_args(model.Illegal),
    "mask": get_args(model.MaskPlace),
    "stakes": get_args(model.Stakes),
    "shoe": get_args(model.ShoeView),
}
_FLAGS = ("can_leave", "point_flags", "rules_visible")
_KEYWORDS = sorted({field.name for field in fields(EnvSettings)} | {"slip"})


def make_settings(
    preset: str | EnvSettings = "niulab/NiuNiu-v0", /, **keywords: Any
) -> EnvSettings:
    """Lay ``keywords`` over a preset, or over other settings, and check the whole.

    ``rules`` takes a shipped name, a path, a RuleSet or its dump; ``slip`` a Slip, a mapping or a
    text as ``"single=100,super=40"``; ``menu`` a list of those, or ``"grid"``; ``channel`` a
    Channel, a mapping of its keywords, or None, and ``detector`` likewise a Detector; ``sheets`` a
    list of what ``rules`` takes, or None,
    and ``rules`` without it is the one sheet. Raises ConfigError with every mistake.
    """
    if isinstance(preset, EnvSettings) and not keywords:
        return preset
    mistakes = [
        f"unknown setting '{key}'{nearest(key, _KEYWORDS)}"
        for key in keywords
        if key not in _KEYWORDS
    ]
    values = _values_of(preset)
    values |= {key: value for key, value in keywords.items() if key in _KEYWORDS}
    mistakes += _mistaken_values(values)
    if "rules" in keywords and "sheets" not in keywords:
        values["sheets"] = None
    values["sheets"] = sheets = read_sheets(values["sheets"], mistakes, _read_rules)
    if sheets is not None and "rules" not in keywords:
        values["rules"] = sheets[0]
    rules = _read_rules(values["rules"], mistakes)
    slip, menu = values.pop("slip"), values.pop("menu")
    values["channel"] = _read_channel(values["channel"], rules, mistakes)
    values["detector"] = read_detector(values["detector"], mistakes)
    if rules is not None:
        values["rules"] = rules
        try:
            if values["stakes"] == "continuous":
                values["menu"] = _stake_grid(rules, values, slip, menu, mistakes)
            else:
                values["menu"] = _read_menu(rules, values["decisions"], slip, menu, mistakes)
        except WagerError as error:  # a sheet whose required box takes no stake at all
            mistakes.append(f"rules: {error}")
        if values["shoe"] is not None and values["n_rounds"] is None:
            values["n_rounds"] = rounds_per_shoe(rules, 2)
    if mistakes:
        raise ConfigError(_report(mistakes))
    settings = EnvSettings(**values)
    if found := list(contradictions(settings)):
        raise ConfigError(_report(found))
    return settings


def _values_of(preset: str | EnvSettings) -> dict[str, Any]:
    if isinstance(preset, EnvSettings):
        values = {field.name: getattr(preset, field.name) for field in fields(EnvSettings)}
        if preset.stakes == "continuous":  # its menu follows from the rest
            return values | {"menu": None, "slip": None}
        key, other = ("menu", "slip") if preset.bets else ("slip", "menu")
        return values | {key: preset.menu if preset.bets else preset.slip, other: None}
    defaults = {field.name: field.default for field in fields(EnvSettings)}
    return (
        defaults | {"rules": DEFAULT_RULES, "menu": None, "slip": None} | PRESETS[full_id(preset)]
    )


def _report(mistakes: list[str]) -> str:
    return "the settings of the environment are wrong:\n" + "\n".join(f"  - {m}" for m in mistakes)


def _mistaken_values(values: Mapping[str, Any]) -> Iterable[str]:
    for key, choices in _CHOICES.items():
        value = values[key]
        if value is None and key == "shoe":
            continue
        if value not in choices:
            hint = nearest(value, choices) if isinstance(value, str) else ""
            known = ", ".join(repr(choice) for choice in choices)
            yield f"{key} is one of {known}, got {value!r}{hint}"
    for key in _FLAGS:
        if not isinstance(values[key], bool):
            yield f"{key} is True or False, got {values[key]!r}"
    for key in ("bankroll_cents", "target_cents", "n_rounds", "chip_cents", "maximum_cents"):
        value = values[key]
        if value is not None and (type(value) is not int or value < 1):
            yield f"{key} is a whole number of at least 1, or None, got {value!r}"
    scale = values["reward_scale"]
    if isinstance(scale, bool) or not isinstance(scale, int | float):
        yield f"reward_scale is a number, got {scale!r}"
    elif not (math.isfinite(scale) and scale > 0):
        yield f"reward_scale is finite and above 0, got {scale!r}"


def _read_rules(rules: Any, mistakes: list[str]) -> RuleSet | None:
    try:
        if isinstance(rules, Mapping):
            found = check_rules(rules, origin="the table given")
        elif isinstance(rules, str | Path | RuleSet):
            found = load_rules(rules)
        else:
            mistakes.append(f"rules takes a shipped name, a path or a RuleSet, got {rules!r}")
            return None
    except RulesError as error:
        mistakes.append(f"rules: {error}")
        return None
    if found.is_ranking_only:
        mistakes.append(
            f"rules '{found.name}' only ranks hands: an environment needs a sheet with boxes, "
            "as 'single-double-super'"
        )
        return None
    return found


def _read_channel(channel: Any, rules: RuleSet | None, mistakes: list[str]) -> Channel | None:
    if channel is None:
        return None
    if not isinstance(channel, Channel | Mapping):
        mistakes.append(
            f"channel takes its keywords, as {{'position': 'dealer'}}, or None, got {channel!r}"
        )
        return None
    try:
        found = Channel.of(channel)
        if rules is not None:
            found.values(rules)
    except ConfigError as error:
        mistakes.append(f"channel: {error}")
        return None
    return found


def _read_menu(
    rules: RuleSet, decisions: str, slip: Any, menu: Any, mistakes: list[str]
) -> tuple[Slip, ...]:
    if decisions == "set":
        if menu is not None:
            mistakes.append(
                "menu offers bets, decisions='set' has none: give slip=, or bet as well"
            )
        return _read_slips(rules, [least_slip(rules) if slip is None else slip], "slip", mistakes)
    if slip is not None:
        mistakes.append(f"slip fixes the bet, decisions={decisions!r} chooses it: give menu=[...]")
    if menu is None:
        return default_menu(rules)
    if menu == "grid":
        try:
            return grid_menu(rules)
        except WagerError as error:
            mistakes.append(f"menu='grid': {error}")
            return ()
    if isinstance(menu, str | Mapping) or not isinstance(menu, Iterable):
        mistakes.append(f"menu takes a list of slips or 'grid', got {menu!r}")
        return ()
    slips = _read_slips(rules, list(menu), "menu", mistakes)
    least = least_slip(rules)
    if not slips or slips[0] != least:
        got = f"'{slips[0]}'" if slips else "no slip"
        mistakes.append(f"menu starts with the least legal slip '{least}', got {got}")
    if len(set(slips)) < len(slips):
        mistakes.append("menu holds a slip twice")
    return slips


def _stake_grid(
    rules: RuleSet, values: Mapping[str, Any], slip: Any, menu: Any, mistakes: list[str]
) -> tuple[Slip, ...]:
    """Every slip that continuous stakes can come to; () for limits that are no numbers."""
    if slip is not None or menu is not None:
        mistakes.append(
            "stakes='continuous' chooses among all slips the chips cover: leave slip and menu out, "
            "or give stakes='menu'"
        )
    limits = {key: values[key] for key in ("chip_cents", "maximum_cents", "target_cents")}
    if any(value is not None and type(value) is not int for value in limits.values()):
        return ()  # reported by ``_mistaken_values``
    try:
        return stake_grid(rules, **limits).slips()
    except WagerError as error:
        mistakes.append(f"stakes='continuous': {error}")
        return ()


def _read_slips(
    rules: RuleSet, given: list[Any], key: str, mistakes: list[str]
) -> tuple[Slip, ...]:
    slips = []
    for number, item in enumerate(given):
        where = f"{key}[{number}]" if key == "menu" else key
        try:
            slip = item if isinstance(item, Slip) else Slip.of(item)
            verify_slip(rules, slip)
        except (WagerError, TypeError) as error:
            mistakes.append(f"{where}: {error}")
        else:
            slips.append(slip)
    return tuple(slips)
