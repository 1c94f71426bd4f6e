"""Simulated floors: labels, money by a second road, exact edges, the null of honest logs."""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from niulab.agents.advantage.catalog import attack_edge
from niulab.agents.advantage.config import HoleCarder
from niulab.agents.advantage.sight import seen_edge
from niulab.agents.systems.catalog import make_system, system_names
from niulab.agents.systems.compile import system_tables
from niulab.engine.hands import best_arrangement
from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome, settle
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.evaluation.logged.columns import simulate_blocks, simulate_plays
from niulab.evaluation.logged.config import parse_floor, read_floor
from niulab.evaluation.logged.seating import seat_players
from niulab.evaluation.playlog.plays import NO_CARD, Flag, Plays, boxes_of
from niulab.evaluation.playlog.replay import replayed

EVEN = "even-double-super-bonus"


def floor_of(*players, **keys):
    return parse_floor({"players": list(players)} | keys)


def rows_of(plays, floor, attack, role=None):
    """Rows of the players of an attack, and of a role in it."""
    labels = seat_players(floor).labels
    chosen = [
        i for i, one in enumerate(labels) if one.attack == attack and role in {None, one.role}
    ]
    return plays.take(np.isin(plays.player, chosen))


def settled_by_hand(rules, plays, row):
    """Nets of a row by the reference evaluator, (4,)."""
    own, dealer = (
        best_arrangement(cards[row].tolist(), rules) for cards in (plays.cards, plays.dealer_cards)
    )
    stakes = plays.stakes[row] + plays.late[row]
    slip = Slip.of({box: int(s) for box, s in zip(boxes_of(rules), stakes, strict=True) if box})
    outcome = Outcome.WIN if own.strength > dealer.strength else Outcome.LOSE
    ranks = {"player_rank": own.rank_index, "dealer_rank": dealer.rank_index}
    nets = settle(rules, slip, outcome=outcome, **ranks).net_by_box
    return [nets.get(box, 0) for box in boxes_of(rules)]


def assert_mean(values, expected, what=""):
    """The mean lies within 4.5 standard errors: a false alarm in 150,000."""
    error = values.std() / sqrt(len(values))
    assert abs(values.mean() - expected) < 4.5 * error + 1e-9, (what, values.mean(), expected)


@pytest.fixture(scope="module")
def small():
    floor = read_floor("small")
    return floor, simulate_plays(floor)


def test_money_is_that_of_the_reference_evaluator(small):
    floor, plays = small
    for row in range(0, len(plays), 7):
        expected = settled_by_hand(floor.rules, plays, row)
        assert (plays.nets[row] - plays.residuals[row]).tolist() == expected, row


def test_money_is_that_of_the_replay(small):
    steered = floor_of(
        {"kind": "steerer", "count": 3},
        {"kind": "bettor", "count": 12, "side": "bonus=100", "side_rate": 0.3},
        rules=EVEN,
    )
    for floor, whole in (small, (steered, simulate_plays(steered.changed(rounds=50)))):
        # rounds that show a card twice are not replayed
        plays = whole.take((whole.flags & int(Flag.CARD_TWICE)) == 0)
        again = replayed(plays, [floor.rules])
        assert len(plays) > 700
        assert (again.residuals == plays.residuals).all()
        assert (again.flags == plays.flags).all()  # no hand is set wrong either


def test_pairs_are_best_ones(small):
    floor, plays = small
    for row in range(0, len(plays), 41):
        best = best_arrangement(plays.cards[row].tolist(), floor.rules)
        shown = [card for card in plays.pair[row].tolist() if card != NO_CARD]
        assert len(shown) == len(best.shown_pair)
        if best.has_base:
            points = [min(card // 4 + 1, 10) for card in shown]
            assert sum(points) % 10 == best.rank_index % 10
        else:
            assert shown == list(best.shown_pair)


def test_labels_are_true(small):
    floor, plays = small
    labels = seat_players(floor).labels
    assert plays.texts.players == tuple(one.player for one in labels)
    assert sorted({one.attack for one in labels} - {""}) == [
        "card_switching", "colluders", "edge_sorter", "frontier", "holding_out", "hole_carder",
        "late_stakes", "mispays",
    ]  # fmt: skip
    late = {one.player for one in labels if one.attack == "late_stakes"}
    changed = plays.player[plays.late.any(axis=1)]
    assert {plays.texts.players[code] for code in changed} == late
    seer = rows_of(plays, floor, "hole_carder")
    has_begun = seer.round // seat_players(floor).n_tables >= 20
    favors = seer.dealer_cards[:, 0] // 4 < 5
    assert ((seer.stakes[:, 2] > 0) == favors)[has_begun].all()
    assert not ((seer.stakes[:, 2] > 0) == favors)[~has_begun].all()
    (start,) = {one.start_round for one in labels if one.attack == "hole_carder"}
    assert start == 20
    team = [one.team for one in labels if one.kind == "colluders"]
    assert len(team) == 3
    assert len(set(team)) == 1


def test_colluders_stake_on_what_their_peeker_sees(small):
    floor, plays = small
    stakers = rows_of(plays, floor, "colluders", "staker")
    one, other = (stakers.take(stakers.player == p) for p in np.unique(stakers.player))
    assert (one.stakes == other.stakes).all()
    peeker = rows_of(plays, floor, "colluders", "peeker")
    assert (peeker.stakes == peeker.stakes[0]).all()
    assert (one.stakes[:, 2] > 0).any()


def test_changed_stakes_have_the_sign_of_results(small):
    floor, plays = small
    late = rows_of(plays, floor, "late_stakes")
    for row in np.flatnonzero(late.late.any(axis=1)).tolist():
        unchanged = replace(late, late=np.zeros_like(late.late))
        results = settled_by_hand(floor.rules, unchanged, row)
        for change, result in zip(late.late[row], results, strict=True):
            assert change == 0 or np.sign(change) == np.sign(result)
    assert (late.late > 0).any()
    assert (late.late < 0).any()


def test_residuals_are_mispays_of_the_friend(small):
    floor, plays = small
    friend = rows_of(plays, floor, "mispays")
    paid = friend.residuals[:, 0] > 0
    assert paid.any()
    first = friend.dealer[np.argmin(friend.time)]
    honest_errors = plays.residuals.any(axis=1).sum() - paid.sum()
    assert honest_errors <= 20  # one in a thousand
    assert (friend.dealer[paid] == first).mean() > 0.9
    assert ((plays.flags & int(Flag.RESIDUAL)) > 0).tolist() == plays.residuals.any(axis=1).tolist()


def test_switched_hands_keep_their_ten_cards(small):
    floor, plays = small
    switcher, partner = (
        rows_of(plays, floor, "card_switching", role) for role in ("switcher", "partner")
    )
    assert (switcher.round == partner.round).all()
    ten = np.sort(np.hstack([switcher.cards, partner.cards]), axis=1)
    unswitched = parse_floor(
        {"players": [{"kind": "bettor", "count": 24}], "rounds": 200, "seats": 5}
    )
    plain = simulate_plays(unswitched)
    dealt = {(r, s): c for r, s, c in zip(plain.round.tolist(), plain.seat.tolist(),
                                          plain.cards.tolist(), strict=True)}  # fmt: skip
    for row in range(len(ten)):
        seats = (switcher.seat[row], partner.seat[row])
        cards = [c for seat in seats for c in dealt[switcher.round[row], seat]]
        assert sorted(cards) == ten[row].tolist()
    assert (np.diff(ten, axis=1) > 0).all()


def test_a_card_held_out_is_flagged_where_it_shows_twice():
    floor = floor_of({"kind": "hold_out", "count": 4}, {"kind": "bettor", "count": 16}, rounds=300)
    plays = simulate_plays(floor).by_round()
    n_twice = 0
    for code in np.unique(plays.round):
        rows = plays.take(plays.round == code)
        lying = np.append(rows.cards.ravel(), rows.dealer_cards[0])
        is_twice = len(np.unique(lying)) < len(lying)
        assert ((rows.flags & int(Flag.CARD_TWICE)) > 0).all() == is_twice
        n_twice += is_twice
    assert 0 < n_twice < len(np.unique(plays.round)) / 2


EDGES = [
    ({"kind": "hole_carder", "high": "super=100"}, {}),
    ({"kind": "hole_carder", "place": 2, "see_rate": 0.6, "noise": 0.2, "cover_bet": 0.2,
      "hold_back": 0.3, "high": "single=500,super=200"}, {}),
    ({"kind": "edge_sorter", "place": 1, "shows": ["J Q K"], "high": "double=100,super=100"}, {}),
    ({"kind": "colluders", "high": "super=100"}, {"seats": 3}),
    ({"kind": "frontier", "mu": 0.05, "high": "super=100"}, {}),
    ({"kind": "late_player", "post_rate": 0.5, "pinch_rate": 0.3}, {}),
    ({"kind": "beneficiary", "rate": 0.3}, {"dealers": 1}),
    ({"kind": "exploiter"}, {"rules": "even-double-super-bonus-literal-note"}),
]  # fmt: skip


@pytest.mark.parametrize(("player", "keys"), EDGES, ids=lambda one: one.get("kind", ""))
def test_attackers_earn_their_exact_edge(player, keys):
    floor = floor_of(player | {"count": 200}, **({"seats": 1, "rounds": 500} | keys))
    plays = simulate_plays(floor, pairs=False, rounds_named=False)
    if player["kind"] == "colluders":
        peekers = {i for i, one in enumerate(seat_players(floor).labels) if one.role == "peeker"}
        plays = plays.take(~np.isin(plays.player, list(peekers)))
    edge = float(attack_edge(floor.rules, floor.players[0]))
    assert_mean(plays.nets.sum(axis=1), edge, player["kind"])


def test_short_cover_caps_what_its_exploiter_loses():
    sheet = load_rules("single-double-super")
    cover = sheet.boxes["super"].cover.model_copy(update={"shortfall": "cap_loss"})
    top = sheet.boxes["super"].model_copy(update={"cover": cover})
    short = sheet.model_copy(update={"name": "short", "boxes": dict(sheet.boxes) | {"super": top}})
    floor = floor_of({"kind": "exploiter", "count": 100}, rules=short, seats=1, rounds=300)
    plays = simulate_plays(floor)
    assert plays.nets[:, 2].min() == -100
    assert (plays.cover[:, 1] == 0).all()  # nothing in sight but the stake
    assert_mean(plays.nets.sum(axis=1), float(attack_edge(short, floor.players[0])))


def test_the_dealers_ace_is_worth_what_is_published():
    floor = floor_of(
        {"kind": "hole_carder", "count": 500, "high": "super=100"}, rounds=600, seats=1
    )
    plays = simulate_plays(floor, pairs=False, rounds_named=False)
    aces = plays.dealer_cards[:, 0] // 4 == 0
    assert (plays.stakes[aces, 2] == 100).all()
    assert_mean(plays.nets[aces, 2] / 100, 0.18394)
    assert_mean(plays.nets[:, 2] / 100, 0.04557)


def test_steerers_take_the_first_packet_and_earn_their_exact_edge():
    steerer = {"kind": "steerer", "count": 150, "high": "super=400"}
    honest = {"kind": "bettor", "count": 150, "system": "flat"}
    floor = floor_of(steerer, honest, rules=EVEN, seats=2, rounds=500)
    plays = simulate_plays(floor, pairs=False, rounds_named=False)
    is_steerer = np.isin(plays.player, [
        i for i, one in enumerate(seat_players(floor).labels) if one.attack == "steerer"
    ])  # fmt: skip
    bids = is_steerer & (plays.stakes[:, 0] == 5000)
    assert 0.2 < bids[is_steerer].mean() < 0.8
    # tables where nobody else steers: his bid takes the packet, and without it the first seat does
    tables, counts = np.unique(plays.table[is_steerer], return_counts=True)
    alone = np.isin(plays.table, tables[counts == floor.rounds])
    assert (plays.packet[bids & alone] == 0).all()
    assert ((plays.packet == 0) == (plays.first_seat == plays.seat)).all()
    last = alone & is_steerer & (plays.seat == 2)
    assert (plays.packet[last & ~bids] == 1).all()
    edge = float(attack_edge(floor.rules, floor.players[0]))
    assert_mean(plays.nets[last].sum(axis=1), edge)


def test_stops_end_a_players_rows():
    player = {"kind": "hole_carder", "count": 40, "start": 10, "high": "super=100"}
    floor = floor_of(player | {"most_rounds": 30}, rounds=100)
    assert np.bincount(simulate_plays(floor).player).tolist() == [40] * 40
    floor = floor_of(player | {"win_goal": 10, "loss_limit": 10}, rounds=400)
    plays = simulate_plays(floor)
    for code in range(40):
        rows = plays.take(plays.player == code)
        won = rows.nets.sum(axis=1)[10:].cumsum()
        assert (np.abs(won[:-1]) < 1000).all()
        assert len(rows) == 400 or abs(won[-1]) >= 1000


def test_honest_stakes_do_not_know_the_cards():
    floor = read_floor("floor").changed(rounds=60)
    floor = replace(floor, players=floor.players[1:])
    plays = simulate_plays(floor, pairs=False)
    staked = plays.take(plays.stakes[:, 2] > 0)
    assert len(staked) > 5000
    hands = np.hstack([staked.cards, staked.dealer_cards])
    per_round = np.unique(staked.round, return_index=True)[1]  # seats share the dealer
    for place in range(10):
        cards = hands[:, place] if place < 5 else hands[per_round, place]
        counts = np.bincount(cards, minlength=52)
        chi2 = ((counts - len(cards) / 52) ** 2 / (len(cards) / 52)).sum()
        assert chi2 < 51 + 5 * sqrt(2 * 51), place


@pytest.mark.parametrize("name", [*system_names(), "win-goal:5:martingale:max=4"])
def test_bettors_stake_as_their_system_is_compiled(name):
    floor = floor_of(
        {"kind": "bettor", "count": 3, "system": name, "chips": 30, "target": 45, "session": 60},
        rounds=120,
        seats=3,
    )
    config, unit = floor.players[0], 5  # all nets are multiples of 5 cents
    plays = simulate_plays(floor)
    sheet = load_rules("single-double-super")
    n_levels = 30 * 100 * 20 // unit
    keys = {"start_cents": 3000, "target_cents": 4500, "n_rounds": 60, "can_leave": True}
    tables = system_tables(
        make_system(config.system), sheet, base_slip=config.sitting(sheet).base_slip,
        step_cents=unit, n_levels=n_levels, **keys,
    )  # fmt: skip
    if tables.redraws:
        assert set(np.unique(plays.stakes[:, 0]).tolist()) <= set(range(100, 1001, 100))
        return
    for code in range(3):
        rows = plays.take(plays.player == code)
        for first in (0, 60):
            inside = rows.take((rows.round >= first) & (rows.round < first + 60))
            chips, memory = 3000, tables.initial
            for row in range(len(inside)):
                slip = tables.slips[tables.choice[memory, chips // unit]]
                assert slip.stake("single") == inside.stakes[row, 0], (name, row)
                net = int(inside.nets[row].sum())
                chips += net
                memory = tables.next[memory, 1 + np.sign(net)]
            if len(inside) < 60:  # it has left, or cannot go on
                assert tables.choice[memory, chips // unit] == -1


def test_the_same_seed_gives_the_same_rows_in_blocks_of_any_size():
    floor = read_floor("small").changed(rounds=90)
    whole = simulate_plays(floor)
    pieces = Plays.join([*simulate_blocks(floor, block_rounds=17)]).by_player()
    for name in ("stakes", "late", "nets", "cards", "dealer_cards", "pair", "bet_time", "packet"):
        assert getattr(whole, name).tobytes() == getattr(pieces, name).tobytes(), name
    other = simulate_plays(floor.changed(seed=1))
    assert other.cards.tobytes() != whole.cards.tobytes()


def test_who_else_plays_changes_nobodys_cards():
    lone = simulate_plays(floor_of({"kind": "bettor", "count": 3}, rounds=20))
    busy = simulate_plays(floor_of({"kind": "bettor", "count": 5, "system": "random"}, rounds=20))
    both = busy.take(busy.player < 3)
    assert lone.cards.tobytes() == both.cards.tobytes()


def test_every_mistake_of_a_floor_is_told():
    with pytest.raises(ConfigError) as error:
        parse_floor({
            "rules": "single-double-super", "rounds": 0, "sets": 3, "seats": 2,
            "players": [
                {"kind": "bettr"},
                {"kind": "hole_carder", "place": 12, "see_rat": 0.5},
                {"kind": "colluders", "stakers": 3},
                {"kind": "bettor", "system": "martingal"},
            ],
        })  # fmt: skip
    text = str(error.value)
    for word in ("rounds", "'sets'", "'bettr'", "place", "a team of 4", "'martingal'"):
        assert word in text, word
    assert "unknown key 'see_rat'; did you mean 'see_rate'?" in text


def test_the_shipped_floor_is_the_one_of_the_target():
    floor = read_floor("floor")
    assert (floor.n_players, floor.rounds) == (1000, 1500)
    seer = floor.players[0]
    assert isinstance(seer, HoleCarder)
    assert (seer.count, seer.see_rate, seer.high) == (20, 0.5, "super=100")
    used = {config.system.split(":")[0] for config in floor.players[1:]}
    assert set(system_names()) | {"win-goal"} == used
    gain = float(seen_edge(floor.rules, seer)) + 2.5
    assert gain / 100 == pytest.approx(0.04557 / 2, abs=5e-6)


def test_tables_alike_have_their_share_of_each_kind():
    kinds = [
        {"kind": "bettor", "count": 8},
        {"kind": "colluders", "count": 4, "stakers": 1},
        {"kind": "hole_carder", "count": 4},
    ]
    floor = floor_of(*kinds, seats=5, rounds=1, mixed=False)
    seating = seat_players(floor)
    seated = [label.kind for label in seating.labels]
    assert seated == ["bettor", "bettor", "colluders", "colluders", "hole_carder"] * 4
    assert seating.seats.tables.tolist() == sorted([*range(4)] * 5)
    with pytest.raises(ConfigError, match="mixed is true or false"):
        floor_of(*kinds, mixed="no")
