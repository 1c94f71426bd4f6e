"""Pictures of optimal stakes: the same bytes every time, whatever is missing or zero."""

import numpy as np
import pytest
from strategies import PLAYABLE

from niulab.engine.wagers import Slip
from niulab.evaluation.edges.promotions import Way, coupons
from niulab.evaluation.edges.seer import make_seer, split_shoe
from niulab.evaluation.plots.optimal import (
    card_stakes,
    coupon_bars,
    kelly_curves,
    quit_bands,
    rate_lines,
    rebate_values,
    slip_map,
)
from niulab.evaluation.plots.optimal import turnover_ways as draw_turnover

RULES = PLAYABLE["single-double-super"]
SINGLE = Slip.parse("single=100")


@pytest.fixture(scope="module")
def seers():
    classes = split_shoe(RULES, ("K",))
    return [make_seer(RULES, position, classes, (2_000, 9_000)) for position in ("own", "dealer")]


def turnover_ways(_):
    priced = [
        Way((SINGLE,), price, 1.0, 1.0, 0.5 + price / 10, 2.0 + price, SINGLE) for price in (0, 1)
    ]
    alone = Way((SINGLE,), None, 0.7, 0.7, 0.7, float("nan"), SINGLE)
    return draw_turnover([*priced, alone], priced)


PICTURES = {
    "stakes": card_stakes,
    "curves": lambda seers: kelly_curves(np.linspace(0, 9, 91), seers),  # to where cover ends
    "rates": lambda seers: rate_lines([0.0, 0.5, 1.0], seers),
    "one position": lambda seers: card_stakes(seers[1:]),
    "values": lambda _: rebate_values([0.1, 0.2], {"a": [0.0, 1.0], "b": [-1.0, 0.5]}),
    "quits": lambda _: quit_bands(
        [(0.1, 900, None), (0.2, None, 1200)], start_cents=1000, unit_cents=100
    ),
    "map": lambda _: slip_map(
        np.arange(6.0),
        ["quit", "a", "a", "b", "a", "quit"],
        ["b", "a", "quit"],
        np.arange(6.0),
        start=2.0,
    ),
    "nothing but quitting": lambda _: slip_map(
        np.arange(3.0), ["quit"] * 3, ["a", "quit"], np.zeros(3), start=2.0
    ),
    "coupons": lambda _: coupon_bars(coupons(RULES, 100)),
    "turnover": turnover_ways,
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_pictures_are_pngs_and_the_same_every_time(seers, draw):
    png = draw(seers)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(png) > 5_000
    assert draw(seers) == png
