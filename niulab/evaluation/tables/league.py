"""League tables as text: Markdown, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import isnan
from typing import Any

from niulab.evaluation.benchmark import League, LeagueRow
from niulab.evaluation.score import (
    ArrangementScore,
    RoundScore,
    Score,
    SessionScore,
    SimulatedScore,
)
from niulab.evaluation.statistics import Estimate
from niulab.evaluation.tables.text import Cells, csv_text, markdown_table

__all__ = [
    "curve_cells",
    "league_cells",
    "league_csv",
    "league_dict",
    "league_json",
    "league_markdown",
    "legend",
    "provenance",
    "rank_cells",
    "score_lines",
    "summary",
]


def league_cells(league: League) -> Cells:
    """The league table: columns that no row fills are left out."""
    header = ["", "agent", "source", "value"]
    boxes = [*dict.fromkeys(box for row in league.rows for box in _evs(row.score))]
    header += [f"EV {box}" for box in boxes]
    header += ["P(win)", "set optimally", "niu found", "errors", "regret", "score", "simulated"]
    rows = [[str(i), *_row_cells(row, boxes)] for i, row in enumerate(league.rows, start=1)]
    kept = [i for i in range(len(header)) if i == 0 or any(row[i] for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]


def rank_cells(league: League) -> Cells:
    """Regret by rank of every agent with an exact arrangement score, in base units per deal."""
    scored = [row for row in league.rows if isinstance(row.score, ArrangementScore)]
    ranks = [*dict.fromkeys(rank for row in scored for rank in _by_rank(row))]
    header = ["rank", "hands", *(row.name for row in scored)]
    rows = []
    for rank in ranks:
        found = [_by_rank(row)[rank] for row in scored]
        cells = [f"{_small(float(r.regret))} ({r.errors:,})" if r.errors else "0" for r in found]
        rows.append([rank.replace("_", " "), f"{found[0].hands:,}", *cells])
    return header, rows


def league_markdown(league: League) -> str:
    """The league as a Markdown document: table, bounds, warnings, notes and provenance."""
    lines = [f"# {league.title}", "", summary(league), ""]
    lines += [f"> {warning}\n" for warning in league.warnings]
    lines += [*markdown_table(league_cells(league)), "", *legend(league), ""]
    ranks = rank_cells(league)
    if ranks[1]:
        lines += ["## Regret by rank", "", *markdown_table(ranks), ""]
        lines += ["Base units per deal, with the number of hands not always set optimally.", ""]
    if league.curves:
        lines += ["## Sample efficiency", "", *markdown_table(curve_cells(league)), ""]
    lines += ["## Provenance", ""]
    lines += [f"- {key.replace('_', ' ')}: `{value}`" for key, value in provenance(league).items()]
    return "\n".join(lines) + "\n"


def league_csv(league: League) -> str:
    """One line per agent, full precision, under fixed column names."""
    records = [{"place": i} | _record(row) for i, row in enumerate(league.rows, start=1)]
    return csv_text(records)


def league_json(league: League) -> str:
    """Everything, exact figures as "a/b" beside their floats."""
    return json.dumps(league_dict(league), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def league_dict(league: League) -> dict[str, Any]:
    """The league as plain data."""
    return {
        "title": league.title,
        "task": league.task,
        "slip": league.slip,
        "unit": league.unit,
        "warnings": list(league.warnings),
        "bounds": league.bounds.to_dict(),
        "rows": [
            {
                "place": place,
                "name": row.name,
                "seed": row.seed,
                "origin": row.origin,
                "seconds": row.seconds,
                "score": row.score.to_dict(),
                "simulated": None if row.check is None else asdict(row.check),
            }
            for place, row in enumerate(league.rows, start=1)
        ],
        "curves": [
            {
                "name": curve.name,
                "steps": list(curve.steps),
                "scores": list(curve.scores),
            }
            for curve in league.curves
        ],
        "provenance": provenance(league),
    }


def summary(league: League) -> str:
    """One sentence that says what was measured, on what."""
    at = f" at the slip `{league.slip}`" if league.slip else ""
    return (
        f"`{league.task}` under `{league.provenance.rules}`{at}; value: {league.unit}, "
        "undiscounted."
    )


def legend(league: League) -> list[str]:
    """What the columns mean, as Markdown lines, with the bounds they stand between."""
    lines = []
    if league.bounds.optimum is not None:
        lines.append(f"- {league.bounds.ceiling}: {_value(float(league.bounds.optimum))} (exact)")
    if league.bounds.random is not None:
        lines.append(f"- {league.bounds.floor}: {_value(float(league.bounds.random))} (exact)")
    floor, ceiling = league.bounds.floor, league.bounds.ceiling
    lines.append(f"- score: (value - {floor}) / ({ceiling} - {floor})")
    if any(isinstance(row.score, ArrangementScore) for row in league.rows):
        lines.append(
            "- errors: hands, of all the shoe can deal, not always set optimally; niu found: "
            "of the hands that can rank above high card"
        )
    levels = {row.check.level for row in league.rows if row.check is not None}
    lines += [
        f"- simulated: the agent played {league.provenance.rounds:,} episodes in the environment, "
        f"mean and {100 * level:g} % interval"
        for level in sorted(levels)
    ]
    notes = dict.fromkeys(
        f"- {row.name}: {note}" for row in league.rows for note in row.score.notes
    )
    return [*lines, *notes]


def curve_cells(league: League) -> Cells:
    """Steps to each normalized score, and cumulative regret, of every run with a learning curve."""
    from niulab.evaluation.curves import THRESHOLDS

    header = ["run", *(f"steps to {level}" for level in THRESHOLDS), "cumulative regret"]
    rows = []
    for curve in league.curves:
        reached = [curve.steps_to(level) for level in THRESHOLDS]
        cells = ["not reached" if step is None else f"{step:,}" for step in reached]
        regret = curve.cumulative_regret()
        rows.append([curve.name, *cells, "" if isnan(regret) else f"{regret:,.0f}"])
    return header, rows


def provenance(league: League) -> dict[str, Any]:
    """Where the figures come from, as plain data."""
    return asdict(league.provenance)


def score_lines(score: Score) -> list[tuple[str, str]]:
    """One score as pairs of label and figure, for a command to print."""
    lines = [
        ("agent", score.agent),
        ("task", f"{score.task} under {score.rules} ({score.rules_hash})"),
        ("source", "exact, " + score.source if score.is_exact else "simulated"),
        ("value", f"{_value_cell(score)} {score.unit}"),
    ]
    lines += [(f"EV {box}", ev + " per unit staked") for box, ev in _evs(score).items()]
    if isinstance(score, ArrangementScore):
        lines += [
            ("P(win)", f"{float(score.win_probability):.7f}"),
            ("set optimally", _share(float(score.share_optimal))),
            ("niu found", _share(float(score.share_niu_found))),
            ("errors", f"{score.n_errors:,} of {score.n_hands:,} hands"),
        ]
    if isinstance(score, RoundScore):
        lines += [
            (f"bets {slip}", _share(float(share))) for slip, share in score.slips.items() if share
        ]
        lines.append(("regret of bets", _small(float(score.betting_regret))))
        lines.append(("regret of settings", _small(float(score.setting_regret))))
    if isinstance(score, SessionScore):
        lines += [(f"ends: {end}", _share(share)) for end, share in score.ends.items()]
        lines.append(("mean net", f"{score.mean_net:+.6f} base units per episode"))
        lines.append(("mean rounds", f"{score.mean_rounds:.6f}"))
        lines.append(("states asked", f"{score.n_states:,}"))
        lines.append(("regret of settings", _small(score.setting_regret)))
    if score.bounds.optimum is None:
        lines.append(("optimum", "not known exactly for this task"))
    else:
        gap = f" (gap {score.bounds.gap:.1e})" if score.bounds.gap else ""
        lines.append((score.bounds.ceiling, _value(float(score.bounds.optimum)) + gap))
    if score.bounds.random is not None:
        lines.append((score.bounds.floor, _value(float(score.bounds.random))))
    if (regret := _regret(score)) is not None:
        lines.append(("regret", _small(regret)))
    if score.normalized is not None:
        lines.append(("score", f"{float(score.normalized):.6f}"))
    if score.n_illegal:
        lines.append(("illegal answers", f"{score.n_illegal:,}, replaced by action 0"))
    return lines + [("note", note) for note in score.notes]


# ---------------------------------------------------------------- cells


def _row_cells(row: LeagueRow, boxes: Sequence[str]) -> list[str]:
    score, evs = row.score, _evs(row.score)
    cells = [row.name, score.source, _value_cell(score)]
    cells += [evs.get(box, "") for box in boxes]
    if isinstance(score, ArrangementScore):
        cells += [
            f"{float(score.win_probability):.7f}",
            _share(float(score.share_optimal)),
            _share(float(score.share_niu_found)),
            f"{score.n_errors:,}",
        ]
    elif isinstance(score, RoundScore):
        cells += [f"{float(score.win_probability):.7f}", "", "", ""]
    else:
        cells += ["", "", "", ""]
    regret = _regret(score)
    cells.append("" if regret is None else _small(regret))
    cells.append("" if score.normalized is None else f"{float(score.normalized):.6f}")
    cells.append("" if row.check is None else _estimate(row.check))
    return cells


def _record(row: LeagueRow) -> dict[str, Any]:
    check = {} if row.check is None else {f"simulated_{k}": v for k, v in asdict(row.check).items()}
    return {
        "agent": row.name,
        "seed": "" if row.seed is None else row.seed,
        "task": row.score.task,
        "rules": row.score.rules,
        "rules_hash": row.score.rules_hash,
        "source": row.score.source,
        **row.score.to_record(),
        **check,
        "seconds": round(row.seconds, 3),
    }


def _regret(score: Score) -> float | None:
    if isinstance(score, SimulatedScore) or score.regret is None:
        return None
    return float(score.regret)


def _evs(score: Score) -> dict[str, str]:
    if not isinstance(score, ArrangementScore):
        return {}
    return {box: _value(float(ev)) for box, ev in score.ev.items()}


def _by_rank(row: LeagueRow) -> dict[str, Any]:
    return dict(row.score.regret_by_rank) if isinstance(row.score, ArrangementScore) else {}


def _value_cell(score: Score) -> str:
    if isinstance(score, SimulatedScore):
        return _estimate(score.estimate)
    return _value(float(score.value))


def _value(value: float) -> str:
    return f"{value:+.7f}"


def _estimate(estimate: Estimate) -> str:
    return f"{estimate.mean:+.4f} ± {estimate.half_width:.4f}"


def _share(share: float) -> str:
    # a share that is not quite 1 must not print as 100 %
    digits = 3 if share in {0.0, 1.0} or share < 0.9999 else 6
    return f"{100 * share:.{digits}f} %"


def _small(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.7f}" if abs(value) >= 1e-4 else f"{value:.3e}"
