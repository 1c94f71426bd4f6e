"""What makes the core fast: deals ahead, rulings by look-up, observations from kept bytes."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import PLAYABLE, deals, overlay, playable_rules, slips

from niulab.engine.round import Round
from niulab.engine.shoe import deal_round
from niulab.engine.wagers import Slip
from niulab.envs.encoding import BETTING, ENDED, NO_CARD, SETTING, Encoding, Sight
from niulab.envs.seat.ahead import DealsAhead
from niulab.envs.seat.core import Core, State
from niulab.envs.seat.referee import Referee
from niulab.envs.seat.row_encoder import RowEncoder
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv

CAPPED = overlay(
    "single-double-super",
    '[boxes.double.cover]\nshortfall = "cap_loss"\n[boxes.super.cover]\nshortfall = "cap_loss"\n',
)

# ---------------------------------------------------------------- deals ahead


@pytest.mark.parametrize("as_dealt", [False, True])
@pytest.mark.parametrize(
    ("sheet", "n"), [("single-double-super", 2_500), ("six-deck-shoe-bonus", 300)]
)
def test_deals_ahead_are_the_shoes_rounds_in_whatever_order_they_are_asked_for(sheet, n, as_dealt):
    rules = PLAYABLE[sheet]
    ahead = DealsAhead(rules, as_dealt=as_dealt)
    jumps = [(5, 7), (5, 8), (6, 9), (5, 10), (2**64 - 1, 0), (5, 9), (5, 2**40), (5, 2**40 + 1)]
    run = [(5, index) for index in range(n)]
    for seed, index in [*jumps, *run, *jumps, *run[: n // 10], (5, 0), (5, n + 3)]:
        hand, dealer = deal_round(rules, seed, index, 2)
        shown = hand if as_dealt else tuple(sorted(hand))
        assert ahead.deal(seed, index) == (shown, tuple(sorted(dealer)))


def test_blocks_grow_with_the_run_and_a_new_seed_deals_one_round():
    ahead = DealsAhead(PLAYABLE["single-double-super"], as_dealt=False)
    sizes = []
    for index in range(3_000):
        ahead.deal(1, index)
        sizes.append(len(ahead._cards) // 10)
    assert sizes[:8] == [1] * 8
    assert [size for size, before in zip(sizes[8:], sizes[7:], strict=False) if size > before] == [
        32,
        160,
        800,
        1_024,
    ]
    ahead.deal(2, 3_000)
    assert len(ahead._cards) == 10


@pytest.mark.parametrize("copied", [deepcopy, lambda it: pickle.loads(pickle.dumps(it))])  # noqa: S301, our own bytes
def test_copies_of_a_core_hold_no_deal_and_play_on_alike(copied):
    env = NiuNiuEnv("niulab/Arrange-v0")
    env.reset(seed=4)
    fresh = len(pickle.dumps(env))
    for number in range(40):
        env.step(number % 10)
        env.reset()
    twin = copied(env)
    assert twin.core._ahead._cards == b""
    assert "_referee" not in vars(twin.core)
    assert len(pickle.dumps(env)) < fresh + 100
    assert "cards" not in str(env.get_state()["state"])
    for number in range(40):
        assert env.step(number % 10)[1] == twin.step(number % 10)[1]
        assert (env.reset()[0] == twin.reset()[0]).all()


# ---------------------------------------------------------------- rulings


@given(st.data())
def test_rulings_are_the_readable_rounds(data):
    rules = data.draw(playable_rules())
    slip = data.draw(slips(rules))
    hand, dealer = data.draw(deals(rules, 2))
    referee = Referee(rules, [slip])
    table = Round.open(rules).place(1, slip).deal([hand, dealer])
    hand, dealer = tuple(sorted(hand)), tuple(sorted(dealer))
    results = []
    for setting in range(10):
        ruling = referee.rule(hand, setting, dealer, slip=0, bankroll_cents=None)
        settled = table if rules.arrangement == "automatic" else table.set(1, setting)
        assert_ruled(ruling, settled.settle())
        results.append(ruling)
    best = referee.rule(hand, None, dealer, slip=0, bankroll_cents=None)
    assert best.player_rank == max(ruling.player_rank for ruling in results)


def assert_ruled(ruling, settled):
    (player,), (outcome,), (settlement,) = (
        settled.arrangements,
        settled.outcomes,
        settled.settlements,
    )
    assert ruling.outcome is outcome
    assert ruling.player_rank == player.rank_index
    assert ruling.dealer_rank == settled.dealer_arrangement.rank_index
    assert ruling.settlement == settlement
    assert ruling.net_cents == settlement.net_cents


@pytest.mark.parametrize(
    "text",
    [
        "single=100,super=100",
        "single=100,double=200,super=100",
        "single=100,double=200,super=100/300",
        "single=100,double=200/200,super=100",
    ],
)
def test_short_cover_caps_losses_at_every_bankroll_as_the_round_does(text):
    slip = Slip.parse(text)
    referee = Referee(CAPPED, [Slip.parse("single=100"), slip])
    hand, dealer = (4, 8, 12, 21, 29), (36, 40, 44, 48, 51)  # nothing against Niu Niu
    losses = set()
    for cents in [*range(0, 3_000, 20), 10**9]:
        table = Round.open(CAPPED, bankrolls_cents=[cents])
        if not table.can_place(1, slip):
            continue
        for _ in range(2):  # what was kept must not serve another bankroll
            ruling = referee.rule(hand, 0, dealer, slip=1, bankroll_cents=cents)
            assert_ruled(ruling, table.place(1, slip).deal([hand, dealer]).set(1, 0).settle())
        losses.add(ruling.net_cents)
    assert len(losses) > 5 or "/" in text


# ---------------------------------------------------------------- observations


@pytest.mark.parametrize(
    "task",
    [
        ("niulab/NiuNiu-v0", {}),
        ("niulab/NiuNiu-v0", {"observation": "uint8", "point_flags": True}),
        ("niulab/NiuNiu-v0", {"encoding": "ids", "rules": "even-double-super-bonus"}),
        ("niulab/Session-v0", {"objective": "profit", "target_cents": None}),
        ("niulab/Table-v0", {"rules": "even-double-super-bonus"}),
        ("niulab/Arrange-v0", {}),
        ("niulab/Arrange-v0", {"encoding": "ids"}),
    ],
    ids=str,
)
def test_an_observation_is_the_encodings_byte_for_byte(task):
    env_id, keywords = task
    settings = make_settings(env_id, **keywords)
    encoding, rng = Encoding(settings), np.random.default_rng(2)
    row = RowEncoder(encoding, State._fields)
    for _ in range(300):
        cards = tuple(rng.permutation(52)[:10].tolist())
        state = State(
            seed=0,
            round_index=0,
            phase=int(rng.choice([BETTING, SETTING, ENDED])),
            slip=int(rng.integers(-1, len(settings.menu))),
            hand=cards[:5] if rng.random() < 0.8 else (NO_CARD,) * 5,
            dealer=cards[5:],
            bankroll_cents=int(rng.integers(-100, 6_000)),
            rounds_left=int(rng.integers(0, 7)),
        )
        sight = Sight(
            np.array([state.hand], dtype=np.uint8),
            np.array([state.dealer], dtype=np.uint8),
            *(
                np.array([number])
                for number in (state.phase, state.slip, state.bankroll_cents, state.rounds_left)
            ),
        )
        expected = encoding.encode(sight)[0]
        for seen in (row.encode(state), row.encode(state)):
            assert (seen.dtype, seen.tobytes()) == (expected.dtype, expected.tobytes())
            assert seen.flags.writeable
            assert seen.flags.owndata
            seen[:] = 0  # whoever got one may write to it


# ---------------------------------------------------------------- nothing shared


def spoil(answer):
    """Overwrite whatever of an answer can be written to."""
    for part in answer.values() if isinstance(answer, dict) else answer:
        if isinstance(part, np.ndarray):
            part[...] = 7
        elif isinstance(part, dict):
            spoil(part)
    if isinstance(answer, dict):
        answer.clear()


@pytest.mark.parametrize("preset", ["niulab/Arrange-v0", "niulab/NiuNiu-v0", "niulab/Session-v0"])
@pytest.mark.parametrize("mask", ["info", "observation"])
def test_what_is_handed_out_may_be_written_to(preset, mask):
    one, other = (NiuNiuEnv(preset, mask=mask) for _ in range(2))
    answers = [env.reset(seed=8) for env in (one, other)]
    for number in range(300):
        assert str(answers[0]) == str(answers[1])
        spoil(answers[0])
        one.action_masks()[:] = False
        answers = [env.step(number % 10) for env in (one, other)]
        if answers[1][2]:
            assert str(answers[0]) == str(answers[1])
            spoil(answers[0])
            answers = [env.reset() for env in (one, other)]


def test_a_state_plays_the_hands_it_holds_whatever_the_shoe_would_deal():
    core = Core(make_settings("niulab/Arrange-v0"))
    start = core.start(3)
    other = core.start(3, 1)
    swapped = start._replace(hand=other.hand, dealer=other.dealer)
    assert core.step(swapped, 4)[1].ruling is core.step(other, 4)[1].ruling
    assert State.from_json(swapped.to_json()) == swapped
