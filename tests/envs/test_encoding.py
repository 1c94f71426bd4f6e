"""Observations: what is written is read back, in every encoding, as the layout table says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from niulab.engine.cards import parse_hand
from niulab.envs.encoding import BETTING, ENDED, NO_CARD, SETTING, Encoding, Sight
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv

KINDS = [
    {"observation": "float32"},
    {"observation": "uint8"},
    {"encoding": "ids"},
    {"point_flags": True},
]


def encoding(preset="niulab/NiuNiu-v0", **keywords):
    return Encoding(make_settings(preset, **keywords))


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_cards_phase_and_slip_are_read_back(kind, data):
    code = encoding(rules="even-double-super-bonus", **kind)
    n = data.draw(st.integers(1, 4))
    cards = st.lists(st.integers(0, NO_CARD), min_size=5 * n, max_size=5 * n)
    hands = np.array(data.draw(cards), dtype=np.uint8).reshape(n, 5)
    dealers = np.array(data.draw(cards), dtype=np.uint8).reshape(n, 5)
    numbers = {
        "phases": st.integers(BETTING, ENDED),
        "slips": st.integers(-1, 9),
        "bankrolls": st.integers(0, 9000),
        "rounds_left": st.integers(0, 6),
    }
    drawn = {
        key: np.array(data.draw(st.lists(values, min_size=n, max_size=n)))
        for key, values in numbers.items()
    }
    seen = code.encode(Sight(hands, dealers, **drawn))
    assert seen.shape == (n, code.size)
    assert all(row in code.space for row in seen)
    assert (code.decode_hands(seen) == hands).all()
    assert (code.decode_dealer(seen) == dealers).all()
    names = np.array(["betting", "setting", "ended"])
    assert (code.decode_phase(seen) == names[drawn["phases"]]).all()
    assert (code.decode_slip(seen) == drawn["slips"]).all()


def test_float_flags_stand_where_the_layout_says():
    code = encoding("niulab/Arrange-v0")
    hand = np.array([sorted(parse_hand("AD 7S 10D QH KS"))], dtype=np.uint8)
    (seen,) = code.encode_hands(hand)
    assert (seen.dtype, seen.shape, code.name) == (np.float32, (85,), "cards-float32-v1")
    expected = [0 + 0, 13 + 0, 17 + 6, 30 + 3, 34 + 9, 47 + 0, 51 + 11, 64 + 2, 68 + 12, 81 + 3]
    assert np.flatnonzero(seen).tolist() == expected


def test_point_flags_follow_each_cards_suit():
    code = encoding("niulab/Arrange-v0", point_flags=True)
    hand = np.array([parse_hand("AD 7S 10D QH KS")], dtype=np.uint8)
    points = code.encode_hands(hand).reshape(5, 27)[:, 17:]
    assert points.argmax(axis=1).tolist() == [0, 6, 9, 9, 9]
    assert code.name == "cards-float32-v1-points"


def test_ids_of_arrange_are_five_bytes():
    code = encoding("niulab/Arrange-v0", encoding="ids")
    assert (code.space.shape, code.space.dtype, code.space.high.max()) == ((5,), np.uint8, 52)
    hand = np.array([[0, 7, 22, 33, 51]], dtype=np.uint8)
    assert (code.encode_hands(hand) == hand).all()


def test_scalars_are_shares_and_bytes_round_them():
    sight = {
        "phases": np.array([BETTING]),
        "bankrolls": np.array([1_000]),
        "rounds_left": np.array([3]),
    }
    floats = encoding("niulab/Session-v0").encode(Sight(**sight))[0]
    assert floats.tolist() == pytest.approx([1, 0.25, 0.5])
    octets = encoding("niulab/Session-v0", observation="uint8").encode(Sight(**sight))[0]
    assert octets.tolist() == [1, 64, 128]
    free = encoding("niulab/Session-v0", objective="profit", target_cents=None)
    assert free.encode(Sight(**sight))[0, 1] == pytest.approx(1_000 / 3_000)


def test_stakes_are_shares_of_the_menus_largest():
    code = encoding("niulab/Table-v0")
    hands = np.zeros((1, 5), dtype=np.uint8)
    seen = code.encode_hands(hands, slip=7)[0, -3:]
    assert seen.tolist() == pytest.approx([0.1, 0.2, 0.5])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", ["single-double-super", "even-double-super-bonus"])
def test_the_layout_covers_every_column_once(kind, rules):
    code = encoding(rules=rules, **kind)
    starts = [0, *(field.stop for field in code.layout)]
    assert [field.start for field in code.layout] == starts[:-1]
    assert starts[-1] == code.size == code.space.shape[0]
    assert len(code.layout_table().splitlines()) == 2 + len(code.layout)


def test_the_dealers_open_hand_is_observed_where_the_sheet_opens_it_first():
    env = NiuNiuEnv("niulab/Arrange-v0", rules="even-double-super-bonus", encoding="ids")
    seen, _ = env.reset(options={"deal": ("KS QH 10D AC 7S", "2D 3D 4D 5D 6D")})
    assert seen.tolist() == [1, 27, 36, 46, 51, 4, 8, 12, 16, 20]
    assert NiuNiuEnv("niulab/Arrange-v0", encoding="ids").observation_space.shape == (5,)


def test_cards_are_shown_sorted_or_as_dealt():
    deal = {"deal": ("KS QH 10D AC 7S", "2D 3D 4D 5D 6D")}
    shown = {
        order: NiuNiuEnv("niulab/Arrange-v0", encoding="ids", card_order=order)
        .reset(options=deal)[0]
        .tolist()
        for order in ("sorted", "dealt")
    }
    assert shown == {"sorted": [1, 27, 36, 46, 51], "dealt": [51, 46, 36, 1, 27]}


def test_before_the_deal_there_is_no_card_and_after_the_end_no_phase():
    env = NiuNiuEnv("niulab/Table-v0")
    code = env.encoding
    betting = env.reset(seed=0)[0][None]
    setting = env.step(4)[0][None]
    ended = env.step(0)[0][None]
    assert (code.decode_hands(betting) == NO_CARD).all()
    assert (code.decode_hands(ended) == code.decode_hands(setting)).all()
    assert [code.decode_phase(seen)[0] for seen in (betting, setting, ended)] == [
        "betting",
        "setting",
        "ended",
    ]
    assert [code.decode_slip(seen)[0] for seen in (betting, setting, ended)] == [-1, 4, 4]


def test_what_the_task_shows_must_be_given():
    with pytest.raises(ValueError, match="shows the own hand"):
        encoding("niulab/Arrange-v0").encode(Sight(phases=np.array([SETTING])))
