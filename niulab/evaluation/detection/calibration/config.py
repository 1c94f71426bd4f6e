"""What the calibration study is told, and the players it makes of that."""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from niulab.agents.advantage.config import (
    AttackConfig,
    CardSwitcher,
    Colluders,
    EdgeSorter,
    HoldOut,
    HoleCarder,
    LatePlayer,
    PlayerConfig,
    Steerer,
    high_slip,
)
from niulab.agents.advantage.sight import seen_plan
from niulab.agents.advantage.worth import box_worths
from niulab.engine.rules import RuleSet
from niulab.errors import NiuLabError
from niulab.evaluation.detection.calibration.permuted import verify_log
from niulab.evaluation.detection.features import top_box
from niulab.evaluation.logged.config import FloorConfig, read_floor
from niulab.evaluation.logged.honest import Bettor
from niulab.evaluation.playlog.plays import boxes_of
from niulab.evaluation.studies.study import Sheet, StudyConfig

__all__ = ["DetectionConfig", "bettor_name"]

Count = Annotated[int, Field(ge=1, le=10_000_000)]
Level = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(ge=0, le=1, strict=False)]
Sight = Literal["dealer's card", "own card", "court card by its back"]
Other = Literal["late raises", "card held out", "cards switched", "order steered", "collusion"]

_COMPANY = 2  # honest players beside a steerer, before him in the order of seats


class DetectionConfig(StudyConfig):
    """How much is played, and against what.

    honest: a file of players, whose honest ones play alone at a table; the first ``n_long`` of them
    (all, where it is left out) with long_players and long_rounds, the others with n_players and
    n_rounds. alphas: stopped at the maximum. z_from: rounds before a z-test is first looked at.
    attacks, see_rates, spreads (the slip staked when something favors it), camouflage (the chance
    of a high stake when nothing favors it, and of a low one when something does) and starts: a
    grid, each of its points played by attack_players for attack_rounds at most since the start.
    others: attacks by other means, over see_rates and starts; orders are steered under the sheet
    ``steered``. alpha: of their alarms. horizons: rounds of the ROC, with roc_players of each kind
    who see at roc_see_rate. floor: a file of players, n_floors times over, listed at ``fdr``. log:
    a file of players or the folder of a store, whose deals are permuted n_permutations times;
    log_rounds: of a file of players. workers: processes; by default one a core.
    """

    kind: Literal["detection"] = "detection"
    title: str = "Calibration of the detectors"
    honest: str = "honest"
    n_long: Annotated[int, Field(ge=0)] | None = None
    long_players: Count = 8_000
    long_rounds: Count = 2_000
    n_players: Count = 2_000
    n_rounds: Count = 1_000
    alphas: Annotated[tuple[Level, ...], Field(strict=False, min_length=1)] = (0.05, 0.01)
    z_from: Count = 30
    attacks: Annotated[tuple[Sight, ...], Field(strict=False)] = ("dealer's card", "own card")
    see_rates: Annotated[tuple[Share, ...], Field(strict=False, min_length=1)] = (1.0, 0.5, 0.25)
    spreads: Annotated[tuple[str, ...], Field(strict=False)] = ("super=100",)
    camouflage: Annotated[tuple[Share, ...], Field(strict=False)] = (0.0, 0.1)
    starts: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(strict=False)] = (0, 200)
    others: Annotated[tuple[Other, ...], Field(strict=False)] = get_args(Other)
    steered: Annotated[Sheet, Field(validate_default=True)] = "even-double-super-bonus"  # type: ignore[assignment] # read
    attack_players: Count = 200
    attack_rounds: Count = 2_000
    alpha: Level = 1e-3
    horizons: Annotated[tuple[Count, ...], Field(strict=False)] = (10, 20, 50, 100, 200)
    roc_players: Count = 1_000
    roc_see_rate: Share = 0.5
    floor: str = "floor"
    n_floors: Annotated[int, Field(ge=0)] = 3
    floor_rounds: Count | None = None
    fdr: Level = 0.05
    log: str = "cheats"
    n_permutations: Annotated[int, Field(ge=0)] = 50
    log_rounds: Count | None = None
    workers: Count | None = None

    @model_validator(mode="after")
    def _can_be_played(self) -> Self:
        mistakes = []
        try:
            self.bettors()
            self.attackers()
            if self.n_floors:
                self.floors()
            if self.n_permutations:
                verify_log(self.log)
        except NiuLabError as error:
            lines = str(error).splitlines()
            mistakes += [line.strip().removeprefix("- ") for line in lines[1:] or lines]
        if list(self.horizons) != sorted({*self.horizons}):
            mistakes.append(f"horizons rise without repeats, got {self.horizons}")
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    def bettors(self) -> tuple[PlayerConfig, ...]:
        """The honest kinds of the file; raises ConfigError."""
        players = read_floor(self.honest).players
        return tuple(player for player in players if not player.attack)

    def attackers(self) -> tuple[tuple[str, AttackConfig], ...]:
        """The grid's attackers, and those by other means, each with the name of its attack.

        Raises ConfigError.
        """
        grid = product(self.attacks, self.see_rates, self.spreads, self.camouflage, self.starts)
        made: list[tuple[str, AttackConfig]] = [
            (name, _seer(name, see, spread, hides, start))
            for name, see, spread, hides, start in grid
        ]
        others = product(self.others, self.see_rates, self.starts)
        made += [(name, self._other(name, rate, start)) for name, rate, start in others]
        for _, player in made:
            self.table(player, players=1, rounds=1, seed=0)
        return tuple(made)

    def _other(self, name: Other, rate: float, start: int) -> AttackConfig:
        """Who attacks by other means, as often as ``rate`` says."""
        match name:
            case "late raises":
                return LatePlayer(post_rate=rate, start=start, high=self._top_unit(self.rules))
            case "card held out":
                return HoldOut(rate=rate, start=start)
            case "cards switched":
                return CardSwitcher(rate=rate, start=start)
            case "collusion":
                return Colluders(see_rate=rate, start=start, high=self._top_unit(self.rules))
        return Steerer(
            see_rate=rate,
            start=start,
            high=self._top_unit(self.steered),
            bid=2 * self.steered.base_unit_cents,  # his company stakes one unit
        )

    @staticmethod
    def _top_unit(rules: RuleSet) -> str:
        """A slip: one unit on the box of the highest odds."""
        return f"{boxes_of(rules)[top_box(rules)]}={rules.base_unit_cents}"

    def roc_pair(self) -> tuple[Bettor, HoleCarder]:
        """Who stakes the top box blindly, and who does so as often, when a card favors it."""
        rules, unit = self.rules, self._top_unit(self.rules)
        seer = HoleCarder(place=5, see_rate=self.roc_see_rate, high=unit)
        chances = box_worths(rules, seer.channel, high_slip(rules, seer).boxes).chances
        is_favorable = seen_plan(rules, seer).is_favorable
        rate = float(sum(c for c, good in zip(chances, is_favorable, strict=True) if good))
        return Bettor(system="flat", side=unit, side_rate=rate), seer

    def rules_of(self, player: PlayerConfig) -> RuleSet:
        """The sheet he plays under."""
        return self.steered if isinstance(player, Steerer) else self.rules

    def table(self, player: PlayerConfig, *, players: int, rounds: int, seed: int) -> FloorConfig:
        """Players of one kind, each alone at a table or with those he needs; raises ConfigError."""
        many, company = player.model_copy(update={"count": players}), tuple[PlayerConfig, ...]()
        if isinstance(player, Steerer):
            company = (Bettor(count=_COMPANY * players),)
        return FloorConfig(
            rules=self.rules_of(player),
            players=(*company, many),
            rounds=rounds,
            seed=seed,
            seats=player.team + _COMPANY * len(company),
            mixed=not company,
            dealers=1,
        )

    @property
    def sheets(self) -> tuple[RuleSet, ...]:
        """Every rule set the study is about."""
        is_steered = "order steered" in self.others
        return (self.rules, self.steered) if is_steered else (self.rules,)

    def long_kinds(self) -> int:
        """How many kinds play long."""
        n = len(self.bettors())
        return n if self.n_long is None else min(self.n_long, n)

    def floors(self) -> FloorConfig:
        """The floor of many players; raises ConfigError."""
        return read_floor(self.floor).changed(rounds=self.floor_rounds)


def _seer(name: Sight, see: float, spread: str, hides: float, start: int) -> AttackConfig:
    keys: dict[str, Any] = {
        "see_rate": see,
        "high": spread,
        "cover_bet": hides,
        "hold_back": hides,
        "start": start,
    }
    if name == "court card by its back":
        return EdgeSorter(place=5, shows=("10 J Q K",), **keys)
    return HoleCarder(place=5 if name == "dealer's card" else 0, **keys)


def bettor_name(player: PlayerConfig) -> str:
    """What an honest kind is called in tables."""
    keys = player.parameters
    words = [str(keys.get("system", player.kind))]
    if "base_slip" in keys:
        words.append(f"on {keys['base_slip']}")
    if "side" in keys:
        when = "" if keys["side_when"] == "always" else f" when {keys['side_when']}"
        words.append(f"and {keys['side']} at {100 * keys['side_rate']:g} %{when}")
    return " ".join(words)
