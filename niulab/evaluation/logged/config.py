"""Files of players: strict TOML whose every mistake is reported at once.

title  = "A floor"                  # heads the labels
rules  = "single-double-super"      # a shipped name, or the path of a rules file
rounds = 1500                       # of every table
seed   = 0
seats  = 5                          # of a table
mixed  = true                       # who sits where is drawn; else all tables are made alike
dealers = 8                         # go on by a table every ``shift`` rounds
dealer_error_rate = 0.0             # chance that a dealer pays a win of the required box twice
[[players]]
kind   = "bettor"                   # or an attack of agents.advantage.catalog
count  = 30
system = "martingale:max=8"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from niulab.agents.advantage.catalog import ATTACKS
from niulab.agents.advantage.config import PlayerConfig
from niulab.engine.rules import RuleSet, load_rules
from niulab.engine.rules.toml import overridden
from niulab.errors import ConfigError, RulesError, nearest
from niulab.evaluation.config import find_config, read_tree
from niulab.evaluation.logged.honest import Bettor

__all__ = ["PLAYER_KINDS", "FloorConfig", "parse_floor", "read_floor"]

PLAYER_KINDS: Mapping[str, type[PlayerConfig]] = {"bettor": Bettor, **ATTACKS}

_WHOLE = {
    "rounds": (1, 100_000_000),
    "seed": (0, (1 << 63) - 1),
    "seats": (1, 9),
    "dealers": (1, 100_000),
    "shift": (1, 100_000_000),
    "seconds": (1, 86_400),
}


@dataclass(frozen=True, kw_only=True)
class FloorConfig:
    """A checked floor: who plays, how long, at tables of how many seats.

    mixed: players sit in random order; else every table has its share of each kind, in the order
    of ``players``. seconds: of a round. Raises ConfigError with every mistake.
    """

    rules: RuleSet
    players: tuple[PlayerConfig, ...]
    title: str = "Simulated plays"
    rounds: int = 1000
    seed: int = 0
    seats: int = 5
    mixed: bool = True
    dealers: int = 8
    shift: int = 100
    seconds: int = 60
    dealer_error_rate: float = 0.0

    def __post_init__(self) -> None:
        if found := _mistakes(self):
            lines = "\n".join(f"  - {mistake}" for mistake in found)
            raise ConfigError(f"this is no floor of players:\n{lines}")

    @property
    def n_players(self) -> int:
        """All players, whatever they are."""
        return sum(config.count * config.team for config in self.players)

    def changed(self, *, rounds: int | None = None, seed: int | None = None) -> FloorConfig:
        """The same floor for other rounds or another seed; None changes nothing."""
        return replace(
            self,
            rounds=self.rounds if rounds is None else rounds,
            seed=self.seed if seed is None else seed,
        )


def read_floor(name: str | Path, *, overrides: Iterable[str] = ()) -> FloorConfig:
    """Read a floor by path or by shipped name; raises ConfigError with every mistake."""
    path = find_config(name, "players")
    return parse_floor(overridden(read_tree(path), overrides), origin=str(path))


def parse_floor(tree: Mapping[str, Any], *, origin: str = "this") -> FloorConfig:
    """Check a floor given as plain data; raises ConfigError with every mistake."""
    known = tuple(FloorConfig.__dataclass_fields__)
    found = [f"unknown key '{key}'{nearest(key, known)}" for key in tree if key not in known]
    given = {key: value for key, value in tree.items() if key in known}
    try:
        given["rules"] = load_rules(tree.get("rules", "single-double-super"))
    except RulesError as error:
        found.append(f"rules: {error}")
    players = list[PlayerConfig]()
    rows = tree.get("players", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        found.append("players: write tables as [[players]] with a kind each")
        rows = []
    for number, row in enumerate(rows, 1):
        try:
            players.append(_player(row))
        except ConfigError as error:
            found.append(f"players {number}: {error}")
    given["players"] = tuple(players)
    if not found:
        try:
            return FloorConfig(**given)
        except ConfigError as error:
            found += [line.strip().removeprefix("- ") for line in str(error).splitlines()[1:]]
    elif "rules" in given:
        found += _mistakes(FloorConfig.__new__(FloorConfig), given)
    lines = "\n".join(f"  - {mistake}" for mistake in found)
    raise ConfigError(f"{origin} is no floor of players:\n{lines}")


def _player(row: Mapping[str, Any]) -> PlayerConfig:
    kind = str(row.get("kind"))
    if kind not in PLAYER_KINDS:
        got = f"no kind of player '{kind}'" if "kind" in row else "kind is missing"
        raise ConfigError(got + nearest(kind, PLAYER_KINDS))
    return PLAYER_KINDS[kind](**row)


def _mistakes(floor: FloorConfig, given: Mapping[str, Any] | None = None) -> list[str]:
    """What is wrong with a floor's values, or with those that were given for one."""
    defaults = {
        name: getattr(FloorConfig, name)
        for name in FloorConfig.__dataclass_fields__
        if hasattr(FloorConfig, name)
    }
    values = defaults | dict(vars(floor) if given is None else given)
    rules, found = values["rules"], list[str]()
    if rules.is_ranking_only:
        return [f"rules: '{rules.name}' offers no bets: choose a sheet with boxes"]
    if rules.deck.reshuffle == "penetration" or rules.deck.decks != 1:
        found.append(f"rules: '{rules.name}' is not dealt from one fresh deck every round")
    for key, (least, most) in _WHOLE.items():
        value = values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            found.append(f"{key} is a whole number from {least} to {most}, got {value!r}")
    rate = values["dealer_error_rate"]
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        found.append(f"dealer_error_rate is a number from 0 to 1, got {rate!r}")
    if not isinstance(values["mixed"], bool):
        found.append(f"mixed is true or false, got {values['mixed']!r}")
    if not isinstance(values["title"], str):
        found.append(f"title is a text, got {values['title']!r}")
    seats = values["seats"]
    if isinstance(seats, int) and seats > rules.table.max_seats:
        found.append(f"seats: '{rules.name}' has {rules.table.max_seats} at most, got {seats}")
    if not values["players"] and given is None:
        found.append("players is empty: write [[players]] with a kind")
    for number, config in enumerate(values["players"], 1):
        found += [f"players {number}: {mistake}" for mistake in config.mistakes(rules)]
        if isinstance(seats, int) and config.team > seats:
            found.append(
                f"players {number}: a team of {config.team} needs tables of as many seats, "
                f"got seats = {seats}"
            )
    return found
