"""The page of the calibration: its tables are those of the figures that lie beside it."""

import re
from math import isnan, nan
from pathlib import Path

import pytest

from niulab.errors import ConfigError
from niulab.evaluation.detection.calibration.cells import (
    TABLES,
    page_with_tables,
    read_columns,
    table_cells,
)

DOCS = Path(__file__).resolve().parents[3] / "docs"

ATTACK = {
    "attack": "dealer's card",
    "see_rate": 1.0,
    "spread": "super=100",
    "camouflage": 0.0,
    "start": 0,
    "information": 0.5,
    "units": 0.25,
    "limit": 10.0,
    "priced": 20.0,
    "since": 22.0,
    "named": 0.875,
    "won_units": 4.0,
    "declared_mean": 16.0,
    "declared_half_width": 0.5,
    "declared_n_found": 8,
    "declared_n_early": 0,
    "declared_n": 8,
    "full_mean": 24.0,
    "full_half_width": 1.0,
    "full_n_found": 6,
    "full_n_early": 1,
    "full_n": 8,
}


def columns_of(*rows):
    return {key: [row[key] for row in rows] for key in rows[0]}


def columns():
    later = ATTACK | {"start": 200, "full_mean": 33.0}
    blind = ATTACK | {"attack": "card held out", "limit": nan, "priced": nan, "since": nan}
    blind |= {"spread": "", "information": nan, "units": nan, "declared_mean": None}
    return {
        "means": {"attack": ["a", "b"], "error": [1e-14, 3e-13]},
        "false_alarms": {
            "bettor": ["flat", "bold"],
            "players": [1_000, 1_000],
            "rows": [20_000, 5_000],
            "alarms_0.05": [40, 90],
            "peeked_0.05": [300, 0],
            "once_0.05": [50, 1],
        },
        "permuted": {
            key: [value]
            for key, value in {
                "alpha": 0.05,
                "players": 100,
                "attackers": 20,
                "rounds": 500,
                "fixed": 0,
                "permutations": 10,
                "accused": 19,
                "accused_others": 2,
                "alarms": 30,
                "most": 5,
            }.items()
        },
        "delays": columns_of(ATTACK, later, blind),
        "floors": columns_of(
            {"n_players": 50, "n_attackers": 4, "n_listed": 4, "n_false": 1, "n_early": 2}
        ),
    }


def test_cells_are_the_figures():
    header, rows = table_cells("delays", columns())
    assert len(rows) == 2  # the later start stands beside the first
    line = dict(zip(header, rows[0], strict=True))
    assert line["declared"] == "16.0 ± 0.5"
    assert line["/ limit"] == "1.60"
    assert line["full"] == "24.0 ± 1.0 (6 of 7 found)"
    assert line["/ priced"] == "1.20"
    assert line["full, start 200"].startswith("33.0")
    assert line["/ priced with its start"] == "1.50"
    assert (line["named first"], line["won"], line["won by Wald"]) == ("88 %", "+4.0", "+6.0")
    blind = dict(zip(header, rows[1], strict=True))
    assert {blind[key] for key in ("staked on it", "limit", "declared", "/ priced")} == {"-"}
    _, alarms = table_cells("false_alarms", columns())
    assert alarms[0] == ["flat", "1,000", "20,000", "0.0400", "0.0295-0.0540", "0.300", "0.050"]


def test_promises_are_judged_by_their_figures():
    verdicts = {row[0]: row[2] for row in table_cells("promises", columns())[1]}
    assert list(verdicts.values()) == ["yes", "**no**", "yes", "**no**", "yes", "**no**", "**no**"]
    # bold: .09 of 1,000, above .05 by more than its interval
    lines = {row[0]: row[1] for row in table_cells("promises", columns())[1]}
    assert "0.0900 (0.0738-0.1093), bold" in lines[[*lines][1]]
    assert "FDR 0.250, power 0.750" in lines[[*lines][-1]]
    _, beyond = table_cells("beyond", columns())
    assert [row[:2] + row[-2:] for row in beyond] == [["dealer's card", "1", "1.60", "1.20"]]


def test_a_page_holds_what_a_reports_files_say(tmp_path):
    import csv

    for name, table in columns().items():
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
    found = read_columns(tmp_path)
    assert found["means"] == columns()["means"]
    assert isnan(found["delays"]["limit"][2])
    page = "before\n<!-- table: floors -->\nold\n<!-- end -->\nafter\n"
    for name in TABLES:
        if name != "roc":
            assert table_cells(name, found) == table_cells(name, columns())
    filled = page_with_tables(page, found)
    assert "| 1 | 50 | 4 | 4 | 1 | 2 |" in filled
    assert "old" not in filled
    assert page_with_tables(filled, found) == filled
    with pytest.raises(ConfigError, match="no table 'flors'"):
        page_with_tables(page.replace("floors", "flors"), found)


def test_the_page_is_the_one_of_its_figures():
    page = (DOCS / "calibration.md").read_text("utf-8")
    assert re.findall(r"<!-- table: (\w+) -->", page) == [
        *("promises", "beyond", "false_alarms", "permuted", "delays", "roc", "floors", "means")
    ]
    assert page_with_tables(page, read_columns(DOCS / "calibration")) == page
