"""Audits of a table: payments, cover, settings, rounds called off, gaps."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from play_logs import played
from table_players import seated

from niulab.engine.cards import card_text
from niulab.engine.hands import best_arrangement
from niulab.engine.round import compare, event_mask
from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome, settle_box
from niulab.errors import ConfigError
from niulab.evaluation.detection.features import SLOTS, result_law, slot_levels
from niulab.evaluation.detection.tables.gaps import round_gaps
from niulab.evaluation.detection.tables.payments import mispays, short_covers
from niulab.evaluation.detection.tables.rates import rate_factors, rate_log_e
from niulab.evaluation.detection.tables.settings import helpful_errors, player_settings
from niulab.evaluation.detection.tables.shown import other_cards
from niulab.evaluation.detection.tables.voids import loss_factors, player_voids, void_seats
from niulab.evaluation.playlog.plays import Flag, Plays, Vocabularies, boxes_of
from niulab.evaluation.playlog.replay import replayed, setting_costs
from niulab.evaluation.playlog.rounds import flag_rounds


def zeros(n, width=4):
    return np.zeros((n, width), dtype=np.int64)


# ---------------------------------------------------------------- payments and cover


def test_every_mispay_is_listed_with_what_was_due(sheet):
    nets, residuals = zeros(6), zeros(6)
    nets[:, 0] = 95
    residuals[4, 0], residuals[1, 2] = -5, 50
    nets[1, 2] = 950
    plays = seated(sheet, 1, 2, 3, nets=nets, residuals=residuals)
    first, second = mispays(plays, [sheet])
    assert (first.round, first.seat, first.player, first.box) == ("r0000000", 2, "p1", "super")
    assert (first.paid, first.due, first.residual) == (950, 900, 50)
    assert (second.round, second.dealer, second.paid, second.due) == ("r0000002", "d0", 95, 100)


@pytest.mark.parametrize(
    ("name", "needed"), [("single-double-super", 1_000), ("even-double-super-bonus", 900)]
)
def test_short_cover_is_what_the_sheet_asks_for_beside_the_stake(name, needed):
    """Ten stakes in addition to the stake, or ten in sight in all."""
    rules = load_rules(name)
    stakes, cover = zeros(4), zeros(4, 2) - 1
    stakes[:, 0] = stakes[:, 2] = 100
    cover[:, 1] = [needed, needed - 1, -1, 0]
    nets, residuals = zeros(4), zeros(4)
    nets[3, 2], residuals[3, 2] = -100, 600
    plays = seated(rules, 1, 1, 4, stakes=stakes, cover=cover, nets=nets, residuals=residuals)
    short, none = short_covers(plays, [rules])
    assert (short.round, short.box, short.cover, short.needed) == (
        "r0000001", "super", needed - 1, needed,
    )  # fmt: skip
    assert short.spared == 0
    assert none.spared == 600
    void = seated(rules, 1, 1, 4, stakes=stakes, cover=cover, flags=int(Flag.VOID))
    assert short_covers(void, [rules]) == []


def test_hands_shown_with_other_cards_are_listed_with_where_they_came_from(sheet):
    plays = seated(sheet, 1, 2, 2, seed=1)
    shown = plays.cards.copy()
    shown[0] = shown[0][::-1]  # the same cards in another order
    shown[2, 0], shown[3, 1] = plays.cards[3, 1], plays.cards[2, 0]
    one, other = other_cards(replace(plays, shown=shown))
    mine, theirs = card_text(int(plays.cards[2, 0])), card_text(int(plays.cards[3, 1]))
    assert (one.round, one.seat, one.player) == ("r0000001", 1, "p0")
    assert (one.missing, one.strange, one.dealt_to) == ((mine,), (theirs,), (2,))
    assert (other.missing, other.strange, other.dealt_to) == ((theirs,), (mine,), (1,))
    unused = next(c for c in range(52) if not (plays.cards[2:] == c).any()
                  and not (plays.dealer_cards[2:] == c).any())  # fmt: skip
    held = plays.cards.copy()
    held[2, 4] = unused
    (found,) = other_cards(replace(plays, shown=held))
    assert (found.strange, found.dealt_to) == ((card_text(unused),), ())


# ---------------------------------------------------------------- rates and settings


@pytest.mark.parametrize("bound", [0.5, 0.01, 1e-4])
def test_rates_at_the_bound_have_mean_one_and_lower_ones_less(bound):
    factors = rate_factors(bound)
    assert np.abs((1 - bound) * factors[0] + bound * factors[1] - 1).max() <= 1e-12
    lower = bound / 2
    assert ((1 - lower) * factors[0] + lower * factors[1] < 1).all()
    assert (factors > 0).all()


def test_errors_at_the_bound_raise_no_alarm():
    rng = np.random.default_rng(1)
    peaks = [rate_log_e(rng.random(1_000) < 0.02, 0.02) for _ in range(1_000)]
    assert np.mean(np.array(peaks) >= log(20)) <= 0.05 + 3 * (0.05 * 0.95 / 1_000) ** 0.5
    assert rate_log_e(np.zeros(0, dtype=np.bool_), 0.02) == 0


def test_a_bound_is_a_rate():
    for bound in (0.0, 1.0, float("nan")):
        with pytest.raises(ConfigError, match="above 0 and below 1"):
            rate_factors(bound)


def mis_set_table(sheet, helped, rate, *, seed=0):
    """A dealer errs in ``rate`` of 400 rounds of three seats; ``helped`` seats were paid by it."""
    n_rounds = 400
    rng = np.random.default_rng(seed)
    is_error = np.repeat(rng.random(n_rounds) < rate, 3)
    flags = np.where(is_error, int(Flag.DEALER_MIS_SET), 0)
    residuals = zeros(3 * n_rounds)
    seat = np.tile(np.arange(3), n_rounds)
    residuals[is_error & np.isin(seat, helped), 0] = 195
    pairs = np.tile(np.array([[0, 1]], dtype=np.uint8), (3 * n_rounds, 1))
    return seated(sheet, 1, 3, n_rounds, flags=flags, residuals=residuals, dealer_pair=pairs)


def test_errors_that_help_one_player_are_found(sheet):
    (found,) = helpful_errors(mis_set_table(sheet, [1], 0.06), bound=0.01)
    assert (found.dealer, found.player, found.rounds) == ("d0", "p1", 400)
    assert found.errors == found.helpful > 10
    assert found.gain_cents == 195 * found.helpful
    assert found.is_alarm(1e-3)
    honest = helpful_errors(mis_set_table(sheet, [0, 1, 2], 0.01), bound=0.02)
    assert not any(one.is_alarm(0.05) for one in honest)
    assert helpful_errors(mis_set_table(sheet, [], 0.5), bound=0.01) == []


def test_the_skill_log_counts_hands_with_a_recorded_setting(sheet):
    pairs = np.full((6, 2), 52, dtype=np.uint8)
    pairs[:4] = [8, 9]
    flags = np.zeros(6, dtype=np.int64)
    flags[[0, 2]] = int(Flag.MIS_SET)
    flags[5] = int(Flag.MIS_SET)  # no pair: not counted
    found = player_settings(seated(sheet, 1, 2, 3, pair=pairs, flags=flags), [sheet])
    assert [(one.player, one.hands, one.mis_set, one.rate) for one in found] == [
        ("p0", 2, 2, 1.0),
        ("p1", 2, 0, 0.0),
    ]


def paid_by_hand(plays, row, rules, arrangement):
    """Net cents by box of a row set so, settled with the readable evaluator."""
    hand = [int(card) for card in plays.cards[row]]
    dealer = best_arrangement([int(card) for card in plays.dealer_cards[row]], rules)
    outcome = compare(arrangement, dealer, rules)
    return sum(
        settle_box(
            rules, box, int(plays.stakes[row, column]), outcome=outcome,
            player_rank=arrangement.rank_index, dealer_rank=dealer.rank_index,
            events=event_mask(hand, rules),
        ).net_cents
        for column, box in enumerate(boxes_of(rules))
        if box is not None and plays.stakes[row, column]
    )  # fmt: skip


@pytest.mark.parametrize("name", ["single-double-super", "ngau-ngau-hong-kong"])
def test_a_hand_set_wrong_costs_what_its_best_setting_would_have_paid_more(name):
    rules = load_rules(name)
    plays = played(150, sheets=(name,), seed=11, players=3)
    plays = replayed(flag_rounds(plays, [rules]), [rules])
    wrong = np.flatnonzero(plays.flags & int(Flag.MIS_SET))
    costs = np.zeros(len(plays), dtype=np.int64)
    for row in wrong:
        best = best_arrangement([int(card) for card in plays.cards[row]], rules)
        costs[row] = paid_by_hand(plays, row, rules, best) - plays.nets[row].sum()
    assert (costs > 0).any()
    assert setting_costs(plays, [rules]).tolist() == costs.tolist()
    found = player_settings(plays, [rules])
    assert [one.cost_cents for one in found] == [
        int(costs[plays.player == code].sum()) for code in range(3)
    ]


def test_where_hands_count_at_their_best_a_wrong_setting_costs_nothing(sheet):
    best = load_rules("single-double-super").model_copy(update={"arrangement": "automatic"})
    plays = played(60, seed=12)
    plays = replayed(plays, [best])
    assert (plays.flags & int(Flag.MIS_SET)).any()
    assert not setting_costs(plays, [best]).any()
    assert setting_costs(replayed(plays, [sheet]), [sheet]).any()


# ---------------------------------------------------------------- rounds called off


def test_factors_of_voided_losses_have_mean_one(sheet):
    for rules in (sheet, load_rules("even-double-super-bonus")):
        law = result_law(rules)
        lost = sum(p for c, p in zip(law.cells, law.law, strict=True) if c.outcome == Outcome.LOSE)
        not_lost, was_lost = loss_factors(rules)
        assert np.abs((1 - lost) * not_lost + lost * was_lost - 1).max() <= 1e-12


def test_voids_of_lost_rounds_are_found(sheet):
    plays = seated(sheet, 1, 2, 300, seed=3)
    levels = slot_levels(plays, [sheet])[:, SLOTS.index("result")]
    lost = np.array([c.outcome == Outcome.LOSE for c in result_law(sheet).cells])[levels]
    rng = np.random.default_rng(4)
    is_void = np.repeat(lost[::2] & (rng.random(300) < 0.25), 2)  # what seat 1 would lose
    plays = seated(sheet, 1, 2, 300, seed=3, flags=np.where(is_void, int(Flag.VOID), 0))
    first, second = player_voids(plays, [sheet], bound=0.01)
    assert (first.rounds, first.voids) == (300, int(is_void[::2].sum()))
    assert first.exposed == first.would_lose == first.voids
    assert first.log_e_losses >= 0.5 * first.voids  # ln 1.9 = .64 each
    assert min(first.log_e_rate, second.log_e_rate) >= log(1_000)
    assert second.log_e_losses < log(20)


def test_rare_blind_voids_are_no_alarm(sheet):
    plays = seated(sheet, 1, 1, 2_000, seed=5)
    is_void = np.random.default_rng(6).random(2_000) < 0.005
    plays = seated(sheet, 1, 1, 2_000, seed=5, flags=np.where(is_void, int(Flag.VOID), 0))
    (found,) = player_voids(plays, [sheet], bound=0.01)
    assert max(found.log_e_rate, found.log_e_losses) < log(20)
    assert found.would_lose < found.voids


def test_a_round_called_off_says_what_it_would_have_paid():
    """Rounds paid by the engine, then called off: what it paid is what they would have paid."""
    sheets = ("single-double-super", "even-double-super-bonus")
    paid = played(80, sheets=sheets, seed=13, players=4)
    rules = [load_rules(name) for name in sheets]
    is_void = paid.round % 3 == 0
    cards = paid.cards.copy()
    hidden = np.flatnonzero(is_void)[:2]
    cards[hidden] = 52  # called off before these two were exposed
    plays = replace(
        paid, cards=cards, nets=np.where(is_void[:, None], 0, paid.nets),
        void=np.where(is_void, 0, -1).astype(np.int32), texts=replace(paid.texts, voids=("foul",)),
        flags=np.where(is_void, int(Flag.VOID), 0).astype(np.uint16),
    )  # fmt: skip
    would_be = paid.nets.sum(axis=1)
    would_be[hidden] = 0
    seats = void_seats(plays, rules)
    rows = np.flatnonzero(is_void)
    assert [one.would_be_cents for one in seats[:2]] == [None, None]
    assert [one.would_be_cents for one in seats[2:]] == would_be[rows[2:]].tolist()
    assert [one.stake_cents for one in seats] == paid.stakes[rows].sum(axis=1).tolist()
    assert {one.reason for one in seats} == {"foul"}
    found = player_voids(plays, rules, bound=0.01)
    assert {one.player: one.would_be_cents for one in found} == {
        name: int(would_be[is_void & (paid.player == code)].sum())
        for code, name in enumerate(paid.texts.players)
    }
    assert any(would_be[rows] < 0)
    assert any(would_be[rows] > 0)


# ---------------------------------------------------------------- gaps


def numbered(ids_by_table):
    rounds = tuple(dict.fromkeys(i for ids in ids_by_table.values() for i in ids))
    codes = [(t, rounds.index(i)) for t, ids in enumerate(ids_by_table.values()) for i in ids]
    texts = Vocabularies(rounds=rounds, tables=tuple(ids_by_table))
    table, number = np.array(codes).T
    return Plays.of(len(codes), texts, table=table, round=number)


def test_gaps_are_numbers_that_no_row_has():
    plays = numbered({"A": ["A-7", "A-8", "A-8", "A-11", "A-13"], "B": ["x", "y"]})
    of_a, of_b = round_gaps(plays)
    assert (of_a.tables, of_a.prefix, of_a.rounds, of_a.missing) == (("A",), "A-", 4, 3)
    assert of_a.gaps == ((9, 10), (12, 12))
    assert of_a.completeness == pytest.approx(4 / 7)
    assert (of_b.unnumbered, of_b.completeness) == (2, 0.0)


def test_tables_that_share_a_counter_are_judged_together():
    (joint,) = round_gaps(numbered({"A": ["1", "4", "5", "8"], "B": ["2", "3", "6"]}))
    assert (joint.tables, joint.missing, joint.gaps) == (("A", "B"), 1, ((7, 7),))
    own = round_gaps(numbered({"A": ["1", "2", "4"], "B": ["1", "2", "3"]}))
    assert [one.missing for one in own] == [1, 0]
