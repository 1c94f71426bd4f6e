"""Parallel work: one result whatever the engine, failures as rows, no worker left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from chores import draws, fall_ill, refuse_odd, sleep, threads

from niulab.errors import ConfigError, MissingExtraError
from niulab.parallel import Outcome, run_tasks

SEEDS = [5, 3, 8, 3, 0]
LOCAL = ["serial", "processes"]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def script(tmp_path):
    """Start a script in a process group of its own; it has no main guard."""
    started = []

    def start(text):
        path = tmp_path / "unguarded.py"
        path.write_text(textwrap.dedent(text))
        process = subprocess.Popen(
            [sys.executable, "-X", "utf8", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("engine", LOCAL)
def test_the_same_values_in_the_order_of_the_tasks_whatever_the_engine(engine):
    seen = []
    outcomes = run_tasks(draws, SEEDS, engine=engine, workers=2, on_result=seen.append)
    assert outcomes == [Outcome(index, draws(seed)) for index, seed in enumerate(SEEDS)]
    assert sorted(seen, key=lambda outcome: outcome.index) == outcomes


def test_a_result_comes_in_when_it_is_there_and_not_in_its_turn():
    order = []
    run_tasks(sleep, [1, 0, 0], workers=2, on_result=lambda done: order.append(done.index))
    assert order == [1, 2, 0]


@pytest.mark.parametrize("engine", LOCAL)
def test_a_task_that_raises_is_an_outcome(engine):
    outcomes = run_tasks(refuse_odd, [0, 1, 2], engine=engine, workers=2)
    assert [done.value for done in outcomes] == [0, None, 2]
    assert [done.error for done in outcomes] == [None, "ValueError: 1 is odd", None]
    assert "in refuse_odd" in outcomes[1].traceback


@pytest.mark.parametrize("engine", LOCAL)
def test_a_value_that_cannot_travel_is_a_failure_of_its_task(engine):
    outcomes = run_tasks(lambda n: iter(()) if n else (x for x in ()), [0], engine=engine)
    assert "cannot pickle" in outcomes[0].error


def test_a_worker_that_dies_is_named_and_the_others_go_on():
    tasks = ["SIGKILL", "fine", "exit code 7", "SystemExit", "well", "SIGKILL"]
    outcomes = run_tasks(fall_ill, tasks, workers=2)
    assert [done.value for done in outcomes] == [None, "fine", None, None, "well", None]
    assert "killed by SIGKILL" in outcomes[0].error
    assert outcomes[2].error == "the worker left with exit code 7"
    assert outcomes[3].error == "SystemExit: enough"
    assert "killed by SIGKILL" in outcomes[5].error


def test_numeric_libraries_of_workers_use_one_thread():
    before = dict(os.environ)
    assert run_tasks(threads, [0], workers=1) == [Outcome(0, ("1", 1, 1))]
    assert dict(os.environ) == before


def test_an_interrupt_ends_the_workers_and_leaves_what_was_finished():
    finished = []

    def interrupt(outcome):
        finished.append(outcome)
        raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_tasks(sleep, [0, 600, 600], workers=2, on_result=interrupt)
    assert time.monotonic() - begin < 30
    assert [done.index for done in finished] == [0]
    assert not is_alive(finished[0].value)


def test_an_unguarded_script_may_hand_out_functions_of_its_own(script):
    process = script(
        """
        from dataclasses import dataclass
        from niulab.parallel import run_tasks
        print("begun")
        @dataclass
        class Pair:
            n: int
            square: int
        outcomes = run_tasks(lambda n: Pair(n, n * n), [2, 3], workers=2)
        print(all(isinstance(done.value, Pair) for done in outcomes))
        print(*(done.value.square for done in outcomes))
        """
    )
    out, err = process.communicate(timeout=60)
    assert (out, err) == ("begun\nTrue\n4 9\n", "")


SLEEPERS = """
    import os, sys, time
    from niulab.parallel import run_tasks
    def say(line):
        sys.stdout.write(f"{line}\\n")
        sys.stdout.flush()
    def task(seconds):
        say(os.getpid())
        time.sleep(seconds)
    def report(outcome):
        say(f"finished {outcome.index}")
    try:
        run_tasks(task, [0, 600, 600], workers=2, on_result=report)
    except KeyboardInterrupt:
        print("interrupted")
"""


def pids_of_three_tasks(process):
    """Wait until three tasks have begun and the first has ended; the ids of their workers."""
    lines = [process.stdout.readline().strip() for _ in range(4)]
    assert "finished 0" in lines
    return {int(line) for line in lines if line.isdigit()}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a process group")
def test_control_c_on_a_terminal_is_quick_and_quiet(script):
    process = script(SLEEPERS)
    pids = pids_of_three_tasks(process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (out, err) == ("interrupted\n", "")
    assert not any(map(is_alive, pids))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_workers_leave_when_their_parent_is_killed(script):
    process = script(SLEEPERS)
    pids = pids_of_three_tasks(process)
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(is_alive, pids)))


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"engine": "proceses"}, "there is no engine 'proceses'; did you mean 'processes'?"),
        ({"workers": 0}, "needs at least 1 worker, got 0"),
        ({"address": "auto"}, "write engine 'ray' or leave the address out"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, part):
    with pytest.raises(ConfigError, match=part.replace("?", r"\?")):
        run_tasks(draws, [], **settings)


def test_a_task_that_cannot_travel_is_refused_before_anything_starts():
    with pytest.raises(ConfigError, match="task 1 cannot be sent to a worker"):
        run_tasks(print, [0, (n for n in ())])


def test_no_tasks_no_workers():
    assert run_tasks(draws, []) == []


def test_absent_ray_is_named_with_its_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'niulab\[ray\]'"):
        run_tasks(draws, [0], engine="ray")
