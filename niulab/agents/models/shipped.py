"""The trained agents that come with the package: their names, and where they lie.

Each is a model file (``file``) with weights of 16 bits, whose card holds the config of its run and
its exact score. Nothing here imports torch.
"""

from __future__ import annotations

from pathlib import Path

from niulab.agents.models.card import CARD, ModelCard, verify_fits
from niulab.envs.settings import EnvSettings
from niulab.errors import CheckpointError, ConfigError, nearest

__all__ = ["SHIPPED", "find_shipped", "read_shipped", "shipped_agents", "shipped_for"]

SHIPPED = Path(__file__).resolve().parents[1] / "trained"
"""The folder that holds a folder per agent."""


def shipped_agents() -> tuple[str, ...]:
    """Names of the trained agents that come with the package."""
    return tuple(sorted(card.parent.name for card in SHIPPED.glob(f"*/{CARD}")))


def find_shipped(name: str) -> Path:
    """The folder of a shipped agent; ConfigError with the nearest name if there is none."""
    names = shipped_agents()
    if name not in names:
        raise ConfigError(f"no trained agent '{name}' comes with niulab{nearest(name, names)}")
    return SHIPPED / name


def read_shipped(name: str) -> ModelCard:
    """The card of a shipped agent."""
    file = find_shipped(name) / CARD
    return ModelCard.parse(file.read_text(encoding="utf-8"), str(file))


def shipped_for(settings: EnvSettings) -> tuple[str, ...]:
    """Names of the shipped agents that play a task as it is."""
    return tuple(name for name in shipped_agents() if _plays(read_shipped(name), settings))


def _plays(card: ModelCard, settings: EnvSettings) -> bool:
    try:
        verify_fits(card, card.env_settings(), settings, transfer=False)
    except CheckpointError:
        return False
    return True
