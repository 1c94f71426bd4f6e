"""The program as a process: speed of a first touch, pure JSON, interrupts and broken pipes."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from niulab import __version__ as niulab_version
from niulab.cli.main import _Program

NIULAB = [sys.executable, "-m", "niulab"]
HAND = "KS QH 10D AC 7S"
COMMANDS = [
    "rules",
    "solve",
    "simulate",
    "hand",
    "train",
    "evaluate",
    "benchmark",
    "demo",
    "play",
    "export",
    "import",
]


def niulab(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [*NIULAB, *words],
        capture_output=True,
        encoding="utf-8",
        env=environment,
        timeout=120,
        check=False,
        **options,
    )


def cpu_seconds(*words: str) -> float:
    """The least of three runs, in seconds of one core: other work on the machine does not count."""
    times = []
    for _ in range(3):
        before = os.times()
        assert niulab(*words).returncode == 0
        after = os.times()
        times.append(
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
    return min(times)


def test_version_and_help():
    assert niulab("--version").stdout == f"niulab {niulab_version}\n"
    shown = niulab("--help").stdout
    assert all(f" {command} " in shown for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command):
    result = niulab(command, "--help")
    assert result.returncode == 0
    assert f"$ niulab {command}" in result.stdout


def test_first_touch_is_quick():
    assert cpu_seconds("--help") < 1
    assert cpu_seconds("hand", HAND) < 1


def test_help_and_hand_load_nothing_heavy():
    code = (
        "import sys\n"
        "from niulab.cli.main import app\n"
        f"app(['hand', {HAND!r}, '--json'], standalone_mode=False)\n"
        "heavy = {'numba', 'scipy', 'matplotlib', 'torch', 'stable_baselines3', 'pandas'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stderr == "[]\n"
    assert json.loads(result.stdout)["rank"] == "niu_8"


def test_json_is_alone_on_stdout_and_warnings_are_on_stderr():
    result = niulab("solve", "even-double-super-bonus-literal-note", "--json")
    solved = json.loads(result.stdout)
    assert result.returncode == 0
    assert solved["boxes"]["super"]["ev"] == "4590028421549/9966615258600"
    assert result.stderr.strip() == solved["warnings"][0]


def test_an_error_is_one_message_and_exit_code_2():
    result = niulab("hand", "KS KS 10D AC 7S", "--json")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "error: KS is dealt twice: 1 deck(s) hold it 1 time(s)\n"


@pytest.mark.skipif(
    os.name == "nt", reason="Windows has no SIGINT for one process, nor pipes by path"
)
def test_an_interrupt_ends_quietly_with_130(tmp_path):
    pipe = tmp_path / "rules.toml"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*NIULAB, "solve", str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with pipe.open("w"):  # opens as soon as the command does, which then waits for its rules
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["rules"], ["rules", "--json"]])
def test_a_broken_pipe_is_quiet(words):
    read, write = os.pipe()
    os.close(read)  # as `head` does once it has its lines
    process = subprocess.Popen([*NIULAB, *words], stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_behind_stdout_is_one_message():
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(
            [*NIULAB, "rules", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )
    assert process.returncode == 2
    assert process.stderr.startswith("error: cannot write the output: ")
    assert process.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX closes streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_change_no_exit_code(closed):
    for words, code in ((["rules"], 0), (["rules", "nothing"], 2)):
        line = f'exec "$@" {closed}'
        result = subprocess.run(
            ["/bin/sh", "-c", line, "sh", *NIULAB, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert result.returncode == code, result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_for_an_open_file_is_one_message(code):
    program = typer.Typer(cls=_Program, pretty_exceptions_enable=False)

    @program.command()
    def write():
        raise OSError(code, os.strerror(code))

    @program.command()
    def other():
        pass

    found = CliRunner().invoke(program, ["write"])
    assert found.exit_code == 2
    assert os.strerror(code) in found.output
    assert "make room" in found.output
