"""The shuffle monitor: exact means, fair tables, tables that are not, alarms held back."""

from itertools import permutations
from math import log

import numpy as np
import pytest
from table_players import exchanged, seated

from niulab.evaluation.detection.tables.kernels import shuffle_factors
from niulab.evaluation.detection.tables.shuffles import (
    ShuffleState,
    held_alarms,
    shuffle_monitors,
)

N_SEATS = 3


def factors_of(deals, counts, last):
    rates = [np.array(x) for x in ([0.5, 5.0], [3.0], [0.1, 0.9], [0.3])]
    out = np.empty((len(deals), deals.shape[1] * 4 + 4))
    for i, cards in enumerate(deals):
        shuffle_factors(
            cards, counts, counts.sum(axis=1), counts.sum(axis=0), counts.sum(), last, *rates,
            out[i],
        )  # fmt: skip
    return np.ascontiguousarray(out.T)  # rows are summed pairwise


@pytest.mark.parametrize("last", [(7, 8, 9), (9, 7, 7), (52, 3, 51), (52, 52, 52)])
def test_factors_have_mean_one_over_all_deals(last):
    """Every ordered deal of three cards, after a past of any counts and any last round."""
    counts = np.random.default_rng(0).integers(0, 9, (3, 52)).astype(np.float64)
    deals = np.array(list(permutations(range(52), 2)), dtype=np.uint8)
    third = np.full((len(deals), 1), 52, dtype=np.uint8)
    for known in (np.hstack([deals, third]), np.hstack([deals[:, :1], third, deals[:, 1:]])):
        means = factors_of(known, counts, np.array(last, dtype=np.uint8)).mean(axis=1)
        assert np.abs(means - 1).max() <= 1e-12
    full = np.array(list(permutations(range(52), 3)), dtype=np.uint8)
    means = factors_of(full, counts, np.array(last, dtype=np.uint8)).mean(axis=1)
    assert np.abs(means - 1).max() <= 1e-12


def test_pieces_give_the_same_bytes(sheet):
    plays = seated(sheet, 2, N_SEATS, 40, seed=1)
    whole = shuffle_monitors(plays)
    first = plays.time < 17
    states = shuffle_monitors(plays.take(first))
    states = shuffle_monitors(plays.take(~first), states=states)
    for name, state in whole.items():
        assert states[name].values.tobytes() == state.values.tobytes()
        assert (states[name].n_rounds, states[name].peak) == (state.n_rounds, state.peak)
        assert sum(state.shares.values()) == pytest.approx(1, rel=1e-12)


def test_fair_tables_raise_no_alarm(sheet):
    plays = seated(sheet, 200, N_SEATS, 100, seed=2)
    peaks = np.array([state.peak for state in shuffle_monitors(plays).values()])
    assert np.mean(peaks >= log(20)) <= 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5
    assert len(shuffle_monitors(plays, by="dealer")) == 200
    assert shuffle_monitors(plays, by="shuffler") == {}


def swapped(plays, cards, dealer_cards):
    names = ("player", "table", "dealer", "round", "time", "rules", "seat", "stakes")
    kept = {name: getattr(plays, name) for name in names}
    return type(plays).of(len(plays), plays.texts, **kept, cards=cards, dealer_cards=dealer_cards)


def as_decks(plays):
    """Cards as (round, 5 x hands), the dealer's last, in order of the deal."""
    own = plays.cards.reshape(-1, N_SEATS * 5)
    return np.hstack([own, plays.dealer_cards[::N_SEATS]])


def from_decks(plays, decks):
    n = len(decks)
    own = decks[:, : N_SEATS * 5].reshape(n * N_SEATS, 5)
    return swapped(plays, own, np.repeat(decks[:, N_SEATS * 5 :], N_SEATS, axis=0))


def unshuffled(plays, *, seed):
    """In every round two cards beside each other in the round before stay together."""
    rng, decks = np.random.default_rng(seed), as_decks(plays)
    for i in range(1, len(decks)):
        before, now = decks[i - 1], decks[i]
        j = int(rng.integers(0, len(now) - 1))
        follower = (
            before[np.flatnonzero(before == now[j])[0] + 1]
            if (now[j] in before[:-1])
            else now[j + 1]
        )
        at = np.flatnonzero(now == follower)
        if len(at):
            now[at[0]] = now[j + 1]
        now[j + 1] = follower
    return from_decks(plays, decks)


def test_a_kept_order_is_found_and_named(sheet):
    plays = unshuffled(seated(sheet, 1, N_SEATS, 400, seed=3), seed=4)
    state = shuffle_monitors(plays)["t0"]
    assert state.peak >= log(1_000)
    assert max(state.shares, key=state.shares.get) == "order"


def test_a_missing_card_is_found_and_named(sheet):
    plays = seated(sheet, 1, N_SEATS, 600, seed=5)
    decks = as_decks(plays)
    rng = np.random.default_rng(6)
    for deck in decks:
        deck[deck == 3] = rng.choice(np.setdiff1d(np.arange(52), [*deck, 3]))
    state = shuffle_monitors(from_decks(plays, decks))["t0"]
    assert state.peak >= log(1_000)
    assert max(state.shares, key=state.shares.get) == "anywhere"


def test_a_card_dealt_to_one_place_is_found_and_named(sheet):
    plays = seated(sheet, 1, N_SEATS, 400, seed=7)
    decks = as_decks(plays)
    rng = np.random.default_rng(8)
    for i in np.flatnonzero(rng.random(len(decks)) < 0.3):
        at = np.flatnonzero(decks[i] == 0)
        if len(at):
            decks[i, at[0]] = decks[i, 15]
        decks[i, 15] = 0  # the dealer's first card is an ace far too often
    state = shuffle_monitors(from_decks(plays, decks))["t0"]
    assert state.peak >= log(1_000)
    assert max(state.shares, key=state.shares.get) == "places"


def test_alarms_at_a_table_with_a_bad_shuffle_are_held_back(sheet):
    bad = unshuffled(seated(sheet, 1, N_SEATS, 500, seed=9), seed=10)
    (held,) = held_alarms(bad, ["p1"])
    assert held.by in {"table", "dealer"}
    assert "is not uniform" in held.reason
    assert held_alarms(seated(sheet, 1, N_SEATS, 500, seed=9), ["p1", "nobody"]) == []


def test_a_switcher_does_not_hold_back_his_own_alarm(sheet):
    plays = exchanged(seated(sheet, 1, N_SEATS, 500, seed=11), sheet, [0], 1.0)
    assert held_alarms(plays, ["p0"]) == []


def test_what_is_left_out_is_the_players_hand(sheet):
    plays = seated(sheet, 1, N_SEATS, 10, seed=12)
    whole = shuffle_monitors(plays)["t0"]
    less = shuffle_monitors(plays, leave_out="p1")["t0"]
    assert whole.pooled.sum() == 10 * 20
    assert less.pooled.sum() == 10 * 15
    assert less.counts[5:10].sum() == 0
    assert ShuffleState.fresh().log_e == pytest.approx(0, abs=1e-15)
