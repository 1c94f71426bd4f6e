"""The study of loss rebates: worth, quit points and the comparison without a plan."""

from fractions import Fraction

import numpy as np
import pytest

from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.evaluation.studies.rebate import RebateConfig, rebate_study

SLIPS = ("single=100", "single=300", "single=100,double=100")
SMALL = {
    "start_cents": 1_000,
    "slips": SLIPS,
    "rebates": (0.02, 0.1, 0.3),
    "rebate": 0.3,
    "plain_rounds": 10,
}


@pytest.fixture(scope="module")
def study():
    told = []
    result = rebate_study(
        RebateConfig(**SMALL), progress=lambda _, done, total: told.append((done, total))
    )
    assert told == [(done, 8) for done in range(8)]
    return result


@pytest.fixture(scope="module")
def deadline():
    return rebate_study(RebateConfig(**SMALL, n_rounds=6))


def test_the_value_rises_with_the_rate_and_beats_play_without_a_plan(study):
    values = [offer.value for offer in study.offers]
    assert values[0] == 0
    assert 0 < values[1] < values[2]
    assert all(offer.gap < 1e-8 for offer in study.offers)
    for offer in study.offers:
        for plain in (*study.plain, *study.one_round):
            assert offer.high >= plain.value(offer.rebate)
    for alone in study.alone:
        assert alone.high <= study.offers[-1].high + 1e-9


def test_break_even_is_bracketed_below_one_rounds(study):
    low, high = study.break_even
    fair = {str(once.slip): once.break_even for once in study.one_round}
    assert fair["single=100"] == fair["single=300"] == Fraction(1, 20)
    assert fair["single=100,double=100"] == Fraction(86269115614, 2167562102285)
    assert low <= min(fair.values()) <= high + 1e-9
    assert study.headline()["break_even_of_one_round"] == min(fair.values())


def test_no_play_beyond_the_quit_points(study):
    below, above = study.offers[-1].quit_points
    assert below < 1_000 < above
    bankrolls, choice, gains = study._shown()
    for place in (below, above):
        assert choice[np.searchsorted(bankrolls, place)] == -1
    assert (gains >= 0).all()
    assert gains[choice != -1].min() > 0
    table = study.columns()["bankrolls"]
    start = np.flatnonzero(table["bankroll_cents"] == 1_000)[0]
    assert table["added_by_playing"][start] == pytest.approx(study.offers[-1].value, abs=1e-12)
    assert table["quitting"][start] == 0
    assert table["slip"][start] == str(study.offers[-1].slip)


def test_headline_and_tables(study):
    headline = study.headline()
    assert headline["rebate"] == 0.3
    assert headline["value"] == study.offers[-1].value
    assert headline["quit_points_cents"] == study.offers[-1].quit_points
    tables = study.columns()
    assert list(tables) == ["rebates", "slips", "bankrolls"]
    for columns in tables.values():
        assert len({len(values) for values in columns.values()}) == 1
    assert tables["rebates"]["first_slip"][0] == ""
    assert tables["rebates"]["stop_loss_cents"][0] is None
    assert tables["slips"]["slips"] == list(SLIPS)
    assert tables["slips"]["plain_net"][0] == pytest.approx(-0.25, abs=1e-9)  # 10 rounds at 1/40


def test_sections_print_both_sides(study):
    rates, slips, bankrolls = study.sections()
    assert rates.cells[1][0][:5] == ["2 %", "+0.000000", rates.cells[1][0][2], "-", "not to play"]
    assert "One round of the best slip is fair at 3.980007 %" in rates.lines[1]
    assert slips.title == "Slips at 30 %"
    assert slips.cells[1][0][0] == "single=100"
    assert slips.cells[1][0][-1] == "1/20"
    assert bankrolls.cells[1][0][2] == bankrolls.cells[1][-1][2] == "quit"
    names = [p.name for section in study.sections() for p in section.pictures]
    assert names == ["value_by_rebate", "quit_points", "best_slips"]


def test_with_a_deadline_policies_are_those_of_half_of_it(deadline, study):
    assert deadline.config.shown_left == 3
    assert deadline.config.n_plain == 6
    for short, long in zip(deadline.offers, study.offers, strict=True):
        assert short.low <= long.high
    line = deadline.sections()[0].lines[-1]
    assert line == "Quit points and best slips are those with 3 rounds left."


def test_a_fair_box_is_worth_any_rebate_but_needs_a_deadline():
    keys = {"rules": "ngau-ngau-hong-kong", "start_cents": 1_500, "rebates": (0.1,)}
    keys |= {"slips": ("single=100", "single=500"), "plain_rounds": 5}
    with pytest.raises(ConfigError, match="does not lose on average"):
        RebateConfig(**keys)
    study = rebate_study(RebateConfig(**keys, n_rounds=4))
    assert study.break_even == (0.0, 0.0)
    assert study.sections()[0].lines[1].startswith("A slip does not lose on average")
    # 500 cents need 2,500 in sight: only one slip is covered at the buy-in
    assert [offer.slips for offer in study.alone] == [(Slip.parse("single=100"),)]


def test_an_offer_that_nothing_makes_worth_playing():
    study = rebate_study(RebateConfig(**{**SMALL, "rebates": (0.01,), "rebate": 0.01}))
    rates, _, bankrolls = study.sections()
    assert [picture.name for picture in rates.pictures] == ["value_by_rebate"]
    assert [row[2] for row in bankrolls.cells[1]] == ["quit"]
    assert study.headline()["first_slip"] == ""
    assert study.headline()["value"] == 0


REFUSED = {
    "cover": (
        {"slips": ("single=100,super=100",), "start_cents": 1_000},
        ["no affordable slip: 'single=100,super=100' needs 1200 cents in sight"],
    ),
    "chips": ({"slips": ("single=130,double=30",)}, ["SINGLE 130 would leave a fraction"]),
    "rates": ({"rebates": (0.2, 0.1), "rebate": 1.0}, ["rebate: input should be less than 1"]),
    "order": ({"rebates": (0.2, 0.1)}, ["rebates lists different shares in rising order"]),
    "twice": ({"slips": ("single=100", "single=100")}, ["slips holds a slip twice"]),
    "a winner": (
        {"rules": "even-double-super-bonus-literal-note", "slips": ("even=100,super=100",)},
        ["'even=100,super=100' does not lose on average", "give n_rounds"],
    ),
}


@pytest.mark.parametrize(("keys", "parts"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_told_with_their_remedy(keys, parts):
    with pytest.raises(ConfigError, match="this is no rebate study:") as error:
        RebateConfig(**keys)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_a_lattice_that_does_not_fit_says_its_size():
    config = RebateConfig(**{**SMALL, "n_rounds": 100_000})
    with pytest.raises(ConfigError, match=r"need [0-9,]+ bytes, more than"):
        rebate_study(config)
