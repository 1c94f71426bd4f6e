"""Reports: every figure in four forms, one page that needs no network, nothing half-written."""

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from niulab.errors import ConfigError
from niulab.evaluation import page
from niulab.evaluation.benchmark import League, LeagueRow, Provenance
from niulab.evaluation.curves import Curve
from niulab.evaluation.page import write_files
from niulab.evaluation.plots.league import league_bars, learning_curves, regret_by_rank
from niulab.evaluation.report import league_html, write_report
from niulab.evaluation.score import Bounds, SimulatedScore
from niulab.evaluation.statistics import Estimate
from niulab.evaluation.tables import (
    league_cells,
    league_csv,
    league_json,
    league_markdown,
    score_lines,
)

MADE = Provenance(
    "0", 1, "single-double-super", "ab12", "niulab/Arrange-v0", 3, 500, "niulab x", "2026", "3", "2"
)


@pytest.fixture(scope="module")
def league(scores_of):
    scores = scores_of("hong-kong")
    rows = tuple(
        LeagueRow(name, f"configs/{name}", None, scores[name], Estimate(0.5, 0.25, 0.95, 500), 1.5)
        for name in ("oracle", "first-found-base", "greedy-pair", "random")
    )
    curve = Curve(
        "PPO <1>",
        (100, 200),
        tuple(
            {"value": -regret, "regret": regret, "normalized_score": 1 - regret}
            for regret in (0.05, 0.0)
        ),
    )
    return League(
        "A <league> & more",
        "niulab/Arrange-v0",
        "single=100",
        "base units per episode",
        rows,
        rows[0].score.bounds,
        MADE,
        ("WARNING: <loud>",),
        (curve,),
    )


@pytest.fixture(scope="module")
def simulated(league):
    score = SimulatedScore(
        agent="flat",
        task="niulab/Session-v0",
        rules="single-double-super",
        rules_hash="ab12",
        estimate=Estimate(0.31, 0.02, 0.95, 500),
        seed=3,
        n_illegal=0,
        bounds=Bounds(None, None),
        ends={"ruin": 300, "target": 200},
        notes=("simulated, with an interval: because",),
    )
    row = LeagueRow("flat", "", 0, score, None, 1.0)
    return replace(league, rows=(row,), bounds=Bounds(None, None), curves=(), warnings=())


def test_markdown_shows_exact_figures_bounds_checks_and_provenance(league):
    text = league_markdown(league)
    assert "| 2 | first-found-base | argmax | -0.0430125 |" in text
    assert "| 98.286 % | 100.000 % | 44,548 | 0.0430125 | 0.961645 | +0.5000 ± 0.2500 |" in text
    assert "- optimum: +0.0000000 (exact)" in text
    assert "- uniform play: -1.1214173 (exact)" in text
    assert "played 500 episodes in the environment, mean and 95 % interval" in text
    assert "| ngau pair | 145,480 | 0 | 0.0400781 (39,300) |" in text
    assert "| PPO <1> | 100 | 200 | 200 | 5 |" in text
    assert "> WARNING: <loud>" in text
    for line in ("rules hash: `ab12`", "seed: `3`", "command: `niulab x`", "date: `2026`"):
        assert line in text


def test_a_share_that_is_not_quite_one_does_not_print_as_one(league):
    score = league.rows[0].score
    almost = replace(score, share_optimal=1 - score.share_optimal / 2_598_960)
    text = dict(score_lines(almost))
    assert text["set optimally"] == "99.999962 %"
    assert dict(score_lines(score))["set optimally"] == "100.000 %"


def test_csv_holds_one_line_per_agent_at_full_precision(league):
    rows = list(csv.DictReader(io.StringIO(league_csv(league))))
    assert [row["agent"] for row in rows] == [row.name for row in league.rows]
    assert float(rows[1]["value"]) == float(league.rows[1].score.value)
    assert rows[1]["n_errors"] == "44548"
    assert rows[1]["simulated_mean"] == "0.5"
    assert rows[0]["place"] == "1"


def test_json_holds_exact_fractions_beside_floats(league):
    tree = json.loads(league_json(league))
    value = tree["rows"][1]["score"]["value"]
    score = league.rows[1].score
    assert value["exact"] == f"{score.value.numerator}/{score.value.denominator}"
    assert value["float"] == float(score.value)
    assert tree["rows"][1]["simulated"]["half_width"] == 0.25
    assert tree["provenance"]["rules_hash"] == "ab12"
    assert tree["curves"][0]["steps"] == [100, 200]


def test_the_page_needs_nothing_else(league):
    page = league_html(league)
    assert page.startswith("<!DOCTYPE html>")
    assert "http" not in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    assert page.count("data:image/png;base64,") == 3
    assert all(f"<td>{row.name}</td>" in page for row in league.rows)


def test_the_page_escapes_what_it_is_given(league):
    page = league_html(league)
    assert "<h1>A &lt;league&gt; &amp; more</h1>" in page
    assert "WARNING: &lt;loud&gt;" in page
    assert "PPO &lt;1&gt;" in page


def test_pictures_are_pngs_and_the_same_every_time(league):
    for png in (
        league_bars(league),
        regret_by_rank(league),
        learning_curves(league.curves, league.bounds),
    ):
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(png) > 10_000
    assert league_bars(league) == league_bars(league)


def test_what_there_is_nothing_to_draw_of_is_left_out(league, simulated):
    assert learning_curves((), league.bounds) is None
    assert regret_by_rank(replace(league, rows=league.rows[:1])) is None
    assert regret_by_rank(simulated) is None
    assert league_bars(simulated).startswith(b"\x89PNG")
    blind = Curve("x", (1, 2), ({"value": 0.1}, {"value": 0.2}))
    assert learning_curves([blind], simulated.bounds).startswith(b"\x89PNG")
    assert "| x | not reached | not reached | not reached |  |" in league_markdown(
        replace(simulated, curves=(blind,))
    )


def test_pictures_leave_no_trace_in_matplotlib(league, tmp_path):
    script = (
        "import sys, matplotlib\n"
        "def parameters():  # but for the backend: asking for it imports pyplot\n"
        "    names = matplotlib.rcParams.keys() - {'backend'}\n"
        "    return {name: matplotlib.rcParams[name] for name in names}\n"
        "before = parameters()\n"
        "from niulab.evaluation import Bounds, Curve\n"
        "from niulab.evaluation.plots.league import learning_curves\n"
        "curve = Curve('x', (1, 2), ({'value': 0, 'regret': 1}, {'value': 1, 'regret': 0}))\n"
        "assert learning_curves([curve], Bounds(None, None))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert parameters() == before\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)


def test_a_simulated_league_shows_intervals_and_why(simulated):
    header, rows = league_cells(simulated)
    assert header == ["", "agent", "source", "value"]
    assert rows == [["1", "flat", "simulation", "+0.3100 ± 0.0200"]]
    text = league_markdown(simulated)
    assert "- flat: simulated, with an interval: because" in text
    assert "Regret by rank" not in text
    assert "data:image" in league_html(simulated)
    lines = dict(score_lines(simulated.rows[0].score))
    assert lines["source"] == "simulated"
    assert lines["optimum"] == "not known exactly for this task"


def test_a_report_is_four_files(league, tmp_path):
    files = write_report(league, tmp_path / "new" / "folder")
    assert sorted(path.name for path in (tmp_path / "new" / "folder").iterdir()) == [
        "league.csv",
        "league.html",
        "league.json",
        "league.md",
    ]
    assert files.markdown.read_text(encoding="utf-8") == league_markdown(league)


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("old")

    def broken(handle, mode, **words):
        stream = real(handle, mode, **words)
        if len(list(tmp_path.glob(".*"))) == 2:  # the second file of the report
            stream.close()
            raise OSError(28, "No space left on device", "new.md")
        return stream

    real = page.os.fdopen
    monkeypatch.setattr(page.os, "fdopen", broken)
    with pytest.raises(ConfigError, match=r"cannot write 'new.md': No space left.*another folder"):
        write_files({old: "changed", new: "made"})
    assert old.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["old.md"]


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(ConfigError, match="choose another folder"):
        write_files({tmp_path / "x" / "league.md": "text"})
