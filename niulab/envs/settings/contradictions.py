"""Settings that are each right on their own and do not go together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from niulab.engine.shoe import rounds_per_shoe
from niulab.engine.wagers import exposure_cents, max_loss_cents
from niulab.envs.sheets.reading import contradictions_of_sheets
from niulab.envs.watch import contradictions_of_watch
from niulab.errors import RulesError
from niulab.solvers.shoes.classes import event_classes

if TYPE_CHECKING:
    from niulab.envs.settings.model import EnvSettings

__all__ = ["contradictions"]


def contradictions(settings: EnvSettings) -> Iterable[str]:
    """Mistakes of settings that are each right on their own."""
    yield from _of_money(settings)
    yield from _of_stakes(settings)
    yield from contradictions_of_sheets(settings)
    yield from contradictions_of_watch(settings)
    if settings.reward == "expected":
        if settings.objective != "profit":
            yield (
                "reward='expected' is exact only where value is linear in the net: "
                f"objective='profit', not '{settings.objective}'"
            )
        if settings.rules.deck.reshuffle == "penetration" and settings.n_rounds != 1:
            yield (
                "reward='expected' takes every round from the full shoe: with "
                "reshuffle='penetration' it needs n_rounds=1"
            )
        sees_dealer = settings.channel is not None and settings.channel.position == "dealer"
        if sees_dealer and settings.rules.dealer_opens == "after_players":
            yield (
                "reward='expected' takes the dealer's cards as unseen, and the channel shows one: "
                "give reward='settled'"
            )
    if settings.can_leave and not settings.bets:
        yield "can_leave is a choice before a bet: decisions='set' makes none"
    if settings.channel is not None and settings.decisions != "bet":
        yield (
            "channel shows a card before a bet after which the hand is set best: it needs "
            f"decisions='bet', not '{settings.decisions}'"
        )
    if settings.shoe is not None:
        yield from _of_the_shoe(settings)
    if settings.encoding == "ids" and not settings.sets_hand and settings.shoe != "cards":
        yield "encoding='ids' shows cards, decisions='bet' sees none: use encoding='flags'"
    if settings.point_flags and settings.encoding == "ids":
        yield "point_flags adds flags to cards, encoding='ids' has no flags"


def _of_stakes(settings: EnvSettings) -> Iterable[str]:
    if settings.stakes == "menu":
        for key in ("chip_cents", "maximum_cents"):
            if getattr(settings, key) is not None:
                yield f"{key} limits continuous stakes: give stakes='continuous', or another menu"
        return
    if settings.decisions != "bet":
        yield (
            "stakes='continuous' is one vector a round: it needs decisions='bet', not "
            f"'{settings.decisions}'"
        )
    if settings.bankroll_cents is None:
        yield "stakes='continuous' are shares of what the chips cover: give bankroll_cents"
    if settings.can_leave:
        yield "can_leave is one more action beside a menu: stakes='continuous' has none"
    if settings.channel is not None:
        yield "channel shows a card before a bet from a menu: choose stakes='menu'"
    if settings.shoe is not None:
        yield "shoe shows cards before a bet from a menu: choose stakes='menu'"
    if settings.mask == "observation":
        yield "mask='observation' shows which actions are legal, all stakes are: choose 'info'"


def _of_the_shoe(settings: EnvSettings) -> Iterable[str]:
    rules = settings.rules
    if settings.decisions != "bet":
        yield (
            "shoe shows cards before a bet after which the hand is set best: it needs "
            f"decisions='bet', not '{settings.decisions}'"
        )
    if settings.channel is not None:
        yield "shoe and channel each show something before the bet: leave one of them out"
    if rules.deck.reshuffle != "penetration":
        yield (
            f"shoe: '{rules.name}' shuffles before every round, so no card seen tells anything: "
            "use a sheet with reshuffle='penetration', as 'six-deck-shoe-flush'"
        )
    elif settings.n_rounds is None or settings.n_rounds > rounds_per_shoe(rules, 2):
        yield (
            f"n_rounds={settings.n_rounds}: an episode is one shoe, and that of '{rules.name}' "
            f"serves {rounds_per_shoe(rules, 2)} rounds"
        )
    if settings.shoe == "classes":
        try:
            event_classes(rules)
        except RulesError as error:
            yield f"shoe='classes': {error}; use shoe='counts'"


def _of_money(settings: EnvSettings) -> Iterable[str]:
    rules, bankroll, target = settings.rules, settings.bankroll_cents, settings.target_cents
    if bankroll is None:
        if settings.objective != "profit":
            yield f"objective='{settings.objective}' watches a bankroll: give bankroll_cents"
        if target is not None:
            yield "target_cents is a bankroll to reach: give bankroll_cents"
    else:
        needed = exposure_cents(rules, settings.menu[0])
        if bankroll < needed:
            yield (
                f"bankroll_cents={bankroll} does not cover the slip '{settings.menu[0]}': "
                f"it needs {needed} cents in sight"
            )
        if target is not None and target <= bankroll:
            yield f"target_cents={target} is above bankroll_cents={bankroll}, or there is no game"
    if settings.objective == "target" and target is None:
        yield "objective='target' needs target_cents"
    if settings.objective == "log_wealth":
        for slip in settings.menu:
            if max_loss_cents(rules, slip) > exposure_cents(rules, slip):
                yield f"objective='log_wealth': the slip '{slip}' can lose more than its cover"
