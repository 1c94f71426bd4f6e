"""RESULTS.md: machine and versions, targets, peers, every figure, growth, and what bounds us."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

import betting
import ours
from betting import Question
from growth import Growth
from limit import Limit
from measure import Figure, Meter, cpu_model, show
from targets import LIMIT_WHEN_SET, TARGETS
from training import SCORE, Training

import niulab

__all__ = ["Peer", "Run", "write"]

_THREE_DIGITS = 5e-4


@dataclass(frozen=True)
class Peer:
    """Steps and rounds per processor second of one peer's environment; least and most of rounds."""

    name: str
    batch: int
    steps: float
    rounds: float
    least: float
    most: float


@dataclass(frozen=True)
class Run:
    """Everything one run measured. skipped: why a peer, or the study, has no figures."""

    command: str
    core: int
    seconds: float
    meter: Meter
    questions: list[Question]
    training: Training
    growths: list[Growth]
    peers: list[Peer]
    skipped: dict[str, str]


def write(run: Run) -> str:
    """The whole page."""
    parts = [
        "# Benchmark results",
        *_head(run),
        "## Targets",
        *_targets(run.meter),
        "## Beside the limit and the peers",
        *_peers(run),
        "## Betting",
        *_betting(run),
        "## Training",
        *_training(run),
        "## What bounds the figures that miss a target",
        *_bounds(run.meter),
        "## How cost grows",
        *(text for growth in run.growths for text in _growth(growth)),
        "## Every figure",
        *_figures(run.meter.figures.values()),
    ]
    return "\n\n".join(parts) + "\n"


# ---------------------------------------------------------------- parts


def _head(run: Run) -> list[str]:
    packages = ("numpy", "numba", "gymnasium", "stable_baselines3", "torch")
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    loops = [f for name, f in run.meter.figures.items() if name.startswith("calibration")]
    swing = ", ".join(show(figure.value, "loops") for figure in loops)
    facts = [
        ("command", f"`{run.command}`, as `make bench` runs it; {run.seconds:.0f} s by the wall"),
        ("date", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"),
        ("machine", f"{cpu_model()}, {os.cpu_count()} cores, {platform.system()}"),
        (
            "versions",
            f"niulab {niulab.__version__}, Python {platform.python_version()}, {versions}",
        ),
        ("calibration", f"a Python loop, turns per processor second in order of time: {swing}"),
        ("load average", f"{os.getloadavg()[0]:.1f} at the end" if os.name == "posix" else "?"),
    ]
    words = (
        "Written by `make bench`; do not edit. Rates are per processor second on the one core to "
        f"which the run is pinned (core {run.core}): medians of several repeats, in brackets the "
        "least and the most; only what says so is by the wall. A figure of speed is never a test."
    )
    return [words, _table(("", ""), facts)]


def _targets(meter: Meter) -> list[str]:
    limit = meter.figures[Limit().streamed].value
    rows = []
    for target in TARGETS:
        figure = meter.figures.get(target.figure)
        asked = f"{'<=' if target.unit == 's' else '>='} {show(target.least, target.unit)}"
        if figure is None:
            rows.append((target.what, asked, "not measured", "", "", ""))
            continue
        share, share_asked = "", ""
        if target.unit not in {"s", "times"}:
            share = _share(figure.value / limit)
            share_asked = _share(target.least / LIMIT_WHEN_SET)
        met = "yes" if target.is_met(figure) else "**no**"
        rows.append((target.what, asked, _with_spread(figure), met, share_asked, share))
    head = ("", "target", "measured", "met", "target ÷ limit then", "measured ÷ limit now")
    note = (
        f"The limit was {show(LIMIT_WHEN_SET, 'rounds')} rounds per processor second where the "
        f"targets were set and is {show(limit, 'rounds')} in this run; the last two columns "
        "compare without the machine. It is a stand-in game played one round at a time "
        "(`benchmarks/limit.py`), a yardstick and no bound: work on blocks of rounds may pass it."
    )
    return [_table(head, rows), note, _of_evaluation(meter)]


def _of_evaluation(meter: Meter) -> str:
    names = (ours.EVALUATED, ours.FORWARD, ours.FIRST_FOUND)
    whole, forward, table = (meter.figures[name].value for name in names)
    return (
        f"The exact score of an untrained card network over all hands takes {show(whole, 's')}, "
        f"its forward passes alone {show(forward, 's')} ({_share(forward / whole)}; profile "
        f"below). An agent without a network is scored in {show(table, 's')}."
    )


def _peers(run: Run) -> list[str]:
    figures = run.meter.figures
    limit, keyed = figures[Limit().streamed], figures[Limit().keyed]
    engine, batch, single = (figures[n] for n in (ours.COUNT, ours.VECTOR_IDS, ours.GYM_SINGLE))
    rows = [
        (f"**{name}**", f"{figure.batch:,}", "", show(figure.value, "rounds"), "", "")
        for name, figure in (
            ("limit, one round at a time: a stream", limit),
            ("limit, one round at a time: by number", keyed),
            ("niulab, engine", engine),
            ("niulab, vector env, card ids", batch),
            ("niulab, vector env, float32 flags", figures[ours.VECTOR_FLOAT32]),
            ("niulab, SB3 adapter", figures[ours.SB3]),
            ("niulab, SB3 adapter, all infos read", figures[ours.SB3_READ]),
            ("niulab, single env", figures[ours.SINGLE]),
            ("niulab, single env through gymnasium.make", single),
        )
    ]
    for peer in sorted(run.peers, key=lambda peer: -peer.rounds):
        own = batch if peer.batch > 1 else single
        rows.append(
            (
                peer.name,
                f"{peer.batch:,}",
                show(peer.steps, "steps"),
                show(peer.rounds, "rounds"),
                _times(own.value / peer.rounds),
                _times(engine.value / peer.rounds),
            )
        )
    head = ("", "batch", "steps", "rounds", "our env ÷ it", "our engine ÷ it")
    note = (
        "Rounds are compared: a round of Arrange is one step, one of the peers' games several. "
        "Batched peers are set beside our vector env with card ids, single ones beside our single "
        "env through `gymnasium.make`. The peers play other games, so the ratios say what a user "
        "waits for, not whose code is better."
    )
    skips = [
        f"- {name}: skipped, {reason}"
        for name, reason in run.skipped.items()
        if name != betting.STUDY
    ]
    return [_table(head, rows), note, *(["\n".join(skips)] if skips else [])]


def _bounds(meter: Meter) -> list[str]:
    measured = [target for target in TARGETS if target.figure in meter.figures]
    missed = [target for target in measured if not target.is_met(meter.figures[target.figure])]
    texts = ["### Stages of a round", *_stages(meter)]
    for target in missed:
        texts += _profile(target.what, target.figure, meter)
    texts += _profile("exact score of an untrained card network", ours.EVALUATED, meter)
    note = (
        f"Of {len(measured)} targets measured {len(missed)} are missed. Profiles are cProfile's by "
        "processor time, in this run; array operations without a function name count as their "
        "caller's own time."
    )
    return [note, *texts]


def _profile(what: str, figure: str, meter: Meter) -> list[str]:
    stages = ours.stages_of(figure, meter)
    if not stages:
        return []
    rows = [
        (f"`{stage.name}`", f"{stage.calls:,}", _share(stage.own), _share(stage.total))
        for stage in stages
    ]
    rest = 1 - sum(stage.own for stage in stages)
    rows.append(("everything else", "", _share(rest), ""))
    head = ("function", "calls", "own time", "with what it calls")
    return [f"### {what[0].upper()}{what[1:]}", _table(head, rows)]


def _stages(meter: Meter) -> list[str]:
    """Nanoseconds a round, ours beside the limit's."""
    ns = {name: 1e9 / figure.value for name, figure in meter.figures.items() if figure.unit != "s"}
    names = [*Limit(), ours.DEAL, ours.COUNT, ours.PLAY]
    table = _table(("stage", "ns a round"), [(name, f"{ns[name]:.1f}") for name in names])
    deal, count, play = (ns[name] for name in (ours.DEAL, ours.COUNT, ours.PLAY))
    keyed, stream = ns[Limit().keyed], ns[Limit().streamed]
    words = (
        f"That any round can be asked for by its number costs the limit {keyed - stream:+.1f} ns "
        f"over a stream, {keyed:.1f} in all. `count`, which plays a real sheet and finds verdict, "
        f"ranks and events, takes {_times(count / keyed)} times that, {count - keyed:+.1f} ns, "
        "block by block instead of round by round. Dealing packets of cards by itself, without a "
        f"hand ranked, takes {deal:.1f} ns, and `play`, which writes a net for every round, "
        f"{play - count:+.1f} over `count`."
    )
    return [table, words]


def _growth(growth: Growth) -> list[str]:
    rows = [
        (f"{grown:,}", *(_with_wall(growth, figure) for figure in figures))
        for grown, figures in growth.rows.items()
    ]
    return [f"### {growth.title}", _table((growth.grows, *growth.columns), rows), growth.note]


def _with_wall(growth: Growth, figure: Figure) -> str:
    text = show(figure.value, figure.unit)
    return f"{text}; {show(figure.wall, figure.unit)} by the wall" if growth.by_wall else text


def _figures(figures: Iterable[Figure]) -> list[str]:
    rows = [
        (
            figure.name,
            f"{figure.batch:,}" if figure.batch > 1 else "",
            show(figure.value, figure.unit),
            "" if figure.unit in {"s", "times"} else f"{figure.unit} per processor second",
            f"{show(figure.least, figure.unit)} to {show(figure.most, figure.unit)}",
        )
        for figure in figures
    ]
    return [_table(("", "batch", "median", "unit", "least to most"), rows)]


def _betting(run: Run) -> list[str]:
    """Exact answers, and what a simulation of the same would take."""
    figures, rows = run.meter.figures, []
    for question in run.questions:
        rate = figures[question.simulated].value
        exact = figures[question.figure].value
        rough, same = (question.sessions(error) for error in (_THREE_DIGITS, question.error))
        rows.append(
            (
                question.what,
                f"{question.chance:.12f}",
                f"{question.error:.0e}",
                show(exact, "s"),
                show(rate, "sessions"),
                f"{_count(rough)}; {_duration(rough / rate)}",
                f"{_count(same)}; {_duration(same / rate)}",
            )
        )
    head = (
        "chance of",
        "exact",
        "error at most",
        "takes",
        "NumPy: sessions a second",
        "for three digits",
        "for the exact one's error",
    )
    note = (
        "Processor time of compiled code, the law of a round being there, and of the score the "
        "bounds of its task. The simulations are plain NumPy on the same core: rounds drawn from "
        "the joint law of the slips, no cards dealt, sessions side by side; the one of ruin takes "
        "one path for all bankrolls. Each was seen to agree with the exact answer before it was "
        "measured. The last two columns are the sessions and the time until a 95 % interval is as "
        f"narrow as +-{_THREE_DIGITS:g}, and as the error stated. Where play is best play, the "
        "exact time is that of finding it, and the simulation only plays what was found."
    )
    return [_table(head, rows), note, _study(run)]


def _study(run: Run) -> str:
    if betting.STUDY not in run.meter.figures:
        return f"The league of all systems was not measured: {run.skipped[betting.STUDY]}."
    wall, cpu = (run.meter.figures[name].value for name in (betting.STUDY, betting.STUDY_CPU))
    return (
        f"`niulab study systems`, the league of all systems with its report, takes "
        f"{_duration(wall)} by the wall and {_duration(cpu)} of processor time on "
        f"{os.cpu_count()} cores."
    )


def _training(run: Run) -> list[str]:
    """PPO's loops with what the environment takes of them, and times to a score."""
    loops = [
        (name, show(run.meter.figures[name].value, "steps"), _share(share), _share(1 - share))
        for name, share in run.training.shares.items()
    ]
    arrivals = [
        (
            learned.name,
            f"{'' if learned.has_arrived else 'not in '}{learned.seconds:.1f} s",
            f"{learned.steps:,}",
            f"{learned.score:.6f}",
        )
        for learned in run.training.learned
    ]
    note = (
        "Both sides are SB3's PPO with the same perceptron, observations and rewards on "
        "`niulab/Arrange-v0`; steps are of the whole loop. The environment's share is the time in "
        "`step_wait`, the rest is the network's: choosing actions and updates."
    )
    words = (
        f"Time to an exact normalized score of {SCORE}, seed 0, scoring left out: shipped configs "
        "are scored every 50,000 steps, SB3's defaults after every rollout. 'Not in' says that a "
        "run ended, or its budget was spent, below it; the score is then the last one."
    )
    return [
        _table(("loop", "steps", "environment", "network"), loops),
        note,
        _table(("learner", f"to {SCORE}", "steps", "score there"), arrivals),
        words,
    ]


# ---------------------------------------------------------------- words


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _with_spread(figure: Figure) -> str:
    least, most = show(figure.least, figure.unit), show(figure.most, figure.unit)
    return f"{show(figure.value, figure.unit)} ({least} to {most})"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if value >= 0.01 else f"{100 * value:.2g} %"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _count(n: float) -> str:
    """A large number: ``3.8 M``, ``2.1e21``."""
    return show(n, "sessions").strip() if n < 1e12 else f"{n:.1e}"


def _duration(seconds: float) -> str:
    """In the largest fitting unit, up to years."""
    for size, unit in ((365.25 * 86400, "years"), (86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            n = seconds / size
            return f"{n:,.0f} {unit}" if n < 1e6 else f"{n:.0e} {unit}"
    return show(seconds, "s")
