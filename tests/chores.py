"""Tasks for the tests of parallel work, in a module that workers can import."""

import os
import signal
import sys
import time

from niulab.seeding import generator


def draws(seed):
    return generator(seed, "chores").normal(size=3).tolist()


def refuse_odd(number):
    if number % 2:
        message = f"{number} is odd"
        raise ValueError(message)
    return number


def fall_ill(symptom):
    """Die as the task says."""
    if symptom == "SIGKILL":
        os.kill(os.getpid(), signal.SIGKILL)
    elif symptom == "exit code 7":
        os._exit(7)
    elif symptom == "SystemExit":
        sys.exit("enough")
    return symptom


def sleep(seconds):
    time.sleep(seconds)
    return os.getpid()


def threads(_):
    import numba
    import torch

    return os.environ["OMP_NUM_THREADS"], torch.get_num_threads(), numba.get_num_threads()


def wait_for_go(folder):
    """The name of a folder, once a file ``go`` lies there; every start marks its time and node."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    (folder / f"started-{time.monotonic_ns()}-{node}").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)
    return folder.name
