"""Tables of the calibration as text, made of its columns alone: for the report, and for a page.

The columns are those of ``DetectionStudy.columns``, or what ``read_columns`` finds in the CSV files
of a report. A page holds a table between the lines ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from math import isnan, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any

from niulab.errors import ConfigError
from niulab.evaluation.statistics.intervals import wilson_interval
from niulab.evaluation.tables import Cells, markdown_table

__all__ = ["TABLES", "page_with_tables", "read_columns", "table_cells"]

Rows = list[dict[str, Any]]
Columns = Mapping[str, Mapping[str, Any]]  # table -> column -> values

_MOST_ERROR, _MOST_DECLARED, _MOST_PRICED, _LEAST_NAMED = 1e-12, 1.5, 1.3, 0.9
_MOST_FALSE, _LEAST_POWER = 0.05, 0.99
_DECLARED = "a declared attack is found within 1.5 x its limit"
_ANY = "any attack is found within 1.3 x its priced limit"
_MARK = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table_cells(name: str, columns: Columns) -> Cells:
    """The table of a name in TABLES; raises ConfigError for one that is none."""
    if name not in TABLES:
        raise ConfigError(f"no table '{name}': write one of {', '.join(TABLES)}")
    return TABLES[name](columns)


def page_with_tables(page: str, columns: Columns) -> str:
    """A page of Markdown with every marked table as the columns have it."""
    return _MARK.sub(
        lambda found: (
            f"{found[1]}{chr(10).join(markdown_table(table_cells(found[2], columns)))}\n{found[3]}"
        ),
        page,
    )


def read_columns(folder: Path) -> Columns:
    """The columns of a report's CSV files by the files' names; raises OSError."""
    found: dict[str, dict[str, list[Any]]] = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as stream:
            header, *lines = csv.reader(stream)
        found[path.stem] = {
            name: [_value(line[place]) for line in lines] for place, name in enumerate(header)
        }
    return found


def _value(text: str) -> Any:
    if text in {"", "True", "False"}:
        return None if not text else text == "True"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _rows(columns: Columns, name: str) -> Rows:
    table = columns.get(name, {})
    return [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]


# ---------------------------------------------------------------- what must hold


def _promises(columns: Columns) -> Cells:
    lines: list[list[str]] = []
    for make in (_means_hold, _honest_hold, _permuted_hold, _delays_hold, _lists_hold):
        lines += make(columns)
    return ["promise", "measured", "holds"], lines


def _means_hold(columns: Columns) -> list[list[str]]:
    errors = [row["error"] for row in _rows(columns, "means")]
    if not errors:
        return []
    worst, text = max(errors), "every factor has mean one, to 1e-12"
    return [[text, f"{worst:.1e} at worst", _holds(worst <= _MOST_ERROR)]]


def _honest_hold(columns: Columns) -> list[list[str]]:
    rows, lines = _rows(columns, "false_alarms"), []
    n = sum(row["players"] for row in rows)
    for alpha in _alphas(rows):
        key = f"alarms_{alpha:g}"
        worst = max(rows, key=lambda row: row[key] / row["players"])
        low, high = wilson_interval(worst[key], worst["players"])
        above = [r for r in rows if wilson_interval(r[key], r["players"])[0] > alpha]
        total = sum(row[key] for row in rows)
        lines.append(
            [
                f"at most {alpha:g} of every honest kind are ever accused at {alpha:g}",
                (
                    f"{total / n:.4f} of {n:,} players of {len(rows)} kinds; of the worst "
                    f"{worst[key] / worst['players']:.4f} ({low:.4f}-{high:.4f}), {worst['bettor']}"
                ),
                _holds(not above),
            ]
        )
    return lines


def _permuted_hold(columns: Columns) -> list[list[str]]:
    lines = []
    for row in _rows(columns, "permuted"):
        n = row["players"] * row["permutations"]
        low, high = wilson_interval(row["alarms"], n)
        lines.append(
            [
                f"at most {row['alpha']:g} are accused at {row['alpha']:g} once deals are permuted",
                (
                    f"{row['alarms'] / n:.4f} ({low:.4f}-{high:.4f}) of {row['permutations']} x "
                    f"{row['players']:,} players; {row['accused']} of {row['attackers']} before"
                ),
                _holds(low <= row["alpha"]),
            ]
        )
    return lines


def _delays_hold(columns: Columns) -> list[list[str]]:
    rows = [row for row in _rows(columns, "delays") if row["start"] == 0]
    lines = []
    for text, key, limit, most in (
        (_DECLARED, "declared_mean", "limit", _MOST_DECLARED),
        (_ANY, "full_mean", "priced", _MOST_PRICED),
    ):
        ratios = [_ratio(row[key], row[limit]) for row in rows]
        known = [ratio for ratio in ratios if not isnan(ratio)]
        beyond = sum(ratio > most for ratio in known)
        if known:
            words = f"{min(known):.2f} to {max(known):.2f} x in {len(known)} rows"
            words += f", {beyond} beyond" if beyond else ""
            lines.append([text, words, _holds(not beyond)])
    named = [row for row in rows if not isnan(_number(row["named"]))]
    if named:
        worst = min(named, key=lambda row: row["named"])
        below = sum(row["named"] < _LEAST_NAMED for row in named)
        words = f"{100 * worst['named']:.1f} % at worst ({worst['attack']}), {below} of "
        words += f"{len(named)} rows below"
        text = "the true attack is named first in 90 % of the alarms"
        lines.append([text, words, _holds(not below)])
    return lines


def _lists_hold(columns: Columns) -> list[list[str]]:
    rows = _rows(columns, "floors")
    if not rows:
        return []
    fdr = sum(row["n_false"] / max(row["n_listed"], 1) for row in rows) / len(rows)
    power = sum(r["n_listed"] - r["n_false"] for r in rows) / sum(r["n_attackers"] for r in rows)
    return [
        [
            f"lists of floors of {rows[0]['n_players']:,} players: FDR <= .05, power >= .99",
            f"{len(rows)} floors: FDR {fdr:.3f}, power {power:.3f}",
            _holds(fdr <= _MOST_FALSE and power >= _LEAST_POWER),
        ]
    ]


def _holds(is_kept: bool) -> str:  # noqa: FBT001 - a verdict
    return "yes" if is_kept else "**no**"


# ---------------------------------------------------------------- what was measured


def _means(columns: Columns) -> Cells:
    rows = [[row["attack"], f"{row['error']:.1e}"] for row in _rows(columns, "means")]
    return ["attack", "largest error"], rows


def _false_alarms(columns: Columns) -> Cells:
    rows = _rows(columns, "false_alarms")
    header = ["honest bettor", "players", "rounds staked"]
    for alpha in _alphas(rows):
        header += [f"alarms at {alpha:g}", "95 %", f"z peeked, {alpha:g}", f"z once, {alpha:g}"]
    cells = []
    for row in rows:
        n = row["players"]
        line = [row["bettor"], f"{n:,}", f"{row['rows']:,}"]
        for alpha in _alphas(rows):
            alarms, peeked, once = (row[f"{key}_{alpha:g}"] for key in ("alarms", "peeked", "once"))
            low, high = wilson_interval(alarms, n)
            line += [f"{alarms / n:.4f}", f"{low:.4f}-{high:.4f}"]
            line += [f"{peeked / n:.3f}", f"{once / n:.3f}"]
        cells.append(line)
    return header, cells


def _delays(columns: Columns) -> Cells:
    """One line an attack, later starts beside the first."""
    rows = _rows(columns, "delays")
    starts = sorted({row["start"] for row in rows})
    lines: dict[tuple[Any, ...], dict[int, dict[str, Any]]] = {}
    for row in rows:
        key = row["attack"], row["see_rate"], row["spread"], row["camouflage"]
        lines.setdefault(key, {})[row["start"]] = row
    header = ["attack", "seen", "staked on it", "hidden", "nats a round", "limit", "declared"]
    header += ["/ limit", "full", "/ priced"]
    for start in starts[1:]:
        header += [f"full, start {start}", "/ priced with its start"]
    header += ["named first", "won", "won by Wald"]
    cells = []
    for (attack, see, spread, hides), by_start in lines.items():
        first = by_start[min(by_start)]
        line = [attack, f"{see:g}", str(spread or "-"), f"{hides:g}"]
        line += [_figure(first["information"], 4), _figure(first["limit"], 1)]
        line += [_delay(first, "declared"), _over(first, "declared_mean", "limit")]
        line += [_delay(first, "full"), _over(first, "full_mean", "priced")]
        for start in starts[1:]:
            later = by_start.get(start, {})
            line += [_delay(later, "full"), _over(later, "full_mean", "since")]
        named = _number(first["named"])
        wald = _number(first["units"]) * _number(first["full_mean"])
        line += ["-" if isnan(named) else f"{100 * named:.0f} %"]
        line += [_signed(first["won_units"]), _signed(wald)]
        cells.append(line)
    return header, cells


def _beyond(columns: Columns) -> Cells:
    """The lines of attacks from the first round on that miss a target."""
    cells = []
    for row in _rows(columns, "delays"):
        declared = _ratio(row["declared_mean"], row["limit"])
        full = _ratio(row["full_mean"], row["priced"])
        if row["start"] == 0 and (declared > _MOST_DECLARED or full > _MOST_PRICED):
            line = [row["attack"], f"{row['see_rate']:g}", str(row["spread"] or "-")]
            line += [f"{row['camouflage']:g}", _figure(declared, 2), _figure(full, 2)]
            cells.append(line)
    return ["attack", "seen", "staked on it", "hidden", "declared / limit", "full / priced"], cells


def _permuted(columns: Columns) -> Cells:
    header = ["alpha", "players", "attackers", "accused as logged", "others accused"]
    header += ["permutations", "accused, permuted", "share", "95 %", "most in one"]
    cells = []
    for row in _rows(columns, "permuted"):
        n = row["players"] * row["permutations"]
        low, high = wilson_interval(row["alarms"], n)
        line = [f"{row['alpha']:g}", f"{row['players']:,}", str(row["attackers"])]
        line += [str(row["accused"]), str(row["accused_others"]), str(row["permutations"])]
        line += [f"{row['alarms']:,}", f"{row['alarms'] / n:.4f}", f"{low:.4f}-{high:.4f}"]
        cells.append([*line, str(row["most"])])
    return header, cells


def _roc(columns: Columns) -> Cells:
    header = ["rounds", "area, e-value", "area, z of results", "power at 1 %, e-value"]
    header += ["power at 1 %, z", "e-value of 1/alpha or more"]
    keys = ("area", "area_z", "power", "power_z", "alarmed")
    rows = _rows(columns, "roc")
    return header, [[f"{r['rounds']:,}", *(f"{r[key]:.3f}" for key in keys)] for r in rows]


def _floors(columns: Columns) -> Cells:
    header = ["floor", "players", "attackers", "listed", "honest among them"]
    header += ["honest who ever reached 20"]
    keys = ("n_players", "n_attackers", "n_listed", "n_false", "n_early")
    rows = enumerate(_rows(columns, "floors"), 1)
    return header, [[str(place), *(f"{row[key]:,}" for key in keys)] for place, row in rows]


TABLES: Mapping[str, Callable[[Columns], Cells]] = MappingProxyType(
    {
        "promises": _promises,
        "means": _means,
        "false_alarms": _false_alarms,
        "permuted": _permuted,
        "delays": _delays,
        "beyond": _beyond,
        "roc": _roc,
        "floors": _floors,
    }
)
"""How each table is made of the columns."""


def _alphas(rows: Rows) -> list[float]:
    first = rows[0] if rows else {}
    return [float(key.removeprefix("alarms_")) for key in first if key.startswith("alarms_")]


def _number(value: Any) -> float:
    return nan if value is None else float(value)


def _ratio(delay: Any, limit: Any) -> float:
    return _number(delay) / _number(limit)


def _over(row: Mapping[str, Any], delay: str, limit: str) -> str:
    return _figure(_ratio(row.get(delay), row.get(limit)), 2)


def _delay(row: Mapping[str, Any], name: str) -> str:
    """A mean with its half-width, and how many were found where not all were."""
    mean, half = _number(row.get(f"{name}_mean")), _number(row.get(f"{name}_half_width"))
    if isnan(mean):
        return "-"
    n = row[f"{name}_n"] - row[f"{name}_n_early"]
    found = row[f"{name}_n_found"]
    return f"{mean:.1f} ± {half:.1f}" + (f" ({found} of {n} found)" if found < n else "")


def _figure(value: Any, digits: int) -> str:
    number = _number(value)
    return "-" if isnan(number) else f"{number:.{digits}f}"


def _signed(value: Any) -> str:
    number = _number(value)
    return "-" if isnan(number) else f"{number:+.1f}"
