"""One room for parallel work: the same tasks in this process, in processes here, or on Ray beyond.

``run_tasks`` hands tasks out and takes what became of each: a task that raises, or whose worker
dies, is an outcome with an error, and the others go on. Tasks travel as bytes whatever the engine,
so a task sees a fresh copy of its data and gives the same value on each of them.

Workers are spawned, never forked, and never import the caller's main module: what is defined there
travels by value, so a script needs no ``if __name__ == "__main__"`` for them. Their numeric
libraries use one thread each, torch included.
"""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any, Generic, Literal, TypeVar, get_args

import cloudpickle

from niulab.errors import ConfigError, MissingExtraError, nearest

__all__ = ["Engine", "Outcome", "available_cores", "run_tasks", "verify_engine"]

T = TypeVar("T")
R = TypeVar("R")

Engine = Literal["processes", "ray", "serial"]
"""Where tasks run: in processes of this machine, on Ray, or one by one in this process."""

_ONE_THREAD = dict.fromkeys(
    (
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",  # torch reads it as well
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
_RAY_RETRIES = 3  # of a task whose node or worker is lost
_SECONDS_TO_END = 5.0  # of a worker that was told to, before it is killed


@dataclass(frozen=True)
class Outcome(Generic[R]):
    """What became of one task.

    index: the task's place. value: what the function returned; None if it failed. error: None, or
    the exception's type and text, or how the worker died. traceback: the worker's, "" if there is
    none.
    """

    index: int
    value: R | None = None
    error: str | None = None
    traceback: str = ""


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_tasks(
    function: Callable[[T], R],
    tasks: Iterable[T],
    *,
    engine: Engine = "processes",
    workers: int | None = None,
    address: str | None = None,
    on_result: Callable[[Outcome[R]], None] | None = None,
) -> list[Outcome[R]]:
    """Call ``function`` on every task; the outcomes stand in the order of the tasks.

    ``on_result`` is called here with each outcome as it comes in, so that a caller who is
    interrupted (KeyboardInterrupt stops the workers and is raised) has what was finished.

    Args:
        function: What to do with a task; it and the tasks must be picklable (by cloudpickle).
        tasks: One argument of ``function`` each.
        engine: Where to run; the values do not depend on it.
        workers: Tasks at a time. Default: one a core; on a Ray that is joined, as it sees fit.
        address: A Ray to join ("auto", "host:port", "ray://..."). Default: start one here. Its
            nodes need this package. A lost node's tasks are run again elsewhere.
        on_result: Called once per task, in the order in which they end.

    Raises ConfigError for settings that cannot be and tasks that cannot be pickled,
    MissingExtraError if Ray is asked for and absent.
    """
    verify_engine(engine, workers, address)
    payloads = [_packed(index, function, task) for index, task in enumerate(tasks)]
    outcomes: dict[int, Outcome[R]] = {}

    def deliver(outcome: Outcome[R]) -> None:
        outcomes[outcome.index] = outcome
        if on_result is not None:
            on_result(outcome)

    if engine == "ray":
        _run_on_ray(payloads, workers, address, deliver)
    elif engine == "processes":
        _run_on_processes(payloads, workers or available_cores(), deliver)
    else:
        for index, payload in enumerate(payloads):
            deliver(_unpacked(_carry_out(index, payload)))
    return [outcomes[index] for index in range(len(payloads))]


def verify_engine(engine: str, workers: int | None = None, address: str | None = None) -> None:
    """Raise what ``run_tasks`` raises for settings that cannot be, before anything is begun."""
    if engine not in get_args(Engine):
        raise ConfigError(f"there is no engine '{engine}'{nearest(engine, get_args(Engine))}")
    if workers is not None and workers < 1:
        raise ConfigError(f"parallel work needs at least 1 worker, got {workers}: write 1")
    if address is not None and engine != "ray":
        raise ConfigError(
            f"an address ('{address}') is one of a Ray to join, and the engine is '{engine}': "
            "write engine 'ray' or leave the address out"
        )
    if engine == "ray" and find_spec("ray") is None:
        raise MissingExtraError(
            "the engine 'ray' needs Ray, which is not installed: pip install 'niulab[ray]', or "
            "write engine 'processes'"
        )


# ---------------------------------------------------------------- a task's way there and back


def _packed(index: int, function: Callable[[T], R], task: T) -> bytes:
    try:
        payload: bytes = cloudpickle.dumps((function, task))
    except Exception as error:
        raise ConfigError(
            f"task {index} cannot be sent to a worker ({error}): hand over plain data, and open "
            "files, generators and the like inside the function"
        ) from error
    return payload


def _carry_out(index: int, payload: bytes) -> bytes:
    """Do one task, in whatever process this is; an exception is an outcome as well."""
    try:
        function, task = pickle.loads(payload)  # noqa: S301 - what ``_packed`` just made
        reply: bytes = cloudpickle.dumps(Outcome(index, function(task)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any failure is an outcome
        text = f"{type(error).__name__}: {error}"
        return pickle.dumps(Outcome(index, None, text, traceback.format_exc()))
    return reply


def _unpacked(reply: bytes) -> Outcome[Any]:
    outcome: Outcome[Any] = pickle.loads(reply)  # noqa: S301 - what ``_carry_out`` just made
    return outcome


# ---------------------------------------------------------------- processes of this machine


def _run_on_processes(
    payloads: Sequence[bytes], workers: int, deliver: Callable[[Outcome[Any]], None]
) -> None:
    waiting = deque(enumerate(payloads))
    busy: dict[Any, _Worker] = {}  # by pipe
    dismissed: list[_Worker] = []
    try:
        for worker in [_Worker() for _ in range(min(workers, len(payloads)))]:  # wake up at once
            busy[worker.pipe] = worker
            worker.begin(*waiting.popleft())
        while busy:
            for pipe in wait(list(busy)):
                worker = busy.pop(pipe)
                outcome = worker.outcome()
                if waiting and worker.process.exitcode is None:
                    busy[pipe] = worker
                else:
                    worker.dismiss()
                    dismissed.append(worker)
                    if waiting:  # it died
                        worker = _Worker()
                        busy[worker.pipe] = worker
                if waiting:
                    worker.begin(*waiting.popleft())
                deliver(outcome)
    finally:
        for worker in busy.values():  # interrupted: what they work on is given up
            worker.process.terminate()
            worker.dismiss()
        for worker in (*busy.values(), *dismissed):
            worker.end()


class _Worker:
    """A spawned process that does one task after the other, until its pipe is closed."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), name="niulab worker")
        with _environment(_ONE_THREAD), _no_main_module():
            self.process.start()
        theirs.close()
        self.index = -1  # of the task at hand

    def begin(self, index: int, payload: bytes) -> None:
        self.index = index
        with suppress(OSError):  # it died: the pipe tells when it is read
            self.pipe.send((index, payload))

    def outcome(self) -> Outcome[Any]:
        """What became of the task at hand; waits for it, or for the death of the process."""
        try:
            reply = self.pipe.recv_bytes()
        except (EOFError, OSError):
            self.process.join()
            return Outcome(self.index, error=_death(self.process.exitcode))
        return _unpacked(reply)

    def dismiss(self) -> None:
        """Without its pipe it leaves as soon as it is idle."""
        self.pipe.close()

    def end(self) -> None:
        self.process.join(_SECONDS_TO_END)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _serve(pipe: Connection) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the parent ends its workers
    Thread(target=_leave_with_parent, daemon=True).start()
    with suppress(EOFError):
        while True:
            index, payload = pipe.recv()
            pipe.send_bytes(_carry_out(index, payload))


def _leave_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        hint = " (as the system does when memory runs out)" if name == "SIGKILL" else ""
        return f"the worker was killed by {name}{hint}"
    return f"the worker left with exit code {exit_code}"


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for processes started meanwhile."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _no_main_module() -> Iterator[None]:
    """Processes spawned meanwhile find no main module to import, so an unguarded script is safe."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


# ---------------------------------------------------------------- Ray


def _run_on_ray(
    payloads: Sequence[bytes],
    workers: int | None,
    address: str | None,
    deliver: Callable[[Outcome[Any]], None],
) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray calls nobody
    import ray

    is_ours = not ray.is_initialized()
    if is_ours:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address:
            try:
                ray.init(address=address, **quiet)
            except (ConnectionError, ValueError, SystemExit) as error:  # it leaves where none is
                raise ConfigError(
                    f"no Ray can be joined at '{address}' ({error}): start one (ray start --head) "
                    "and name its HOST:PORT, or leave the address out"
                ) from error
        else:
            path = os.pathsep.join(str(Path(folder).absolute()) for folder in sys.path)
            with _environment({**_ONE_THREAD, "PYTHONPATH": path}):  # workers inherit it
                n = workers or available_cores()
                ray.init(address="local", num_cpus=n, include_dashboard=False, **quiet)
    # Ray gives a task that asks for one core OMP_NUM_THREADS=1, on joined nodes as well
    carry_out = ray.remote(num_cpus=1, max_retries=_RAY_RETRIES)(_carry_out)
    waiting = deque(enumerate(payloads))
    pending: dict[Any, int] = {}
    try:
        while waiting or pending:
            while waiting and (workers is None or len(pending) < workers):
                index, payload = waiting.popleft()
                pending[carry_out.remote(index, payload)] = index
            with redirect_stdout(sys.stderr):  # where Ray tells of lost workers and nodes
                ended, _ = ray.wait(list(pending))
            for done in ended:
                index = pending.pop(done)
                try:
                    outcome = _unpacked(ray.get(done))
                except ray.exceptions.RayError as error:  # lost too often, or no such package there
                    outcome = Outcome(index, error=f"{type(error).__name__}: {error}")
                deliver(outcome)
    finally:
        for task in pending:
            ray.cancel(task, force=True)
        if is_ours:
            ray.shutdown()
