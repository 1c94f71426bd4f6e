"""What TensorBoard is told: SB3's own scalars, exact scores beside the optimum, what each rank
costs, which actions are played, and one hparams record per run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.logger import KVWriter, Logger
from torch.utils.tensorboard import SummaryWriter
from torch.utils.tensorboard.summary import hparams

from niulab.agents.models.file import writing
from niulab.training.config import TrainConfig

__all__ = ["Tracker"]

_LAYOUT = {
    "learning": {
        "value beside the optimum": ["Multiline", ["eval/value", "eval/value_of_optimum"]],
        "regret by rank": ["Multiline", ["regret_by_rank/.*"]],
    }
}
"""Charts of several lines, in TensorBoard's tab of custom scalars."""


class Tracker:
    """The event files of one run.

    A resumed run gives the step of its checkpoint: TensorBoard then hides what the killed run had
    written after it. What the disk refuses is a CheckpointError.
    """

    def __init__(self, folder: Path, *, resumed_at: int | None = None) -> None:
        purge = None if resumed_at is None else resumed_at + 1
        _wait_for_a_later_name(folder)
        self._has_hparams = resumed_at is not None and _hold_hparams(folder)
        self._folder = folder
        self._hook = threading.excepthook
        threading.excepthook = self._on_thread_error
        with writing(folder):
            self._writer = SummaryWriter(str(folder), purge_step=purge)
            if resumed_at is None:
                self._writer.add_custom_scalars(_LAYOUT)

    def logger(self) -> Logger:
        """A logger for SB3 that writes here and prints nothing."""
        return Logger(folder=None, output_formats=[_Scalars(self._writer, self._folder)])

    def scores(self, record: Mapping[str, Any], step: int) -> None:
        """One evaluation, each figure under ``eval/``."""
        with writing(self._folder):
            for key, value in record.items():
                if isinstance(value, int | float) and isfinite(value):
                    self._writer.add_scalar(f"eval/{key}", value, step)
            self._writer.flush()

    def ranks(self, regrets: Mapping[str, float], step: int) -> None:
        """What hands of each rank cost, base units per deal, as of one evaluation."""
        with writing(self._folder):
            for rank, regret in regrets.items():
                self._writer.add_scalar(f"regret_by_rank/{rank}", regret, step)

    def actions(self, counts: NDArray[np.int64], step: int) -> None:
        """How often each action was played since the last time; a bar per action."""
        numbers = np.arange(len(counts))
        with writing(self._folder):
            self._writer.add_histogram_raw(
                "rollout/actions",
                min=int(numbers[counts > 0].min()),
                max=int(numbers[counts > 0].max()),
                num=int(counts.sum()),
                sum=float(counts @ numbers),
                sum_squares=float(counts @ numbers**2),
                bucket_limits=(numbers + 0.5).tolist(),
                bucket_counts=counts.tolist(),
                global_step=step,
            )

    def hparams(self, config: TrainConfig, final: Mapping[str, Any]) -> None:
        """The run's settings with its final scores, for TensorBoard's table of runs.

        Written once: a run that was killed after it and resumed ends with the same scores.
        """
        metrics = {
            f"final/{key}": float(value)
            for key, value in final.items()
            if isinstance(value, int | float) and isfinite(value)
        }
        settings = dict(_flat(config.to_json()))
        with writing(self._folder):
            writer: Any = self._writer.file_writer  # add_hparams would open a run of its own beside
            if not self._has_hparams:
                for summary in hparams(settings, metrics):  # type: ignore[no-untyped-call]  # torch
                    writer.add_summary(summary)
            for key, value in metrics.items():
                self._writer.add_scalar(key, value, config.total_steps)

    def close(self) -> None:
        try:
            with writing(self._folder):
                self._writer.close()
        finally:
            threading.excepthook = self._hook

    def _on_thread_error(self, error: Any) -> None:
        """TensorBoard's thread hands what the disk refused to the next call: it is told once."""
        if not issubclass(error.exc_type, OSError):
            self._hook(error)


class _Scalars(KVWriter):
    """SB3's key-value pairs as scalars."""

    def __init__(self, writer: SummaryWriter, folder: Path) -> None:
        self._writer = writer
        self._folder = folder

    def write(
        self,
        key_values: dict[str, Any],
        key_excluded: dict[str, tuple[str, ...]],
        step: int = 0,
    ) -> None:
        with writing(self._folder):
            for key, value in sorted(key_values.items()):
                is_number = isinstance(value, int | float | np.number)
                is_kept = is_number and not isinstance(value, bool)
                if is_kept and "tensorboard" not in key_excluded.get(key, ()):
                    self._writer.add_scalar(key, value, step)

    def close(self) -> None:
        """The tracker closes the writer."""


def _wait_for_a_later_name(folder: Path) -> None:
    """TensorBoard reads event files in the order of their names, which tell time in seconds only:
    a leg begun within the second of the last one could come before it.
    """
    seconds = [int(path.name.split(".")[3]) for path in folder.glob("events.out.tfevents.*")]
    while time.time() < max(seconds, default=0) + 1:
        time.sleep(0.05)


def _hold_hparams(folder: Path) -> bool:
    """Whether event files hold a whole hparams record, of which the last part comes last."""
    last = b"_hparams_/session_end_info"
    return any(last in file.read_bytes() for file in folder.glob("events.out.tfevents.*"))


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of a config under dotted names, as numbers or text."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            is_plain = isinstance(value, bool | int | float | str)
            yield f"{prefix}{key}", value if is_plain else str(value)
