"""Hypothesis strategies and small makers of rule sets and rounds that all tests share."""

from __future__ import annotations

from math import lcm

from hypothesis import strategies as st

from niulab.engine.hands import SPLITS, arrange
from niulab.engine.round import Round
from niulab.engine.rules import RuleSet, load_rules, parse_rules, shipped_names
from niulab.engine.wagers import Slip, stake_step_cents

SHIPPED = {name: load_rules(name) for name in shipped_names()}
PLAYABLE = {name: rules for name, rules in SHIPPED.items() if not rules.is_ranking_only}
ONE_DECK = {name: rules for name, rules in PLAYABLE.items() if rules.deck.decks == 1}


def overlay(base: str, text: str = "") -> RuleSet:
    """A rule set that extends a shipped one by some lines of TOML."""
    head = f'name = "overlay"\ntitle = "Overlay"\nsource = "tests"\nextends = "{base}"\n'
    return parse_rules(head + text)


def playable_rules():
    """Shipped rule sets with boxes."""
    return st.sampled_from(sorted(PLAYABLE)).map(PLAYABLE.__getitem__)


@st.composite
def slips(draw, rules: RuleSet, most_steps: int = 50):
    """Legal slips, bankroll apart: the required box and any of the others."""
    stakes = []
    for box, terms in rules.boxes.items():
        if not terms.required and not draw(st.booleans()):
            continue
        unit = lcm(rules.table.chip_unit_cents, stake_step_cents(rules, box))
        least = -(-terms.minimum_cents // unit)
        most = min(least + most_steps, terms.maximum_cents // unit)
        stakes.append((box, unit * draw(st.integers(least, most))))
    return Slip(tuple(stakes))


@st.composite
def deals(draw, rules: RuleSet, n_hands: int):
    """Packets of five card ids each, as one shuffled shoe can deal them."""
    shoe = [card for card, n in enumerate(rules.deck.composition) for _ in range(n)]
    n_cards = 5 * n_hands
    places = st.integers(0, len(shoe) - 1)
    drawn = draw(st.lists(places, min_size=n_cards, max_size=n_cards, unique=True))
    cards = [shoe[place] for place in drawn]
    return [tuple(cards[i : i + 5]) for i in range(0, len(cards), 5)]


def staked(rules, slips_by_seat, **options):
    """A round with slips placed, ready to deal."""
    n_seats = options.pop("n_seats", max(slips_by_seat))
    table = Round.open(rules, n_seats, **options)
    for seat, slip in slips_by_seat.items():
        table = table.place(seat, slip)
    return table


def set_best(table):
    """Every seat in play sets its best hand."""
    for seat in table.packet_seats:
        hand = table.hand(seat)
        best = max(
            range(10), key=lambda k, hand=hand: arrange(hand, SPLITS[k], table.rules).strength
        )
        table = table.set(seat, best)
    return table
