"""``niulab hand``: one hand, its settings and one deal."""

from __future__ import annotations

from fractions import Fraction
from math import comb

HAND = "KS QH 10D AC 7S"
NINES = "2S 3S 4D 9H 9C"  # niu_7: 2 + 9 + 9, 3 + 4


def test_keys_and_exact_values(run_json):
    hand = run_json("hand", HAND)
    assert hand["cards"] == ["KS", "QH", "10D", "AC", "7S"]
    assert hand["rank"] == "niu_8"
    assert hand["base"] == ["KS", "QH", "10D"]
    assert hand["pair"] == ["AC", "7S"]
    assert Fraction(hand["win_probability"]) == Fraction(1322039, comb(47, 5))
    assert hand["ev"]["single"] == float(Fraction(6960247, 10226260))
    assert list(hand["ev"]) == ["single", "double", "super"]
    assert (hand["winner"], hand["net"]) == (None, None)
    assert hand["slip"] == {"single": 100}
    assert isinstance(hand["strength"], int)
    assert hand["warnings"] == []


def test_ten_settings_with_their_ev_in_cents(run_json):
    settings = run_json("hand", HAND)["arrangements"]
    assert len({tuple(setting["pair"]) for setting in settings}) == 10
    ranks = [setting["rank"] for setting in settings]
    assert sorted(ranks) == ["high_card"] * 9 + ["niu_8"]
    best = settings[ranks.index("niu_8")]
    assert best["pair"] == ["AC", "7S"]
    assert best["ev"] == float(100 * Fraction(6960247, 10226260))
    assert {"pair", "rank", "ev"} <= set(best)


def test_a_high_card_has_no_base_and_shows_its_highest_card(run_json):
    hand = run_json("hand", "2S 4H 5D 7C KS")
    assert (hand["rank"], hand["base"], hand["pair"]) == ("high_card", [], ["KS"])


def test_notations_are_read_alike(run_json):
    assert run_json("hand", "♠K hQ td 1C s7") == run_json("hand", HAND)


def test_a_deal_is_settled_and_the_ev_stays_that_before_it(run_json):
    before = run_json("hand", HAND, "--slip", "single=100,double=40,super=20")
    deal = run_json("hand", HAND, "--slip", "single=100,double=40,super=20", "--dealer", NINES)
    assert deal["winner"] == "player"
    # niu_8 pays 1, 2 and 8 to 1, each less 5 %
    assert deal["net"] == {"single": 95, "double": 76, "super": 152}
    for key in ("win_probability", "ev", "arrangements", "rank"):
        assert deal[key] == before[key]


def test_a_lost_deal_costs_the_odds_of_the_dealers_rank(run_json):
    deal = run_json("hand", "2S 4H 5D 7C KC", "--dealer", HAND, "--slip", "single=100,super=20")
    assert deal["winner"] == "dealer"
    assert deal["net"] == {"single": -100, "super": -160}


def test_the_dealer_wins_ties_of_rank_by_the_higher_card(run_json):
    deal = run_json("hand", "QS QH 10D AC 7S", "--dealer", "KD JH 10C AH 7C")
    assert deal["winner"] == "dealer"
    assert deal["net"] == {"single": -100}


def test_the_other_sheets(run_json):
    faces = run_json("hand", "KS QS JS KD QD", "--rules", "bull-bull-live")
    assert faces["rank"] == "five_faces"
    ranking = run_json("hand", HAND, "--rules", "bomb-room", "--dealer", NINES)
    assert (ranking["ev"], ranking["net"], ranking["winner"]) == ({}, None, "player")
    assert ranking["arrangements"][0]["ev"] is None
    open_dealer = run_json("hand", HAND, "--rules", "even-double-super-bonus", "--dealer", NINES)
    assert open_dealer["net"] == {"even": 100}


def test_hong_kong_pushes_equal_ranks(run_json):
    deal = run_json("hand", HAND, "--rules", "ngau-ngau-hong-kong", "--dealer", "KD QD 10C AH 7C")
    assert deal["winner"] == "push"
    assert set(deal["net"].values()) == {0}


def test_a_sheet_that_pays_the_player_is_warned_of(run):
    result = run("hand", HAND, "--rules", "even-double-super-bonus-literal-note")
    assert "pays the PLAYER +0.4605" in result.stderr


def test_the_text_says_who_wins(run):
    shown = run("hand", HAND, "--dealer", NINES).stdout
    assert "niu_8: KS QH 10D / AC 7S" in shown
    assert "dealer: niu_7: 2S 9H 9C / 3S 4D" in shown
    assert "the player wins" in shown
    assert "single +95" in shown


def test_a_shoe_may_deal_a_card_twice(run_json):
    hand = run_json("hand", "KS KS 10D AC 7S", "--rules", "six-deck-shoe-bonus")
    assert hand["base"] == ["KS", "KS", "10D"]
