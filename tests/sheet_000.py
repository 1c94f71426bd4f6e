"""Hands, slips and the pay table of sheet 000 (Portuguese), for its tests clause by clause."""

from fractions import Fraction

from niulab.engine.cards import parse_hand
from niulab.engine.hands import best_arrangement
from niulab.engine.round import Round
from niulab.engine.rules import load_rules
from niulab.engine.settlement import unit_result
from niulab.engine.wagers import Slip

RULES = load_rules("even-double-super-bonus")
EVEN = Slip.of({"even": 100})
MAIN = Slip.of({"even": 100, "double": 100, "super": 100})
ALL_BOXES = Slip.of({"even": 100, "double": 100, "super": 100, "bonus": 100})

NIU_8 = "JS QH JD AC 7S"
NIU_7 = "10S JH QD 3C 4S"
NIU_6 = "KS 10H QC 2C 4D"
NIU_3 = "9S 7D 4H 8H 5S"
HIGH_CARD = "KH 9H 8D 5C 4S"
LOWER_HIGH_CARD = "QD 9C 8S 5H 4D"
NIU_NIU = "10H QS KD 4C 6D"
HIGHER_NIU_NIU = "KC JC QC 3H 7H"

FIVE_FACES = "JS QH KD JC QC"
ALL_SPADES = "2S 3S 6S 8S KS"
TENS_AND_FACES = "10S 10H JD QC KH"
ALL_BLACK = "3C 4C 6S 10C QC"

# The pay table, rank by rank: even, double, super; and the fee of each ("Taxa 5%" or none). The
# second "Niu Niu 1" stands for Niu 2, paid as the text says; the 50 % stands at Niu 6, as twice in
# the text.
TABLE = {
    "niu_niu": ((1, 3, 10), (0, 5, 5)),
    "niu_9": ((1, 2, 9), (0, 5, 5)),
    "niu_8": ((1, 2, 8), (0, 5, 5)),
    "niu_7": ((1, 2, 7), (0, 5, 5)),
    "niu_6": ((1, 1, 6), (50, 0, 5)),
    "niu_5": ((1, 1, 5), (0, 0, 5)),
    "niu_4": ((1, 1, 4), (0, 0, 5)),
    "niu_3": ((1, 1, 3), (0, 0, 5)),
    "niu_2": ((1, 1, 2), (0, 0, 5)),
    "niu_1": ((1, 1, 1), (0, 0, 0)),
    "high_card": ((1, 1, 1), (0, 0, 0)),
}
BOXES = ("even", "double", "super")
AT_LEAST_NIU_7 = ("niu_7", "niu_8", "niu_9", "niu_niu")


def best(text):
    return best_arrangement(parse_hand(text), RULES)


def beats(a, b):
    return best(a).strength > best(b).strength


def dealt(*hands, slips=None):
    """A round of one seat per hand but the last, which is the dealer's; packets go to seats."""
    slips = slips or [EVEN] * (len(hands) - 1)
    table = Round.open(RULES, n_seats=len(slips))
    for seat, slip in enumerate(slips, start=1):
        table = table.place(seat, slip)
    by_seat = dict(enumerate(hands[:-1], start=1))
    packets = [parse_hand(by_seat[seat]) for seat in table.dealing_order]
    return table.deal([*packets, parse_hand(hands[-1])])


def result(player, dealer, slip=ALL_BOXES):
    return dealt(player, dealer, slips=[slip]).settle().settlements[0]


def net(box, rank, outcome):
    index = RULES.ranks.index(rank)
    return unit_result(RULES, box, outcome=outcome, player_rank=index, dealer_rank=index).net


def percent(share):
    return Fraction(share, 100)
