"""From a trained model to the small file that is given away: weights of 16 bits, scored once more.

What is scored is what the file holds, not the run it came from, so the card's exact score is the
file's own.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from niulab.agents.models.card import CARD, ModelCard
from niulab.agents.models.file import WEIGHTS, load_model, save_model
from niulab.agents.models.sb3 import load_agent
from niulab.errors import ConfigError
from niulab.evaluation.benchmark import score_agent

__all__ = ["publish_model"]


def publish_model(source: Path, folder: Path, *, n_rounds: int = 200_000) -> ModelCard:
    """Write the model at ``source`` (its folder or its run's) to ``folder`` at half its size.

    A model that stands in ``folder`` is replaced, anything else refused (ConfigError). ``n_rounds``
    and seed 0 matter where a task has no exact score. Returns the card with the whole score.
    """
    card, weights = load_model(source)
    _verify_free(folder)
    settings = card.env_settings()
    with TemporaryDirectory() as place:
        halved = save_model(Path(place) / folder.name, card, weights, is_half=True)
        agent = load_agent(halved, settings, name=folder.name)
        score = score_agent(agent, settings, task=card.task, n_rounds=n_rounds)
    card = card.model_copy(update={"scores": score.to_dict()})
    save_model(folder, card, weights, is_half=True)
    return card


def _verify_free(folder: Path) -> None:
    is_free = not folder.exists() or (
        folder.is_dir() and {path.name for path in folder.iterdir()} <= {CARD, WEIGHTS}
    )
    if not is_free:
        raise ConfigError(
            f"'{folder}' holds other things than a model: give a new folder, or that of a model "
            "to be replaced"
        )
