"""Reports of studies: every figure in each form, one page that needs no network, nothing halved."""

import csv
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from pyarrow import parquet

from niulab.errors import ConfigError
from niulab.evaluation.studies import Picture, Section, make_provenance, run_study, write_study
from niulab.evaluation.studies.mix import MixConfig
from niulab.evaluation.studies.report import study_dict, study_html, study_markdown

PNG = b"\x89PNG\r\n\x1a\n and more"


@dataclass(frozen=True)
class Small:
    kind: str = "small"
    title: str = "A <small> study"

    def warnings(self):
        return ("WARNING: <loud>",)

    def headline(self):
        return {"edge": Fraction(1, 40), "n0": inf, "by": {"a": np.float64(0.5), "b": [nan, 1]}}

    def columns(self):
        return {
            "lines": {
                "name": ["a, b", "c"],
                "exact": [Fraction(1, 3), Fraction(-2)],
                "float": np.array([0.1 + 0.2, inf]),
                "count": [2**70, 1],
                "maybe": [None, 7],
            }
        }

    def sections(self):
        picture = Picture("dots", 'Dots "and" more', PNG)
        cells = (["name", "edge"], [["1-3-2-6", "+2.5 %"], ["flat", "3"], ["bold", ""]])
        return (
            Section("First & foremost", ("See `lines.csv` < here.",), cells, (picture,)),
            Section("Second"),
        )


@pytest.fixture
def made():
    return make_provenance(MixConfig(seed=5), command=["niulab", "study", "a b"], date="2026")


def test_provenance_says_how_to_make_it_again(made):
    assert made.command == "niulab study 'a b'"
    assert made.rules == (("single-double-super", "7d76c5e2082a6388"),)
    assert (made.study, made.seed, made.date) == ("mix", 5, "2026")
    assert made.config["stakes_cents"][:3] == [0, 20, 40]
    assert make_provenance(MixConfig()).command == (
        "niulab.evaluation.studies.run_study(MixConfig(...))"
    )


def test_every_file_is_written(made, tmp_path):
    files = write_study(Small(), tmp_path / "new" / "folder", made)
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert names == {
        *("report.md", "report.html", "study.json", "lines.csv", "lines.parquet", "dots.png"),
    }
    assert {path.name for path in (*files.tables, *files.pictures)} == {
        *("lines.csv", "lines.parquet", "dots.png"),
    }
    assert files.pictures[0].read_bytes() == PNG


def test_tables_keep_full_precision_in_both_forms(made, tmp_path):
    write_study(Small(), tmp_path, made)
    with (tmp_path / "lines.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    table = parquet.read_table(tmp_path / "lines.parquet").to_pydict()
    assert [row["name"] for row in rows] == table["name"] == ["a, b", "c"]
    assert [row["exact"] for row in rows] == table["exact"] == ["1/3", "-2/1"]
    assert [float(row["float"]) for row in rows] == table["float"] == [0.1 + 0.2, inf]
    assert [row["count"] for row in rows] == table["count"] == [str(2**70), "1"]
    assert [row["maybe"] for row in rows] == ["", "7"]
    assert table["maybe"] == [None, 7]


def test_json_holds_the_headline_and_where_it_comes_from(made, tmp_path):
    files = write_study(Small(), tmp_path, made)
    record = json.loads(files.json.read_text("utf-8"))
    assert record["headline"] == {"edge": "1/40", "n0": None, "by": {"a": 0.5, "b": [None, 1]}}
    assert record["warnings"] == ["WARNING: <loud>"]
    assert record["provenance"]["rules"] == [["single-double-super", "7d76c5e2082a6388"]]
    assert record == json.loads(json.dumps(study_dict(Small(), made)))


def test_markdown_shows_warnings_sentences_pictures_and_tables(made):
    text = study_markdown(Small(), made, Small().sections())
    assert text.startswith("# A <small> study\n\n> WARNING: <loud>\n")
    assert "## First & foremost\n\nSee `lines.csv` < here.\n" in text
    assert '![Dots "and" more](dots.png)' in text
    assert "| name | edge |\n| --- | ---: |\n| 1-3-2-6 | +2.5 % |" in text
    assert "- rules: `single-double-super (7d76c5e2082a6388)`" in text
    assert "- command: `niulab study 'a b'`" in text


def test_the_page_needs_nothing_else_and_escapes_what_it_is_given(made):
    page = study_html(Small(), made, Small().sections())
    assert "<h1>A &lt;small&gt; study</h1>" in page
    assert '<p class="warning">WARNING: &lt;loud&gt;</p>' in page
    assert "<p>See <code>lines.csv</code> &lt; here.</p>" in page
    assert '<td class="figure">+2.5 %</td>' in page
    assert "<td>1-3-2-6</td>" in page
    assert 'alt="Dots &quot;and&quot; more"' in page
    assert "http" not in page
    assert "<script" not in page
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)


def test_drawn_sections_are_not_drawn_again(made, tmp_path):
    files = write_study(Small(), tmp_path, made, sections=(Section("Only"),))
    assert files.pictures == ()
    assert "## Only" in files.markdown.read_text("utf-8")


def test_a_folder_that_cannot_be_is_refused(made, tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(ConfigError, match="choose another folder"):
        write_study(Small(), tmp_path / "x", made)


def test_a_study_is_run_by_its_config():
    study = run_study(MixConfig(stakes_cents=(0,)))
    assert (study.kind, study.title) == ("mix", "Mixes of boxes")
    assert study.headline()["mixes"] == 1
