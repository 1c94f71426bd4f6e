"""The error tree: every fault a user can cause has one class here.

    NiuLabError
      RulesError        (ValueError)   a rule set contradicts itself or holds an unknown key
      CardError         (ValueError)   text or number that is no card, or a card dealt twice
      WagerError        (ValueError)   a slip the table must refuse
      RoundStateError   (RuntimeError) an act in the wrong phase
      ConfigError       (ValueError)   an experiment file is wrong; lists every mistake at once
      PlayLogError      (ValueError)   a log row that cannot be; names file and line
      CheckpointError   (RuntimeError) a run or a model that cannot be loaded, and why
      OutOfBudgetError  (RuntimeError) a run that took more cpu seconds than it was given
      MissingExtraError (ImportError)  names the pip command

Every message says what is wrong, what was got, and what to write instead.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pydantic takes longer to import than this whole file
    from pydantic_core import ErrorDetails

__all__ = [
    "CardError",
    "CheckpointError",
    "ConfigError",
    "MissingExtraError",
    "NiuLabError",
    "OutOfBudgetError",
    "PlayLogError",
    "RoundStateError",
    "RulesError",
    "WagerError",
    "explained",
    "nearest",
]


class NiuLabError(Exception):
    """Root of every error this package raises on purpose."""


class RulesError(NiuLabError, ValueError):
    """A rule set contradicts itself or holds an unknown key."""


class CardError(NiuLabError, ValueError):
    """Text or a number that is no card, or a card dealt twice."""


class WagerError(NiuLabError, ValueError):
    """A slip the table must refuse."""


class RoundStateError(NiuLabError, RuntimeError):
    """An act in the wrong phase of a round."""


class ConfigError(NiuLabError, ValueError):
    """An experiment file is wrong; the message lists every mistake."""


class PlayLogError(NiuLabError, ValueError):
    """A log row that cannot be; the message names file and line."""


class CheckpointError(NiuLabError, RuntimeError):
    """A run that cannot be resumed or a model file that cannot be loaded, and why."""


class OutOfBudgetError(NiuLabError, RuntimeError):
    """A run that was stopped because it took more cpu seconds than it was given."""


class MissingExtraError(NiuLabError, ImportError):
    """An optional dependency is absent; the message names the pip command."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, else ``"; known: a, b"``."""
    names = sorted(known)
    folded = {known_name.casefold(): known_name for known_name in names}
    match = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    if match:
        return f"; did you mean '{folded[match[0]]}'?"
    return f"; known: {', '.join(names)}"


def explained(item: ErrorDetails, where: str, known: Iterable[str]) -> str:
    """One line for one of pydantic's errors at a key, whose model knows the keys ``known``."""
    if item["type"] == "extra_forbidden":
        return f"unknown key '{where}'{nearest(str(item['loc'][-1]), known)}"
    if item["type"] == "missing":
        return f"{where} is missing"
    if item["type"] == "value_error":  # a sentence of ours, with what was got and what to write
        return f"{where}: " * bool(where) + item["msg"].removeprefix("Value error, ")
    if item["type"] == "tuple_type":  # TOML knows lists only
        return f"{where}: write a list, got {reprlib.repr(item['input'])}"
    if item["type"] == "too_short":
        return f"{where} lists at least {item['ctx']['min_length']}, got {item['input']!r}"
    return f"{where}: {item['msg'][:1].lower()}{item['msg'][1:]}, got {reprlib.repr(item['input'])}"
