"""TOML at the door: text in, a plain tree out, or one ValueError that says why not; overlays.

Files are written by hand: a byte order mark is no fault, and what makes ``tomllib`` fail in its
own ways (whole numbers of any length, tables nested without end) is refused as what it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from niulab.errors import ConfigError, nearest

__all__ = ["overlaid", "overridden", "parse_toml", "read_text"]

_LARGEST = 1 << 63  # TOML promises whole numbers of 64 bits
_NONE = "none"
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


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """One tree laid over another: tables are merged key by key, anything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = overlaid(old or {}, value) if both else value
    return merged


def overridden(tree: Mapping[str, Any], words: Iterable[str]) -> dict[str, Any]:
    """The tree with each ``key=value`` laid over it, as ``algorithm.n_steps=8``.

    A value is read as TOML; what is no TOML is a text, so that names need no quotes; the bare word
    none takes the key out of the tree. Raises ConfigError for words that set or take out nothing.
    """
    result = dict(tree)
    for word in words:
        key, _, value = word.partition("=")
        if value.strip() == _NONE:
            result = _without(result, _parsed(f"{key}=0"), key.strip())
        else:
            result = overlaid(result, _parsed(word))
    return result


def _parsed(word: str) -> dict[str, Any]:
    key, equals, value = word.partition("=")
    if equals and key.strip() and value.strip():
        for line in (word, f"{key} = '{value.strip()}'"):
            try:
                return parse_toml(line)
            except ValueError:
                continue
    raise ConfigError(f"'{word}' sets nothing: write key=value, as algorithm.n_steps=8")


def _without(tree: Mapping[str, Any], path: Mapping[str, Any], word: str) -> dict[str, Any]:
    """The tree less the key to which ``path`` leads, a table of one key in every table."""
    result = dict(tree)
    for key, below in path.items():
        inner = result.get(key)
        if key not in result or (below and not isinstance(inner, Mapping)):
            raise ConfigError(f"'{word}={_NONE}' takes out nothing: '{key}'{nearest(key, tree)}")
        if below:
            result[key] = _without(inner or {}, below, word)
        else:
            del result[key]
    return result


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
