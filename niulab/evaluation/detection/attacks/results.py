"""Results foreseen: stakes against what became of the required and the top box.

Where no card is recorded, or a stake came after the close without a word of it, results are what is
left to look at: they tell far less than cards do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.features import RESULT, result_law, top_box
from niulab.evaluation.detection.portfolio import Block, tilt_block
from niulab.evaluation.playlog.plays import boxes_of

__all__ = ["FORESEEN", "result_blocks"]

FORESEEN = "results foreseen"

_THETAS = (0.1, 0.3, 1.0)

Floats = NDArray[np.float64]


def result_blocks(sheets: Sequence[RuleSet]) -> Iterator[Block]:
    """Results of the required and the top box, both hands set best."""
    n_cells = max(len(result_law(rules).cells) for rules in sheets)
    by_sheet = [_result_features(rules, n_cells) for rules in sheets]
    for score in ("total", "share"):
        yield tilt_block(FORESEEN, RESULT, score, by_sheet, _THETAS)


def _result_features(rules: RuleSet, n_cells: int) -> tuple[dict[str, Floats], Floats]:
    """Unit results of the required and the top box by cell; cells a sheet lacks have law 0."""
    known = result_law(rules)
    law = np.zeros(n_cells)
    law[: len(known.cells)] = known.law
    columns = boxes_of(rules)
    features = {}
    for name, box in (("required box", columns[0]), ("top box", columns[top_box(rules)])):
        nets = np.zeros(n_cells)
        if box is not None:
            nets[: len(known.cells)] = [float(c.unit(rules, box).net) for c in known.cells]
        features[f"result of the {name}"] = nets
    return features, law
