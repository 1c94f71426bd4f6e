"""The terms by which sheets differ, as numbers in [0, 1]: what a player reads off the card.

The settled games are compared, odds written out by rank; the boxes that a sheet requires count as
one box, ``required``. A number is shown over the largest among the sheets, and is 0 on a sheet that
has no such term; a word by its place among those that the sheets use, none being one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet

__all__ = ["differing_terms"]

_REQUIRED = "required"


def differing_terms(sheets: Sequence[RuleSet]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Names (m,) of the terms that are not the same on all sheets, and float64 (sheets, m)."""
    found = [_terms_of(rules) for rules in sheets]
    names = dict.fromkeys(name for terms in found for name in terms)
    columns = {name: _column([terms.get(name) for terms in found]) for name in names}
    kept = {name: column for name, column in columns.items() if column.min() < column.max()}
    values = np.array(list(kept.values()), dtype=np.float64).reshape(len(kept), len(sheets))
    return tuple(kept), np.ascontiguousarray(values.T)


def _terms_of(rules: RuleSet) -> dict[str, Any]:
    """The leaves of a sheet's tree by dotted path; words of a list are terms of their own."""
    tree = dict(rules.tree)
    boxes = tree.pop("boxes")
    leaves = dict(_leaves(tree))
    for box, terms in boxes.items():
        name = _REQUIRED if box == rules.required_box else box
        leaves |= {name: 1} | dict(_leaves(terms, name))
    return leaves


def _leaves(tree: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        if isinstance(value, Mapping):
            leaves += _leaves(value, where)
        elif isinstance(value, list):  # the place in a list can matter, as that of a special
            leaves += [(f"{where}.{word}", place) for place, word in enumerate(value, start=1)]
        else:
            leaves.append((where, value))
    return leaves


def _column(values: Sequence[Any]) -> NDArray[np.float64]:
    """One term on every sheet, in [0, 1], different wherever the terms are."""
    numbers = [_number(value) for value in values]
    if None in numbers:
        words = [*dict.fromkeys(values)]
        return np.array([words.index(value) for value in values]) / max(len(words) - 1, 1)
    exact = [Fraction(0) if number is None else number for number in numbers]
    top = max(exact) or Fraction(1)
    return np.array([float(number / top) for number in exact])


def _number(value: Any) -> Fraction | None:
    """A term as a number; nothing is 0; None for words."""
    if value is None:
        return Fraction(0)
    try:
        return Fraction(value)
    except ValueError:
        return None
