"""Laws of a round over any rules, seats, slips and deals: no money appears, acts do as they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import deals, playable_rules, set_best, slips, staked

from niulab.engine.hands import best_arrangement
from niulab.engine.round import Round
from niulab.engine.settlement import Outcome, settle
from niulab.engine.wagers import Slip, exposure_cents, least_slip, max_loss_cents
from niulab.errors import NiuLabError

NIU_8 = "JD QC JH AS 7D"
NIU_3 = "KC KD KH 6D 7C"


def set_if_needed(table):
    return set_best(table) if table.rules.arrangement == "as_set" else table


@st.composite
def dealt_rounds(draw):
    rules = draw(playable_rules())
    n_seats = draw(st.integers(1, 9))
    seats = draw(st.sets(st.integers(1, n_seats), min_size=1))
    staked_slips = {seat: draw(slips(rules)) for seat in sorted(seats)}
    bankrolls = [
        exposure_cents(rules, staked_slips[seat]) + draw(st.integers(0, 99)) if seat in seats else 0
        for seat in range(1, n_seats + 1)
    ]
    table = staked(rules, staked_slips, n_seats=n_seats, bankrolls_cents=bankrolls)
    return table.deal(draw(deals(rules, len(seats) + 1)))


@given(st.data())
def test_house_and_seats_sum_to_zero_and_no_bankroll_goes_negative(data):
    table = data.draw(dealt_rounds())
    for seat in table.packet_seats:
        if table.rules.arrangement == "as_set":
            table = table.set(seat, data.draw(st.integers(0, 9)))
    settled = table.settle()
    assert sum(settled.bankrolls_after_cents) + settled.house_net_cents == sum(
        settled.bankrolls_cents
    )
    assert min(settled.bankrolls_after_cents) >= 0
    for slip, settlement in zip(settled.slips, settled.settlements, strict=True):
        assert (slip is None) == (settlement is None)
        if slip is not None:
            assert settlement.net_cents >= -max_loss_cents(settled.rules, slip)


@given(st.data())
def test_a_settled_seat_follows_from_ranks_outcome_and_slip(data):
    settled = set_if_needed(data.draw(dealt_rounds())).settle()
    rules, dealer = settled.rules, settled.dealer_arrangement
    for seat in settled.packet_seats:
        player = best_arrangement(settled.hand(seat), rules)
        outcome = settled.outcomes[seat - 1]
        assert settled.arrangements[seat - 1].strength == player.strength
        if player.strength != dealer.strength:
            assert (outcome == Outcome.WIN) == (player.strength > dealer.strength)
        main = {b: c for b, c in settled.slips[seat - 1].stakes if not rules.boxes[b].is_bonus}
        if not any(rules.boxes[box].hand_pays for box in main):
            expected = settle(
                rules,
                Slip.of(main),
                outcome=outcome,
                player_rank=player.rank_index,
                dealer_rank=dealer.rank_index,
            )
            nets = settled.settlements[seat - 1].net_by_box
            assert {box: nets[box] for box in main} == expected.net_by_box


@given(st.data())
def test_can_says_what_verify_raises(data):
    rules = data.draw(playable_rules())
    table = Round.open(rules, 2, [1000, 500])
    seats = st.integers(0, 3)
    texts = st.sampled_from(
        [str(least_slip(rules)), "super=20", "even=100", "single=100,super=400"]
    )
    for _ in range(data.draw(st.integers(1, 12))):
        act = data.draw(st.sampled_from(["place", "place", "deal", "set", "set", "settle"]))
        arguments = {
            "place": lambda: (data.draw(seats), data.draw(texts)),
            "deal": lambda: (data.draw(st.sampled_from([None, [NIU_8, NIU_3], [NIU_8, NIU_8]])),),
            "set": lambda: (data.draw(seats), data.draw(st.integers(-1, 10))),
            "settle": lambda: (),
        }[act]()
        can = getattr(table, f"can_{act}")(*arguments)
        try:
            getattr(table, f"verify_{act}")(*arguments)
        except NiuLabError:
            assert not can
            with pytest.raises(NiuLabError):
                getattr(table, act)(*arguments)
        else:
            assert can
            table = getattr(table, act)(*arguments)
