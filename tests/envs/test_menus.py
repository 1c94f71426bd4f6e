"""Menus: ten legal slips with the least one first, and the grid of a small table."""

import pytest
from strategies import PLAYABLE, overlay

from niulab.engine.wagers import Slip, least_slip, verify_slip
from niulab.envs.settings.menus import MENU_SIZE, default_menu, grid_menu
from niulab.errors import WagerError


@pytest.mark.parametrize("name", sorted(PLAYABLE))
def test_a_default_menu_has_ten_legal_slips_and_the_least_first(name):
    rules = PLAYABLE[name]
    menu = default_menu(rules)
    assert len(set(menu)) == len(menu) == MENU_SIZE == 10
    assert menu[0] == least_slip(rules)
    for slip in menu:
        verify_slip(rules, slip)
    assert {box for slip in menu for box in slip.boxes} == set(rules.boxes)


def test_the_default_menu_of_the_default_sheet_is_the_published_one():
    assert [str(slip) for slip in default_menu(PLAYABLE["single-double-super"])] == [
        "single=100",
        "single=200",
        "single=500",
        "single=1000",
        "single=100,double=100",
        "single=100,double=500",
        "single=100,super=100",
        "single=100,double=100,super=100",
        "single=500,double=500,super=100",
        "single=100,super=200",
    ]


def test_a_narrow_table_says_that_it_cannot_fill_a_menu():
    rules = overlay("ngau-ngau-hong-kong", "[boxes.single]\nmaximum_cents = 300\n")
    with pytest.raises(WagerError, match=r"leave 3 of the 10 slips"):
        default_menu(rules)


def test_the_grid_is_the_product_of_all_stakes():
    rules = overlay(
        "equal-double-cambodia",
        "[table]\nchip_unit_cents = 100\n[boxes.equal]\nmaximum_cents = 300\n"
        "[boxes.double]\nminimum_cents = 100\nmaximum_cents = 200\n",
    )
    menu = grid_menu(rules)
    assert menu[0] == least_slip(rules)
    assert set(menu) == {
        Slip((("equal", equal), ("double", double)))
        for equal in (100, 200, 300)
        for double in (0, 100, 200)
    }
    assert len(menu) == 9


def test_a_large_grid_is_refused_before_it_is_built():
    with pytest.raises(WagerError, match=r"single 499996, double 500001.*maximum_cents"):
        grid_menu(PLAYABLE["single-double-super"])
