"""The terms shown of a sheet: all by which the sheets differ, in [0, 1], no two sheets alike."""

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.rules.changes import difference
from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.envs.sheets.terms import differing_terms

LOOPHOLE = "niulab/Loophole-v0"
BASE = "even-double-super-bonus"


def test_terms_are_in_the_unit_interval_differ_and_tell_all_sheets_apart():
    names, values = differing_terms(make_settings(LOOPHOLE).sheets)
    assert values.shape == (13, len(names)) == (13, 41)
    assert values.min() == 0
    assert values.max() == 1
    assert (values.min(axis=0) < values.max(axis=0)).all()
    assert len(np.unique(values, axis=0)) == 13
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "reading",
    ["half-on-7", "niu2-short", "literal-note", "literal-double-scale", "ace-high", "bonus-all"],
)
def test_two_sheets_differ_by_what_a_reading_changes(reading):
    """Second road: the changes that ``niulab rules`` prints, by their keys."""
    pair = load_rules(BASE), load_rules(f"{BASE}-{reading}")
    names, _ = differing_terms(pair)
    keys = {line.split(":")[0].removeprefix("boxes.") for line in difference(*pair)}
    keys = {key.replace("even", "required") for key in keys}
    found = {name if "half_pay" not in name else name.rpartition(".")[0] for name in names}
    assert found == keys


def test_numbers_are_over_their_largest_and_words_are_places():
    sheets = [load_rules(name) for name in (BASE, f"{BASE}-literal-note", "single-double-super")]
    names, values = differing_terms(sheets)
    found = dict(zip(names, values.T.tolist(), strict=True))
    assert found["super.lose_odds.niu_6"] == pytest.approx([1, 1 / 6, 1])
    assert found["required.commission.rate"] == [0, 0, 1]
    assert found["required.half_pay.niu_6"] == [1, 1, 0]
    assert found["bonus"] == [1, 1, 0]
    assert found["bonus.awards.five_faces"] == [1, 1, 0]
    assert found["dealer_opens"] == [0, 0, 1]
    assert "double.win_odds.niu_niu" not in found


def test_no_sheets_have_no_terms():
    names, values = differing_terms(())
    assert names == ()
    assert values.size == 0


@pytest.mark.parametrize("observation", ["float32", "uint8"])
def test_sheets_are_read_back(observation):
    encoding = Encoding(make_settings(LOOPHOLE, observation=observation))
    numbers = np.random.default_rng(0).integers(0, 13, 200)
    seen = encoding.encode_bets(200, sheets=numbers)
    assert seen in encoding.space or all(row in encoding.space for row in seen)
    assert (encoding.decode_sheet(seen) == numbers).all()
    assert encoding.layout[-1].name == "terms"
    hidden = Encoding(make_settings(LOOPHOLE, rules_visible=False))
    assert hidden.size == 1
