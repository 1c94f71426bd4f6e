"""What a reading changes: the difference between a rule set and the one it extends, as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from niulab.engine.rules.catalog import load_rules
from niulab.engine.rules.model import RuleSet

__all__ = ["changes_of", "difference"]


def changes_of(rules: str | Path | RuleSet) -> list[str]:
    """One line ``key: old -> new`` for each key of the game that differs from the extended set.

    Compared are the settled games, odds written out by rank, not the files: a key that an overlay
    repeats without changing it gives no line. Empty for a set that extends nothing.
    """
    loaded = load_rules(rules)
    return [] if loaded.extends is None else difference(load_rules(loaded.extends), loaded)


def difference(below: RuleSet, above: RuleSet) -> list[str]:
    """The lines ``key: old -> new`` that turn the game of one rule set into that of another."""
    old, new = _flat(below.tree), _flat(above.tree)
    keys = [*old, *(key for key in new if key not in old)]
    return [
        f"{key}: {old.get(key, 'none')} -> {new.get(key, 'none')}"
        for key in keys
        if old.get(key) != new.get(key)
    ]


def _flat(tree: dict[str, Any], path: str = "") -> dict[str, str]:
    """Leaves of a tree by dotted path, as text."""
    leaves: dict[str, str] = {}
    for key, value in tree.items():
        where = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            leaves |= _flat(value, where)
        else:
            leaves[where] = _text(value)
    return leaves


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value in {None, ""} else str(value)
