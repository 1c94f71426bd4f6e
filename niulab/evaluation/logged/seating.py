"""Who sits where: teams side by side, everybody else as the seed has it; and the labels."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass

import numpy as np

from niulab.agents.advantage.crowd import Seats
from niulab.evaluation.logged.config import FloorConfig
from niulab.seeding import generator, stream_seed

__all__ = ["LABEL_COLUMNS", "Label", "Seating", "labels_csv", "seat_players"]

LABEL_COLUMNS = ("player", "kind", "role", "team", "attack", "parameters", "start_round")


@dataclass(frozen=True)
class Label:
    """What a player is: attack is empty for the honest, team for who has none."""

    player: str
    kind: str
    role: str
    team: str
    attack: str
    parameters: str
    start_round: int | None


@dataclass(frozen=True, eq=False)
class Seating:
    """n players by number: seats, and for each of the floor's configs the numbers of its players.

    Members of a team follow each other in ``crowds``.
    """

    seats: Seats
    n_tables: int
    crowds: tuple[np.ndarray, ...]
    labels: tuple[Label, ...]


def seat_players(floor: FloorConfig) -> Seating:
    """Lay teams over tables, in random order if ``mixed``; numbers and names follow the seats."""
    counts = np.array([one.count for one in floor.players])
    kinds = np.repeat(np.arange(len(counts)), counts)
    if floor.mixed:
        order = generator(floor.seed, "logged/seating").permutation(len(kinds))
    else:
        number = np.concatenate([np.arange(count) for count in counts])
        alike = number * -(-floor.n_players // floor.seats) // counts[kinds]
        order = np.lexsort((kinds, alike))
    tables, places, members = list[int](), list[int](), [list[int]() for _ in floor.players]
    table = place = 0
    for kind in kinds[order].tolist():
        team = floor.players[kind].team
        if place + team > floor.seats:
            table, place = table + 1, 0
        for _ in range(team):
            members[kind].append(len(tables))
            tables.append(table)
            places.append(place)
            place += 1
    n = len(tables)
    seeds = np.arange(n, dtype=np.uint64) + np.uint64(stream_seed(floor.seed, "logged/players"))
    seats = Seats(np.array(tables), np.array(places), seeds)
    crowds = tuple(np.array(rows, dtype=np.int64) for rows in members)
    return Seating(seats, table + 1, crowds, _labels(floor, crowds, n))


def _labels(floor: FloorConfig, crowds: tuple[np.ndarray, ...], n: int) -> tuple[Label, ...]:
    width, found = len(str(n)), dict[int, Label]()
    for number, (config, rows) in enumerate(zip(floor.players, crowds, strict=True), 1):
        parameters = json.dumps(config.parameters, sort_keys=True)
        start = getattr(config, "start", None)
        for place, row in enumerate(rows.tolist()):
            team, member = divmod(place, config.team)
            role = _role(config.kind, member)
            found[row] = Label(
                player=f"p{row + 1:0{width}d}",
                kind=config.kind,
                role=role,
                team=f"{number}-{team + 1}" if config.team > 1 else "",
                attack=config.attack,
                parameters=parameters,
                start_round=start,
            )
    return tuple(found[row] for row in range(n))


def _role(kind: str, member: int) -> str:
    if kind == "colluders":
        return "staker" if member else "peeker"
    if kind == "card_switcher":
        return "partner" if member else "switcher"
    return ""


def labels_csv(labels: tuple[Label, ...]) -> str:
    """One line a player, below the names of ``LABEL_COLUMNS``."""
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    writer.writerow(LABEL_COLUMNS)
    for label in labels:
        values = (getattr(label, name) for name in LABEL_COLUMNS)
        writer.writerow(["" if value is None else value for value in values])
    return held.getvalue()
