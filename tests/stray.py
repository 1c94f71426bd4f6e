"""Scripts run in a fresh interpreter, where nothing of the tests has been imported."""

import subprocess
import sys


def in_fresh_process(script, folder):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=folder, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
