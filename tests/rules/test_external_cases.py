"""67 hands from public sources, each under the rule set its own note describes.

The sources disagree on which specials exist, how they rank and what they pay; so every note gets a
rule set of its own here, written as a rules file would be.
"""

import csv
import re
from pathlib import Path

import pytest

from niulab.engine.cards import parse_hand
from niulab.engine.hands import arrangements, best_arrangement
from niulab.engine.rules import load_rules, parse_rules
from niulab.engine.settlement import Outcome, settle, tie_outcome
from niulab.engine.specials import PREDICATES
from niulab.engine.wagers import Slip

CASES_FILE = Path(__file__).parents[1] / "golden" / "external_cases.csv"
CASES = list(csv.DictReader(CASES_FILE.read_text("utf-8").splitlines()))
UNIT_CENTS = 100

PLAIN = "niu_niu = 3, niu_9 = 2, niu_8 = 2, niu_7 = 2, default = 1"
PREDICATE_OF = {
    "five_face": "five_faces",
    "four_face": "four_faces",
    "bomb": "four_of_a_kind",
    "silver": "four_faces",
    "gold": "five_faces",
}

# The opening words of a note: the specials from lowest to highest (name, or name: predicate), the
# multipliers, and whatever else the note says, as lines of a rules file.
RULES_OF_NOTE = {
    "plain 11 ranks (none<niu1..9<niuniu); J/Q/K/10=10, A=1; source": ([], PLAIN, ""),
    "plain 11 ranks (none<niu1..9<niuniu); J/Q/K/10=10, A=1; multipliers niuniu 3": ([], PLAIN, ""),
    "plain 11 ranks (none<niu1..9<niuniu); J/Q/K/10=10, A=1; multipliers niuniu 5": (
        [],
        "niu_niu = 5, niu_9 = 4, niu_8 = 3, default = 1",
        "",
    ),
    "plain 11 ranks (none<niu1..9<niuniu); J/Q/K/10=10, A=1; silver(four faces) 4x": (
        ["silver", "gold", "bomb", "five_small"],
        "silver = 4, gold = 5, bomb = 6, five_small = 7, default = 1",
        "",
    ),
    "specials: five_small(all<=5,total<=10) > five_face(J/Q/K) > bomb": (
        ["bomb", "five_face", "five_small"],
        PLAIN,
        "",
    ),
    "specials on: five_small(all<5,total<=10) > bomb > five_face > four_face": (
        ["straight", "four_face", "five_face", "bomb", "five_small: five_small_below_five"],
        PLAIN,
        "",
    ),
    "specials: bomb > five_small(all<=5,total<=10) > niuniu; multipliers niuniu 3": (
        ["five_small", "bomb"],
        f"five_small = 5, bomb = 5, {PLAIN}",
        "",
    ),
    "bettor A bet 100 vs banker B: in this app the LOSING bettor pays by his own": (
        ["five_small", "bomb"],
        f"five_small = 5, bomb = 5, {PLAIN}",
        'boxes.single.lose_rank = "player"',
    ),
    "Live Bull Fight (Red A v Blue B): same rank = push": ([], PLAIN, 'order.tie_break = "push"'),
    "plain arithmetic of the same hand": ([], PLAIN, 'order.tie_break = "push"'),
    "silver/gold/bomb/five calf side bet pays 120:1 on this hand": (
        ["four_face", "five_face", "bomb", "five_small"],
        PLAIN,
        """
        boxes.bonus.awards = [
          { name = "silver", predicate = "four_faces", odds = 120 },
          { name = "gold", predicate = "five_faces", odds = 120 },
          { name = "bomb", predicate = "four_of_a_kind", odds = 120 },
          { name = "five_calf", predicate = "five_small", odds = 120 },
        ]""",
    ),
    "same niu: highest of all five cards (K..A), then its suit spade>heart>club>diamond": (
        [],
        PLAIN,
        'order = { ace = "low", suits = "SHCD", tie_break = "high_card_then_suit" }',
    ),
    "10-player app; also straight, silver(10 and faces), flush, gold(five faces), full house": (
        ["straight", "silver: five_tens", "flush", "gold", "full_house", "five_small", "bomb"],
        PLAIN,
        "",
    ),
    "five_small > five_face > four_face > niuniu": (
        ["four_face", "five_face", "five_small"],
        PLAIN,
        "",
    ),
    "bomb < five_face < five_small all above niuniu": (
        ["bomb", "five_face", "five_small"],
        PLAIN,
        "",
    ),
    "type predicates only": ([], PLAIN, ""),
}
SHIPPED_OF_NOTE = {"Hong Kong ngau-ngau: three of a kind also qualifies": "ngau-ngau-hong-kong"}


def rules_of(note):
    starts = [start for start in (*RULES_OF_NOTE, *SHIPPED_OF_NOTE) if note.startswith(start)]
    assert len(starts) == 1, note
    if starts[0] in SHIPPED_OF_NOTE:
        return load_rules(SHIPPED_OF_NOTE[starts[0]])
    specials, odds, rest = RULES_OF_NOTE[starts[0]]
    tables = []
    for special in specials:
        name, _, predicate = special.partition(": ")
        predicate = predicate or PREDICATE_OF.get(name, name)
        tables.append(f'{{ name = "{name}", predicate = "{predicate}" }}')
    return parse_rules(f"""
        name = "case"
        title = "the rule set of a case's note"
        source = "external_cases.csv"
        specials = [{", ".join(tables)}]
        boxes.single.required = true
        boxes.single.win_odds = {{ {odds} }}
        {rest}
        """)


def rank_named(text):
    plain = {"none": "high_card", "niuniu": "niu_niu"}
    return plain.get(text, re.sub(r"^niu(\d)$", r"niu_\1", text))


def play(rules, case):
    """Outcome for A and the two best hands; A is the bettor, B the banker."""
    a, b = (best_arrangement(parse_hand(case[key]), rules) for key in ("cards_a", "cards_b"))
    if a.strength == b.strength:
        return tie_outcome(rules.order, a.rank_index), a, b
    return Outcome.WIN if a.strength > b.strength else Outcome.LOSE, a, b


def net_cents(rules, outcome, a, b, *, stake=UNIT_CENTS):
    slip = Slip.of({"single": stake})
    ranks = {"player_rank": a.rank_index, "dealer_rank": b.rank_index}
    return settle(rules, slip, outcome=outcome, **ranks).net_cents


def check_rank(rules, case):
    hand = best_arrangement(parse_hand(case["cards_a"]), rules)
    assert hand.rank == rank_named(case["expected"])


def check_comparison(rules, case):
    outcome, a, b = play(rules, case)
    winner, per_unit, total = re.fullmatch(
        r"([AB]) wins(?:; A bettor net ([+-]\d+) per unit|; A net ([+-]\d+)| \(.*\))?",
        case["expected"],
    ).groups()
    assert outcome == (Outcome.WIN if winner == "A" else Outcome.LOSE)
    if per_unit:
        assert net_cents(rules, outcome, a, b) == int(per_unit) * UNIT_CENTS
    if total:
        assert net_cents(rules, outcome, a, b, stake=100) == int(total)


def check_tie(rules, case):
    outcome, a, b = play(rules, case)
    assert outcome == Outcome.PUSH
    assert a.rank == b.rank == rank_named(case["expected"].removeprefix("tie on "))
    assert net_cents(rules, outcome, a, b) == 0


def check_predicate(rules, case):
    cards = parse_hand(case["cards_a"])
    name, expected = re.match(r"(\w+)=(true|false)", case["expected"]).groups()
    assert PREDICATES[PREDICATE_OF.get(name, name)].holds(cards) == (expected == "true")
    if total := re.search(r"total (\d+)", case["expected"]):
        assert sum(min(card // 4 + 1, 10) for card in cards) == int(total[1])
    if rank := re.search(r"niu\d", case["expected"]):
        assert best_arrangement(cards, rules).rank == rank_named(rank[0])
    if "carries a niu" in case["expected"]:
        assert best_arrangement(cards, rules).has_base


KINDS = {
    "rank": (re.compile(r"none|niu\d|niuniu|[a-z]+(_[a-z]+)?"), check_rank),
    "comparison": (re.compile(r"[AB] wins.*"), check_comparison),
    "tie": (re.compile(r"tie on .*"), check_tie),
    "predicate": (re.compile(r"\w+=(true|false).*"), check_predicate),
}


def kind_of(case):
    kinds = [kind for kind, (pattern, _) in KINDS.items() if pattern.fullmatch(case["expected"])]
    assert len(kinds) == 1, case
    return kinds[0]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_public_case_comes_out_as_its_source_says(case):
    KINDS[kind_of(case)][1](rules_of(case["rules_note"]), case)


def test_all_67_cases_are_run():
    assert len({case["id"] for case in CASES}) == len(CASES) == 67
    counts = {kind: sum(kind_of(case) == kind for case in CASES) for kind in KINDS}
    assert counts == {"rank": 47, "comparison": 10, "tie": 1, "predicate": 9}
    assert sum(bool(case["cards_b"]) for case in CASES) == 11


def test_every_rule_set_of_a_note_is_used():
    notes = {case["rules_note"] for case in CASES}
    for start in (*RULES_OF_NOTE, *SHIPPED_OF_NOTE):
        assert any(note.startswith(start) for note in notes), start


def case_of(case_id):
    return next(case for case in CASES if case["id"] == case_id)


def test_negative_control_a_source_that_misses_a_base():
    """EX023: the source expects no niu of A 2 3 4 6, but A + 3 + 6 = 10."""
    case = case_of("EX023")
    rules = rules_of(case["rules_note"])
    assert "AND IS WRONG" in case["rules_note"]
    bases = {
        frozenset(card // 4 + 1 for card in hand.base)
        for hand in arrangements(parse_hand(case["cards_a"]), rules)
        if hand.has_base
    }
    assert bases == {frozenset({1, 3, 6})}


def test_negative_control_an_older_version_ranks_the_bomb_higher():
    """EX009: both hold of A A A A 2; an older version of the source's test puts the bomb on top."""
    case = case_of("EX009")
    rules = rules_of(case["rules_note"])
    cards = parse_hand(case["cards_a"])
    assert PREDICATES["four_of_a_kind"].holds(cards)
    assert rules.ranks.index("bomb") < rules.ranks.index("five_small")


def test_negative_control_the_winner_s_odds_would_cost_three_times_as_much():
    """EX037: settled by the banker's hand, as most rules do, the bettor would lose 300."""
    case = case_of("EX037")
    own = rules_of(case["rules_note"])
    other = rules_of(case_of("EX035")["rules_note"])
    outcome, a, b = play(own, case)
    assert (net_cents(own, outcome, a, b), net_cents(other, outcome, a, b)) == (-100, -300)


def test_the_side_bet_of_the_live_game_pays_120_to_1():
    case = case_of("EX063")
    rules = rules_of(case["rules_note"])
    cards = parse_hand(case["cards_a"])
    held = [PREDICATES[name].holds(cards) for name in rules.events]
    mask = sum(holds << bit for bit, holds in enumerate(held))
    slip = Slip.of({"single": 100, "bonus": 100})
    result = settle(rules, slip, outcome=Outcome.LOSE, player_rank=0, dealer_rank=0, events=mask)
    assert result.net_by_box == {"bonus": 12_000, "single": -100}
