"""The observation: which number of the flat vector means what, written and read back.

One layout for every preset; fields that a task lacks are left out (``layout_table`` prints the rows
of one task):

    own hand      5 cards: 13 rank flags (A..K), 4 suit flags (D C H S), with ``point_flags`` also
                  10 flags of the points 1..10; or one id 0..51, 52: no card (tasks that set hands)
    dealer hand   the same                                         (where the dealer opens first)
    phase         betting; setting, if hands are set too           (tasks that bet)
    stakes        stake of each box / the menu's largest           (bet, then set)
    bankroll      B / target; without a target B / (B + start)     (tasks with a bankroll)
    rounds left   rounds left / n_rounds                           (more than one round)
    signal        a flag for each value of the channel, nothing    (tasks with a channel)
    terms         those by which the task's sheets differ, of the  (tasks that draw sheets and
                  sheet in force (``sheets.terms``)                 show them)
    last cards    the last round's, own and dealer's, as a hand's  (shoe="cards")
    cards left    of each card or class / of the full shoe         (shoe="counts", "classes")

float32 holds flags and scalars in [0, 1]; uint8 and ids hold scalars times 255, rounded. Cards are
shown by printed points, then rank, then suit, which is the order of their ids, or as dealt. Before
the deal there is no card; after the last round its hand and its sheet stay on the table, no phase
is on and the signal is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS, card_text
from niulab.engine.specials import points_of_rank
from niulab.envs.settings import EnvSettings
from niulab.envs.sheets.terms import differing_terms
from niulab.solvers.channels import Signals
from niulab.solvers.shoes.classes import event_classes

__all__ = [
    "BETTING",
    "ENDED",
    "NO_CARD",
    "PHASES",
    "SETTING",
    "Encoding",
    "Field",
    "Sight",
]

NO_CARD = N_CARDS
"""The id shown where no card lies."""

PHASES = ("betting", "setting", "ended")
"""The phases of an environment by number."""

BETTING, SETTING, ENDED = range(3)

_CARDS = {"own hand": "hands", "dealer hand": "dealers", "last cards": "shoe"}
_VERSION = 1
_BYTE = 255


@dataclass(frozen=True)
class Field:
    """Columns ``start`` to ``stop`` of an observation, and the largest value they hold."""

    name: str
    start: int
    stop: int
    high: int
    meaning: str


@dataclass(frozen=True, eq=False)
class Sight:
    """What n players see, before it is encoded.

    hands, dealers: uint8 (n, 5) card ids in the order shown, NO_CARD where none lies. phases,
    slips (a menu index or -1), bankrolls, rounds_left, signals (numbers of ``Encoding.signals``),
    sheets (numbers of ``EnvSettings.sheets``): (n,). shoe: what is seen of it, uint8 (n, 10) cards
    of the last round, own and dealer's, each ascending, or int64 (n, width) cards left. Arrays the
    task does not show may be None.
    """

    hands: NDArray[np.uint8] | None = None
    dealers: NDArray[np.uint8] | None = None
    phases: NDArray[np.integer] | None = None
    slips: NDArray[np.integer] | None = None
    bankrolls: NDArray[np.integer] | None = None
    rounds_left: NDArray[np.integer] | None = None
    signals: NDArray[np.integer] | None = None
    sheets: NDArray[np.integer] | None = None
    shoe: NDArray[np.integer] | None = None


class Encoding:
    """Writes and reads the observations of one task.

    signals: its channel's, if it has one. terms: the names of those that are shown of the sheet.
    column_of_card: int64 (52,), where a card of the shoe is counted.
    """

    version = _VERSION

    def __init__(self, settings: EnvSettings) -> None:
        kind = settings.observation_kind
        self.settings = settings
        self.name = f"cards-{kind}-v{_VERSION}" + ("-points" if settings.point_flags else "")
        self.dtype = np.dtype(np.float32 if kind == "float32" else np.uint8)
        channel = settings.channel
        self.signals = None if channel is None else Signals(settings.rules, channel)
        self._has_ids = kind == "ids"
        self.column_of_card: NDArray[np.int64] = np.arange(N_CARDS)
        self._column_names: tuple[str, ...] = tuple(card_text(card) for card in range(N_CARDS))
        if settings.shoe == "classes":
            classes = event_classes(settings.rules)
            self.column_of_card, self._column_names = classes.class_of, classes.names
        self._full_shoe = self.count_left(np.array([settings.rules.deck.composition]))
        self._cards = _card_codes(settings, self.dtype)
        self._stakes = _stake_scalars(settings)
        shown = settings.sheets if settings.rules_visible else None
        self.terms, self._terms = differing_terms(shown or ())
        self.layout = tuple(self._fields())
        self._of = {field.name: field for field in self.layout}
        self.size = self.layout[-1].stop
        highs = np.concatenate([np.full(f.stop - f.start, f.high) for f in self.layout])
        self.space = spaces.Box(0, highs.astype(self.dtype), dtype=self.dtype.type)

    def _fields(self) -> list[Field]:
        settings, result = self.settings, list[Field]()
        scalar_high = 1 if self.dtype == np.float32 else _BYTE
        card_high = NO_CARD if self._has_ids else 1

        def add(name: str, width: int, high: int, meaning: str) -> None:
            start = result[-1].stop if result else 0
            result.append(Field(name, start, start + width, high, meaning))

        width = HAND_SIZE * self._cards.shape[1]
        card = (
            "id 0..51 (52: no card)"
            if self._has_ids
            else "13 rank flags A..K, 4 suit flags D C H S"
        )
        card += ", 10 flags of the points 1..10" if settings.point_flags else ""
        if settings.sets_hand:
            add("own hand", width, card_high, f"5 cards, {settings.card_order}; each: {card}")
        if settings.sees_dealer:
            add("dealer hand", width, card_high, "5 cards as the dealer's lie open; each the same")
        if settings.decisions == "bet":
            add("phase", 1, 1, "flag: betting")
        elif settings.bets:
            add("phase", 2, 1, "flags: betting, setting")
            boxes = ", ".join(settings.rules.boxes)
            add("stakes", self._stakes.shape[1], scalar_high, f"stake on {boxes} / its largest")
        if settings.bankroll_cents is not None:
            per = "min(B / target, 1)" if settings.target_cents else "B / (B + start)"
            add("bankroll", 1, scalar_high, f"{per} of the bankroll B")
        if settings.n_rounds is not None and settings.n_rounds > 1:
            add("rounds left", 1, scalar_high, "rounds left / n_rounds")
        if self.signals is not None:
            whose = "own" if self.signals.packet == 0 else "dealer's"
            names = ", ".join(self.signals.names)
            add("signal", len(self.signals.names), 1, f"flags: the {whose} first card is {names}")
        if self.terms:
            meaning = f"terms that differ between the sheets: {', '.join(self.terms)}"
            add("terms", len(self.terms), scalar_high, meaning)
        if settings.shoe == "cards":
            add("last cards", 2 * width, card_high, f"5 own and 5 dealer's cards; each: {card}")
        elif settings.shoe is not None:
            names = ", ".join(self._column_names)
            add("cards left", len(self._column_names), scalar_high, f"share left of {names}")
        return result

    def layout_table(self) -> str:
        """The layout as a Markdown table, index -> meaning."""
        rows = [
            f"| {f.start}-{f.stop - 1} | {f.name} | {f.meaning} | {f.high} |" for f in self.layout
        ]
        return "\n".join(
            ["| index | field | meaning | largest value |", "|---|---|---|---|", *rows]
        )

    # ------------------------------------------------------------ writing

    def encode(self, sight: Sight, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Observations (n, size) of what n players see, in ``out`` if it is given."""
        if out is None:
            parts = [self.encode_field(field.name, sight) for field in self.layout]
            return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        if len(self.layout) == 1 and sight.hands is not None and not self._has_ids:
            cards = out.reshape(len(out), HAND_SIZE, -1)
            np.take(self._cards, sight.hands, axis=0, out=cards, mode="clip")
            return out
        for field in self.layout:
            out[:, field.start : field.stop] = self.encode_field(field.name, sight)
        return out

    def encode_hands(
        self,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8] | None = None,
        *,
        slip: int = 0,
        bankroll_cents: int | None = None,
        rounds_left: int | None = None,
    ) -> NDArray[Any]:
        """Observations (n, size) of n players about to set ``hands`` (n, 5), cards in shown order.

        Without ``dealers`` no dealer's card lies open. Slip, bankroll and rounds left are those of
        a first round, unless given.
        """
        settings, n = self.settings, len(hands)
        if dealers is None:
            dealers = np.full((n, HAND_SIZE), NO_CARD, dtype=np.uint8)
        bankroll = settings.bankroll_cents if bankroll_cents is None else bankroll_cents
        left = settings.n_rounds if rounds_left is None else rounds_left
        sight = Sight(
            hands,
            dealers,
            np.full(n, SETTING),
            np.full(n, slip),
            np.full(n, bankroll or 0),
            np.full(n, left or 0),
        )
        return self.encode(sight)

    def encode_bets(
        self,
        n: int,
        *,
        bankrolls: NDArray[np.integer] | None = None,
        rounds_left: int | NDArray[np.integer] = 1,
        signals: NDArray[np.integer] | None = None,
        sheets: NDArray[np.integer] | None = None,
        shoe: NDArray[np.integer] | None = None,
    ) -> NDArray[Any]:
        """Observations (n, size) of n players about to bet, before any card; arrays are (n,).

        shoe: as in a ``Sight``, that of a full shoe if None.
        """
        if shoe is None and self.settings.shoe is not None:
            fresh = np.full((1, 10), NO_CARD) if self.settings.shoe == "cards" else self._full_shoe
            shoe = np.repeat(fresh, n, axis=0)
        nothing = np.full((n, HAND_SIZE), NO_CARD, dtype=np.uint8)
        sight = Sight(
            hands=nothing,
            dealers=nothing,
            phases=np.full(n, BETTING),
            slips=np.full(n, -1),
            bankrolls=bankrolls,
            rounds_left=np.broadcast_to(np.asarray(rounds_left), (n,)),
            signals=signals,
            sheets=sheets,
            shoe=shoe,
        )
        return self.encode(sight)

    def count_left(self, left: NDArray[np.integer]) -> NDArray[np.int64]:
        """Cards left by column, (n, width), of cards left by id, (n, 52)."""
        columns = np.arange(len(self._column_names))
        is_in = (self.column_of_card[:, None] == columns).astype(np.int64)
        counts: NDArray[np.int64] = left.astype(np.int64) @ is_in
        return counts

    def encode_field(self, name: str, sight: Sight) -> NDArray[Any]:
        """The columns of one field; of the sight only what that field shows is looked at."""
        if name in _CARDS:
            return self._encode_cards(_given(getattr(sight, _CARDS[name]), name))
        if name == "cards left":
            return self._encode_shares(_given(sight.shoe, name) / np.maximum(self._full_shoe, 1))
        if name == "phase":
            width = self._of[name].stop - self._of[name].start
            flags: NDArray[np.bool_] = _given(sight.phases, name)[:, None] == np.arange(width)
            return flags.astype(self.dtype)
        if name == "signal":
            width = self._of[name].stop - self._of[name].start
            shown: NDArray[np.bool_] = _given(sight.signals, name)[:, None] == np.arange(width)
            return shown.astype(self.dtype)
        if name == "terms":
            return self._encode_shares(self._terms[_given(sight.sheets, name)])
        if name == "stakes":
            return self._encode_shares(self._stakes[_given(sight.slips, name)])
        if name == "bankroll":
            return self._encode_shares(self._bankroll_shares(_given(sight.bankrolls, name)))
        shares = _given(sight.rounds_left, name) / (self.settings.n_rounds or 1)
        return self._encode_shares(shares[:, None])

    def _encode_cards(self, hands: NDArray[Any]) -> NDArray[Any]:
        if self._has_ids:
            return hands.astype(self.dtype)  # an id is its own code
        return np.take(self._cards, hands, axis=0).reshape(len(hands), -1)

    def _encode_shares(self, shares: NDArray[np.float64]) -> NDArray[Any]:
        """Scalars in [0, 1], as floats or as bytes."""
        values = shares if self.dtype == np.float32 else np.rint(_BYTE * shares)
        return values.astype(self.dtype)

    def _bankroll_shares(self, bankrolls: NDArray[Any]) -> NDArray[np.float64]:
        chips = np.maximum(bankrolls, 0)[:, None]
        target, start = self.settings.target_cents, self.settings.bankroll_cents or 1
        shares: NDArray[np.float64] = chips / (chips + start if target is None else target)
        return np.minimum(shares, 1.0)

    # ------------------------------------------------------------ reading

    def decode_hands(self, observations: NDArray[Any]) -> NDArray[np.uint8]:
        """Card ids (n, 5) of the own hand in the order shown; NO_CARD where none lies."""
        return self._decode_cards(observations, "own hand")

    def decode_dealer(self, observations: NDArray[Any]) -> NDArray[np.uint8] | None:
        """Card ids (n, 5) of the dealer's open hand, or None where the task does not show it."""
        if "dealer hand" not in self._of:
            return None
        return self._decode_cards(observations, "dealer hand")

    def decode_phase(self, observations: NDArray[Any]) -> NDArray[np.str_]:
        """The name of each row's phase (n,); tasks that only set hands are always "setting"."""
        if not self.settings.bets:
            return np.full(len(observations), PHASES[SETTING])
        flags = self._columns(observations, "phase") > 0
        return np.array(PHASES)[np.where(flags.any(axis=1), flags.argmax(axis=1), ENDED)]

    def decode_slip(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The menu index (n,) of the slip at stake, -1 where none is; 0 where it is fixed."""
        if "stakes" not in self._of:
            return np.full(len(observations), 0 if not self.settings.bets else -1, dtype=np.int64)
        seen = self._columns(observations, "stakes").astype(np.float64)
        known = self._encode_shares(self._stakes).astype(np.float64)
        rows, places = np.unique(seen, axis=0, return_inverse=True)
        index = np.array([np.abs(known - row).sum(axis=1).argmin() for row in rows], dtype=np.int64)
        return np.where(index == len(self.settings.menu), -1, index)[places.reshape(-1)]

    def decode_signal(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The number (n,) of the signal that tasks with a channel show."""
        numbers: NDArray[np.int64] = self._columns(observations, "signal").argmax(axis=1)
        return numbers

    def decode_sheet(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """The number (n,) of the sheet whose terms are shown, the first of those shown alike."""
        seen = self._columns(observations, "terms")
        known = self._encode_shares(self._terms)
        numbers: NDArray[np.int64] = (seen[:, None] == known).all(axis=2).argmax(axis=1)
        return numbers

    def decode_last_cards(self, observations: NDArray[Any]) -> NDArray[np.uint8]:
        """Card ids (n, 10) of the last round that tasks with shoe="cards" show; NO_CARD for none.

        The player's come first.
        """
        return self._decode_cards(observations, "last cards")

    def decode_left(self, observations: NDArray[Any]) -> NDArray[np.int64]:
        """Cards left by column (n, width) that tasks with shoe="counts" or "classes" show."""
        shares = self._columns(observations, "cards left").astype(np.float64)
        scale = 1 if self.dtype == np.float32 else _BYTE
        counts: NDArray[np.int64] = np.rint(shares / scale * self._full_shoe).astype(np.int64)
        return counts

    def _columns(self, observations: NDArray[Any], name: str) -> NDArray[Any]:
        field = self._of[name]
        return observations[:, field.start : field.stop]

    def _decode_cards(self, observations: NDArray[Any], name: str) -> NDArray[np.uint8]:
        codes = self._columns(observations, name)
        if self._has_ids:
            return codes.astype(np.uint8)
        flags = codes.reshape(len(codes), -1, self._cards.shape[1])
        cards = 4 * flags[:, :, :13].argmax(axis=2) + flags[:, :, 13:17].argmax(axis=2)
        return np.where(flags[:, :, :13].any(axis=2), cards, NO_CARD).astype(np.uint8)


def _given(array: NDArray[Any] | None, name: str) -> NDArray[Any]:
    if array is None:
        raise ValueError(f"this task shows the {name}: give it to be encoded")
    return array


def _card_codes(settings: EnvSettings, dtype: np.dtype[np.generic]) -> NDArray[Any]:
    """Code of each card id, and of NO_CARD in the last row."""
    if settings.observation_kind == "ids":
        return np.arange(NO_CARD + 1, dtype=dtype)[:, None]
    cards = np.arange(N_CARDS)
    codes = np.zeros((NO_CARD + 1, 27 if settings.point_flags else 17), dtype=dtype)
    codes[cards, cards // 4] = 1
    codes[cards, 13 + cards % 4] = 1
    if settings.point_flags:
        points = np.array([points_of_rank(rank) for rank in range(13)])
        codes[cards, 16 + points[cards // 4]] = 1
    return codes


def _stake_scalars(settings: EnvSettings) -> NDArray[np.float64]:
    """Stake of each menu slip on each box over the menu's largest; the last row (-1) is none."""
    boxes = tuple(settings.rules.boxes)
    stakes = [[slip.stake(box) for box in boxes] for slip in settings.menu]
    table = np.array([*stakes, [0] * len(boxes)], dtype=np.float64)
    scaled: NDArray[np.float64] = table / np.maximum(table.max(axis=0), 1)
    return scaled
