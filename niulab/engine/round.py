"""One round as an immutable state machine: stakes, deal, setting, settlement.

    betting --deal--> setting --settle--> settled
     place             set

Each act comes three times: ``verify_x`` raises and says why, ``can_x`` tells, ``x`` returns the
next ``Round``. Seats are numbered 1..n clockwise from the marked position, so the last seat sits at
the dealer's right. Hands are shown in ascending card ids; ``packets`` keeps the order dealt.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, SupportsIndex, TypeAlias, TypeVar

from niulab.engine.cards import HAND_SIZE, Card, card_text, parse_hand
from niulab.engine.hands import SPLITS, Arrangement, arrange, best_arrangement
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, Settlement, settle, tie_outcome
from niulab.engine.shoe import deal_round
from niulab.engine.specials import PREDICATES
from niulab.engine.wagers import Slip, cover_from, verify_slip
from niulab.errors import CardError, NiuLabError, RoundStateError, WagerError
from niulab.seeding import entropy_seed

__all__ = ["Round", "compare", "event_mask"]

Hand: TypeAlias = tuple[int, ...]
Phase: TypeAlias = Literal["betting", "setting", "settled"]
SlipLike: TypeAlias = Slip | Mapping[str, SupportsIndex] | str
HandLike: TypeAlias = str | Iterable[SupportsIndex | str | Card]
Setting: TypeAlias = SupportsIndex | Sequence[int]
_T = TypeVar("_T")


@dataclass(frozen=True)
class Round:
    """The state between two acts; every tuple by seat starts with seat 1.

    ``packet_seats`` and ``packets`` are in the order dealt (the dealer's packet comes last and is
    kept apart); ``outcomes`` and ``settlements`` are None for seats out of play.
    """

    rules: RuleSet
    slips: tuple[Slip | None, ...]
    bankrolls_cents: tuple[int, ...] | None = None
    phase: Phase = "betting"
    packet_seats: tuple[int, ...] = ()
    packets: tuple[Hand, ...] = ()
    dealer_packet: Hand = ()
    arrangements: tuple[Arrangement | None, ...] = ()
    outcomes: tuple[Outcome | None, ...] = ()
    settlements: tuple[Settlement | None, ...] = ()

    @classmethod
    def open(
        cls, rules: RuleSet, n_seats: int = 1, bankrolls_cents: Sequence[int] | None = None
    ) -> Self:
        """Open a round for betting; without bankrolls any cover counts as in sight."""
        most = rules.table.max_seats
        if not 1 <= n_seats <= most:
            raise RoundStateError(
                f"'{rules.name}' has no table of {n_seats} seats: open a round of 1 to {most}"
            )
        if bankrolls_cents is not None:
            if len(bankrolls_cents) != n_seats or min(bankrolls_cents) < 0:
                raise WagerError(
                    f"{n_seats} seat(s) need as many bankrolls of 0 cents or more, "
                    f"got {list(bankrolls_cents)}"
                )
            bankrolls_cents = tuple(operator.index(cents) for cents in bankrolls_cents)
        return cls(rules, (None,) * n_seats, bankrolls_cents, arrangements=(None,) * n_seats)

    # ------------------------------------------------------------ betting

    def verify_place(self, seat: int, slip: SlipLike) -> None:
        """Raise unless the seat can stake this slip now (in place of an earlier one)."""
        self._accepted(seat, slip)

    def can_place(self, seat: int, slip: SlipLike) -> bool:
        """Say whether ``verify_place`` accepts."""
        return _accepts(lambda: self.verify_place(seat, slip))

    def place(self, seat: int, slip: SlipLike) -> Self:
        """Stake a slip; where short cover caps losses, what the bankroll holds goes in sight."""
        accepted = self._accepted(seat, slip)
        return replace(self, slips=_with(self.slips, seat, accepted))

    def _accepted(self, seat: int, slip: SlipLike) -> Slip:
        self._verify_phase("betting", f"seat {seat} cannot stake")
        self._verify_seat(seat)
        bankroll = None if self.bankrolls_cents is None else self.bankrolls_cents[seat - 1]
        try:
            accepted = Slip.of(slip)
            verify_slip(self.rules, accepted, bankroll)
        except WagerError as error:
            raise WagerError(f"seat {seat}: {error}") from None
        return accepted if bankroll is None else cover_from(self.rules, accepted, bankroll)

    # ------------------------------------------------------------ dealing

    def verify_deal(
        self,
        cards: Sequence[HandLike] | None = None,
        *,
        seed: int | None = None,
        round_index: int = 0,
    ) -> None:
        """Raise unless these cards can be dealt now; arguments as in ``deal``."""
        self._dealt(cards, seed, round_index)

    def can_deal(
        self,
        cards: Sequence[HandLike] | None = None,
        *,
        seed: int | None = None,
        round_index: int = 0,
    ) -> bool:
        """Say whether ``verify_deal`` accepts."""
        return _accepts(lambda: self.verify_deal(cards, seed=seed, round_index=round_index))

    def deal(
        self,
        cards: Sequence[HandLike] | None = None,
        *,
        seed: int | None = None,
        round_index: int = 0,
    ) -> Self:
        """Close the betting and deal five cards to every staked seat and to the dealer.

        ``cards`` gives the packets in ``dealing_order``, the dealer's last; else the shoe deals
        round ``round_index`` of ``seed`` (from the operating system's entropy if None).
        """
        *packets, dealer = self._dealt(cards, seed, round_index)
        return replace(
            self,
            phase="setting",
            packet_seats=self.dealing_order,
            packets=tuple(packets),
            dealer_packet=dealer,
        )

    @property
    def dealing_order(self) -> tuple[int, ...]:
        """Seats in play in the order they get their packets.

        Clockwise from the marked position, or from the seat with the largest required stake (the
        first of equals from the marked position).
        """
        seats = [s for s, slip in enumerate(self.slips, 1) if slip or self.rules.is_ranking_only]
        required = self.rules.required_box
        if self.rules.table.first_packet == "marked_position" or required is None or not seats:
            return tuple(seats)
        first = max(range(len(seats)), key=lambda i: self._slip(seats[i]).stake(required))
        return (*seats[first:], *seats[:first])

    def _dealt(
        self, cards: Sequence[HandLike] | None, seed: int | None, round_index: int
    ) -> tuple[Hand, ...]:
        self._verify_phase("betting", "no cards can be dealt")
        n_hands = len(self.dealing_order) + 1
        if n_hands == 1:
            raise RoundStateError("no seat has staked: place a slip before dealing")
        if cards is None:
            return deal_round(
                self.rules, entropy_seed() if seed is None else seed, round_index, n_hands
            )
        if seed is not None:
            raise CardError("got both cards and a seed: give the packets or a seed")
        if isinstance(cards, str) or len(cards) != n_hands:
            raise CardError(
                f"{n_hands - 1} seat(s) and the dealer need {n_hands} hands, got {cards!r}: "
                f"give a list in the order of seats {list(self.dealing_order)}, the dealer last"
            )
        packets: tuple[Hand, ...] = ()
        for hand in cards:
            seen = [card for packet in packets for card in packet]
            packet = parse_hand(hand, copies=self.rules.deck.decks, seen=seen)
            packets = (*packets, packet)
            for card in packet:
                if not self.rules.deck.composition[card]:
                    raise CardError(f"{card_text(card)} is not in the deck of '{self.rules.name}'")
        return packets

    # ------------------------------------------------------------ setting

    def verify_set(self, seat: int, setting: Setting) -> None:
        """Raise unless the seat can set its hand so now; arguments as in ``set``."""
        self._verify_phase("setting", f"seat {seat} cannot set")
        self._verify_seat(seat)
        if seat not in self.packet_seats:
            raise RoundStateError(f"seat {seat} has no cards: it staked nothing this round")
        if self.rules.arrangement == "automatic":
            raise RoundStateError(
                f"'{self.rules.name}' sets every hand automatically: settle the round instead"
            )
        if self.arrangements[seat - 1] is not None:
            raise RoundStateError(f"seat {seat} has set its hand, and a set hand stays as it is")
        _split(setting)

    def can_set(self, seat: int, setting: Setting) -> bool:
        """Say whether ``verify_set`` accepts."""
        return _accepts(lambda: self.verify_set(seat, setting))

    def set(self, seat: int, setting: Setting) -> Self:
        """Put two cards in front: their positions in ``hand(seat)``, or an index into SPLITS."""
        self.verify_set(seat, setting)
        arrangement = arrange(self.hand(seat), _split(setting), self.rules)
        return replace(self, arrangements=_with(self.arrangements, seat, arrangement))

    # ------------------------------------------------------------ settling

    def verify_settle(self) -> None:
        """Raise unless the round can be settled now."""
        self._verify_phase("setting", "the round cannot be settled")
        unset = [seat for seat in self.packet_seats if self.arrangements[seat - 1] is None]
        if unset and self.rules.arrangement == "as_set":
            raise RoundStateError(
                f"seat(s) {unset} have not set: '{self.rules.name}' counts hands as set, "
                "so set them before settling"
            )

    def can_settle(self) -> bool:
        """Say whether ``verify_settle`` accepts."""
        return _accepts(self.verify_settle)

    def settle(self) -> Self:
        """Compare every hand with the dealer's and settle seat by seat (``settlement_order``).

        Unless hands count as set, the dealer arranges each of them at its best first.
        """
        self.verify_settle()
        dealer = best_arrangement(sorted(self.dealer_packet), self.rules)
        arrangements = list(self.arrangements)
        outcomes: list[Outcome | None] = [None] * self.n_seats
        settlements: list[Settlement | None] = [None] * self.n_seats
        for seat in self.settlement_order:
            arrangement = arrangements[seat - 1]
            if arrangement is None or self.rules.arrangement != "as_set":
                arrangement = best_arrangement(self.hand(seat), self.rules)
            outcome = compare(arrangement, dealer, self.rules)
            arrangements[seat - 1] = arrangement
            outcomes[seat - 1] = outcome
            settlements[seat - 1] = settle(
                self.rules,
                self._slip(seat),
                outcome=outcome,
                player_rank=arrangement.rank_index,
                dealer_rank=dealer.rank_index,
                events=event_mask(self.hand(seat), self.rules),
            )
        return replace(
            self,
            phase="settled",
            arrangements=tuple(arrangements),
            outcomes=tuple(outcomes),
            settlements=tuple(settlements),
        )

    @property
    def settlement_order(self) -> tuple[int, ...]:
        """Seats in play from the dealer's right to the left."""
        return tuple(sorted(self.packet_seats, reverse=True))

    # ------------------------------------------------------------ queries

    @property
    def n_seats(self) -> int:
        """Seats at the table, in play or not."""
        return len(self.slips)

    def hand(self, seat: int) -> Hand:
        """The seat's cards in ascending ids, empty before the deal or without a stake."""
        self._verify_seat(seat)
        if seat not in self.packet_seats:
            return ()
        return tuple(sorted(self.packets[self.packet_seats.index(seat)]))

    @property
    def dealer_arrangement(self) -> Arrangement | None:
        """The dealer's set hand once it is open, else None."""
        opens_first = self.rules.dealer_opens == "before_players"
        if self.phase == "settled" or (self.phase == "setting" and opens_first):
            return best_arrangement(sorted(self.dealer_packet), self.rules)
        return None

    def visible_cards(self, seat: int) -> tuple[int, ...]:
        """Card ids the seat can see: its own, the dealer's once open, all once settled."""
        cards = self.hand(seat)
        if self.dealer_arrangement is not None:
            cards = (*cards, *sorted(self.dealer_packet))
        if self.phase == "settled":
            others = (self.hand(other) for other in sorted(self.packet_seats) if other != seat)
            cards = (*cards, *(card for hand in others for card in hand))
        return cards

    @property
    def house_net_cents(self) -> int:
        """What the house gains: the seats' losses, commission included."""
        return -sum(settlement.net_cents for settlement in self.settlements if settlement)

    @property
    def bankrolls_after_cents(self) -> tuple[int, ...] | None:
        """Bankrolls after settlement, None if the round has none or is not settled."""
        if self.bankrolls_cents is None or self.phase != "settled":
            return None
        nets = (settlement.net_cents if settlement else 0 for settlement in self.settlements)
        return tuple(cents + net for cents, net in zip(self.bankrolls_cents, nets, strict=True))

    def _slip(self, seat: int) -> Slip:
        return self.slips[seat - 1] or Slip(())

    def _verify_seat(self, seat: int) -> None:
        if seat not in range(1, self.n_seats + 1):
            raise RoundStateError(f"no seat {seat}: this round has seats 1 to {self.n_seats}")

    def _verify_phase(self, phase: Phase, act: str) -> None:
        remedies = {
            "betting": "deal first",
            "setting": "set the hands and settle; stakes stand until then",
            "settled": "open a new round",
        }
        if self.phase != phase:
            raise RoundStateError(f"{act}: the round is {self.phase}; {remedies[self.phase]}")


def event_mask(cards: Sequence[int], rules: RuleSet) -> int:
    """Bit i is set where the five cards satisfy ``rules.events[i]``."""
    return sum(PREDICATES[name].holds(cards) << bit for bit, name in enumerate(rules.events))


def compare(player: Arrangement, dealer: Arrangement, rules: RuleSet) -> Outcome:
    """Who wins two set hands, from the player's view."""
    if player.strength == dealer.strength:
        return tie_outcome(rules.order, player.rank_index)
    return Outcome.WIN if player.strength > dealer.strength else Outcome.LOSE


def _with(values: tuple[_T, ...], seat: int, value: _T) -> tuple[_T, ...]:
    return (*values[: seat - 1], value, *values[seat:])


def _split(setting: Setting) -> tuple[int, int]:
    """The pair of positions a setting names, ascending; raises CardError for anything else."""
    try:
        if isinstance(setting, Sequence):
            pair = tuple(sorted(operator.index(position) for position in setting))
            return SPLITS[SPLITS.index((pair[0], pair[1]) if len(pair) == 2 else (-1, -1))]
        index = operator.index(setting)
    except (TypeError, ValueError):
        index = -1
    if not 0 <= index < len(SPLITS):
        raise CardError(
            f"{setting!r} sets no hand: write two different positions from 0 to {HAND_SIZE - 1}, "
            f"or an index from 0 to {len(SPLITS) - 1} into SPLITS"
        )
    return SPLITS[index]


def _accepts(verify: Callable[[], None]) -> bool:
    try:
        verify()
    except NiuLabError:
        return False
    return True
