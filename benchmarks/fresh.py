"""What a first call costs: run as a process of its own, it times itself and prints JSON.

``python fresh.py import|kernels|solve|first|values|where``; NUMBA_CACHE_DIR decides whether
anything must be compiled, NIULAB_CACHE whether counts of hands are found on disk.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from stages import profile

_PLAIN, _OTHER_RANKING = "single-double-super", "even-double-super-bonus-ace-high"


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _import() -> dict[str, float]:
    def work() -> None:
        import niulab  # noqa: F401, the import is what is timed

    return {"import niulab": _seconds(work)}


def _kernels() -> dict[str, float]:
    """First calls of the engine and of a batch of environments."""
    import gymnasium
    import numpy as np

    import niulab
    from niulab.engine.batch import BatchEngine
    from niulab.engine.wagers import least_slip

    rules = niulab.load_rules(_PLAIN)
    seeds, rounds = np.arange(8, dtype=np.uint64), np.arange(8, dtype=np.int64)
    env = gymnasium.make_vec("niulab/Arrange-v0", num_envs=8)

    def numba() -> None:
        import numba  # noqa: F401, the import is what is timed

    def step() -> None:
        env.reset(seed=1)
        env.step(np.zeros(8, dtype=np.int64))

    engine = BatchEngine(rules)
    return {
        "import numba": _seconds(numba),
        "first BatchEngine.play": _seconds(lambda: engine.play(least_slip(rules), seeds, rounds)),
        "first BatchEngine.count": _seconds(lambda: engine.count(1, 0, 8)),
        "first reset and step of a batch": _seconds(step),
    }


def _solve() -> dict[str, float]:
    import niulab
    from niulab.solvers.hand_values import hand_values

    rules, other = niulab.load_rules(_PLAIN), niulab.load_rules(_OTHER_RANKING)
    return {
        "first solve of a process": _seconds(lambda: niulab.solve(other)),
        "solve of another ranking": _seconds(lambda: niulab.solve(rules, slip="single=100")),
        "hand values after the solve": _seconds(lambda: hand_values(rules)),
    }


def _first() -> dict[str, float]:
    """All hand values as the first thing a process asks for, the loading of code included."""
    import niulab

    rules = niulab.load_rules(_PLAIN)

    def work() -> None:
        from niulab.solvers.hand_values import hand_values

        hand_values(rules)

    return {"first hand values of a process": _seconds(work)}


def _values() -> dict[str, float]:
    import niulab
    from niulab.solvers.hand_values import hand_values

    rules = niulab.load_rules(_PLAIN)
    niulab.solve(_OTHER_RANKING)
    return {"hand values from nothing": _seconds(lambda: hand_values(rules))}


def _where() -> list[dict[str, object]]:
    """Where the time of all hand values from nothing goes."""
    import niulab
    from niulab.solvers.hand_values import hand_values

    rules = niulab.load_rules(_PLAIN)
    niulab.solve(_OTHER_RANKING)
    return [asdict(stage) for stage in profile(lambda: hand_values(rules), seconds=0)]


if __name__ == "__main__":
    probe = {
        "import": _import,
        "kernels": _kernels,
        "solve": _solve,
        "first": _first,
        "values": _values,
        "where": _where,
    }
    print(json.dumps(probe[sys.argv[1]]()))
