"""niulab: train agents on Niu Niu Poker and benchmark them against its exact oracle.

``import niulab`` registers the environments with Gymnasium; everything heavy is imported when it is
first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from niulab.envs import registration as _registration

if TYPE_CHECKING:
    from niulab.engine.cards import Card
    from niulab.engine.rules import RuleSet, load_rules
    from niulab.evaluation import evaluate
    from niulab.solvers.solution import solve

__all__ = ["Card", "RuleSet", "evaluate", "load_rules", "solve"]

__version__ = "0.1.0"

_ROOMS = {
    "Card": "niulab.engine.cards",
    "RuleSet": "niulab.engine.rules",
    "evaluate": "niulab.evaluation",
    "load_rules": "niulab.engine.rules",
    "solve": "niulab.solvers.solution",
}

_registration.register_environments()


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
