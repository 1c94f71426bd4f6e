"""A full disk, a limit on files, a folder that is none: the run stops, nothing saved is lost."""

import errno
import subprocess
import sys

import pytest

from niulab.agents.models import file as model_file
from niulab.agents.models.sb3 import load_agent
from niulab.errors import CheckpointError
from niulab.evaluation import read_curve
from niulab.training import train
from niulab.training.runs import run_folder
from niulab.training.runs.checkpoint import find_checkpoint

WEIGHTS = "final/weights.safetensors"


@pytest.fixture
def config(tiny):
    return tiny(
        total_steps=192,
        checkpoint={"every": 64},
        evaluation={"every": 64, "n_rounds": 100},
    )


def saved(folder):
    """Every file in its place, and what it holds; events and unfinished files left out."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    parts = {path: path.relative_to(folder).parts for path in files}
    return {
        path: path.read_bytes()
        for path in files
        if "tb" not in parts[path] and not any(part.startswith(".") for part in parts[path])
    }


def test_a_disk_that_is_full_at_any_write_loses_nothing(config, tmp_path, monkeypatch):
    write, before, left = model_file.write_synced, {}, [0]

    def writing(file, content):
        left[0] -= 1
        if not left[0]:
            before.update(saved(folder))
            file.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, content)

    for room in (model_file, run_folder):
        monkeypatch.setattr(room, "write_synced", writing)
    folder = tmp_path / "whole"
    train(config, folder, progress=False)
    n_writes = -left[0]
    assert n_writes > 12
    whole = (folder / WEIGHTS).read_bytes()
    for point in range(1, n_writes + 1, 4):
        folder = tmp_path / str(point)
        before.clear()
        left[0] = point
        with pytest.raises(CheckpointError, match=r"No space left on device; what was saved"):
            train(config, folder, progress=False)
        after = saved(folder)
        assert before.items() <= after.items()
        if (folder / "best").exists():
            load_agent(folder / "best", config.settings)
        has_begun = (folder / "manifest.json").exists()
        train(config, folder, resume=has_begun, progress=False)
        assert (folder / WEIGHTS).read_bytes() == whole


def test_an_evaluation_that_finds_no_room_leaves_the_lines_before_it(config, tmp_path, monkeypatch):
    add = run_folder.RunFolder.add_evaluation

    def adding(self, line):
        if line["step"] < 128:
            add(self, line)
            return
        with model_file.writing(self.evaluations_file), self.evaluations_file.open("a") as stream:
            stream.write('{"step": 12')
            stream.flush()
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder.RunFolder, "add_evaluation", adding)
    with pytest.raises(CheckpointError, match=r"cannot write '.*evaluations\.jsonl'"):
        train(config, tmp_path / "run", progress=False)
    monkeypatch.undo()
    assert find_checkpoint(tmp_path / "run" / "checkpoints").name == "step-000000000064"
    train(config, tmp_path / "run", resume=True, progress=False)
    assert read_curve(tmp_path / "run").steps == (64, 128, 192)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
from niulab.cli.main import main
sys.argv[1:] = sys.argv[2:]
main()
"""


@pytest.mark.parametrize("network", ["cards", "mlp"])
def test_a_limit_of_the_system_is_one_message_and_the_run_goes_on_without_it(
    network, config, tmp_path
):
    limit = "14000"  # met by the checkpoint
    if network == "mlp":  # by the event file, which another thread writes
        limit = "8000"
        config = config.replaced(
            network={"kind": "mlp", "hidden": [2]},
            checkpoint={},
            evaluation={"every": 32, "n_rounds": 100},
            logging={"every": 32},
        )
    toml, place = tmp_path / "tiny.toml", tmp_path / "run"
    toml.write_text(config.to_toml(), encoding="utf-8")
    words = ["train", str(toml), "--run-dir", str(place)]
    limited = subprocess.run(
        [sys.executable, "-c", LIMITED, limit, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert limited.returncode == 2, limited.stderr
    assert "Traceback" not in limited.stderr
    assert limited.stderr.count("error: ") == 1
    assert "File too large; what was saved before is whole" in limited.stderr.replace("\n", " ")
    assert (place / "manifest.json").is_file()
    train(config, place, resume=True, progress=False)
    train(config, tmp_path / "whole", progress=False)
    assert (place / WEIGHTS).read_bytes() == (tmp_path / "whole" / WEIGHTS).read_bytes()


def test_a_folder_that_cannot_be_is_named_before_the_first_step(config, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CheckpointError, match=r"cannot write '.*run'"):
        train(config, tmp_path / "file" / "run", progress=False)
    assert (tmp_path / "file").read_text() == "mine"
