"""From the words of a command to a task and the agent that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from niulab.errors import ConfigError

if TYPE_CHECKING:
    from niulab.agents.base import Agent
    from niulab.envs.settings import EnvSettings

__all__ = ["choose", "model_path"]


def choose(
    name: str,
    env: str | None,
    keywords: dict[str, Any],
    *,
    default: str,
    is_transfer: bool = False,
) -> tuple[str, EnvSettings, Agent]:
    """The task and the agent that plays it; a model brings its own task unless told otherwise.

    ``default`` is the task of an agent that is no model.
    """
    from niulab.agents.registry import make_agent
    from niulab.envs.presets import full_id
    from niulab.envs.settings import make_settings

    path = model_path(name)
    if path is not None:
        from niulab.agents.models.file import read_card
        from niulab.agents.models.sb3 import load_agent

        card = read_card(path)
        card.env_settings()  # a card that lies is found out before what is asked of it
        task = card.task if env is None else full_id(env)
        own = {} if task != card.task else card.settings
        if "rules" in keywords:  # another sheet has other boxes
            own = {key: value for key, value in own.items() if key not in {"slip", "menu"}}
        settings = make_settings(task, **{**own, **keywords})
        given = name if name.startswith("trained:") else None
        return task, settings, load_agent(path, settings, transfer=is_transfer, name=given)
    if is_transfer:
        message = "plays a model on another sheet: for other agents use --rules"
        raise typer.BadParameter(message, param_hint="--transfer")
    task = default if env is None else full_id(env)
    settings = make_settings(task, **keywords)
    return task, settings, make_agent(name, settings)


def model_path(name: str) -> Path | None:
    """Where the model of a name lies; None for a name of another kind of agent."""
    from niulab.agents.models.shipped import find_shipped
    from niulab.agents.registry import BETTORS, SETTERS

    if name.startswith("trained:"):
        return find_shipped(name.removeprefix("trained:"))
    path = Path(name.removeprefix("model:"))
    is_path = len(path.parts) > 1 or path.exists()
    is_other = name.startswith(("table:", "flat:")) or name in {*SETTERS, *BETTORS}
    if not name.startswith("model:") and (is_other or not is_path):
        return None
    if not name.removeprefix("model:"):
        message = "the model's folder has no name: write model:PATH, or an agent's name"
        raise ConfigError(message)
    return path
