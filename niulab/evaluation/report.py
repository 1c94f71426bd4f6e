"""Reports on disk: one league as Markdown, CSV, JSON and an HTML page that needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from niulab.evaluation.benchmark import League
from niulab.evaluation.page import html_image, html_inline, html_page, html_table, write_files
from niulab.evaluation.plots.league import league_bars, learning_curves, regret_by_rank
from niulab.evaluation.tables import (
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

__all__ = ["ReportFiles", "league_html", "write_report"]


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


def league_html(league: League) -> str:
    """One page with tables and pictures inside: no scripts, no links, readable offline."""
    floor, ceiling = league.bounds.floor, league.bounds.ceiling
    pictures = [
        ("League", league_bars(league), f"Value of each agent between {floor} and the {ceiling}"),
        ("Regret by rank", regret_by_rank(league), "Regret of each agent by rank, log scale"),
        (
            "Learning",
            learning_curves(league.curves, league.bounds, unit=league.unit),
            "Exact value and regret along training, with the optimal line",
        ),
    ]
    figures = {title: html_image(png, alt) for title, png, alt in pictures if png is not None}
    body = [
        f"<h1>{escape(league.title)}</h1>",
        f"<p>{html_inline(summary(league))}</p>",
        *(f'<p class="warning">{escape(warning)}</p>' for warning in league.warnings),
        html_table(league_cells(league)),
        "<ul>",
        *(f"<li>{html_inline(line.removeprefix('- '))}</li>" for line in legend(league)),
        "</ul>",
        figures["League"],
    ]
    if "Learning" in figures:
        body += ["<h2>Learning</h2>", figures["Learning"], html_table(curve_cells(league))]
    if rank_cells(league)[1]:
        body += ["<h2>Regret by rank</h2>", figures.get("Regret by rank", "")]
        body += ["<p>Base units per deal, with the number of hands not always set optimally.</p>"]
        body += [html_table(rank_cells(league))]
    body += ["<h2>Provenance</h2>", "<dl>"]
    body += [
        f"<dt>{escape(key.replace('_', ' '))}</dt><dd><code>{escape(str(value))}</code></dd>"
        for key, value in provenance(league).items()
    ]
    body.append("</dl>")
    return html_page(league.title, body)
