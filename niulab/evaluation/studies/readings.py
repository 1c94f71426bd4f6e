"""Readings of a sheet that contradicts itself: every box's house edge under each, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainSerializer, PlainValidator, model_validator

from niulab.engine.rules.catalog import load_rules, shipped_names
from niulab.engine.rules.changes import difference
from niulab.engine.rules.model import RuleSet
from niulab.evaluation.studies.study import (
    Columns,
    OfConfig,
    Picture,
    Progress,
    Section,
    Sheet,
    StudyConfig,
    read_sheet,
)
from niulab.evaluation.tables import Cells
from niulab.solvers.values import BoxValues, box_values, player_edges

__all__ = ["ReadingsConfig", "ReadingsStudy", "readings_of", "readings_study"]

_MOST_CHANGES = 4
_EDGES = (
    "Per unit staked; the exact figures are in `readings.csv`. A negative edge is the player's: "
    "it refutes the reading, or the sheet."
)


def readings_of(rules: RuleSet) -> tuple[RuleSet, ...]:
    """The shipped sheets that extend a shipped one and play from the same deck, by name."""
    found = (load_rules(name) for name in shipped_names())
    return tuple(one for one in found if one.extends == rules.name and one.deck == rules.deck)


def _sheets(value: Any) -> tuple[RuleSet, ...]:
    if not isinstance(value, list | tuple):
        message = f"write a list of rule sets, got {value!r}"
        raise ValueError(message)
    return tuple(map(read_sheet, value))


class ReadingsConfig(StudyConfig):
    """``rules`` is the sheet as it is usually read; ``readings`` are the others (default: every
    shipped reading of it), names or paths of rules files.
    """

    kind: Literal["readings"] = "readings"
    title: str = "Readings of an ambiguous sheet"
    rules: Annotated[Sheet, Field(validate_default=True)] = "even-double-super-bonus"  # type: ignore[assignment] # read
    readings: Annotated[
        tuple[RuleSet, ...],
        PlainValidator(_sheets),
        PlainSerializer(lambda sheets: [rules.name for rules in sheets]),
    ] = ()

    @model_validator(mode="after")
    def _there_is_something_to_compare(self) -> Self:
        names = [rules.name for rules in self.sheets]
        if len(names) == 1:
            message = (
                f"no shipped sheet is a reading of '{self.rules.name}': list names or paths of "
                "rules files in readings"
            )
            raise ValueError(message)
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            message = f"readings holds '{twice[0]}' twice, or beside the same rules"
            raise ValueError(message)
        return self

    @property
    def sheets(self) -> tuple[RuleSet, ...]:
        """The sheet and its readings."""
        return (self.rules, *(self.readings or readings_of(self.rules)))


@dataclass(frozen=True)
class ReadingsStudy(OfConfig):
    """Exact values of every box, per unit staked, under every reading: ``values[i]`` are those of
    ``config.sheets[i]``.
    """

    config: ReadingsConfig
    values: tuple[dict[str, BoxValues], ...]

    @property
    def boxes(self) -> tuple[str, ...]:
        """The boxes that some reading offers."""
        return tuple(dict.fromkeys(box for boxes in self.values for box in boxes))

    def player_boxes(self) -> Iterator[tuple[RuleSet, str, BoxValues]]:
        """Every box with a positive EV for the player, and the reading it has it under."""
        for rules, boxes in zip(self.config.sheets, self.values, strict=True):
            for box, values in boxes.items():
                if values.ev > 0:
                    yield rules, box, values

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player, under any reading."""
        return tuple(line for rules in self.config.sheets for line in player_edges(rules))

    def headline(self) -> dict[str, Any]:
        """EVs by reading and box, and those that favor the player."""
        pairs = zip(self.config.sheets, self.values, strict=True)
        return {
            "ev": {
                rules.name: {box: values.ev for box, values in boxes.items()}
                for rules, boxes in pairs
            },
            "favors_player": [
                {"rules": rules.name, "box": box, "ev": values.ev, "ev_float": float(values.ev)}
                for rules, box, values in self.player_boxes()
            ],
        }

    def columns(self) -> Columns:
        """One line per reading and box, and one per changed key of a reading."""
        base = self.values[0]
        rows = [
            (rules, box, v, v.ev - base[box].ev if box in base else None)
            for rules, boxes in zip(self.config.sheets, self.values, strict=True)
            for box, v in boxes.items()
        ]
        changes = [
            (rules.name, line) for rules in self.config.sheets for line in self._changes(rules)
        ]
        return {
            "readings": {
                "rules": [rules.name for rules, *_ in rows],
                "rules_hash": [rules.rules_hash for rules, *_ in rows],
                "box": [box for _, box, *_ in rows],
                "ev_exact": [v.ev for *_, v, _ in rows],
                "ev": [float(v.ev) for *_, v, _ in rows],
                "house_edge": [float(v.house_edge) for *_, v, _ in rows],
                "element_of_risk": [float(v.element_of_risk) for *_, v, _ in rows],
                "sd": [v.sd for *_, v, _ in rows],
                "ev_change_exact": [change for *_, change in rows],
                "ev_change": [None if change is None else float(change) for *_, change in rows],
                "favors_player": [v.ev > 0 for *_, v, _ in rows],
            },
            "changes": {
                "rules": [name for name, _ in changes],
                "change": [line for _, line in changes],
            },
        }

    def sections(self) -> tuple[Section, ...]:
        """Edges by reading, boxes that favor the player, what each reading changes."""
        from niulab.evaluation.plots.bets import reading_dots

        names = [self._short(rules) for rules in self.config.sheets]
        evs = {
            box: [float(v[box].ev) if box in v else None for v in self.values] for box in self.boxes
        }
        alt = "EV of every box under every reading; full marks favor the player"
        picture = Picture("readings", alt, reading_dots(names, evs))
        return (
            Section("House edge by reading", (_EDGES,), self._edge_cells(), (picture,)),
            Section("Boxes that favor the player", self._player_lines(), self._player_cells()),
            Section("What each reading changes", (), self._change_cells()),
        )

    # ------------------------------------------------------------ parts of the report

    def _short(self, rules: RuleSet) -> str:
        return rules.name.removeprefix(f"{self.config.rules.name}-")

    def _edge_cells(self) -> Cells:
        rows = [
            [
                self._short(rules),
                *(
                    f"{100 * float(values[box].house_edge):+.6f} %" if box in values else ""
                    for box in self.boxes
                ),
            ]
            for rules, values in zip(self.config.sheets, self.values, strict=True)
        ]
        return ["reading", *self.boxes], rows

    def _player_lines(self) -> tuple[str, ...]:
        if any(True for _ in self.player_boxes()):
            return ("A house that plays by such a sheet pays for every unit staked on the box.",)
        return ("None: under every reading each box is the house's.",)

    def _player_cells(self) -> Cells | None:
        rows = [
            [
                self._short(rules),
                box,
                f"{float(v.ev):+.10f}",
                f"{v.ev}",
                f"{v.sd:.6f}",
                f"{v.n0:,.2f}",
            ]
            for rules, box, v in self.player_boxes()
        ]
        return (["reading", "box", "EV", "EV, exact", "SD", "N0"], rows) if rows else None

    def _changes(self, rules: RuleSet) -> list[str]:
        return difference(self.config.rules, rules)

    def _change_cells(self) -> Cells:
        rows = []
        for rules in self.config.sheets[1:]:
            changes = self._changes(rules)
            left = len(changes) - _MOST_CHANGES
            more = [f"... and {left} more in changes.csv"] if left > 0 else []
            rows.append([self._short(rules), "; ".join([*changes[:_MOST_CHANGES], *more])])
        return ["reading", "changes"], rows


def readings_study(
    config: ReadingsConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> ReadingsStudy:
    """Exact values of all boxes under all readings; a new ranking costs about a second."""
    values = []
    for done, rules in enumerate(config.sheets):
        if progress is not None:
            progress(rules.name, done, len(config.sheets))
        values.append(box_values(rules))
    return ReadingsStudy(config, tuple(values))
