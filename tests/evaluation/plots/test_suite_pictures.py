"""Pictures of a suite: the same bytes every time, at the edges of their data."""

import numpy as np
import pytest
from suites import ALGORITHMS, SEEDS, small_suite

from niulab.evaluation.plots.suite import (
    aggregate_intervals,
    improvement_intervals,
    performance_profiles,
    suite_curves,
)
from niulab.evaluation.statistics import SuiteResults, summarize

PICTURES = [aggregate_intervals, performance_profiles, improvement_intervals, suite_curves]


def perfect_single_run():
    """One algorithm, one seed, one task, exactly at the optimum."""
    suite, cell = small_suite(), ("fast", 3, "Arrange")
    curve = suite.curves[cell]
    perfect = type(curve)("run", curve.steps, ({"normalized_score": 1.0},) * len(curve.steps))
    one = np.ones((1, 1, 1))
    return SuiteResults(
        ("fast",), ("Arrange",), (3,), one, 0 * one, one, one, one, curves={cell: perfect}
    )


@pytest.mark.parametrize("draw", PICTURES)
def test_pictures_are_pngs_and_the_same_every_time(draw):
    summary = summarize(small_suite(), seed=0, n_resamples=50)
    png = draw(summary)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(png) > 5_000
    assert draw(summary) == png


@pytest.mark.parametrize("draw", PICTURES)
def test_one_perfect_run_has_pictures_without_intervals(draw):
    png = draw(summarize(perfect_single_run(), seed=0, n_resamples=50))
    if draw is improvement_intervals:
        assert png is None
    else:
        assert len(png) > 5_000


@pytest.mark.parametrize("draw", PICTURES)
def test_without_any_whole_algorithm_there_is_no_picture(draw):
    scores = np.full((3, 3, 2), np.nan)
    reasons = {(a, s, t): "crashed" for a in ALGORITHMS for s in SEEDS for t in ("Arrange", "Peek")}
    summary = summarize(small_suite(scores=scores, reasons=reasons), seed=0, n_resamples=50)
    assert draw(summary) is None
