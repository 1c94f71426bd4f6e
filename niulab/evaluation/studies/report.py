"""Studies on disk: Markdown with its pictures, tables as CSV and Parquet, one page, and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.page import html_image, html_inline, html_page, html_table, write_files
from niulab.evaluation.studies.study import Provenance, Section, Study
from niulab.evaluation.tables import markdown_table

__all__ = ["StudyFiles", "study_dict", "study_html", "study_markdown", "write_study"]

_LARGEST = 1 << 63


@dataclass(frozen=True)
class StudyFiles:
    """Where a report lies; ``tables`` are CSV and Parquet files, ``pictures`` PNG files."""

    markdown: Path
    html: Path
    json: Path
    tables: tuple[Path, ...]
    pictures: tuple[Path, ...]


def write_study(
    study: Study,
    folder: Path,
    provenance: Provenance,
    *,
    sections: Sequence[Section] | None = None,
) -> StudyFiles:
    """Write the report of a study into ``folder``; no file is ever half-written.

    ``sections``: the study's, if they are drawn already. Raises ConfigError where files cannot be
    written.
    """
    sections = study.sections() if sections is None else sections
    pictures = {
        folder / f"{picture.name}.png": picture.png
        for section in sections
        for picture in section.pictures
    }
    tables: dict[Path, str | bytes] = {}
    for name, columns in study.columns().items():
        plain = {title: _plain_column(values) for title, values in columns.items()}
        tables[folder / f"{name}.csv"] = _csv(plain)
        tables[folder / f"{name}.parquet"] = _parquet(plain)
    files = StudyFiles(
        markdown=folder / "report.md",
        html=folder / "report.html",
        json=folder / "study.json",
        tables=tuple(tables),
        pictures=tuple(pictures),
    )
    record = study_dict(study, provenance)
    write_files(
        {
            files.markdown: study_markdown(study, provenance, sections),
            files.html: study_html(study, provenance, sections),
            files.json: json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
            **tables,
            **pictures,
        }
    )
    return files


def study_dict(study: Study, provenance: Provenance) -> dict[str, Any]:
    """The headline figures and where they come from, as plain data."""
    return {
        "kind": study.kind,
        "title": study.title,
        "warnings": list(study.warnings()),
        "headline": _finite(_plain(study.headline())),
        "provenance": asdict(provenance),
    }


def study_markdown(study: Study, provenance: Provenance, sections: Sequence[Section]) -> str:
    """The report as Markdown; pictures lie beside it."""
    lines = [f"# {study.title}", ""]
    lines += [f"> {warning}\n" for warning in study.warnings()]
    for section in sections:
        lines += [f"## {section.title}", ""]
        lines += [f"{line}\n" for line in section.lines]
        lines += [f"![{picture.alt}]({picture.name}.png)\n" for picture in section.pictures]
        if section.cells is not None:
            lines += [*markdown_table(section.cells), ""]
    lines += ["## Provenance", ""]
    lines += [f"- {key}: `{value}`" for key, value in _provenance_lines(provenance)]
    return "\n".join(lines) + "\n"


def study_html(study: Study, provenance: Provenance, sections: Sequence[Section]) -> str:
    """The report as one page with tables and pictures inside: no scripts, no links."""
    body = [f"<h1>{escape(study.title)}</h1>"]
    body += [f'<p class="warning">{escape(warning)}</p>' for warning in study.warnings()]
    for section in sections:
        body.append(f"<h2>{escape(section.title)}</h2>")
        body += [f"<p>{html_inline(line)}</p>" for line in section.lines]
        body += [html_image(picture.png, picture.alt) for picture in section.pictures]
        if section.cells is not None:
            body.append(html_table(section.cells))
    body += ["<h2>Provenance</h2>", "<dl>"]
    body += [
        f"<dt>{escape(key)}</dt><dd><code>{escape(value)}</code></dd>"
        for key, value in _provenance_lines(provenance)
    ]
    return html_page(study.title, [*body, "</dl>"])


def _provenance_lines(provenance: Provenance) -> list[tuple[str, str]]:
    tree = asdict(provenance)
    tree["rules"] = ", ".join(f"{name} ({digest})" for name, digest in provenance.rules)
    tree["config"] = json.dumps(provenance.config, ensure_ascii=False)
    return [(key.replace("_", " "), str(value)) for key, value in tree.items()]


# ---------------------------------------------------------------- plain data


def _plain(value: Any) -> Any:
    """Python's own lists and numbers; Fractions as "a/b"."""
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def _finite(value: Any) -> Any:
    """What JSON holds: null for a number that is infinite or none."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _plain_column(values: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """A column of one kind: whole numbers beyond 64 bits are texts."""
    column: list[Any] = _plain(list(values))
    if any(isinstance(value, int) and abs(value) >= _LARGEST for value in column):
        return [None if value is None else str(value) for value in column]
    return column


def _csv(columns: Mapping[str, list[Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return stream.getvalue()


def _parquet(columns: Mapping[str, list[Any]]) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pa.table({title: pa.array(v) for title, v in columns.items()}), stream)
    return stream.getvalue()
