"""RLlib on its new API stack: the example trains, and its policy is scored exactly.

``ray[rllib]`` pins an older Gymnasium, so this runs in an environment of its own, as
``examples/rllib_arrange.py`` says; elsewhere it is skipped.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray.rllib", reason="RLlib is not installed", exc_type=ImportError)

pytestmark = pytest.mark.long  # a Ray takes ten seconds to start

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "rllib_arrange.py"


def test_two_iterations_of_rllibs_ppo():
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--iterations", "2"],
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    steps = re.findall(r"iteration (\d): ([\d,]+) steps", done.stdout)
    assert [(n, int(count.replace(",", ""))) for n, count in steps] == [("1", 4096), ("2", 8192)]
    score = float(re.search(r"normalized score (-?[\d.]+)", done.stdout)[1])
    assert 0.2 < score < 1
