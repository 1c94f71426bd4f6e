"""Parallel work on Ray: the values of the other engines, and a cluster that loses a node."""

import os
import sys
import time
from pathlib import Path
from threading import Thread

import pytest
from chores import draws, fall_ill, refuse_odd, threads, wait_for_go

from niulab.errors import ConfigError
from niulab.parallel import Outcome, run_tasks

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")

pytestmark = [
    pytest.mark.long,  # a Ray takes ten seconds to start
    pytest.mark.filterwarnings("default"),  # its own warnings, deprecations and open sockets
]


def test_a_ray_started_here_gives_what_the_other_engines_give():
    outcomes = run_tasks(draws, [5, 3, 8], engine="ray", workers=2)
    assert not ray.is_initialized()
    assert outcomes == run_tasks(draws, [5, 3, 8], engine="serial")


def test_an_address_where_no_ray_can_be_is_refused():
    with pytest.raises(ConfigError, match="no Ray can be joined at 'nowhere'"):
        run_tasks(draws, [5], engine="ray", address="nowhere")


@pytest.fixture
def here():
    """One Ray for several calls: ``run_tasks`` uses one that runs, and leaves it running."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    assert ray.is_initialized()
    ray.shutdown()


@pytest.fixture(autouse=True)
def _workers_find_the_tests(monkeypatch):
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, path)))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


@pytest.mark.usefixtures("here")
def test_failures_are_outcomes_on_ray_as_well():
    outcomes = run_tasks(refuse_odd, [0, 1, 2], engine="ray")
    assert [done.value for done in outcomes] == [0, None, 2]
    assert outcomes[1].error == "ValueError: 1 is odd"
    assert "in refuse_odd" in outcomes[1].traceback
    sick, well = run_tasks(fall_ill, ["SIGKILL", "fine"], engine="ray", workers=1)
    assert sick.error.startswith("WorkerCrashedError")
    assert well == Outcome(1, "fine")
    ((omp, torch, _numba),) = (done.value for done in run_tasks(threads, [0], engine="ray"))
    assert (omp, torch) == ("1", 1)


@pytest.mark.skipif(sys.platform == "win32", reason="Ray's test clusters")
def test_a_lost_nodes_tasks_are_run_again_elsewhere(tmp_path):
    from ray.cluster_utils import Cluster

    folders = [tmp_path / name for name in ("north", "south")]
    for folder in folders:
        folder.mkdir()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    lost = cluster.add_node(num_cpus=1)

    def starts(folder):
        return len(list(folder.glob("started-*")))

    def lose_a_node_at_work():
        while not all(map(starts, folders)):  # one task on each node
            time.sleep(0.05)
        cluster.remove_node(lost, allow_graceful=False)
        there, here = sorted(folders, key=lambda it: not any(it.glob(f"*-{lost.node_id}")))
        (here / "go").touch()
        while starts(there) < 2:
            time.sleep(0.05)
        (there / "go").touch()

    try:
        thread = Thread(target=lose_a_node_at_work, daemon=True)
        thread.start()
        outcomes = run_tasks(wait_for_go, folders, engine="ray", address=cluster.address)
        thread.join()
    finally:
        cluster.shutdown()
    assert outcomes == [Outcome(0, "north"), Outcome(1, "south")]
    assert sorted(map(starts, folders)) == [1, 2]
