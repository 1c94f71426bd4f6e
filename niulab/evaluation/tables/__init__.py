"""Tables as text: Markdown, CSV and JSON; figures are rounded here, and nowhere before."""

from __future__ import annotations

from niulab.evaluation.tables.league import (
    curve_cells,
    league_cells,
    league_csv,
    league_dict,
    league_json,
    league_markdown,
    legend,
    provenance,
    rank_cells,
    score_lines,
    summary,
)
from niulab.evaluation.tables.suite import (
    aggregate_cells,
    aggregate_csv,
    efficiency_cells,
    failure_cells,
    improvement_cells,
    reference_cells,
    regret_cells,
    score_cells,
    suite_csv,
    suite_legend,
    suite_markdown,
    time_cells,
)
from niulab.evaluation.tables.text import Cells, csv_text, figure_columns, markdown_table

__all__ = [
    "Cells",
    "aggregate_cells",
    "aggregate_csv",
    "csv_text",
    "curve_cells",
    "efficiency_cells",
    "failure_cells",
    "figure_columns",
    "improvement_cells",
    "league_cells",
    "league_csv",
    "league_dict",
    "league_json",
    "league_markdown",
    "legend",
    "markdown_table",
    "provenance",
    "rank_cells",
    "reference_cells",
    "regret_cells",
    "score_cells",
    "score_lines",
    "suite_csv",
    "suite_legend",
    "suite_markdown",
    "summary",
    "time_cells",
]
