"""Tables as text, whatever they hold: Markdown from cells, CSV from records."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Cells", "csv_text", "figure_columns", "markdown_table"]

Cells = tuple[list[str], list[list[str]]]
"""Header and rows of a table, as text."""

_FIGURE = re.compile(r"[+\-−±<>≤≥]? ?[0-9]")


def figure_columns(cells: Cells) -> list[bool]:
    """Which columns hold figures, and so stand on the right: most of their cells begin like one."""
    header, rows = cells
    columns = ([row[place] for row in rows if row[place]] for place in range(len(header)))
    return [2 * sum(map(bool, map(_FIGURE.match, column))) > len(column) for column in columns]


def markdown_table(cells: Cells) -> list[str]:
    """The lines of a Markdown table."""
    header, rows = cells
    rule = ["---:" if is_figure else "---" for is_figure in figure_columns(cells)]
    return ["| " + " | ".join(line) + " |" for line in (header, rule, *rows)]


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """One line per record, full precision; columns in the order in which their names turn up."""
    names = [*dict.fromkeys(name for record in records for name in record)]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return stream.getvalue()
