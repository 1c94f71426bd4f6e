"""The study of promotions: hand-computed coupons, and a turnover's costs and risks."""

from fractions import Fraction

import pytest

from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.evaluation.studies.promotions import PromotionsConfig, promotions_study

SMALL = {
    "face_cents": 200,
    "start_cents": 400,
    "turnover_cents": 1_200,
    "slips": ("single=100", "single=200", "single=100,double=100"),
    "prices": (0.0, 5.0, 500.0),
}


@pytest.fixture(scope="module")
def study():
    told = []
    result = promotions_study(
        PromotionsConfig(**SMALL), progress=lambda _, done, total: told.append((done, total))
    )
    assert told == [(done, 6) for done in range(6)]
    return result


def test_the_best_use_is_single_where_multiples_are_owed(study):
    best = study.headline()["best_use"]
    assert best["free bet, multiples owed"] == {"box": "single", "net_cents": 95}
    assert best["match play, multiples owed"] == {"box": "single", "net_cents": 90}
    assert best["chip until lost, multiples owed"] == {"box": "single", "net_cents": 190}
    assert best["free bet, stake returned, multiples owed"]["net_cents"] == 195
    assert {best[key]["box"] for key in best if key.endswith("waived")} == {"super"}


def test_without_ruin_a_fortieth_of_the_turnover_is_lost(study):
    headline = study.headline()
    assert headline["least_cost_per_handle"] == {"slip": "single=100", "edge": Fraction(1, 40)}
    assert headline["least_cost_cents_without_ruin"] == 30
    assert study.edges[Slip.parse("single=200")] == Fraction(1, 40)


def test_a_price_buys_off_risk(study):
    *priced, safest = study.ways
    risks, costs = [way.risk for way in priced], [way.cost for way in priced]
    assert risks == sorted(risks, reverse=True)
    assert costs == sorted(costs)
    assert safest.price is None
    assert safest.low <= 1 - risks[-1] + 1e-9
    assert risks[-1] == pytest.approx(1 - safest.high, abs=1e-9)  # the dearest is the safest
    for way in study.flat:
        assert way.cost >= costs[0] - 1e-9
        assert way.p_met <= safest.high + 1e-9
        assert way.gap < 1e-8


def test_only_slips_that_are_covered_are_played_alone():
    keys = {**SMALL, "start_cents": 300}
    study = promotions_study(PromotionsConfig(**keys))
    played = [str(way.slips[0]) for way in study.flat]
    assert played == ["single=100", "single=200"]  # Double needs 4 chips a unit in sight


def test_tables_and_sections(study):
    tables = study.columns()
    assert list(tables) == ["coupons", "turnover", "flat"]
    for columns in tables.values():
        assert len({len(values) for values in columns.values()}) == 1
    assert tables["coupons"]["value_exact"][0] == Fraction(19, 40)
    assert tables["turnover"]["price"] == [0.0, 5.0, 500.0, None]
    assert tables["turnover"]["cost"][-1] is None
    assert tables["flat"]["house_edge_exact"][0] == Fraction(1, 40)
    coupons, best, turnover, flat = study.sections()
    assert coupons.cells[1][0][:5] == ["free bet", "single", "owed", "+0.475000", "19/40"]
    assert [row[2] for row in coupons.cells[1][1:3]] == ["owed", "waived"]  # Single has one line
    assert best.cells[1][0][2:] == ["single", "+0.950000", "19/20", "47.50 %"]
    assert "(exactly 3/10)" in turnover.lines[0]
    assert turnover.cells[1][-1][3] == "-"
    assert flat.cells[1][0][2] == "0.300000"
    names = [p.name for section in study.sections() for p in section.pictures]
    assert names == ["coupons", "turnover"]


def test_a_sheet_with_one_box_and_pushes():
    study = promotions_study(
        PromotionsConfig(
            **{**SMALL, "rules": "ngau-ngau-hong-kong", "slips": (), "face_cents": 100}
            | {"start_cents": 5_000, "turnover_cents": 2_000, "prices": (0.0,)}
        )
    )
    values = {(c.terms, c.multiples): c.value for c in study.coupons}
    assert values["free bet, stake returned", "owed"].value == 1  # fair: worth its face
    assert values["free bet", "owed"].rounds > 1
    assert study.cheapest[1] == 0


REFUSED = {
    "a face off the chips": (
        {"face_cents": 130},
        ["face_cents: SINGLE 130 would leave a fraction", "face_cents: DOUBLE 130"],
    ),
    "a face below the minimum": ({"face_cents": 40}, ["SINGLE 40 is below the box's minimum"]),
    "cover": (
        {"start_cents": 90, "slips": ("single=100",)},
        ["no affordable slip: 'single=100' needs 100 cents in sight, start_cents=90"],
    ),
    "prices": ({"prices": (1.0, 1.0)}, ["prices lists different sums in rising order"]),
    "no turnover": ({"turnover_cents": 0}, ["turnover_cents: input should be greater than"]),
}


@pytest.mark.parametrize(("keys", "parts"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_told_with_their_remedy(keys, parts):
    with pytest.raises(ConfigError, match="this is no promotions study:") as error:
        PromotionsConfig(**keys)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_a_lattice_that_does_not_fit_says_its_size():
    config = PromotionsConfig(**{**SMALL, "turnover_cents": 5 * 10**7})
    with pytest.raises(ConfigError, match=r"need [0-9,]+ bytes, more than"):
        promotions_study(config)
