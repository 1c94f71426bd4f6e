"""RESULTS.md: machine and versions, targets, peers, every figure, growth, and what bounds us."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version

import ours
from growth import Growth
from limit import Limit
from measure import Figure, Meter, cpu_model, show

import niulab

__all__ = ["Peer", "Run", "write"]

_LIMIT_WHEN_SET = 79e6
"""Rounds per second of the limit on the machine and day on which the targets were set."""


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
    """Everything one run measured. skipped: why a peer has no figures."""

    command: str
    core: int
    seconds: float
    meter: Meter
    growths: list[Growth]
    peers: list[Peer]
    skipped: dict[str, str]


@dataclass(frozen=True)
class Target:
    """The least rate (or, with ``unit`` "s", the longest time) asked of a figure."""

    what: str
    figure: str
    least: float
    unit: str

    def is_met(self, figure: Figure) -> bool:
        return figure.value <= self.least if self.unit == "s" else figure.value >= self.least


TARGETS = (
    Target("raw engine, one seat: cells counted", ours.COUNT, 50e6, "rounds"),
    Target("raw engine, one seat: net of every round", ours.PLAY, 50e6, "rounds"),
    Target("vector env, batch 4,096, uint8 card ids", ours.VECTOR_IDS, 25e6, "steps"),
    Target("vector env, batch 4,096, float32 flags", ours.VECTOR_FLOAT32, 10e6, "steps"),
    Target("SB3 adapter, batch 2,048", ours.SB3, 2e6, "steps"),
    Target("single env, step and reset", ours.SINGLE, 150e3, "rounds"),
    Target("`niulab simulate`", ours.SIMULATE, 40e6, "rounds"),
    Target("all hand values, one plain deck, compiled", ours.VALUES, 1.0, "s"),
    Target("`import niulab`", ours.IMPORT, 0.5, "s"),
)


def write(run: Run) -> str:
    """The whole page."""
    parts = [
        "# Benchmark results",
        *_head(run),
        "## Targets",
        *_targets(run.meter),
        "## Beside the limit and the peers",
        *_peers(run),
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
        "least and the most. A figure of speed is never a test."
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
        if target.unit != "s":
            share = _share(figure.value / limit)
            share_asked = _share(target.least / _LIMIT_WHEN_SET)
        met = "yes" if target.is_met(figure) else "**no**"
        rows.append((target.what, asked, _with_spread(figure), met, share_asked, share))
    head = ("", "target", "measured", "met", "target ÷ limit then", "measured ÷ limit now")
    note = (
        f"The limit was {show(_LIMIT_WHEN_SET, 'rounds')} rounds per processor second where the "
        f"targets were set and is {show(limit, 'rounds')} in this run; the last two columns "
        "compare without the machine."
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
            ("limit, a stream of rounds", limit),
            ("limit, rounds by number", keyed),
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
    skips = [f"- {name}: skipped, {reason}" for name, reason in run.skipped.items()]
    return [_table(head, rows), note, *(["\n".join(skips)] if skips else [])]


def _bounds(meter: Meter) -> list[str]:
    missed = [
        target
        for target in TARGETS
        if target.figure in meter.figures and not target.is_met(meter.figures[target.figure])
    ]
    texts = []
    if any(target.figure in (ours.COUNT, ours.PLAY) for target in missed):
        texts += ["### Stages of a round", *_stages(meter)]
        texts += _profile("raw engine, net of every round", ours.PLAY, meter)
    for target in missed:
        if target.figure not in (ours.COUNT, ours.PLAY):
            texts += _profile(target.what, target.figure, meter)
    texts += _profile("exact score of an untrained card network", ours.EVALUATED, meter)
    note = (
        "Profiles are cProfile's by processor time, in this run; array operations without a "
        "function name count as their caller's own time."
    )
    return [note, *texts]


def _profile(what: str, figure: str, meter: Meter) -> list[str]:
    stages = ours.stages_of(figure, meter)
    rows = [
        (f"`{stage.name}`", f"{stage.calls:,}", _share(stage.own), _share(stage.total))
        for stage in stages
    ]
    rest = 1 - sum(stage.own for stage in stages)
    rows.append(("everything else", "", _share(rest), ""))
    head = ("function", "calls", "own time", "with what it calls")
    return [f"### {what[0].upper()}{what[1:]}", _table(head, rows)]


def _stages(meter: Meter) -> list[str]:
    """Nanoseconds a round, ours beside the limit's: what each promise costs."""
    ns = {name: 1e9 / figure.value for name, figure in meter.figures.items() if figure.unit != "s"}
    names = [*Limit(), ours.DEAL, ours.COUNT, ours.PLAY]
    table = _table(("stage", "ns a round"), [(name, f"{ns[name]:.1f}") for name in names])
    count, keyed, stream = (ns[name] for name in (ours.COUNT, Limit().keyed, Limit().streamed))
    words = (
        f"Bare dealing takes {ns[Limit().deal]:.1f} of the {count:.1f} ns of `count`. That any "
        f"round can be asked for by its number costs the stand-in {keyed - stream:+.1f} ns over a "
        f"stream, {keyed:.1f} in all. A real sheet's round adds {count - keyed:+.1f} to that: it "
        f"looks up a tie key for each card, and counts cells of verdict, ranks and events. `play` "
        f"takes {ns[ours.PLAY] - count:+.1f} over `count`; its profile follows."
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
            "" if figure.unit == "s" else f"{figure.unit} per processor second",
            f"{show(figure.least, figure.unit)} to {show(figure.most, figure.unit)}",
        )
        for figure in figures
    ]
    return [_table(("", "batch", "median", "unit", "least to most"), rows)]


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
