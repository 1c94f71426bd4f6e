"""Hyperparameters that change while learning: functions of the absolute step and the planned total.

A resumed run passes the same two numbers as an uninterrupted one, so its schedules go on where they
stopped; how many steps one leg of the run takes plays no part.
"""

from __future__ import annotations

from math import cos, pi
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["Schedule", "Scheduled", "constant"]


class Schedule(BaseModel):
    """From ``start`` to ``end``, reached after the share ``until`` of the planned steps."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    start: float = Field(ge=0)
    end: float = Field(ge=0)
    shape: Literal["linear", "cosine"] = "linear"
    until: float = Field(default=1.0, gt=0, le=1)

    def at(self, step: int, total: int) -> float:
        """The value at an absolute step of a run of ``total`` planned steps."""
        progress = min(step / (total * self.until), 1.0)
        if self.shape == "cosine":
            progress = (1 - cos(pi * progress)) / 2
        return self.start + (self.end - self.start) * progress


def constant(value: float) -> Schedule:
    """A schedule that never changes."""
    return Schedule(start=value, end=value)


def _number_is_constant(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"start": value, "end": value}
    return value


Scheduled = Annotated[Schedule, BeforeValidator(_number_is_constant)]
"""A field that takes a number, or ``{ start = 0.01, end = 0.0002, shape = "linear" }``."""
