"""Rule sets by name or path: TOML in, checked RuleSet out; loading never solves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from niulab.engine.rules.model import RuleSet
from niulab.engine.rules.toml import overlaid, parse_toml, read_text
from niulab.errors import RulesError, nearest

__all__ = [
    "DEFAULT_RULES",
    "check_rules",
    "load_rules",
    "parse_rules",
    "read_rules",
    "shipped_names",
]

DEFAULT_RULES = "single-double-super"
_VARIANTS = resources.files("niulab.engine.rules") / "variants"
_OWN_KEYS = {"name", "title", "source", "note", "extends"}
_UNION = "lose_odds"  # the one key that takes a table or a word
_REMEDIES = {
    "bool_type": "write true or false",
    "dict_type": "write a table",
    "int_type": "write a whole number",
    "model_type": "write a table",
    "string_type": "write a text in quotes",
    "tuple_type": "write a list",
}
_HINT = "give a shipped name or the path of a .toml file"


@lru_cache(maxsize=1)
def shipped_names() -> tuple[str, ...]:
    """Names of the shipped rule sets: the default first, then by name."""
    files = [file.name for file in _VARIANTS.iterdir() if file.name.endswith(".toml")]
    names = sorted(name.removesuffix(".toml") for name in files)
    return tuple(sorted(names, key=lambda name: name != DEFAULT_RULES))


def load_rules(rules: str | Path | RuleSet = DEFAULT_RULES) -> RuleSet:
    """Return a rule set by shipped name, by the path of a ``.toml`` file, or as it is.

    Raises RulesError with the nearest known name, or with every mistake of the file.
    """
    if isinstance(rules, RuleSet):
        return rules
    if not isinstance(rules, str | Path):
        raise RulesError(f"{rules!r} is no rule set: {_HINT}, or a RuleSet")
    if isinstance(rules, Path) or rules.endswith(".toml") or "/" in rules:
        return read_rules(Path(rules))
    if rules not in shipped_names():
        hint = nearest(rules, shipped_names())
        raise RulesError(f"no rule set '{rules}'{hint} (or give the path of a .toml file)")
    return _load_shipped(rules)


@lru_cache(maxsize=64)
def _load_shipped(name: str) -> RuleSet:
    return parse_rules(_shipped_text(name), origin=f"{name}.toml")


def _shipped_text(name: str) -> str:
    return (_VARIANTS / f"{name}.toml").read_text(encoding="utf-8")


def read_rules(path: Path) -> RuleSet:
    """Read a rules file of one's own; ``extends`` may name a shipped rule set."""
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RulesError(f"cannot read the rules file '{path}': {reason}; {_HINT}") from None
    return parse_rules(text, origin=str(path))


def parse_rules(text: str, *, origin: str = "rules") -> RuleSet:
    """Parse the TOML text of a rule set; raises RulesError naming ``origin`` and every mistake."""
    return check_rules(_resolve(_parse_toml(text, origin), origin, chain=()), origin=origin)


def check_rules(tree: Mapping[str, Any], *, origin: str = "rules") -> RuleSet:
    """The rule set of a plain tree, as ``model_dump`` gives it; RulesError with every mistake."""
    try:
        return RuleSet.model_validate(dict(tree))
    except ValidationError as error:
        mistakes = "\n".join(f"  - {line}" for line in _explain(error))
        raise RulesError(f"{origin} is no rule set:\n{mistakes}") from None


def _parse_toml(text: str, origin: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except ValueError as error:
        raise RulesError(f"{origin} is no TOML: {error}") from None


def _resolve(tree: dict[str, Any], origin: str, chain: tuple[str, ...]) -> dict[str, Any]:
    """Lay an overlay over the shipped set it extends; identity keys are the overlay's own."""
    if "extends" not in tree:
        return tree
    parent = tree["extends"]
    if not isinstance(parent, str) or parent not in shipped_names():
        hint = nearest(str(parent), shipped_names())
        raise RulesError(f"{origin} extends '{parent}', which is no shipped rule set{hint}")
    if parent in chain:
        raise RulesError(f"{origin} extends itself: {' -> '.join((*chain, parent))}")
    below = _parse_toml(_shipped_text(parent), f"{parent}.toml")
    below = _resolve(below, f"{parent}.toml", (*chain, parent))
    below = {key: value for key, value in below.items() if key not in _OWN_KEYS}
    return overlaid(below, tree)


def _explain(error: ValidationError) -> list[str]:
    """Every mistake as one line: where, what, and the nearest known key."""
    lines: list[str] = []
    for item in error.errors():
        lines += [line for line in _mistakes(item) if line not in lines]
    return lines


def _mistakes(item: ErrorDetails) -> list[str]:
    parts, kind = _place(item), item["type"]
    where = f"{'.'.join(parts)}: " if parts else ""
    if kind == "extra_forbidden":
        return [f"{where}unknown key '{parts[-1]}'{nearest(parts[-1], _known_keys(parts[:-1]))}"]
    if parts[-1:] == [_UNION] and kind in {"literal_error", "dict_type"}:
        if isinstance(item["input"], dict):
            return []  # the table's own mistakes say it better than "or 'mirror'"
        return [f"{where}write a table of odds by rank, or 'mirror', got {_short(item['input'])}"]
    if kind in {"value_error", "missing"}:
        text, got = item["msg"].removeprefix("Value error, "), ""
    else:
        text, got = _REMEDIES.get(kind, item["msg"]), f", got {_short(item['input'])}"
    text = "is missing" if kind == "missing" else text
    if kind == "string_pattern_mismatch":
        text = "write small letters and digits, joined by "
        text += "hyphens" if parts == ["name"] else "underscores"
    return [f"{where}{line}{got}" for line in text.split("\n")]


def _place(item: ErrorDetails) -> list[str]:
    """The keys that lead to a mistake; a union also names its member, which is no key."""
    parts = [str(part) for part in item["loc"]]
    if _UNION in parts[:-1]:
        del parts[parts.index(_UNION) + 1]
    return parts


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _known_keys(place: list[str]) -> list[str]:
    """Keys the schema knows at a place, for the nearest-name hint."""
    model: type[BaseModel] = RuleSet
    for part in place:
        if part not in model.model_fields:
            continue  # a box name or a list index
        types = _inner_types(model.model_fields[part].annotation)
        found = [kind for kind in types if issubclass(kind, BaseModel)]
        if found:
            model = found[0]
    return list(model.model_fields)


def _inner_types(annotation: Any) -> list[type]:
    if isinstance(annotation, type):
        return [annotation]
    return [kind for arg in getattr(annotation, "__args__", ()) for kind in _inner_types(arg)]
