"""Which column stands where: the header of a flat log, and its separator."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from niulab.errors import PlayLogError, nearest
from niulab.evaluation.playlog.flat import CORE, SCHEMA

__all__ = ["SEPARATORS", "Layout", "json_row", "layout_of", "split_line", "verify_core"]

SEPARATORS = ",;\t|"


@dataclass(frozen=True)
class Layout:
    """names: the column at each place, None for one the schema does not have; separator: None for
    JSON Lines. unknown: names the schema does not have.
    """

    names: tuple[str | None, ...]
    separator: str | None
    unknown: tuple[str, ...] = ()


def split_line(text: str, separator: str) -> list[str]:
    """Fields of one line; a quoted field never runs over its line. Raises csv.Error."""
    if '"' not in text:
        return text.split(separator)
    return next(csv.reader([text], delimiter=separator), [])


def layout_of(text: str, separator: str | None, origin: str) -> Layout:
    """The layout a header line declares, or JSON Lines for a line that opens an object.

    Raises PlayLogError for missing columns, with the nearest names found, and repeated ones.
    """
    if text.lstrip().startswith("{"):
        return Layout((), None)
    if text.startswith("PAR1"):  # its first bytes
        raise PlayLogError(
            f"{origin}: a Parquet file, and a flat log is CSV or JSON Lines: write one of them"
        )
    if separator is not None and (separator not in SEPARATORS or len(separator) != 1):
        raise PlayLogError(f"no separator {separator!r}: write one of , ; | or a tab")
    options = [separator] if separator else list(SEPARATORS)
    fields = max((_clean(text, option) for option in options), key=lambda f: len(SCHEMA & set(f)))
    found = [name for name in fields if name in SCHEMA]
    verify_core(found, fields, origin)
    if len(set(found)) < len(found):
        twice = sorted({name for name in found if found.count(name) > 1})
        raise PlayLogError(f"{origin}: the header names {', '.join(twice)} twice: keep one")
    used = next(option for option in options if _clean(text, option) == fields)
    names = tuple(name if name in SCHEMA else None for name in fields)
    return Layout(names, used, tuple(name for name in fields if name and name not in SCHEMA))


def verify_core(found: Iterable[str], given: Iterable[str], origin: str) -> None:
    """Raise PlayLogError unless all core columns are among those found."""
    missing = [name for name in CORE if name not in set(found)]
    if not missing:
        return
    strange = [name for name in given if name and name not in SCHEMA]
    if len(missing) == len(CORE):
        raise PlayLogError(
            f"{origin}: no header of a play log in the first line; write the columns "
            f"{','.join(CORE)} separated by , ; tab or |, or JSON Lines with these keys"
        )
    hints = [f"{name}{_hint(name, strange)}" for name in missing]
    raise PlayLogError(
        f"{origin}: missing column(s) {', '.join(hints)}; a column may be empty, but its header "
        "says that nothing was forgotten"
    )


def _hint(name: str, strange: list[str]) -> str:
    hint = nearest(name, strange) if strange else ""
    return (
        f" ({hint.removeprefix('; ').replace('did you mean', 'is it')})"
        if "did you" in hint
        else ""
    )


def _clean(text: str, separator: str) -> list[str]:
    try:
        fields = split_line(text, separator)
    except csv.Error:
        return []
    return [field.strip().strip("\0").strip().casefold() for field in fields]


def json_row(text: str) -> dict[str, Any]:
    """One line of JSON Lines by lower-case key. Raises ValueError for anything but an object."""
    try:
        row = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(row, dict):
        raise ValueError(f"a row is an object, this is {type(row).__name__}")
    if row.keys() <= SCHEMA:
        return row
    return {name.strip().casefold(): value for name, value in row.items()}
