"""Reports on disk: one league as Markdown, CSV, JSON and an HTML page that needs nothing else."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path

from niulab.errors import ConfigError
from niulab.evaluation.benchmark import League
from niulab.evaluation.plots import league_bars, learning_curves, regret_by_rank
from niulab.evaluation.tables import (
    Cells,
    curve_cells,
    league_cells,
    league_csv,
    league_json,
    league_markdown,
    legend,
    provenance,
    rank_cells,
    summary,
)

__all__ = ["ReportFiles", "league_html", "write_files", "write_report"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 76rem; margin: 2rem auto;
  padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem;
  margin: 1rem 0; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid #ddd;
  white-space: nowrap; }
th { border-bottom: 2px solid #222; vertical-align: bottom; }
td:nth-child(-n+2), th:nth-child(-n+2) { text-align: left; }
tbody tr:hover { background: #f4f4f4; }
img { max-width: 100%; height: auto; }
code { background: #f2f2f2; padding: .1rem .3rem; }
dt { font-weight: 600; } dd { margin: 0 0 .4rem; }
.scroll { overflow-x: auto; }
.warning { border-left: .4rem solid #b00020; background: #fdecee; padding: .6rem 1rem;
  margin: 1rem 0; }
"""


@dataclass(frozen=True)
class ReportFiles:
    """Where a report lies."""

    markdown: Path
    csv: Path
    json: Path
    html: Path


def write_report(league: League, folder: Path, *, stem: str = "league") -> ReportFiles:
    """Write the four files of a league into ``folder``; none of them is ever half-written."""
    files = ReportFiles(*(folder / f"{stem}.{end}" for end in ("md", "csv", "json", "html")))
    write_files(
        {
            files.markdown: league_markdown(league),
            files.csv: league_csv(league),
            files.json: league_json(league),
            files.html: league_html(league),
        }
    )
    return files


def write_files(texts: Mapping[Path, str]) -> None:
    """Write text files whole: all under other names first, then each moved into its place."""
    written: list[tuple[str, Path]] = []
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            written.append((name, path))
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        umask = os.umask(0)
        os.umask(umask)
        for name, path in written:
            Path(name).chmod(0o666 & ~umask)  # mkstemp's own is private
            Path(name).replace(path)
    except OSError as error:
        raise ConfigError(
            f"cannot write '{error.filename or next(iter(texts))}': {error.strerror}; "
            "choose another folder for the report"
        ) from error
    finally:
        for name, _ in written:
            with suppress(OSError):
                Path(name).unlink(missing_ok=True)


def league_html(league: League) -> str:
    """One page with tables and pictures inside: no scripts, no links, readable offline."""
    pictures = [
        ("League", league_bars(league), "Value of each agent between uniform play and the optimum"),
        ("Regret by rank", regret_by_rank(league), "Regret of each agent by rank, log scale"),
        (
            "Learning",
            learning_curves(league.curves, league.bounds, unit=league.unit),
            "Exact value and regret along training, with the optimal line",
        ),
    ]
    figures = {title: _image(png, alt) for title, png, alt in pictures if png is not None}
    body = [
        f"<h1>{escape(league.title)}</h1>",
        f"<p>{_inline(summary(league))}</p>",
        *(f'<p class="warning">{escape(warning)}</p>' for warning in league.warnings),
        _table(league_cells(league)),
        "<ul>",
        *(f"<li>{_inline(line.removeprefix('- '))}</li>" for line in legend(league)),
        "</ul>",
        figures["League"],
    ]
    if "Learning" in figures:
        body += ["<h2>Learning</h2>", figures["Learning"], _table(curve_cells(league))]
    if rank_cells(league)[1]:
        body += ["<h2>Regret by rank</h2>", figures.get("Regret by rank", "")]
        body += ["<p>Base units per deal, with the number of hands not always set optimally.</p>"]
        body += [_table(rank_cells(league))]
    body += ["<h2>Provenance</h2>", "<dl>"]
    body += [
        f"<dt>{escape(key.replace('_', ' '))}</dt><dd><code>{escape(str(value))}</code></dd>"
        for key, value in provenance(league).items()
    ]
    body.append("</dl>")
    return _page(league.title, body)


def _page(title: str, body: Iterable[str]) -> str:
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style></head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _table(cells: Cells) -> str:
    header, rows = cells
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _image(png: bytes, alt: str) -> str:
    data = base64.b64encode(png).decode("ascii")
    return f'<p><img alt="{escape(alt)}" src="data:image/png;base64,{data}"></p>'


def _inline(text: str) -> str:
    """Markdown's backquotes as code elements, everything else escaped."""
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts)
    )
