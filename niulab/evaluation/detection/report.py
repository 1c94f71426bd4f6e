"""The report of a judged log: one page with the list of the floor, pictures, and data quality."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS, RANKS
from niulab.evaluation.detection.features import top_box
from niulab.evaluation.detection.monitoring.judging import Judged
from niulab.evaluation.detection.verdict import AMBER, Verdict
from niulab.evaluation.page import html_image, html_page, html_table, write_files
from niulab.evaluation.playlog.plays import Flag, Plays
from niulab.evaluation.playlog.store.loading import player_plays
from niulab.evaluation.plots.detection import (
    attack_shares,
    edge_intervals,
    stakes_by_card,
    trajectories,
)

__all__ = ["stakes_against_cards", "write_report"]

_MOST_DRAWN = 6
_MOST_LISTED = 50
_FEWEST = 5  # rounds of a cell that is drawn

_PLACES = tuple(
    f"{whose} {ordinal}"
    for whose in ("own", "dealer's")
    for ordinal in ("first", "second", "third", "fourth", "fifth")
)

_PREFACE = (
    "An e-value measures how badly the honest explanation fits: stakes placed before the deal know "
    "nothing of it. However long and often one looks, an honest player reaches the red line with "
    "probability {alpha:g} at most. An alarm is a reason to look at recordings and at the table. "
    "It does not say who did what, or that anybody meant to."
)


def write_report(judged: Judged, folder: Path, *, command: Sequence[str] = ()) -> Path:
    """Write ``report.html`` and ``verdicts.json``; no file is ever half-written.

    Returns the page. Raises ConfigError where files cannot be written.
    """
    page = folder / "report.html"
    record = json.dumps(judged.as_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    write_files(
        {
            page: html_page("Play log judged", _body(judged, command)),
            folder / "verdicts.json": record + "\n",
        }
    )
    return page


def stakes_against_cards(plays: Plays, column: int) -> NDArray[np.float64]:
    """By place of the deal and rank, (10, 13): standard errors between the share of rounds with a
    stake in ``column`` where that rank was dealt there and the player's own share; nan for few.
    """
    is_ordered = (plays.flags & int(Flag.NO_ORDER | Flag.CARD_TWICE | Flag.VOID)) == 0
    rows = plays.take(is_ordered & plays.is_staked)
    staked = (rows.stakes[:, column] > 0).astype(np.float64)
    result = np.full((2 * HAND_SIZE, len(RANKS)), np.nan)
    if not len(rows):
        return result
    rate = staked.mean()
    spread = rate * (1 - rate)
    for place in range(2 * HAND_SIZE):
        hands = rows.cards if place < HAND_SIZE else rows.dealer_cards
        cards = hands[:, place % HAND_SIZE]
        known = cards < N_CARDS
        ranks = cards[known] // 4
        n = np.bincount(ranks, minlength=len(RANKS))
        sums = np.bincount(ranks, staked[known], minlength=len(RANKS))
        enough = n >= _FEWEST
        result[place, enough] = (sums[enough] - n[enough] * rate) / np.sqrt(
            np.maximum(n[enough] * spread, 1e-12)
        )
    return result if spread > 0 else np.where(np.isnan(result), np.nan, 0.0)


def _body(judged: Judged, command: Sequence[str]) -> Iterator[str]:
    out = [v for v in judged.verdicts if v.is_alarm or v.is_listed or v.held]
    amber = [v for v in judged.verdicts if v.is_amber and v not in out]
    yield "<h1>Play log judged</h1>"
    yield f"<p>{escape(_PREFACE.format(alpha=judged.alpha))}</p>"
    for warning in judged.data_quality["warnings"]:
        yield f'<p class="warning">{escape(str(warning))}</p>'
    yield "<h2>The floor</h2>"
    yield (
        f"<p>{len(judged.verdicts):,} players and groups; {sum(v.is_alarm for v in out)} alarms, "
        f"{sum(v.is_listed for v in out)} on the list of false discovery rate {judged.fdr:g}, "
        f"{sum(bool(v.held) for v in out)} held back, {len(amber)} more reached the amber "
        f"line.</p>"
    )
    yield html_table(_floor_cells(judged.verdicts[:_MOST_LISTED]))
    if len(judged.verdicts) > _MOST_LISTED:
        yield f"<p>... and {len(judged.verdicts) - _MOST_LISTED:,} more in verdicts.json.</p>"
    yield from _pictures(judged, (out + amber) or judged.verdicts[:_MOST_DRAWN])
    yield "<h2>Tables, dealers, shufflers</h2>"
    yield (
        "<p>The same question without stakes: is the shuffle uniform? While it is not, alarms of "
        "players there wait. The monitor knows one full deck dealt in a recorded order; rounds it "
        "leaves out are counted with the reason, and where it is off nothing is known.</p>"
    )
    yield html_table(_table_cells(judged.tables))
    yield "<h2>Audit</h2>"
    for name, findings in judged.audit.items():
        yield f"<h3>{escape(name.replace('_', ' '))}: {len(findings):,}</h3>"
        if findings and "seats" in findings[0]:
            yield "<p>Seat 0 is the dealer, or one that the log does not tell.</p>"
        if findings:
            yield html_table(_audit_cells(findings[:_MOST_LISTED]))
    yield "<h2>Data quality</h2>"
    yield html_table(_quality_cells(judged.data_quality))
    yield "<h2>Provenance</h2>"
    made = datetime.now(tz=UTC).isoformat(timespec="seconds")
    yield (
        f"<dl><dt>command</dt><dd><code>{escape(' '.join(command))}</code></dd>"
        f"<dt>made</dt><dd><code>{made}</code></dd>"
        f"<dt>tests</dt><dd><code>{len(judged.monitored.portfolio.components):,} components, "
        f"portfolio {escape(judged.monitored.portfolio.name)}</code></dd></dl>"
    )


def _pictures(judged: Judged, shown: Sequence[Verdict]) -> Iterator[str]:
    people = judged.monitored.people
    places = {name: place for place, name in enumerate(people.names)}
    drawn = [v for v in shown if v.player in places and v.rounds][:_MOST_DRAWN]
    if not drawn:
        return
    yield "<h2>E-values by round</h2>"
    yield html_image(
        trajectories(
            {v.player: _path(people.paths[places[v.player]], people.strides[places[v.player]], v)
             for v in drawn},
            amber=AMBER, red=1 / judged.alpha,
        ),
        "E-values of the players shown, by round, with the amber and the red line",
    )  # fmt: skip
    for verdict in drawn:
        yield f"<p><b>{escape(verdict.player)}</b>: {escape(verdict.words)}</p>"
    yield "<h2>What explains them</h2>"
    yield html_image(
        attack_shares({v.player: v.explanations for v in drawn}),
        "Shares of the attacks in the e-value at the alarm, or now",
    )
    yield "<h2>Excess edge</h2>"
    yield (
        "<p>What the stakes won beyond their exact expectation, in base units per 100 rounds: a "
        "confidence sequence of 95 %, which holds at all times at once.</p>"
    )
    ends = {v.player: (v.low, v.high) for v in drawn if v.low is not None and v.high is not None}
    yield html_image(edge_intervals(ends), "Confidence sequences of the excess edge")
    yield "<h2>Stakes against cards</h2>"
    yield (
        "<p>How the share of rounds with the top box staked moves with the rank dealt at each "
        "place. Stakes that know a card have one row of strong colors; chance gives pale ones.</p>"
    )
    for verdict in drawn[: _MOST_DRAWN // 2]:
        plays = player_plays(judged.monitored.store, verdict.player)
        column = top_box(judged.monitored.sheets.rules[0])
        yield html_image(
            stakes_by_card(stakes_against_cards(plays, column), _PLACES, list(RANKS)),
            f"Stakes of {verdict.player} against the cards dealt",
        )


def _path(
    path: NDArray[np.float64], stride: int, verdict: Verdict
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rounds and log e-values from the first to the last one."""
    known = path[~np.isnan(path)]
    rounds = np.arange(len(known) + 1.0) * float(stride)
    log_es = np.r_[0.0, known]
    if rounds[-1] < verdict.rounds:
        rounds, log_es = np.r_[rounds, float(verdict.rounds)], np.r_[log_es, verdict.log_e]
    return rounds, log_es


def _floor_cells(verdicts: Sequence[Verdict]) -> tuple[list[str], list[list[str]]]:
    header = ["player", "rounds", "log10 E", "largest", "alarm at", "listed", "explained by",
              "excess per 100", "net cents"]  # fmt: skip
    rows = []
    for v in verdicts:
        attack, share = next(iter(v.explanations.items()))
        edge = f"{v.low:.0f} to {v.high:.0f}" if v.low is not None and v.high is not None else ""
        alarm = f"{v.alarm_round:,}" if v.alarm_round else ""
        rows.append(
            [
                v.player, f"{v.rounds:,}", f"{v.log_e / log(10):.2f}", f"{v.peak / log(10):.2f}",
                f"held ({alarm})" if v.held else alarm, "yes" if v.is_listed else "",
                f"{attack} {share:.0%}" if v.is_amber else "", edge, f"{v.net_cents:,}",
            ]
        )  # fmt: skip
    return header, rows


def _table_cells(tables: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    header = ["", "name", "monitor", "rounds", "log10 E", "alarm", "left out", "holds"]
    rows = [
        [
            str(one["by"]), str(one["name"]), str(one["monitor"]), f"{one['rounds']:,}",
            "" if one["log_e"] is None else f"{one['log_e'] / log(10):.2f}",
            "yes" if one["alarm"] else "",
            "; ".join(f"{n:,}: {reason}" for reason, n in one["left_out"].items()),
            ", ".join(one["holds"]),
        ]
        for one in tables
    ]  # fmt: skip
    return header, rows


def _audit_cells(findings: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    header = list(dict.fromkeys(key for one in findings for key in one))
    return header, [[_text(one.get(key, "")) for key in header] for one in findings]


def _quality_cells(quality: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for key, value in quality.items():
        if key == "warnings":
            continue
        inner = value.items() if isinstance(value, dict) else [("", value)]
        rows += [[f"{key} {name}".replace("_", " ").strip(), _text(one)] for name, one in inner]
    return ["what", "how much"], rows


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return ", ".join(_text(one) for one in value)
    if isinstance(value, list):
        return "; ".join(_text(one) for one in value[:5])
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(one)}" for key, one in value.items())
    return "" if value is None else str(value)
