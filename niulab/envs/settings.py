"""The settings of an environment: every keyword, and how it is read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from niulab.engine.rules import DEFAULT_RULES, RuleSet, check_rules, load_rules, shipped_names
from niulab.engine.shoe import rounds_per_shoe
from niulab.engine.wagers import Slip, least_slip, verify_slip
from niulab.envs.contradictions import contradictions
from niulab.envs.menus import default_menu, grid_menu
from niulab.envs.presets import PRESETS, full_id
from niulab.envs.sheets.reading import read_sheets
from niulab.envs.stakes.grid import stake_grid
from niulab.envs.watch import read_detector
from niulab.errors import ConfigError, RulesError, WagerError, nearest
from niulab.solvers.channels import Channel
from niulab.solvers.limits.detector import Detector

__all__ = ["N_SETTINGS", "EnvSettings", "make_settings"]

N_SETTINGS = 10
"""Ways to set a hand, and so the number of setting actions."""

Decisions = Literal["set", "bet", "bet_and_set"]
Objective = Literal["profit", "target", "log_wealth", "time_at_table"]
Reward = Literal["settled", "expected"]
CardOrder = Literal["sorted", "dealt"]
Observation = Literal["float32", "uint8"]
EncodingName = Literal["flags", "ids"]
Illegal = Literal["replace", "raise"]
MaskPlace = Literal["info", "observation"]
Stakes = Literal["menu", "continuous"]
ShoeView = Literal["cards", "counts", "classes"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "decisions": get_args(Decisions),
    "objective": get_args(Objective),
    "reward": get_args(Reward),
    "card_order": get_args(CardOrder),
    "observation": get_args(Observation),
    "encoding": get_args(EncodingName),
    "illegal": get_args(Illegal),
    "mask": get_args(MaskPlace),
    "stakes": get_args(Stakes),
    "shoe": get_args(ShoeView),
}
_FLAGS = ("can_leave", "point_flags", "rules_visible")


@dataclass(frozen=True, kw_only=True)
class EnvSettings:
    """Checked settings; ``make_settings`` makes them from keywords.

    rules: the sheet. decisions: which of the round's two decisions are the agent's; hands nobody
    sets are set best. menu: the slips on offer, the least legal one first (the one fixed slip under
    ``decisions="set"``). objective, reward, reward_scale: see ``rewards``. bankroll_cents: chips at
    the start, None for a round without one. target_cents: a bankroll that ends the session.
    n_rounds: the deadline, None for none. can_leave: one more action, after the last slip, leaves
    the table. card_order: of the shown hand. observation, encoding, point_flags: see ``encoding``.
    illegal: whether a masked action is replaced by action 0 or refused. mask: where it is handed
    out; with "observation" the space is a Dict of "observation" and "action_mask". channel: what is
    seen of one card before the bet, None for nothing. stakes: an index into the menu, or a number
    for each box ("continuous", see ``stakes.mapping``); the menu then holds every slip that these
    can come to, on chips of ``chip_cents`` and at most ``maximum_cents`` on a box (None: the
    sheet's). sheets: those a round's sheet is drawn from, ``rules`` the first, None for ``rules``
    alone; rules_visible: whether its terms are shown. shoe: what is seen of a shoe that is dealt by
    penetration, None for nothing: the "cards" of the last round, or the "counts" of the cards left,
    or those of the "classes" of cards that the events of the sheet tell apart. With it every
    episode opens a shoe, and a deadline of None is its last round. detector: who watches the looks
    of a channel, and at what price (see ``watch``); None for nobody.
    """

    rules: RuleSet
    decisions: Decisions = "bet_and_set"
    menu: tuple[Slip, ...]
    objective: Objective = "profit"
    reward: Reward = "settled"
    reward_scale: float = 1.0
    bankroll_cents: int | None = None
    target_cents: int | None = None
    n_rounds: int | None = 1
    can_leave: bool = False
    card_order: CardOrder = "sorted"
    observation: Observation = "float32"
    encoding: EncodingName = "flags"
    point_flags: bool = False
    illegal: Illegal = "replace"
    mask: MaskPlace = "info"
    channel: Channel | None = None
    stakes: Stakes = "menu"
    chip_cents: int | None = None
    maximum_cents: int | None = None
    sheets: tuple[RuleSet, ...] | None = None
    rules_visible: bool = True
    shoe: ShoeView | None = None
    detector: Detector | None = None

    @property
    def every_sheet(self) -> tuple[RuleSet, ...]:
        """The sheets a round may be played under."""
        return self.sheets or (self.rules,)

    @property
    def rules_name(self) -> str:
        """What the sheet, or all sheets together, are called in a report."""
        n_others = len(self.every_sheet) - 1
        return f"{self.rules.name} and {n_others} more" if n_others else self.rules.name

    @property
    def rules_hash(self) -> str:
        """The hash of the sheet, or of all sheets in their order."""
        if self.sheets is None:
            return self.rules.rules_hash
        hashes = "".join(rules.rules_hash for rules in self.sheets)
        return hashlib.blake2b(hashes.encode(), digest_size=8).hexdigest()

    @property
    def bets(self) -> bool:
        """Whether the agent chooses the slip."""
        return self.decisions != "set"

    @property
    def sets_hand(self) -> bool:
        """Whether the agent sets the hand."""
        return self.decisions != "bet"

    @property
    def slip(self) -> Slip:
        """The fixed slip of ``decisions="set"``; elsewhere the least one."""
        return self.menu[0]

    @property
    def sees_dealer(self) -> bool:
        """Whether the dealer's hand lies open while the agent sets."""
        return self.sets_hand and self.rules.dealer_opens == "before_players"

    @property
    def leave_action(self) -> int | None:
        """The action that leaves the table, if there is one."""
        return len(self.menu) if self.can_leave else None

    @property
    def n_actions(self) -> int:
        """Number of actions by index; the two phases share their indices.

        Under continuous stakes the indices are those of the slips that vectors are mapped to.
        """
        n_bets = len(self.menu) + self.can_leave if self.bets else 0
        return max(n_bets, N_SETTINGS if self.sets_hand else 0)

    @property
    def observation_kind(self) -> str:
        """``float32``, ``uint8`` or ``ids``."""
        return "ids" if self.encoding == "ids" else self.observation

    def to_json(self) -> dict[str, Any]:
        """The keywords from which ``make_settings`` makes these settings again, in JSON's types."""
        result = {field.name: getattr(self, field.name) for field in fields(self)}
        del result["menu"], result["channel"], result["sheets"], result["detector"]
        if self.channel is not None:
            result["channel"] = self.channel.to_json()
        if self.detector is not None:
            result["detector"] = self.detector.to_json()
        result["rules"] = _json_of(self.rules)
        if self.sheets is None:
            del result["rules_visible"]
        else:
            result["sheets"] = [_json_of(rules) for rules in self.sheets]
        if self.stakes == "continuous":
            return result
        if self.bets:
            result["menu"] = [str(slip) for slip in self.menu]
        else:
            result["slip"] = str(self.slip)
        return result


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


def _json_of(rules: RuleSet) -> str | dict[str, Any]:
    is_shipped = rules.name in shipped_names() and load_rules(rules.name) == rules
    return rules.name if is_shipped else rules.model_dump(mode="json")


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
