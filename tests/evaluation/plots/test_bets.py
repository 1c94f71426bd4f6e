"""Pictures of bets: the same bytes every time, whatever signs and gaps the figures have."""

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.evaluation.plots.bets import (
    EdgeMap,
    cost_frontier,
    edge_maps,
    payoff_histogram,
    reading_dots,
)
from niulab.solvers.sessions.net_law import net_law

STAKES = (0.0, 0.2, 1.0)


def draw_maps():
    edges = np.array([[0.02, 0.1, -0.3], [0.03, 0.0, 0.2], [0.5, 0.1, 0.1]])
    one = EdgeMap("double", "super", STAKES, STAKES, edges)
    return edge_maps([one, EdgeMap("double", "bonus", STAKES, STAKES[:2], edges[:2])])


def draw_frontier():
    costs, sds = np.array([-0.1, 0.0, 0.4, 0.5]), np.array([1.0, 1.5, 2.0, 1.0])
    return cost_frontier(costs, sds, {"single + double": [0, 2], "single + super": [1, 3]}, [0, 2])


def draw_payoffs(slip):
    return payoff_histogram(
        net_law(load_rules("even-double-super-bonus"), Slip.parse(slip)), unit_cents=100
    )


def draw_dots():
    return reading_dots(["a", "b", "c"], {"x": [-0.1, 0.3, None], "y": [None, -0.2, -0.2]})


PICTURES = {
    "maps": draw_maps,
    "frontier": draw_frontier,
    "payoffs": lambda: draw_payoffs("even=100"),
    "payoffs on a log scale": lambda: draw_payoffs("even=100,bonus=20"),
    "dots": draw_dots,
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_pictures_are_pngs_and_the_same_every_time(draw):
    png = draw()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(png) > 5_000
    assert draw() == png
