"""A small suite of made-up trainings, with holes, for the tests of its figures."""

import numpy as np

from niulab.evaluation.curves import Curve
from niulab.evaluation.statistics import SuiteResults

ALGORITHMS = ("slow", "fast", "lost")
TASKS = ("Arrange", "Peek")
SEEDS = (3, 5, 8)


def make_curve(speed, n_evaluations):
    steps = tuple(100 * (i + 1) for i in range(n_evaluations))
    scores = [1 - 2.0 ** (-speed * step / 100) for step in steps]
    return Curve("run", steps, tuple({"normalized_score": x, "regret": 1 - x} for x in scores))


def small_suite(**changes):
    """ "fast" beats "slow" everywhere; one run of "slow" failed, and all of "lost" on Peek."""
    curves = {
        (algorithm, seed, task): make_curve(speed * (1 + seed / 10), 5 + seed)
        for algorithm, speed in zip(ALGORITHMS, (0.2, 1.0, 0.1), strict=True)
        for seed in SEEDS
        for task in TASKS
    }
    reasons = {("lost", seed, "Peek"): "no bets on this task" for seed in SEEDS}
    reasons["slow", 5, "Peek"] = "NaN in the loss"

    def figures(read):
        return np.array(
            [
                [
                    [
                        np.nan if (a, s, t) in reasons and read is last else read(curves[a, s, t])
                        for t in TASKS
                    ]
                    for s in SEEDS
                ]
                for a in ALGORITHMS
            ]
        )

    def last(curve):
        return curve.series("normalized_score")[-1]

    steps = figures(lambda curve: curve.steps[-1])
    fields = {
        "algorithms": ALGORITHMS,
        "tasks": TASKS,
        "seeds": SEEDS,
        "scores": figures(last),
        "regrets": figures(Curve.cumulative_regret),
        "steps": steps,
        "wall_seconds": steps / 1000,
        "cpu_seconds": steps * 3.6,
        "reasons": reasons,
        "curves": curves,
    }
    return SuiteResults(**(fields | changes))
