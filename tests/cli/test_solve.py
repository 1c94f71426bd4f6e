"""``niulab solve``: its keys, its exact values and its warnings."""

from __future__ import annotations

from fractions import Fraction

import pytest

DEALS = 3_986_646_103_440


@pytest.fixture
def solved(run_json):
    return run_json("solve", "single-double-super", "--slip", "single=100,super=40")


def test_boxes_are_exact(solved):
    assert solved["rules"] == "single-double-super"
    assert len(solved["rules_hash"]) == 16
    assert solved["deals"] == DEALS
    assert {box: values["ev"] for box, values in solved["boxes"].items()} == {
        "single": "-1/40",
        "double": "-8134827643/302018644200",
        "super": "-466382605027/3322205086200",
    }
    single = solved["boxes"]["single"]
    assert set(single) == {"ev", "ev_float", "sd", "house_edge", "element_of_risk"}
    assert single["ev_float"] == -0.025
    assert single["house_edge"] == 0.025
    assert single["sd"] == pytest.approx(0.975, abs=1e-12)
    assert solved["warnings"] == []


def test_ranks_add_up(solved):
    ranks = solved["ranks"]
    assert list(ranks) == ["high_card", *(f"niu_{digit}" for digit in range(1, 10)), "niu_niu"]
    assert ranks["niu_niu"]["hands"] == 191_808
    assert ranks["niu_niu"]["win_with"] == pytest.approx(0.071090179309, abs=1e-12)
    assert sum(rank["hands"] for rank in ranks.values()) == 2_598_960
    assert sum(Fraction(rank["win_with_exact"]) for rank in ranks.values()) == Fraction(1, 2)


def test_a_slip_is_the_sum_of_its_boxes(solved):
    slip = solved["slip"]
    ev = 100 * Fraction(-1, 40) + 40 * Fraction(-466382605027, 3322205086200)
    assert slip["stakes"] == {"single": 100, "super": 40}
    assert Fraction(slip["ev_cents_exact"]) == ev
    assert slip["ev_cents"] == float(ev)
    assert slip["house_edge"] == pytest.approx(float(-ev / 140))
    assert {"sd_cents", "element_of_risk"} <= set(slip)


def test_without_a_slip_it_is_null(run_json):
    assert run_json("solve", "single-double-super")["slip"] is None


def test_a_sheet_that_pays_the_player_is_warned_of(run):
    result = run("solve", "even-double-super-bonus-literal-note", "--json")
    assert "\"WARNING: box 'super'" in result.stdout
    assert "+0.4605" in result.stderr
    assert "WARNING: box 'super' of even-double-super-bonus-literal-note pays the PLAYER" in (
        result.stderr
    )


def test_ranking_only_files_have_no_boxes(run_json):
    solved = run_json("solve", "bomb-room")
    assert solved["boxes"] == {}
    assert solved["slip"] is None
    assert "bomb" in solved["ranks"]


def test_the_text_shows_the_exact_figures(run):
    shown = run("solve", "single-double-super", "--slip", "single=100,super=40").stdout
    for figure in ("-466382605027/3322205086200", "191,808", "0.071090179309", "-8.1153379208"):
        assert figure in shown


def test_a_bankroll_must_cover_the_slip(refused):
    message = refused(
        "solve", "single-double-super", "--slip", "single=100,super=40", "--bankroll", "500"
    )
    assert "SUPER 40 needs 400 cents of cover" in message
    assert "the largest stake accepted is 20 cents" in message
