"""Verdicts beside the labels of a simulated log: who was named, and who should have been."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from niulab.errors import PlayLogError

__all__ = ["Named", "compare", "read_labels"]


@dataclass(frozen=True)
class Named:
    """How many players were named, how many of them are attackers, and how many attackers there
    are.
    """

    named: int
    right: int
    attackers: int

    @property
    def false_share(self) -> float:
        """Share of honest players among those named; its mean over logs is the false discovery
        rate.
        """
        return (self.named - self.right) / self.named if self.named else 0.0

    @property
    def power(self) -> float | None:
        """Share of the attackers that were named; None if there are none."""
        return self.right / self.attackers if self.attackers else None

    def as_dict(self) -> dict[str, float | None]:
        """For ``--json``."""
        return {
            "named": self.named,
            "right": self.right,
            "attackers": self.attackers,
            "false_share": self.false_share,
            "power": self.power,
        }


def read_labels(path: Path) -> dict[str, str]:
    """The attack of every player of a ``labels.csv``, "" for the honest.

    Raises PlayLogError for a file that is none.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            header = rows.fieldnames or ()
            if not {"player", "attack"} <= set(header):
                raise PlayLogError(
                    f"'{path}' has no columns 'player' and 'attack', got {', '.join(header)}: "
                    "give the labels.csv that niulab simulate --players wrote"
                )
            return {row["player"]: row["attack"] or "" for row in rows}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise PlayLogError(
            f"cannot read the labels in '{path}': {reason}; give the labels.csv that niulab "
            "simulate --players wrote"
        ) from None


def compare(labels: Mapping[str, str], players: Collection[str], named: Collection[str]) -> Named:
    """Players that were named beside those that attack.

    players: all that were judged, with the names of the labels; others that are labelled count as
    not named. Raises PlayLogError for players without a label.
    """
    if unknown := sorted(set(players) - set(labels)):
        raise PlayLogError(
            f"{len(unknown):,} players of the log have no label ('{unknown[0]}'): give the "
            "labels.csv that belongs to this log"
        )
    attackers = {player for player, attack in labels.items() if attack}
    return Named(len(set(named)), len(attackers.intersection(named)), len(attackers))
