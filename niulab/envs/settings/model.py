"""The settings of an environment: every keyword, checked, and what follows from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any, Literal

from niulab.engine.rules import RuleSet, load_rules, shipped_names
from niulab.engine.wagers import Slip
from niulab.solvers.channels import Channel
from niulab.solvers.limits.detector import Detector

__all__ = [
    "N_SETTINGS",
    "CardOrder",
    "Decisions",
    "EncodingName",
    "EnvSettings",
    "Illegal",
    "MaskPlace",
    "Objective",
    "Observation",
    "Reward",
    "ShoeView",
    "Stakes",
]

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


def _json_of(rules: RuleSet) -> str | dict[str, Any]:
    is_shipped = rules.name in shipped_names() and load_rules(rules.name) == rules
    return rules.name if is_shipped else rules.model_dump(mode="json")
