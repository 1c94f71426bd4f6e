"""One training run, from a checked config to a finished run folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from stable_baselines3.common.base_class import BaseAlgorithm

from niulab.agents.models.file import read_card
from niulab.agents.models.sb3 import load_agent
from niulab.errors import CheckpointError
from niulab.evaluation.benchmark import score_agent
from niulab.evaluation.score import Score
from niulab.training.algorithms import make_model
from niulab.training.callbacks import RunCallback, breakdown
from niulab.training.config import TrainConfig
from niulab.training.runs.checkpoint import find_checkpoint, kept_generators, restore
from niulab.training.runs.progress import ProgressBar
from niulab.training.runs.run_folder import RunFolder, default_folder
from niulab.training.runs.tracking import Tracker
from niulab.training.sb3_vec import make_sb3_vec

__all__ = ["RunResult", "train"]


@dataclass(frozen=True)
class RunResult:
    """A finished run.

    score: of the final model. model: its folder, for ``load_agent`` or ``model:PATH``. steps:
    environment steps played, a whole number of rollouts. wall_seconds, cpu_seconds: spent learning
    over all legs, evaluation left out.
    """

    score: Score
    run_dir: Path
    model: Path
    steps: int
    wall_seconds: float
    cpu_seconds: float


def train(
    config: TrainConfig,
    run_dir: Path | None = None,
    *,
    resume: bool = False,
    progress: bool = True,
    command: str = "",
    max_cpu_seconds: float | None = None,
) -> RunResult:
    """Train as a config says, in ``run_dir`` (default ``runs/<name>-<seed>``).

    With ``resume`` the run in that folder goes on from its last checkpoint (or begins again, if it
    has none), bit for bit as if it had never stopped; a finished run is only read. The caller's
    global generators and torch's thread count are given back as they were. Raises ConfigError for
    a folder in use or a run that broke down, CheckpointError for one that cannot be resumed,
    OutOfBudgetError at the first rollout boundary after ``max_cpu_seconds`` of learning.
    """
    folder = RunFolder(run_dir or default_folder(config))
    if resume:
        folder.verify_resumable(config)
        if folder.read_result() is not None:
            return _finished(folder, config)
    else:
        folder.verify_new()
    with kept_generators(), _threads(config.threads):
        return _run(
            folder,
            config,
            resume=resume,
            progress=progress,
            command=command,
            max_cpu_seconds=max_cpu_seconds,
        )


def _run(
    folder: RunFolder,
    config: TrainConfig,
    *,
    resume: bool,
    progress: bool,
    command: str,
    max_cpu_seconds: float | None,
) -> RunResult:
    env = make_sb3_vec(config.n_envs, config.settings)
    model = make_model(config, env)
    checkpoint = find_checkpoint(folder.checkpoints) if resume else None
    step, notes = 0, None
    if checkpoint is not None:
        notes = restore(checkpoint, model, env)
        step = model.num_timesteps
    if resume:
        folder.add_leg(step, config, command)
        folder.drop_evaluations_after(step)
    else:
        folder.create(config, command)
    tracker = Tracker(folder.events, resumed_at=step if resume else None)
    try:
        with ProgressBar(config.name, config.total_steps, is_wanted=progress) as bar:
            callback = RunCallback(
                config, folder, tracker, env, bar, max_cpu_seconds=max_cpu_seconds
            )
            if notes is not None:
                callback.resume(step, notes)
            model.set_logger(tracker.logger())
            _learn(model, config, callback)
        return _close(folder, config, tracker, callback)
    finally:
        tracker.close()
        env.close()


def _learn(model: BaseAlgorithm, config: TrainConfig, callback: RunCallback) -> None:
    learn: Any = model.learn
    try:
        learn(
            config.total_steps - model.num_timesteps,
            callback,
            log_interval=None,  # the callback logs, in environment steps
            reset_num_timesteps=False,
        )
    except ValueError as error:
        if "satisfy the constraint" not in str(error):
            raise
        # torch refuses to sample from NaN before a boundary is reached
        raise breakdown(model, config, "the policy's logits are NaN") from error


def _close(
    folder: RunFolder, config: TrainConfig, tracker: Tracker, callback: RunCallback
) -> RunResult:
    score, clock = callback.score, callback.clock
    if score is None:
        raise CheckpointError(f"the run in '{folder.path}' ended without an evaluation")
    record = score.to_record()
    callback.save_model(folder.final, record)
    tracker.hparams(config, record)
    result = {
        "steps": callback.model.num_timesteps,
        "wall_seconds": round(clock.wall_seconds, 3),
        "cpu_seconds": round(clock.cpu_seconds, 3),
        "score": score.to_dict(),
    }
    folder.write_result(result)
    return RunResult(
        score=score,
        run_dir=folder.path,
        model=folder.final,
        steps=callback.model.num_timesteps,
        wall_seconds=clock.wall_seconds,
        cpu_seconds=clock.cpu_seconds,
    )


def _finished(folder: RunFolder, config: TrainConfig) -> RunResult:
    """The result of a run that is already finished, its final model scored again."""
    result = folder.read_result() or {}
    agent = load_agent(folder.final, config.settings, name=config.name)
    score = score_agent(
        agent,
        config.settings,
        task=config.task,
        n_rounds=config.evaluation.n_rounds,
        seed=config.seed,
    )
    return RunResult(
        score=score,
        run_dir=folder.path,
        model=folder.final,
        steps=read_card(folder.final).steps,
        wall_seconds=result["wall_seconds"],
        cpu_seconds=result["cpu_seconds"],
    )


@contextmanager
def _threads(n: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
