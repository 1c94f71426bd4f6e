"""The presets behind the ids: what each changes in the defaults of ``EnvSettings``."""

from __future__ import annotations

from typing import Any

from niulab.errors import ConfigError, nearest

__all__ = ["PRESETS", "full_id"]

PRESETS: dict[str, dict[str, Any]] = {
    "niulab/NiuNiu-v0": {
        "decisions": "bet_and_set",
        "objective": "target",
        "bankroll_cents": 2_000,
        "target_cents": 4_000,
        "n_rounds": 6,
    },
    "niulab/Arrange-v0": {"decisions": "set"},
    "niulab/ArrangeHK-v0": {"decisions": "set", "rules": "ngau-ngau-hong-kong"},
    "niulab/Table-v0": {"decisions": "bet_and_set"},
    "niulab/Session-v0": {
        "decisions": "bet",
        "objective": "target",
        "bankroll_cents": 2_000,
        "target_cents": 4_000,
        "n_rounds": 6,
    },
    "niulab/SessionStake-v0": {
        "decisions": "bet",
        "stakes": "continuous",
        "chip_cents": 100,
        "maximum_cents": 1_000,
        "objective": "target",
        "bankroll_cents": 2_000,
        "target_cents": 4_000,
        "n_rounds": 6,
    },
    "niulab/Peek-v0": {
        "decisions": "bet",
        "channel": {"position": "own", "shows": "rank", "see_rate": 1.0, "noise": 0.0},
    },
    "niulab/Loophole-v0": {
        "decisions": "bet",
        "sheets": (
            "even-double-super-bonus",
            "even-double-super-bonus-half-on-7",
            "even-double-super-bonus-niu2-even-money",
            "even-double-super-bonus-niu2-short",
            "even-double-super-bonus-literal-note",
            "even-double-super-bonus-literal-double-scale",
            "even-double-super-bonus-four-of-a-kind-pays",
            "even-double-super-bonus-four-of-a-kind-ranks",
            "even-double-super-bonus-suit-first",
            "even-double-super-bonus-ace-high",
            "even-double-super-bonus-bonus-all",
            "even-double-super-bonus-bonus-any-niu-niu",
            "single-double-super",
        ),
    },
    "niulab/Shoe-v0": {
        "decisions": "bet",
        "rules": "six-deck-shoe-flush",
        "shoe": "classes",
        "n_rounds": None,
        "menu": [
            "even=100",
            "even=200",
            "even=500",
            "even=100,double=100",
            "even=100,super=100",
            "even=100,double=100,super=100",
            "even=100,bonus=100",
            "even=100,bonus=200",
            "even=100,bonus=500",
            "even=100,bonus=1000",
        ],
    },
}
"""What each id changes in the defaults of ``EnvSettings``."""

_BARE = {env_id.removeprefix("niulab/"): env_id for env_id in PRESETS}
_SHORT = {bare.rpartition("-v")[0]: env_id for bare, env_id in _BARE.items()}


def full_id(name: str) -> str:
    """The id of a task: ``Shoe`` and ``Shoe-v0`` are short for ``niulab/Shoe-v0``.

    Raises ConfigError with the nearest name for what is neither an id nor short for one.
    """
    if not name:
        raise ConfigError("no environment '': write an id, as Session or niulab/Session-v0")
    found = name if name in PRESETS else _BARE.get(name) or _SHORT.get(name)
    if found is None:
        known = PRESETS if "/" in name else _SHORT
        raise ConfigError(f"no environment '{name}'{nearest(name, known)}")
    return found
