"""``make bench``: measure everything in one run on one pinned core, and write RESULTS.md.

Threads and the study of all betting systems take all cores, the latter for a minute or two
(``--without-study`` leaves it out).

Figures are per processor second, so that other work on the machine shifts them little; nothing here
is a test. ``--peers FOLDER`` names a folder with one virtual environment per peer, absent ones are
skipped: ``python -m venv FOLDER/envpool``, then ``FOLDER/envpool/bin/pip install envpool``, and so
on for open_spiel, pgx, rlcard and pettingzoo (``pettingzoo[classic]``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from betting import STUDY, measure_betting, measure_study
from detection import measure_detection
from growth import measure_growth
from limit import measure_limit
from measure import Meter, default_core, pin
from ours import (
    measure_engine,
    measure_environments,
    measure_evaluation,
    measure_first_calls,
    measure_simulate,
)
from peers import PEERS
from playlog import measure_playlog
from results import Peer, Run, write
from training import measure_training

_HERE = Path(__file__).resolve().parent
_SLOWEST_PEER = 300


def main() -> None:
    options = _options()
    all_cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    core = default_core() if options.core is None else options.core
    pin(core)
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    start = time.perf_counter()
    meter = Meter(0.02, 2) if options.quick else Meter()
    coarse = Meter(0.02, 2) if options.quick else Meter(0.2, 3)
    meter.calibrate("at the start")
    measure_limit(meter)
    measure_engine(meter)
    measure_environments(meter)
    meter.calibrate("after the environments")
    measure_first_calls(meter, repeats=1 if options.quick else 3)
    measure_evaluation(meter)
    measure_simulate(meter, millions=60 if options.quick else 400)
    questions = measure_betting(meter)
    measure_detection(meter)
    measure_playlog(meter)
    training = measure_training(meter, is_short=options.quick)
    skipped = {}
    if reason := _why_no_study(options, meter, core, all_cores):
        print(f"{STUDY}: skipped, {reason}", flush=True)
        skipped[STUDY] = reason
    growths = measure_growth(coarse, core, all_cores=all_cores)
    meter.calibrate("before the peers")
    peers, without = _measure_peers(options.peers)
    meter.calibrate("at the end")
    seconds = time.perf_counter() - start
    command = " ".join(["python benchmarks/run.py", *_without_paths(options)])
    skipped |= without
    text = write(Run(command, core, seconds, meter, questions, training, growths, peers, skipped))
    options.out.write_text(text, encoding="utf-8")
    print(f"{options.out} written after {seconds:.0f} s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, help="folder with one virtual environment per peer")
    parser.add_argument("--core", type=int, help="the core to run on; the last one if not given")
    parser.add_argument("--out", type=Path, default=_HERE / "RESULTS.md")
    parser.add_argument(
        "--without-study", action="store_true", help="leave out the study of minutes on all cores"
    )
    parser.add_argument("--quick", action="store_true", help="a short run that proves nothing")
    return parser.parse_args()


def _without_paths(options: argparse.Namespace) -> list[str]:
    words = ["--peers PEERS"] if options.peers else []
    words += [f"--core {options.core}"] if options.core is not None else []
    words += ["--without-study"] if options.without_study else []
    return [*words, "--quick"] if options.quick else words


def _why_no_study(
    options: argparse.Namespace, meter: Meter, core: int, all_cores: set[int]
) -> str | None:
    """Measure the study, or say why there is no figure of it."""
    if options.without_study:
        return "it was not asked for"
    return measure_study(meter, core, all_cores=all_cores, is_short=options.quick)


def _measure_peers(folder: Path | None) -> tuple[list[Peer], dict[str, str]]:
    """Figures of the peers at hand, and why the others have none."""
    found: list[Peer] = []
    skipped: dict[str, str] = {}
    for name in PEERS:
        python = _python_of(name, folder)
        if python is None:
            skipped[name] = "no environment given for it" if folder is None else "not in the folder"
        else:
            try:
                found += _measure_peer(name, python)
            except (subprocess.SubprocessError, ValueError) as error:
                skipped[name] = _reason(error)
        if name in skipped:
            print(f"peer {name}: skipped, {skipped[name]}", flush=True)
    return found, skipped


def _python_of(name: str, folder: Path | None) -> Path | None:
    """The peer's own interpreter; Gymnasium is one of our own dependencies."""
    own = [] if folder is None else [folder / name / "bin/python", folder / name / "Scripts/python"]
    at_hand = [*own, Path(sys.executable)] if name == "gymnasium" else own
    return next((python for python in at_hand if python.exists()), None)


def _measure_peer(name: str, python: Path) -> list[Peer]:
    done = subprocess.run(
        [python, _HERE / "peers.py", name],
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=_SLOWEST_PEER,
    )
    rows = [row for row in done.stdout.splitlines() if row.startswith("{")]
    found = [Peer(**json.loads(row)) for row in rows]
    for peer in found:
        print(f"{peer.name:<58} {peer.rounds:>12,.0f} rounds/cpu-s", flush=True)
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = (error.stderr or "").strip().splitlines()
        return f"it failed: {lines[-1] if lines else error}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it took more than {_SLOWEST_PEER} s"
    return f"its answer was not readable: {error}"


if __name__ == "__main__":
    main()
