"""Tables of a suite: cells, full-precision CSV, and a document that hides no failed run."""

import csv
import io

import numpy as np
import pytest
from suites import small_suite

from niulab.evaluation.statistics import summarize
from niulab.evaluation.statistics.intervals import Interval
from niulab.evaluation.tables import (
    aggregate_cells,
    aggregate_csv,
    efficiency_cells,
    failure_cells,
    improvement_cells,
    regret_cells,
    score_cells,
    suite_csv,
    suite_markdown,
)
from niulab.evaluation.tables import suite as suite_tables


@pytest.fixture(scope="module")
def summary():
    return summarize(small_suite(), seed=1, n_resamples=200)


def test_aggregates_by_algorithm_the_best_first(summary):
    header, rows = aggregate_cells(summary)
    assert header == ["algorithm", "IQM", "median", "mean", "gap", "without a score", "cpu hours"]
    assert [row[0] for row in rows] == ["fast", "slow", "lost"]
    iqm = summary.aggregates["slow"].iqm
    assert rows[1][1] == f"{iqm.value:.4f} [{iqm.low:.4f}, {iqm.high:.4f}]"
    assert [row[5] for row in rows] == ["0 of 6", "1 of 6", "3 of 6"]
    assert rows[2][1:5] == [""] * 4
    # 800, 1,000 and 1,300 steps on each of 2 tasks at 3.6 seconds
    assert {row[6] for row in rows} == {"6.20"}


def test_aggregates_as_csv_are_at_full_precision(summary):
    rows = list(csv.DictReader(io.StringIO(aggregate_csv(summary))))
    assert [row["algorithm"] for row in rows] == ["fast", "slow", "lost"]
    assert float(rows[1]["iqm_low"]) == summary.aggregates["slow"].iqm.low
    assert float(rows[0]["optimality_gap"]) == summary.aggregates["fast"].optimality_gap.value
    assert rows[2]["iqm"] == rows[2]["mean_high"] == ""
    assert (rows[2]["n_failed"], rows[2]["n_cells"]) == ("3", "6")
    assert (rows[0]["level"], rows[0]["n_resamples"], rows[0]["seed"]) == ("0.95", "200", "1")


def test_comparisons_stand_row_against_column(summary):
    header, rows = improvement_cells(summary)
    assert header == ["P(row beats column)", "fast", "slow"]
    assert rows == [["fast", "–", "1.00 [1.00, 1.00]"], ["slow", "0.00 [0.00, 0.00]", "–"]]


def test_tables_by_task_say_of_how_many_runs(summary):
    suite = summary.results
    header, rows = score_cells(suite)
    assert header == ["algorithm", "Arrange", "Peek"]
    assert rows[0][2] == f"{np.nanmean(suite.scores_of('slow')[:, 1]):.4f} (2 of 3)"
    assert rows[2][2] == ""
    assert regret_cells(suite)[1][1][1] == f"{suite.regrets[1, :, 0].mean():.4g}"


def test_steps_to_a_score_count_those_that_never_reached_it(summary):
    header, rows = efficiency_cells(summary)
    assert header == ["algorithm", "score", "Arrange", "Peek"]
    assert rows[0] == ["slow", "0.9", "not reached (1 of 3)", "1,000 (1 of 2)"]
    assert rows[3] == ["fast", "0.9", "300 (3 of 3)", "300 (3 of 3)"]
    assert rows[6][3] == ""


def test_every_failed_run_is_named_with_its_reason(summary):
    header, rows = failure_cells(summary.results)
    assert header == ["algorithm", "task", "seeds", "reason"]
    assert rows[0] == ["slow", "Peek", "5", "NaN in the loss"]
    assert rows[1:] == [["lost", "Peek", "3, 5, 8", "no bets on this task"]]


def test_the_matrix_as_csv_is_at_full_precision(summary):
    rows = list(csv.DictReader(io.StringIO(suite_csv(summary.results))))
    assert len(rows) == 18
    assert float(rows[0]["scores"]) == summary.results.scores[0, 0, 0]
    assert rows[4]["scores"] == ""
    assert rows[4]["reason"] == "NaN in the loss"


def test_the_document_holds_the_tables_that_have_rows(summary):
    text = suite_markdown(summary)
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Over tasks and seeds",
        "## Probability of improvement",
        "## Scores by task",
        "## Steps to a normalized score",
        "## Cumulative regret by task",
        "## Runs without a score",
    ]
    assert (
        "- runs without a score (failed, stopped, or of a task the algorithm does not enter)"
        in text
    )
    assert "- lost: no aggregate, because no run has a score on Peek" in text
    unmeasured = small_suite(regrets=np.full((3, 3, 2), np.nan), curves={})
    text = suite_markdown(summarize(unmeasured, seed=0, n_resamples=20))
    assert "Cumulative regret" not in text
    assert "Steps to" not in text


def test_one_algorithm_is_compared_with_none():
    whole, one = small_suite(), slice(1, 2)
    rooms = ("scores", "regrets", "steps", "wall_seconds", "cpu_seconds")
    fast = small_suite(
        algorithms=("fast",), reasons={}, curves={}, **{r: getattr(whole, r)[one] for r in rooms}
    )
    summary = summarize(fast, seed=0, n_resamples=20)
    assert improvement_cells(summary) == (["P(row beats column)", "fast"], [])
    assert "Probability" not in suite_markdown(summary)


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1.0000"), (0.99996, "1-4e-05"), (0.5, "0.5000"), (-0.25, "-0.2500")]
)
def test_a_score_that_is_not_quite_the_optimums_does_not_print_as_it(value, text):
    assert suite_tables._interval(Interval(value, np.nan, np.nan, 0.95)) == text
