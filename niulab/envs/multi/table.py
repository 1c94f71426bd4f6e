"""Several seats and one dealer as a pure step on the seats' states: one deal a round for all.

Who gets which packet is the engine's business (``engine.round``), what a seat's decisions are worth
that of the one-seat core. A seat knows its own cards only, and where the dealer opens first his.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from niulab.engine.round import Round
from niulab.envs.encoding import BETTING, ENDED
from niulab.envs.seat.core import Core, Hand, State, Transition
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError

__all__ = ["Table", "verify_table"]


def verify_table(settings: EnvSettings, n_seats: int) -> None:
    """Raise ConfigError for settings that ``n_seats`` seats cannot share, with every mistake."""
    mistakes = list[str]()
    rules = min(settings.every_sheet, key=lambda sheet: sheet.table.max_seats)
    most = rules.table.max_seats
    if type(n_seats) is not int or not 1 <= n_seats <= most:
        mistakes.append(f"n_seats is 1 to {most} under '{rules.name}', got {n_seats!r}")
    elif n_seats > 1:
        may_part = settings.can_leave or settings.bankroll_cents is not None
        if rules.deck.reshuffle == "penetration" and settings.n_rounds != 1 and may_part:
            mistakes.append(
                "a shoe dealt on to a cut card needs the same seats in every round, and here some "
                "may leave before others: take n_rounds=1, or no bankroll and can_leave=False"
            )
        if settings.channel is not None:
            mistakes.append(
                "channel shows a card before the bets, which may yet decide whose it is: "
                "it needs n_seats=1"
            )
        if settings.shoe is not None:
            mistakes.append(
                "shoe shows what one player and the dealer took out of it, other seats take more: "
                "it needs n_seats=1, or shoe=None"
            )
    if mistakes:
        raise ConfigError(
            "these settings make no table:\n" + "\n".join(f"  - {text}" for text in mistakes)
        )


class Table:
    """The rules of one table; seats are counted from 0 and played by one core each."""

    def __init__(self, cores: Sequence[Core]) -> None:
        self._cores = cores
        self._settings = cores[0].settings

    def start(
        self, seed: int, round_index: int, forced: Sequence[Hand] | None = None
    ) -> list[State]:
        """Every seat's first state of an episode that begins with that round of ``seed``.

        ``forced`` are the hands of the seats and, last, of the dealer in that round.
        """
        n = len(self._cores)
        pairs = [None] * n if forced is None else [(hand, forced[n]) for hand in forced[:n]]
        states = [
            core.start(seed, round_index, pair)
            for core, pair in zip(self._cores, pairs, strict=True)
        ]
        if forced is None and not self._settings.bets:
            states = self._with_hands(states)
        return states

    def step(
        self, states: Sequence[State], actions: Mapping[int, int]
    ) -> dict[int, tuple[State, Transition]]:
        """What the actions of all seats still playing lead to; raises what ``Core.step`` raises."""
        now = list(states)
        if all(states[seat].phase == BETTING for seat in actions):
            slips = {seat: self._slip(seat, states[seat], actions[seat]) for seat in actions}
            staked = {seat: slip for seat, slip in slips.items() if slip is not None}
            for seat, pair in self._deal(states, staked).items():
                now[seat] = states[seat]._replace(forced=pair)
        moved = {
            seat: self._cores[seat].step(now[seat], action) for seat, action in actions.items()
        }
        if self._settings.bets:
            return moved
        after = self._with_hands([moved[s][0] if s in moved else now[s] for s in range(len(now))])
        return {seat: (after[seat], transition) for seat, (_, transition) in moved.items()}

    def _slip(self, seat: int, state: State, action: int) -> int | None:
        """The slip that the core will take an action for: None for leaving the table."""
        core = self._cores[seat]
        allows = core.legal(state).allows
        taken = action if 0 <= action < len(allows) and allows[action] else 0
        return None if taken == self._settings.leave_action else taken

    def _with_hands(self, states: Sequence[State]) -> list[State]:
        """The states of seats whose slip is fixed once the round's cards are dealt."""
        result = list(states)
        playing = {seat: 0 for seat, state in enumerate(states) if state.phase != ENDED}
        for seat, pair in self._deal(states, playing).items():
            result[seat] = self._cores[seat].with_hands(states[seat], *pair)
        return result

    def _deal(
        self, states: Sequence[State], slips: Mapping[int, int]
    ) -> dict[int, tuple[Hand, Hand]]:
        """The packets of the seats that have staked a slip of the menu, each with the dealer's."""
        if not slips:
            return {}
        settings = self._settings
        chips = None
        if settings.bankroll_cents is not None:
            chips = [max(state.bankroll_cents, 0) for state in states]
        play = Round.open(settings.rules, len(states), chips)
        for seat, slip in slips.items():
            play = play.place(seat + 1, settings.menu[slip])
        first = states[next(iter(slips))]
        if first.forced is None:
            dealt = play.deal(seed=first.seed, round_index=first.round_index)
        else:
            pairs = {seat + 1: states[seat].forced or first.forced for seat in slips}
            dealt = play.deal([*(pairs[seat][0] for seat in play.dealing_order), first.forced[1]])
        return {
            seat - 1: (packet, dealt.dealer_packet)
            for seat, packet in zip(dealt.packet_seats, dealt.packets, strict=True)
        }
