"""The study of Kelly stakes: what is asked, what is told, and what a wrong config hears."""

from fractions import Fraction

import pytest
from strategies import PLAYABLE

from niulab.errors import ConfigError
from niulab.evaluation.studies.kelly import KellyConfig, kelly_study

SMALL = {
    "positions": ("own",),
    "cards": ("K", "J Q"),
    "bankrolls_cents": (2_000,),
    "compare_sheets": False,
}


@pytest.fixture(scope="module")
def study():
    told = []
    result = kelly_study(
        KellyConfig(**SMALL), progress=lambda what, done, total: told.append((what, done, total))
    )
    assert told == [
        ("own K", 0, 4),
        ("own J Q", 1, 4),
        ("own any other", 2, 4),
        ("single-double-super", 3, 4),
    ]
    return result


@pytest.fixture(scope="module")
def defective():
    config = {**SMALL, "rules": "even-double-super-bonus-literal-note", "see_rates": (0.0, 1.0)}
    config["bankrolls_cents"] = (2_000, 200_000)
    return kelly_study(KellyConfig(**config))


def test_headline_names_the_best_card_and_where_sight_begins_to_pay(study):
    headline = study.headline()
    assert headline["best_card"]["card"] == "K"
    assert headline["best_card"]["growth"] == study.seers[0].seen[0].plan.growth
    assert headline["growth"] == {"own": study.seers[0].growth}
    assert headline["break_even_see_rate"] == {"own": {2_000: None}}
    assert headline["worth_a_stake_without_information"] == []
    assert headline["max_gap"] < 1e-9


def test_tables_hold_every_figure(study):
    tables = study.columns()
    assert list(tables) == ["cards", "curve", "stakes", "rates", "blind"]
    for columns in tables.values():
        assert len({len(values) for values in columns.values()}) == 1
    cards = tables["cards"]
    assert cards["card"] == ["K", "J Q", "any other"]
    assert sum(cards["chance_exact"]) == 1
    weighted = zip(cards["chance_exact"], cards["single_ev_exact"], strict=True)
    assert sum(chance * ev for chance, ev in weighted) == Fraction(-1, 40)
    curve = tables["curve"]
    place = curve["multiple"].index(1.0)
    assert curve["growth"][place] == max(curve["growth"])
    stakes = tables["stakes"]
    assert stakes["slip"][:2] == ["", "single=100"]  # who may sit out, and who must play
    assert stakes["ev_cents"][1] == pytest.approx(-2.5)
    assert all(g <= b for g, b in zip(stakes["growth"], stakes["bound"], strict=True))
    assert tables["blind"]["ev_exact"][0] == Fraction(-1, 40)


def test_sections_say_what_is_worth_a_stake(study):
    cards, curve, grid, rates, blind = study.sections()
    assert cards.cells[1][0][:3] == ["own K", "1/13", "12.005"]
    assert cards.cells[1][2][2:6] == ["0", "0", "0", "0"]
    assert "worth a stake: K, J Q." in cards.lines[1]
    assert curve.cells[1][0][-1] == "74.9 %"
    assert grid.cells[1][0] == ["nothing", "-", "0.00000"]
    assert grid.cells[1][1][:2] == ["own K", "single=240"]
    assert [row[-1] for row in rates.cells[1]] == ["0.00 %", "never"]
    assert blind.cells[1][0][2:] == ["-1/40", "nothing", "0.00000"]
    names = [p.name for section in study.sections() for p in section.pictures]
    assert names == ["stakes_by_card", "kelly_curve", "see_rates"]


def test_a_defective_sheet_is_warned_of_and_grows_unseen(defective):
    (warning,) = defective.warnings()
    assert "box 'super'" in warning
    headline = defective.headline()
    assert headline["worth_a_stake_without_information"] == ["even-double-super-bonus-literal-note"]
    # with 20 units a chip on Super is too much, with 2,000 it pays for the required box
    assert headline["break_even_see_rate"] == {"own": {2_000: None, 200_000: 0.0}}
    assert "super 1.213 %" in defective.sections()[-1].cells[1][0][3]


def test_where_no_card_helps_the_report_says_so():
    found = kelly_study(KellyConfig(**{**SMALL, "cards": ("red", "black")}))
    assert found.seers[0].growth == 0  # colors say nothing that pays
    assert found.sections()[0].lines[-1] == "No own card is worth a stake."
    assert found.sections()[1].cells[1][0][-1] == "-"


def test_all_shipped_sheets_are_compared_and_named():
    names = {rules.name for rules in KellyConfig().sheets}
    assert names == set(PLAYABLE)
    config = KellyConfig(**SMALL)
    assert [rules.name for rules in config.sheets] == ["single-double-super"]


REFUSED = {
    "cover": (
        {"bankrolls_cents": (50, 99, 100)},
        [
            "bankrolls_cents: 50 do not put 'single=100' in sight: write 100 or more",
            "bankrolls_cents: 99 do not put",
        ],
    ),
    "order": (
        {"bankrolls_cents": (500, 500), "see_rates": (1.0, 0.5), "positions": ("dealer", "own")},
        ["bankrolls_cents lists", "see_rates lists", "positions lists", "own before dealer"],
    ),
    "cards": ({"cards": ("K", "KS")}, ["cards: 'KS' shares cards with one before it"]),
    "no card": ({"cards": ("joker",)}, ["cards: "]),
    "rates": ({"see_rates": (1.5,)}, ["see_rates.0: input should be less than or equal to 1"]),
    "position": ({"positions": ("mine",)}, ["positions.0: input should be 'own' or 'dealer'"]),
    "key": (
        {"bankroll_cents": 5},
        ["unknown key 'bankroll_cents'; did you mean 'bankrolls_cents'"],
    ),
}


@pytest.mark.parametrize(("keys", "parts"), REFUSED.values(), ids=REFUSED)
def test_mistakes_are_told_with_their_remedy(keys, parts):
    with pytest.raises(ConfigError, match="this is no kelly study:") as error:
        KellyConfig(**keys)
    assert all(part in str(error.value) for part in parts), str(error.value)
