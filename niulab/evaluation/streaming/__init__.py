"""Rounds by the billion in constant memory, beside the exact values, with checkpoints."""

from __future__ import annotations

from niulab.evaluation.streaming.run import Compared, Frequency, StreamedScore, simulate_stream

__all__ = ["Compared", "Frequency", "StreamedScore", "simulate_stream"]
