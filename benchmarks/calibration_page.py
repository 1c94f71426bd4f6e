"""The published calibration from a report of ``niulab study detection``: tables and pictures.

``python benchmarks/calibration_page.py reports/detection`` writes docs/calibration/ and the tables
of docs/calibration.md, which a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from niulab.evaluation.detection.calibration.cells import page_with_tables, read_columns
from niulab.evaluation.page import write_files

_DOCS = Path(__file__).resolve().parents[1] / "docs"


def publish(report: Path, docs: Path = _DOCS) -> None:
    """Copy a report's figures into ``docs`` and lay its tables into the page."""
    kept = [*report.glob("*.csv"), *report.glob("*.png"), report / "study.json"]
    page, folder = docs / "calibration.md", docs / "calibration"
    folder.mkdir(exist_ok=True)
    filled = page_with_tables(page.read_text("utf-8"), read_columns(report))
    write_files({page: filled, **{folder / path.name: path.read_bytes() for path in kept}})


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "reports/detection")
    if not (folder / "study.json").is_file():
        message = f"error: no report in '{folder}': make one with niulab study detection"
        print(message, file=sys.stderr)
        sys.exit(2)
    publish(folder)
