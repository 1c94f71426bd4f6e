"""Values of a config changed from outside: ``algorithm.n_steps=8`` as one writes it in TOML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from niulab.engine.rules.toml import parse_toml
from niulab.errors import ConfigError

__all__ = ["overridden"]


def overridden(tree: Mapping[str, Any], words: Iterable[str]) -> dict[str, Any]:
    """The tree with each ``key=value`` laid over it; tables are merged, other values replaced.

    A value is read as TOML; what is no TOML is a text, so that names need no quotes. Raises
    ConfigError for words that set nothing.
    """
    result = dict(tree)
    for word in words:
        result = _overlaid(result, _parsed(word))
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


def _overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = _overlaid(old or {}, value) if both else value
    return merged
