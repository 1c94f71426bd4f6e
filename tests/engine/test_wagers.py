"""Slips: reading them, what the table refuses and why, cover and the largest stake accepted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import PLAYABLE, SHIPPED, overlay, playable_rules, slips

from niulab.engine.rules.cover import cover_cents, full_in_sight_cents, loss_cents
from niulab.engine.wagers import (
    Slip,
    can_place,
    cover_from,
    exposure_cents,
    largest_stake,
    least_slip,
    max_loss_cents,
    stake_step_cents,
    terms_of,
    verify_slip,
)
from niulab.errors import WagerError

SINGLE = SHIPPED["single-double-super"]
EVEN = SHIPPED["even-double-super-bonus"]
CAPPED = overlay(
    "single-double-super", '[boxes.super]\ncover = { multiple = 10, shortfall = "cap_loss" }\n'
)


def refusal(slip, rules=SINGLE, bankroll=None):
    with pytest.raises(WagerError) as caught:
        verify_slip(rules, Slip.of(slip), bankroll)
    return str(caught.value)


# ------------------------------------------------------------ reading slips


def test_a_slip_is_normalized_to_box_order_without_zeros():
    slip = Slip.of(" Super=40, single=100,double=0 ")
    assert slip.stakes == (("single", 100), ("super", 40))
    assert str(slip) == "single=100,super=40"
    assert slip == Slip.of({"super": np.int64(40), "single": 100})
    assert len({slip, Slip.of(slip), Slip((("super", 40), ("single", 100)))}) == 1
    assert (slip.stake("super"), slip.stake("double"), slip.total_cents) == (40, 0, 140)
    assert slip.boxes == ("single", "super")


def test_chips_in_sight_are_written_behind_a_slash():
    slip = Slip.parse("single=100,super=40/200")
    assert (slip.sight("super"), slip.sight("single")) == (200, None)
    assert Slip.parse(str(slip)) == slip


@pytest.mark.parametrize(
    "text",
    [
        *("", "single", "single=", "=100", "single=nan", "single=inf", "single=-100"),
        *("single=1.5", "single=1e3", "single=1_000", "single=100;super=40", "single:100"),
        *("single=" + "9" * 5000, "single=\u0661\u0660\u0660", "single=100,", "single=100/"),
    ],
)
def test_text_that_is_no_slip_is_refused(text):
    with pytest.raises(WagerError, match="is no stake; write whole cents as 'single=100,super=40'"):
        Slip.parse(text)


@pytest.mark.parametrize(
    "cents", [float("nan"), float("inf"), 100.0, "100", None, True, np.float64(20)]
)
def test_a_stake_that_is_no_whole_number_is_refused(cents):
    with pytest.raises(WagerError, match="write whole cents"):
        Slip.of({"single": cents})


def test_negative_duplicate_and_foreign_things_are_refused():
    with pytest.raises(WagerError, match="single=-100 is negative"):
        Slip.of({"single": -100})
    with pytest.raises(WagerError, match="box 'single' has two stakes; write each box once"):
        Slip.parse("single=100,single=20")
    with pytest.raises(WagerError, match="is no slip"):
        Slip.of(100)
    with pytest.raises(WagerError, match="30 cents in sight for a stake of 40"):
        Slip.parse("single=100,super=40/30")
    with pytest.raises(WagerError, match="for a stake of 0"):
        Slip((("single", 100),), (("super", 400),))


@given(st.text(alphabet="single=0123456789,/.-naif ", max_size=30))
def test_any_text_is_a_slip_or_a_wager_error(text):
    try:
        slip = Slip.parse(text)
    except WagerError:
        return
    assert Slip.parse(str(slip)) == slip if slip.stakes else str(slip) == ""


# ------------------------------------------------------------ the table's limits


@pytest.mark.parametrize("name", sorted(PLAYABLE))
def test_the_least_slip_stakes_the_required_box_alone(name):
    rules = PLAYABLE[name]
    slip = least_slip(rules)
    assert slip.boxes == (rules.required_box,)
    assert slip.total_cents == rules.boxes[rules.required_box].minimum_cents == 100
    verify_slip(rules, slip)


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - set(PLAYABLE)))
def test_a_ranking_only_rule_set_takes_no_slip(name):
    message = f"'{name}' ranks hands and offers no bets, got slip 'single=100'"
    assert refusal("single=100", SHIPPED[name]).startswith(message)
    with pytest.raises(WagerError, match="offers no bets, got the least slip"):
        least_slip(SHIPPED[name])


def test_an_unknown_box_names_the_nearest():
    assert (
        refusal("singel=100") == "'single-double-super' has no box 'singel'; did you mean 'single'?"
    )
    assert "has no box 'bonus'" in refusal("single=100,bonus=20")
    with pytest.raises(WagerError, match="has no box 'doubel'; did you mean 'double'"):
        largest_stake(SINGLE, least_slip(SINGLE), "doubel")


def test_the_required_box_must_be_staked():
    assert refusal("double=100") == (
        "slip 'double=100' lacks the required box 'single': "
        "add single=100 or more to join the round"
    )
    assert "slip '' lacks the required box 'even': add even=100" in refusal({}, EVEN)


@pytest.mark.parametrize(
    ("slip", "message"),
    [
        ("single=80", "SINGLE 80 is below the box's minimum of 100 cents; write 100"),
        (
            "single=10000020",
            "SINGLE 10000020 is above the box's maximum of 10000000 cents; write 10000000",
        ),
    ],
)
def test_stakes_outside_the_limits_name_the_nearest_legal_one(slip, message):
    assert refusal(slip) == message


@pytest.mark.parametrize(
    ("slip", "box", "near"),
    [("single=130", "SINGLE 130", "120 or 140"), ("single=100,super=30", "SUPER 30", "20 or 40")],
)
def test_exact_commission_refuses_stakes_that_leave_a_fraction(slip, box, near):
    assert refusal(slip) == (
        f"{box} would leave a fraction of a cent at 5 % commission: "
        f"stakes are multiples of 20 cents; write {near}"
    )


def test_a_box_without_commission_goes_by_the_chip_unit():
    assert refusal("even=100,bonus=30", EVEN) == (
        "BONUS 30 is no multiple of the chip unit: stakes are multiples of 20 cents; write 20 or 40"
    )


def test_half_pay_needs_even_stakes():
    rules = overlay("even-double-super-bonus", "table = { chip_unit_cents = 1 }")
    assert stake_step_cents(rules, "even") == 2
    assert refusal("even=101", rules) == (
        "EVEN 101 would leave a fraction of a cent when half is paid: "
        "stakes are multiples of 2 cents; write 100 or 102"
    )


def test_the_step_follows_from_the_rules():
    assert [stake_step_cents(SINGLE, box) for box in SINGLE.boxes] == [20, 20, 20]
    assert [stake_step_cents(EVEN, box) for box in EVEN.boxes] == [2, 20, 20, 1]
    rounded = overlay(
        "single-double-super", '[boxes.single]\ncommission = { rate = "1/20", rounding = "floor" }'
    )
    assert stake_step_cents(rounded, "single") == 1
    # 2:1 alone at 5 % pays 1.9 to 1: tenths, not twentieths
    only_two = overlay(
        "single-double-super",
        "[boxes.double.win_odds]\nniu_niu = 2\n",
    )
    assert stake_step_cents(only_two, "double") == 10


# ------------------------------------------------------------ cover


def test_cover_comes_on_top_of_the_stake_or_counts_it():
    assert exposure_cents(SINGLE, Slip.of("single=100,double=100,super=100")) == 100 + 400 + 1100
    assert exposure_cents(EVEN, Slip.of("even=100,double=100,super=100,bonus=20")) == (
        100 + 300 + 1000 + 20
    )


def test_a_short_cover_names_the_largest_stake_accepted():
    assert refusal("single=100,double=5000", bankroll=100 + 5000 + 12000) == (
        "DOUBLE 5000 needs 15000 cents of cover (3 x stake), has 12000; "
        "the largest stake accepted is 4240 cents"
    )
    assert can_place(SINGLE, Slip.of("single=100,double=4240"), 17100)
    assert not can_place(SINGLE, Slip.of("single=100,double=4260"), 17100)
    assert refusal("even=100,super=400", EVEN, bankroll=1000) == (
        "SUPER 400 needs 4000 cents in sight in all (10 x stake), has 900; "
        "the largest stake accepted is 80 cents"
    )
    assert refusal("single=100,super=20", bankroll=300) == (
        "SUPER 20 needs 200 cents of cover (10 x stake), has 180; "
        "no super stake is accepted, leave the box off"
    )
    assert refusal("single=500", bankroll=310) == (
        "SINGLE 500 exceeds the 310 cents that are left for it; "
        "the largest stake accepted is 300 cents"
    )


def test_covers_add_up_and_a_hopeless_slip_says_what_would_do():
    slip = "single=400,double=400,super=400"
    assert can_place(SINGLE, Slip.of(slip), 400 + 1600 + 4400)
    assert not can_place(SINGLE, Slip.of(slip), 400 + 1600 + 4400 - 1)
    assert refusal(slip, bankroll=1300) == (
        f"slip '{slip}' needs 6400 cents in sight in all, has 1300; "
        "with single alone the largest stake accepted is 1300 cents"
    )
    assert refusal("single=100", bankroll=99) == (
        "slip 'single=100' needs 100 cents in sight in all, has 99; the least slip is 'single=100'"
    )


def test_cover_is_never_more_than_the_maximum_payout():
    rules = overlay("even-double-super-bonus", "[boxes.super]\ncover = { max_cents = 5000 }\n")
    assert cover_cents(rules.boxes["super"], 1000) == 5000
    assert exposure_cents(rules, Slip.of("even=100,super=1000")) == 100 + 5000
    assert exposure_cents(rules, Slip.of("even=100,super=8000")) == 100 + 8000
    assert "needs 5000 cents in sight in all (the table's maximum), has 4000" in refusal(
        "even=100,super=1000", rules, bankroll=4100
    )


def test_short_cover_caps_the_loss_where_the_rules_say_so():
    terms = CAPPED.boxes["super"]
    assert loss_cents(terms, 100, odds=10, in_sight_cents=300) == 300
    assert loss_cents(terms, 100, odds=2, in_sight_cents=300) == 200
    assert loss_cents(terms, 100, odds=10) == 1000
    assert loss_cents(SINGLE.boxes["super"], 100, odds=10, in_sight_cents=300) == 1000
    slip = Slip.of("single=100,super=100")
    verify_slip(CAPPED, slip, 300)
    assert str(cover_from(CAPPED, slip, 300)) == "single=100,super=100/200"
    assert cover_from(CAPPED, slip, 1200) == slip
    assert cover_from(SINGLE, slip, 1200) == slip
    assert max_loss_cents(CAPPED, cover_from(CAPPED, slip, 300)) == 300
    assert largest_stake(CAPPED, slip, "super", 300) == 200
    assert "needs 1100 cents in sight in all, the slip declares 500" in refusal(
        "single=100,super=100/500"
    )
    assert "500 cents declared in sight" in refusal("single=100,super=100/500", CAPPED, 300)


def test_the_most_a_slip_can_lose():
    assert max_loss_cents(SINGLE, Slip.of("single=100,double=40,super=20")) == 100 + 120 + 200
    assert max_loss_cents(EVEN, Slip.of("even=100,super=20,bonus=60")) == 100 + 200 + 60
    note = SHIPPED["even-double-super-bonus-literal-note"]
    assert max_loss_cents(note, Slip.of("even=100,super=20")) == 300
    capped = overlay("even-double-super-bonus", "[boxes.super]\nmax_loss_cents = 150\n")
    assert max_loss_cents(capped, Slip.of("even=100,super=20")) == 250
    by_player = overlay("single-double-super", '[boxes.super]\nlose_rank = "player"\n')
    assert max_loss_cents(by_player, Slip.of("single=100,super=20")) == 300


# ------------------------------------------------------------ laws


@given(st.data())
def test_legal_slips_are_accepted_up_to_their_exposure(data):
    rules = data.draw(playable_rules())
    slip = data.draw(slips(rules))
    exposure = exposure_cents(rules, slip)
    verify_slip(rules, slip)
    assert can_place(rules, slip, exposure)
    assert not can_place(rules, slip, exposure - 1)
    assert max_loss_cents(rules, slip) <= exposure
    assert Slip.parse(str(slip)) == slip


@given(st.data())
def test_the_largest_stake_is_accepted_and_the_next_is_not(data):
    rules = data.draw(playable_rules())
    slip = data.draw(slips(rules))
    box = data.draw(st.sampled_from(sorted(rules.boxes)))
    bankroll = data.draw(st.integers(0, 2 * exposure_cents(rules, slip)))
    rest = {name: cents for name, cents in slip.stakes if name != box}
    largest = largest_stake(rules, slip, box, bankroll)
    if largest:
        assert can_place(rules, Slip.of({**rest, box: largest}), bankroll) == (
            box == rules.required_box or bool(slip.stake(rules.required_box))
        )
    assert not can_place(rules, Slip.of({**rest, box: largest + 20}), bankroll)


@given(st.data())
def test_can_place_says_what_verify_slip_raises(data):
    rules = data.draw(playable_rules())
    boxes = st.sampled_from([*rules.boxes, "single", "bogus"])
    stakes = data.draw(st.dictionaries(boxes, st.integers(0, 500), max_size=4))
    bankroll = data.draw(st.none() | st.integers(0, 3000))
    slip = Slip.of(stakes)
    try:
        verify_slip(rules, slip, bankroll)
    except WagerError as error:
        message = str(error)
        assert not can_place(rules, slip, bankroll), message
    else:
        assert can_place(rules, slip, bankroll)


@given(st.data())
def test_what_is_put_in_sight_fits_the_bankroll(data):
    slip = data.draw(slips(CAPPED))
    bankroll = data.draw(st.integers(slip.total_cents, 20_000))
    if can_place(CAPPED, slip, bankroll):
        shown = cover_from(CAPPED, slip, bankroll)
        assert exposure_cents(CAPPED, shown) <= bankroll
        assert max_loss_cents(CAPPED, shown) <= bankroll


def test_the_terms_of_a_box_are_the_rules_files():
    assert terms_of(SINGLE, "super") is SINGLE.boxes["super"]
    assert full_in_sight_cents(SINGLE.boxes["double"], 100) == 400


def test_spaces_stand_between_the_parts_of_a_slip_and_join_no_numbers():
    assert Slip.parse(" single = 100 , super=40 / 440 ") == Slip.parse("single=100,super=40/440")
    for text in ("single=100,super=4 0", "single=1 00", "single=100 super=40"):
        with pytest.raises(WagerError, match="is no stake; write whole cents as"):
            Slip.parse(text)


def test_short_cover_where_none_is_taken_says_what_to_write():
    with pytest.raises(WagerError, match=r"takes no short cover, so write super=40$"):
        verify_slip(SINGLE, Slip.parse("single=100,super=40/60"))
