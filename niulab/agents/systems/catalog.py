"""Betting systems by name: what a study, a command or a test writes to get one.

``martingale``, ``martingale:32`` or ``martingale:max=32``; several parameters are separated by
commas, ``labouchere:1-2-3,max=30``. A wrapper stands before the system it wraps:
``stop-loss:10:martingale``, ``win-goal:20:stop-loss:10:oscar:max=5``, in base units.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from niulab.agents.systems.people import human, random
from niulab.agents.systems.progressions import (
    contra_dalembert,
    dalembert,
    fibonacci,
    flat,
    grand_martingale,
    labouchere,
    martingale,
    one_three_two_six,
    oscar,
    paroli,
    reverse_labouchere,
)
from niulab.agents.systems.proportional import bold, kelly, percentage, timid
from niulab.agents.systems.system import BettingSystem
from niulab.agents.systems.wrappers import stop_loss, win_goal
from niulab.errors import ConfigError, nearest

__all__ = ["SYSTEMS", "WRAPPERS", "make_system", "system_names"]

SYSTEMS: Mapping[str, Callable[..., BettingSystem]] = MappingProxyType(
    {
        "flat": flat,
        "martingale": martingale,
        "grand-martingale": grand_martingale,
        "paroli": paroli,
        "dalembert": dalembert,
        "contra-dalembert": contra_dalembert,
        "fibonacci": fibonacci,
        "labouchere": labouchere,
        "reverse-labouchere": reverse_labouchere,
        "oscar": oscar,
        "1-3-2-6": one_three_two_six,
        "percentage": percentage,
        "kelly": kelly,
        "bold": bold,
        "timid": timid,
        "random": random,
        "human": human,
    }
)
"""What makes each system; every parameter has a default, and its key is the parameter's name."""

WRAPPERS: Mapping[str, Callable[[Fraction, BettingSystem], BettingSystem]] = MappingProxyType(
    {"stop-loss": stop_loss, "win-goal": win_goal}
)
"""What makes a system with a line at which it leaves."""

_FRACTION = re.compile(r"[+-]?[0-9.]{1,20}(/[0-9]{1,20}|[eE][+-]?[0-9]{1,2})?")

_ALIASES = {
    "anti-martingale": "paroli",
    "d'alembert": "dalembert",
    "contra-d'alembert": "contra-dalembert",
    "oscars-grind": "oscar",
}


def system_names() -> tuple[str, ...]:
    """Systems that ``make_system`` makes without parameters."""
    return tuple(SYSTEMS)


def make_system(text: str) -> BettingSystem:
    """The system of a text; its name is the text.

    Raises ConfigError with the nearest name, or the parameters a system takes.
    """
    text = text.strip()
    name, _, rest = text.partition(":")
    if name in WRAPPERS:
        amount, _, inner = rest.partition(":")
        if not inner:
            raise ConfigError(
                f"'{text}' wraps no system: write {name}:10:martingale, with a line in base units"
            )
        made = WRAPPERS[name](_read_fraction(amount, f"the line of {name}"), make_system(inner))
        return replace(made, name=text)
    key = _ALIASES.get(name, name)
    if key not in SYSTEMS:
        known = (*SYSTEMS, *WRAPPERS, *_ALIASES)
        raise ConfigError(f"no betting system '{name}'{nearest(name, known)}")
    return replace(SYSTEMS[key](**_read_parameters(name, SYSTEMS[key], rest)), name=text)


def _read_parameters(name: str, maker: Callable[..., BettingSystem], text: str) -> dict[str, Any]:
    """Keywords of ``max=5,length=8``; a value without a key is the first parameter's."""
    takes = list(inspect.signature(maker).parameters.values())
    keys = {parameter.name.rstrip("_"): parameter for parameter in takes}
    result: dict[str, Any] = {}
    for place, part in enumerate(text.split(",") if text else ()):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals and place == 0 and takes:
            key, value = next(iter(keys)), key
        if key not in keys:
            known = ", ".join(f"{key}={_write(keys[key].default)}" for key in keys) or "nothing"
            raise ConfigError(f"'{name}' takes {known}; got '{part.strip()}'")
        if keys[key].name in result:
            raise ConfigError(f"'{name}' got {key} twice: write it once")
        result[keys[key].name] = _read(value, keys[key].default, f"{key} of {name}")
    return result


def _read(text: str, default: Any, what: str) -> Any:
    """A value of the default's kind."""
    if isinstance(default, Fraction):
        return _read_fraction(text, what)
    if isinstance(default, tuple):
        return tuple(_read_whole(number, what) for number in text.split("-"))
    return _read_whole(text, what)


def _read_whole(text: str, what: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ConfigError(f"{what} takes whole numbers, got '{text}': write digits, as 10")
    return int(text)


def _read_fraction(text: str, what: str) -> Fraction:
    try:
        if _FRACTION.fullmatch(text):
            return Fraction(text)
    except (ValueError, ZeroDivisionError):
        pass
    raise ConfigError(f"{what} takes a number, got '{text}': write 10, 2.5 or 1/2")


def _write(default: Any) -> str:
    return "-".join(map(str, default)) if isinstance(default, tuple) else str(default)
