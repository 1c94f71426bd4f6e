"""Play logs on disk for tests of the monitor: rows dealt by the engine, as flat files."""

from dataclasses import replace

import numpy as np

from niulab.evaluation.playlog.flat import flat_lines
from niulab.evaluation.playlog.plays import Plays

MARCH = 1_709_251_200_000_000  # 2024-03-01


def on_tables(plays, sheet, *, n_tables=4):
    """Rows of ``make_plays`` with tables, times, seats and nets, so that they are a whole log."""
    n = len(plays)
    texts = replace(
        plays.texts,
        tables=tuple(f"T{i}" for i in range(n_tables)),
        rounds=tuple(f"r{i}" for i in range(n)),
    )
    from niulab.evaluation.detection.features import RESULT, SLOTS, result_law, slot_levels

    results = slot_levels(plays, [sheet])[:, SLOTS.index(RESULT)]
    nets = np.zeros((n, 4), dtype=np.int64)
    for column, box in ((0, "single"), (2, "super")):
        units = np.array([float(cell.unit(sheet, box).net) for cell in result_law(sheet).cells])
        nets[:, column] = np.rint(plays.stakes[:, column] * units[results])
    columns = {
        name: getattr(plays, name)
        for name in ("player", "round", "rules", "stakes", "cards", "dealer_cards")
    }
    return Plays.of(
        n,
        texts,
        **columns,
        nets=nets,
        table=plays.player % n_tables,
        seat=1,
        time=MARCH + plays.time * 60_000_000,
    )


def write_csv(plays, path):
    """The rows as a flat file."""
    path.write_text("".join(flat_lines(plays, "csv")), encoding="utf-8")
    return path
