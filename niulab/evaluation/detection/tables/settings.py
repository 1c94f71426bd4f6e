"""Hands set wrong: a player's skill, and a dealer's errors that help one player."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.tables.rates import rate_log_e
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, Flag, Plays
from niulab.evaluation.playlog.replay import setting_costs

__all__ = ["HelpfulErrors", "PlayerSettings", "helpful_errors", "player_settings"]


@dataclass(frozen=True)
class PlayerSettings:
    """How often a player set his hand below its best; it costs him and proves nothing.

    cost_cents: what the rules give his best hands more than his hands as set, exactly; luck may
    make it 0 or less.
    """

    player: str
    hands: int
    mis_set: int
    cost_cents: int

    @property
    def rate(self) -> float:
        """Share of hands set wrong."""
        return self.mis_set / self.hands


@dataclass(frozen=True)
class HelpfulErrors:
    """A dealer's wrong settings that paid one player, against a bound on their rate.

    rounds: those the two played together with the dealer's setting recorded. gain_cents: what the
    helpful ones paid more than the dealer's best hand gives. log_e: the largest log e-value along
    the rounds; the chance that it ever reaches ln(1/alpha) is alpha at most while the
    dealer errs no more often than the bound.
    """

    dealer: str
    player: str
    rounds: int
    errors: int
    helpful: int
    gain_cents: int
    log_e: float

    def is_alarm(self, alpha: float) -> bool:
        """Whether the errors are too many for the bound."""
        return self.log_e >= -log(alpha)


def player_settings(plays: Plays, sheets: Sequence[RuleSet]) -> list[PlayerSettings]:
    """Every player with recorded settings, by name: hands, how many were set wrong, and the cost.

    sheets: by code of a row's rules.
    """
    rows = (plays.pair[:, 0] < NO_CARD) & (plays.player != NO_CODE)
    hands = np.bincount(plays.player[rows], minlength=len(plays.texts.players))
    is_wrong = np.flatnonzero(rows & ((plays.flags & int(Flag.MIS_SET)) != 0))
    wrong = np.bincount(plays.player[is_wrong], minlength=len(plays.texts.players))
    costs = np.zeros(len(hands), dtype=np.int64)
    np.add.at(costs, plays.player[is_wrong], setting_costs(plays.take(is_wrong), sheets))
    found = [
        PlayerSettings(name, int(hands[code]), int(wrong[code]), int(costs[code]))
        for code, name in enumerate(plays.texts.players)
        if hands[code]
    ]
    return sorted(found, key=lambda one: one.player)


def helpful_errors(plays: Plays, *, bound: float) -> list[HelpfulErrors]:
    """Every dealer and player with at least one helpful error, the largest e-value first.

    An error helps a player who was paid more than the dealer's best hand gives. bound: the rate of
    wrong settings a dealer is allowed; a round counts once, whatever seats a player has.
    Raises ConfigError for a bound that is no rate.
    """
    is_set = (plays.dealer_pair[:, 0] < NO_CARD) & (plays.dealer != NO_CODE)
    rows = plays.take(is_set & (plays.player != NO_CODE)).by_player()
    is_error = (rows.flags & int(Flag.DEALER_MIS_SET)) != 0
    gains = rows.residuals.sum(axis=1)
    is_helpful = is_error & (gains > 0)
    n_players = len(rows.texts.players)
    pairs = rows.dealer.astype(np.int64) * n_players + rows.player
    found = []
    order = np.argsort(pairs, kind="stable")  # rows of a pair stay in time
    tried = np.unique(pairs[is_helpful])
    edges = np.searchsorted(pairs[order], np.stack([tried, tried + 1]))
    for pair, low, high in zip(tried.tolist(), *edges.tolist(), strict=True):
        mine = order[low:high]
        numbers = rows.round[mine]
        starts = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
        errors = np.logical_or.reduceat(is_error[mine], starts)
        helpful = np.logical_or.reduceat(is_helpful[mine], starts)
        dealer, player = divmod(pair, n_players)
        found.append(
            HelpfulErrors(
                dealer=rows.texts.dealers[dealer],
                player=rows.texts.players[player],
                rounds=len(starts),
                errors=int(errors.sum()),
                helpful=int(helpful.sum()),
                gain_cents=int(gains[mine][is_helpful[mine]].sum()),
                log_e=rate_log_e(helpful, bound),
            )
        )
    return sorted(found, key=lambda one: -one.log_e)
