"""Runs killed by the system (SIGKILL) at any file they touch and at any moment, then resumed."""

import json
import subprocess
import sys

import pytest

from niulab.training.runs.run_folder import RunFolder

KILLER = """
import json, os, shutil, signal, sys, time
from pathlib import Path
import numpy as np
import torch

torch.set_num_threads(1)
import niulab.training.run  # children are forks: they import nothing
from niulab.training import parse_train, train

config = parse_train(json.loads(sys.argv[1]))
place, n_points, n_moments = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
TOUCHES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}


def watch(folder, act):
    def hook(event, args):
        words = " ".join(str(arg) for arg in args[:2])
        if event in TOUCHES and str(folder) in words and "events.out" not in words:
            act()

    sys.addaudithook(hook)


def child(folder, before, kill_after=None):
    pid = os.fork()
    if pid == 0:
        before()
        has_begun = (folder / "manifest.json").exists()
        train(config, folder, resume=has_begun, progress=False)
        os._exit(0)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def result(folder):
    lines = [json.loads(line) for line in (folder / "evaluations.jsonl").read_text().splitlines()]
    scores = [(line["step"], line["due"], line["scores"]) for line in lines]
    names = ("final", "best")
    return *((folder / name / "weights.safetensors").read_bytes() for name in names), scores


train(config, place / "warm", progress=False)  # tables and compiled code, for all children
whole = place / "whole"
touched = place / "touched"
began = time.monotonic()
child(whole, lambda: watch(whole, lambda: touched.open("a").write(".")))
seconds = time.monotonic() - began
n_touches = touched.stat().st_size
rng = np.random.default_rng(int(sys.argv[5]))
points = sorted(rng.choice(n_touches, min(n_points, n_touches), replace=False) + 1)
deaths = [("touch", int(point)) for point in points]
deaths += [("moment", float(share) * seconds) for share in rng.random(n_moments)]
failures = []
for kind, when in deaths:
    cut = place / "cut"
    shutil.rmtree(cut, ignore_errors=True)
    left = [when]

    def die():
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    if kind == "touch":
        code = child(cut, lambda: watch(cut, die))
    else:
        code = child(cut, lambda: None, kill_after=when)
    is_done = (cut / "result.json").exists()
    if code != -signal.SIGKILL and not (kind == "moment" and is_done):
        failures.append([kind, when, f"left with {code}"])
    elif code := child(cut, lambda: None):
        failures.append([kind, when, f"resumed with {code}"])
    else:
        pairs = zip(("final", "best", "scores"), result(cut), result(whole), strict=True)
        failures += [[kind, when, name] for name, ours, other in pairs if ours != other]
print(json.dumps({"touches": n_touches, "deaths": len(deaths), "failures": failures}))
"""


def killed(config, folder, *, n_points, n_moments, seed=0):
    words = [json.dumps(config.to_json()), str(folder), str(n_points), str(n_moments), str(seed)]
    process = subprocess.run(
        [sys.executable, "-c", KILLER, *words], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    report = json.loads(process.stdout)
    assert report["failures"] == [], process.stderr[-3000:]
    return report


@pytest.fixture
def config(tiny):
    return tiny(
        total_steps=256,
        checkpoint={"every": 64, "keep": 1},
        evaluation={"every": 64, "n_rounds": 100},
    )


def test_a_killed_run_goes_on_to_the_same_weights(config, tmp_path):
    report = killed(config, tmp_path, n_points=3, n_moments=1)
    assert report["touches"] > 30
    assert report["deaths"] == 4


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_at_every_file_and_at_thirty_moments(algorithm, config, tiny, tmp_path):
    frequencies = {"checkpoint": config.checkpoint, "evaluation": config.evaluation}
    words = {key: value.model_dump() for key, value in frequencies.items()}
    report = killed(tiny(algorithm, total_steps=256, **words), tmp_path, n_points=999, n_moments=30)
    assert report["deaths"] == report["touches"] + 30


def test_a_run_that_died_before_its_manifest_may_begin_anew(config, tmp_path):
    (tmp_path / ".manifest.json.new").write_text('{"form')
    RunFolder(tmp_path).create(config, "")
    assert RunFolder(tmp_path).read_manifest()["seed"] == 0
    assert not (tmp_path / ".manifest.json.new").exists()
