"""The calibration of the detectors: what they promise of the honest, and how soon they find others.

Long runs keep finished pieces, each of some players of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from niulab.agents.advantage.config import AttackConfig
from niulab.errors import ConfigError
from niulab.evaluation.detection.calibration.config import DetectionConfig, bettor_name
from niulab.evaluation.detection.calibration.exact import mean_errors, portfolio_digest
from niulab.evaluation.detection.calibration.outcomes import (
    found_of,
    honest_of,
    permuted_of,
    roc_of,
)
from niulab.evaluation.detection.calibration.permuted import LoggedPlays, LogPart, log_part
from niulab.evaluation.detection.calibration.pieces import (
    AttackPart,
    FloorPart,
    HonestPart,
    ScorePart,
    attack_part,
    floor_part,
    honest_part,
    score_part,
)
from niulab.evaluation.detection.calibration.study import DetectionStudy
from niulab.evaluation.detection.calibration.watching import declared_for, full_for, watch_for
from niulab.evaluation.sessions.kept import KeptParts
from niulab.evaluation.studies.study import Progress
from niulab.parallel import Outcome, run_tasks
from niulab.seeding import stream_seed

__all__ = ["DetectionConfig", "DetectionStudy", "detection_study"]

_PIECE = 1_000  # players: what a worker does in a few seconds
_VERSION = 2  # of what a kept piece holds


class _Piece(NamedTuple):
    """A task: what it is kept under, the dataclass it makes, and how."""

    depends: dict[str, Any]
    kind: type
    run: Callable[[], Any]


def detection_study(
    config: DetectionConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> DetectionStudy:
    """Play and judge everything; pieces lying in ``keep`` are not played again.

    Raises ConfigError where a piece fails.
    """
    attackers = config.attackers()
    honest = [_honest_pieces(config, number) for number in range(len(config.bettors()))]
    attacks = [_attack_piece(config, name, player) for name, player in attackers]
    scores = _score_pieces(config) if config.horizons else []
    floors = [_floor_piece(config, number) for number in range(config.n_floors)]
    logs = _log_pieces(config) if config.n_permutations else []
    flat = [piece for pieces in honest for piece in pieces]
    parts = iter(_run([*floors, *logs, *scores, *attacks, *flat], config, progress, keep))
    portfolio = watch_for(config.rules, seats=False)
    judged_floors = tuple(next(parts) for _ in floors)
    logged = [next(parts) for _ in logs]
    roc = roc_of(config, next(parts), next(parts)) if scores else ()
    found = tuple(found_of(config, name, player, next(parts)) for name, player in attackers)
    return DetectionStudy(
        config=config,
        portfolio=portfolio,
        mean_errors=mean_errors(portfolio, seed=config.seed),
        honest=tuple(
            honest_of(config, bettor_name(player), [next(parts) for _ in pieces])
            for player, pieces in zip(config.bettors(), honest, strict=True)
        ),
        found=found,
        roc=roc,
        floors=judged_floors,
        permuted=permuted_of(config.alphas, logged) if logged else None,
    )


def _honest_pieces(config: DetectionConfig, number: int) -> list[_Piece]:
    """The honest players of one kind, ``_PIECE`` at a time."""
    player, is_long = config.bettors()[number], number < config.long_kinds()
    n = config.long_players if is_long else config.n_players
    rounds = config.long_rounds if is_long else config.n_rounds
    pieces = []
    for place, first in enumerate(range(0, n, _PIECE)):
        purpose = f"detection/honest/{player.parameters}/{place}"
        seed = stream_seed(config.seed, purpose)
        floor = config.table(player, players=min(_PIECE, n - first), rounds=rounds, seed=seed)
        depends = {"purpose": purpose, "n": floor.n_players, "z_from": config.z_from}
        run = partial(honest_part, floor, config.z_from)
        pieces.append(_Piece(depends | {"rounds": rounds}, HonestPart, run))
    return pieces


def _attack_piece(config: DetectionConfig, name: str, player: AttackConfig) -> _Piece:
    purpose = f"detection/attack/{name}/{player.parameters}"
    rounds, n = player.start + config.attack_rounds, config.attack_players
    floor = config.table(player, players=n, rounds=rounds, seed=stream_seed(config.seed, purpose))
    run = partial(attack_part, floor, player, alpha=config.alpha)
    depends = {
        "purpose": purpose,
        "n": n,
        "rounds": rounds,
        "alpha": config.alpha,
        "sheet": floor.rules.rules_hash,
        "portfolios": [
            portfolio_digest(portfolio)
            for portfolio in (full_for(floor.rules, player), declared_for(floor.rules, player))
            if portfolio is not None
        ],
    }
    return _Piece(depends, AttackPart, run)


def _score_pieces(config: DetectionConfig) -> list[_Piece]:
    """Honest players and seers of a dealer's card who stake the top box equally often."""
    seer = config.roc_pair()[1]
    pieces = []
    for role, player in zip(("honest", "seer"), config.roc_pair(), strict=True):
        purpose = f"detection/roc/{role}/{seer.parameters}"
        floor = config.table(
            player,
            players=config.roc_players,
            rounds=config.horizons[-1],
            seed=stream_seed(config.seed, purpose),
        )
        depends = {"purpose": purpose, "n": config.roc_players, "at": list(config.horizons)}
        pieces.append(_Piece(depends, ScorePart, partial(score_part, floor, config.horizons)))
    return pieces


def _floor_piece(config: DetectionConfig, number: int) -> _Piece:
    purpose = f"detection/floor/{number}"
    floor = config.floors().changed(seed=stream_seed(config.seed, purpose))
    players = [[player.kind, player.count, player.parameters] for player in floor.players]
    depends = {"purpose": purpose, "players": players, "rounds": floor.rounds, "fdr": config.fdr}
    return _Piece(depends, FloorPart, partial(floor_part, floor, config.fdr))


def _log_pieces(config: DetectionConfig) -> list[_Piece]:
    """The log as it is, and with its deals permuted again and again."""
    log = LoggedPlays.of(config.log, rounds=config.log_rounds, seed=config.seed)
    pieces = []
    for number in range(config.n_permutations + 1):
        depends = {"purpose": f"detection/permuted/{number}", "log": log.content}
        pieces.append(_Piece(depends, LogPart, partial(log_part, log, config.seed, number)))
    return pieces


def _run(
    pieces: Sequence[_Piece], config: DetectionConfig, progress: Progress | None, keep: Path | None
) -> list[Any]:
    """What becomes of the pieces, in their order; the kept ones first."""
    store = KeptParts(keep)
    common = {
        "version": _VERSION,
        "seed": config.seed,
        "rules": config.rules.rules_hash,
        "portfolio": portfolio_digest(watch_for(config.rules, seats=False)),
    }
    depends = [piece.depends | common for piece in pieces]
    parts: list[Any] = [
        store.load(piece.kind, key) for piece, key in zip(pieces, depends, strict=True)
    ]
    missing = [place for place, part in enumerate(parts) if part is None]
    n_done = len(pieces) - len(missing)

    def report(outcome: Outcome[Any]) -> None:
        nonlocal n_done
        place = missing[outcome.index]
        if outcome.error is None:
            parts[place] = outcome.value
            store.save(outcome.value, depends[place])
        n_done += 1
        if progress is not None:
            progress("players judged", n_done, len(pieces))

    if progress is not None:
        progress("players judged", n_done, len(pieces))
    outcomes = run_tasks(
        _call,
        [pieces[place].run for place in missing],
        engine="serial" if config.workers == 1 else "processes",
        workers=config.workers,
        on_result=report,
    )
    for place, outcome in zip(missing, outcomes, strict=True):
        if outcome.error is not None:
            raise ConfigError(
                f"{pieces[place].depends['purpose']} failed: {outcome.error}; finished pieces are "
                "kept, the same command goes on from them"
            )
    return parts


def _call(run: Callable[[], Any]) -> Any:
    return run()
