"""TOML at the door: text in, a plain tree out, or one ValueError that says why not.

Files are written by hand: a byte order mark is no fault, and what makes ``tomllib`` fail in its
own ways (whole numbers of any length, tables nested without end) is refused as what it is.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["parse_toml", "read_text"]

_LARGEST = 1 << 63  # TOML promises whole numbers of 64 bits
_LONG = "it holds a whole number of more than 64 bits"


def parse_toml(text: str) -> dict[str, Any]:
    """The tree of a TOML text; raises ValueError with the reason, for a message to quote."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # int() of thousands of digits
        raise ValueError(_LONG) from None
    except RecursionError:
        message = "it nests tables or lists too deep"
        raise ValueError(message) from None
    _verify_whole_numbers(tree)
    return tree


def read_text(path: Path) -> str:
    """The text of a file; raises OSError, or ValueError with the reason if it is no text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        message = "it is no UTF-8 text"
        raise ValueError(message) from None


def _verify_whole_numbers(tree: dict[str, Any]) -> None:
    left: list[Any] = [tree]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise ValueError(_LONG)
