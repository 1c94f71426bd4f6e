"""What happens between two rollouts: logging, the NaN guard, evaluation, best model, checkpoints.

Frequencies are in environment steps and fall due at the first rollout boundary at or after each
multiple, so the list of due multiples does not depend on how many rows play at once. A boundary is
the moment before the next rollout: all updates are done, nothing is half-collected.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from niulab.agents.models.card import ModelCard
from niulab.agents.models.file import save_model
from niulab.agents.models.sb3 import agent_of
from niulab.errors import ConfigError, OutOfBudgetError
from niulab.evaluation.benchmark import score_agent
from niulab.evaluation.edges.stealth import policy_of
from niulab.evaluation.score import ArrangementScore, Score
from niulab.training.algorithms import apply_schedules
from niulab.training.config import TrainConfig
from niulab.training.runs.checkpoint import prune_checkpoints, write_checkpoint
from niulab.training.runs.progress import ProgressBar
from niulab.training.runs.run_folder import RunFolder, package_versions
from niulab.training.runs.tracking import Tracker
from niulab.training.sb3_vec import Sb3Vec

__all__ = ["Clock", "RunCallback", "breakdown", "due_multiples", "verify_finite"]

_LOG = logging.getLogger("niulab.training")


def due_multiples(since: int, step: int, *, every: int | None, total: int) -> list[int]:
    """Multiples of ``every`` in (since, step], up to the planned total."""
    if every is None:
        return []
    return list(range(since - since % every + every, min(step, total) + 1, every))


@dataclass
class Clock:
    """Seconds spent learning, evaluation left out, over all legs of a run."""

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    _wall: float = field(default_factory=time.perf_counter)
    _cpu: float = field(default_factory=time.process_time)

    def stop(self) -> None:
        """Count what passed since the last ``go``."""
        self.wall_seconds += time.perf_counter() - self._wall
        self.cpu_seconds += time.process_time() - self._cpu

    def go(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()


class RunCallback(BaseCallback):
    """Watches one run from its folder."""

    def __init__(
        self,
        config: TrainConfig,
        folder: RunFolder,
        tracker: Tracker,
        env: Sb3Vec,
        bar: ProgressBar,
        *,
        max_cpu_seconds: float | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.clock = Clock()
        self.score: Score | None = None
        self._folder = folder
        self._tracker = tracker
        self._env = env
        self._bar = bar
        self._max_cpu_seconds = max_cpu_seconds
        self._boundary = 0
        self._best: float | None = None
        self._played = np.zeros(config.settings.n_actions, dtype=np.int64)

    def resume(self, step: int, notes: Mapping[str, Any]) -> None:
        """Go on from a checkpoint's step and notes."""
        self._boundary = step
        self._best = notes["best"]
        self.clock.wall_seconds = notes["wall_seconds"]
        self.clock.cpu_seconds = notes["cpu_seconds"]

    # ------------------------------------------------------------ SB3's moments

    def _on_training_start(self) -> None:
        self.clock.go()

    def _on_rollout_start(self) -> None:
        if self.model.num_timesteps > self._boundary:
            self._at_boundary(is_last=False)
            self._verify_budget()
        self._teach_detector()

    def _on_step(self) -> bool:
        self._bar.advance_to(self.model.num_timesteps)
        actions = self.locals.get("actions")  # imitation plays none
        if actions is not None and actions.ndim == 1:  # numbers of actions, not stakes
            self._played += np.bincount(actions, minlength=len(self._played))
        return True

    def _on_rollout_end(self) -> None:
        apply_schedules(self.model, self.config)

    def _on_training_end(self) -> None:
        self._at_boundary(is_last=True)

    # ------------------------------------------------------------ a boundary

    def _at_boundary(self, *, is_last: bool) -> None:
        step, since, config = self.model.num_timesteps, self._boundary, self.config
        self._boundary = step

        def due(every: int | None) -> list[int]:
            return due_multiples(since, step, every=every, total=config.total_steps)

        verify_finite(self.model, config)
        must_save = bool(due(config.checkpoint.every)) and not is_last
        evaluations = due(config.evaluation.every)
        if due(config.logging.every) or must_save or is_last:
            self._log()
        if evaluations or is_last:
            self._evaluate(step, evaluations)
        if must_save:
            self._save(step)

    def _teach_detector(self) -> None:
        """Let an ideal detector know the policy that plays the next rollout.

        It follows from the weights, so a run that is resumed is watched alike. As the rollout is
        that policy's own, the gradient of its rewards is that of profit less mu times information:
        the derivatives of the factors' logarithms add up to zero.
        """
        detector = self.config.settings.detector
        if detector is None or not detector.is_ideal:
            return
        settings = self.config.settings
        agent = agent_of(self.model.policy, settings, name=self.config.name)
        self._env.env.teach_detector(policy_of(agent, settings))

    def _verify_budget(self) -> None:
        if self._max_cpu_seconds is None:
            return
        self.clock.stop()
        self.clock.go()
        if self.clock.cpu_seconds > self._max_cpu_seconds:
            raise OutOfBudgetError(
                f"stopped at step {self._boundary:,} of {self.config.total_steps:,} after "
                f"{self.clock.cpu_seconds:,.1f} cpu seconds of learning, more than the "
                f"{self._max_cpu_seconds:g} it was given: give it more, or fewer steps"
            )

    def _log(self) -> None:
        model: Any = self.model
        model.dump_logs()
        if self._played.any():
            self._tracker.actions(self._played, model.num_timesteps)
            self._played[:] = 0

    def _evaluate(self, step: int, due: list[int]) -> None:
        """Score the policy, note it everywhere, and keep the model if none was better."""
        self.clock.stop()
        self._bar.show("evaluating", step=step)
        self.model.policy.set_training_mode(False)
        settings, config = self.config.settings, self.config
        score = score_agent(
            agent_of(self.model.policy, settings, name=config.name),
            settings,
            task=config.task,
            n_rounds=config.evaluation.n_rounds,
            seed=config.seed,
        )
        self.score, record = score, score.to_record()
        self._folder.add_evaluation(
            {
                "step": step,
                "due": due,
                "scores": record,
                "wall_seconds": round(self.clock.wall_seconds, 3),
                "cpu_seconds": round(self.clock.cpu_seconds, 3),
            }
        )
        optimum = score.bounds.optimum
        line = {} if optimum is None else {"value_of_optimum": float(optimum)}
        if isinstance(score, ArrangementScore):
            regrets = {rank: float(r.regret) for rank, r in score.regret_by_rank.items()}
            self._tracker.ranks(regrets, step)
        self._tracker.scores(record | line, step)
        merit = (
            record["value"] if record["normalized_score"] is None else record["normalized_score"]
        )
        if self._best is None or merit > self._best:
            self._best = merit
            self.save_model(self._folder.best, record)
        self._bar.show(_headline(record), step=step)
        _LOG.info("step %d: %s", step, _headline(record))
        self.clock.go()

    def _save(self, step: int) -> None:
        self.clock.stop()
        config = self.config.checkpoint
        notes = {
            "best": self._best,
            "wall_seconds": self.clock.wall_seconds,
            "cpu_seconds": self.clock.cpu_seconds,
        }
        written = write_checkpoint(
            self._folder.checkpoints,
            self.model,
            self._env,
            notes=notes,
            replay_buffer=config.replay_buffer,
        )
        prune_checkpoints(self._folder.checkpoints, keep=config.keep)
        sizes = ", ".join(f"{name} {n / 1e6:.1f} MB" for name, n in written.n_bytes.items())
        self._bar.say(f"checkpoint at step {step:,}: {sizes}")
        _LOG.info("checkpoint at step %d: %s", step, sizes)
        self.clock.go()

    def save_model(self, folder: Any, record: Mapping[str, Any]) -> None:
        """Write the policy as it is now."""
        card = ModelCard.of(
            self.config.settings,
            task=self.config.task,
            algorithm=self.config.algorithm.name,
            network=self.config.network,
            seed=self.config.seed,
            steps=self.model.num_timesteps,
            scores=record,
            config=self.config.to_json(),
            versions=package_versions(),
        )
        save_model(folder, card, self.model.policy.state_dict())


def verify_finite(model: BaseAlgorithm, config: TrainConfig) -> None:
    """Raise ConfigError if a loss or a weight is NaN or infinite."""
    losses = {
        key: float(value)
        for key, value in model.logger.name_to_value.items()
        if "loss" in key and isinstance(value, int | float)
    }
    broken = [f"{key} is {value}" for key, value in losses.items() if not isfinite(value)]
    if not broken and all(torch.isfinite(p).all() for p in model.policy.parameters()):
        return
    raise breakdown(model, config, ", ".join(broken) or "a weight is NaN or infinite")


def breakdown(model: BaseAlgorithm, config: TrainConfig, what: str) -> ConfigError:
    """The error of a run that cannot learn any more: what broke, when, and in which config."""
    rate = config.algorithm.learning_rate
    return ConfigError(
        f"training of '{config.name}' (seed {config.seed}) broke down by step "
        f"{model.num_timesteps:,}: {what}; lower algorithm.learning_rate (now {rate.start} to "
        f"{rate.end}) or env.reward_scale (now {config.settings.reward_scale})"
    )


def _headline(record: Mapping[str, Any]) -> str:
    score = record["normalized_score"]
    words = [f"value {record['value']:+.5f}" if score is None else f"score {score:.5f}"]
    if "n_errors" in record:
        words.append(f"{record['n_errors']:,} errors")
    return ", ".join(words)
