"""Learning curves from a run folder's file."""

import json

import numpy as np
import pytest

from niulab.errors import ConfigError
from niulab.evaluation.curves import CURVE_FILE, Curve, common_grid, read_curve


def write(folder, rows, *, tail=""):
    lines = [json.dumps({"step": step, "scores": scores}) + "\n" for step, scores in rows]
    (folder / CURVE_FILE).write_text("".join(lines) + tail)


def scores(value):
    return {"value": value, "regret": 1 - value, "normalized_score": value}


def test_a_curve_is_read_back(tmp_path):
    write(tmp_path, [(100, scores(0.5)), (200, scores(0.95)), (400, {"value": 1.0})])
    curve = read_curve(tmp_path)
    assert curve.name == tmp_path.name
    assert curve.steps == (100, 200, 400)
    assert curve.series("value").tolist() == [0.5, 0.95, 1.0]
    assert np.isnan(curve.series("regret")[2])
    assert read_curve(tmp_path / CURVE_FILE, name="PPO").name == "PPO"


def test_a_last_line_cut_short_is_left_out(tmp_path):
    write(tmp_path, [(100, scores(0.5))], tail='{"step": 200, "sco')
    assert read_curve(tmp_path).steps == (100,)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("no json\n", ":2: no JSON"),
        ('{"step": "5", "scores": {}}\n', ":2: an evaluation reads"),
        ('{"step": 5}\n', ":2: an evaluation reads"),
        ("[1]\n", ":2: an evaluation reads"),
        ('{"step": 100, "scores": {}}\n', ":2: step 100 follows step 100"),
        ('{"step": 200, "scores": {"value": NaN}}\n', ":2: value is nan"),
    ],
)
def test_a_line_that_cannot_be_is_named(tmp_path, tail, message):
    write(tmp_path, [(100, scores(0.5))], tail=tail)
    with pytest.raises(ConfigError, match=message):
        read_curve(tmp_path)


def test_a_folder_without_evaluations_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=f"{CURVE_FILE}': No such file.*give a run folder"):
        read_curve(tmp_path)


def test_sample_efficiency_is_the_first_crossing():
    curve = Curve("run", (10, 20, 40), (scores(0.5), scores(0.9), scores(0.995)))
    assert curve.steps_to(0.9) == 20
    assert curve.steps_to(0.99) == 40
    assert curve.steps_to(0.999) is None
    # each evaluation stands for the steps since the last one
    assert curve.cumulative_regret() == pytest.approx(10 * 0.5 + 10 * 0.1 + 20 * 0.005)


def test_curves_of_unequal_length_meet_on_a_common_grid():
    short = Curve("short", (0, 100), (scores(0.0), scores(1.0)))
    long = Curve("long", (0, 50, 400), (scores(0.0), scores(0.2), scores(0.9)))
    grid = common_grid([short, long], "value", n_points=5)
    assert grid["steps"].tolist() == [0, 25, 50, 75, 100]
    assert grid["values"][0].tolist() == [0, 0.25, 0.5, 0.75, 1.0]
    assert grid["values"][1].tolist() == pytest.approx([0, 0.1, 0.2, 0.25, 0.3])
    with pytest.raises(ConfigError, match="at least one evaluation in every run"):
        common_grid([short, Curve("none", (), ())], "value")
