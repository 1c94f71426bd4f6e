"""The monitor on Ray: the states and the verdicts of the other engines."""

import json

import pytest
from card_players import honest
from logs_on_disk import on_tables, write_csv

from niulab.evaluation.detection.monitoring import monitor as monitor_room
from niulab.evaluation.detection.monitoring.judging import judge_log
from niulab.evaluation.detection.monitoring.monitor import monitor
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")

pytestmark = [
    pytest.mark.long,  # a Ray takes ten seconds to start
    pytest.mark.filterwarnings("default"),  # its own warnings, deprecations and open sockets
]


def files_of(folder):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    names = [*manifest["buckets"].values(), *manifest["tables"]]
    return {name: (folder / name).read_bytes() for name in names}


@pytest.fixture
def one_ray(monkeypatch):
    """One for all stages of a run: ``run_tasks`` uses one that runs, and leaves it running."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.usefixtures("one_ray")
def test_states_and_verdicts_are_those_of_the_other_engines(
    make_plays, sheet, tmp_path, monkeypatch
):
    monkeypatch.setattr(monitor_room, "_FEW_ROWS", 0)  # whole rounds there as well
    plays = on_tables(make_plays(12, 40, honest, seed=3), sheet)
    store = create_store(tmp_path / "log", buckets=3)
    is_first = plays.time < plays.time.min() + 25 * 60_000_000
    for place, rows in enumerate((is_first, ~is_first)):
        import_log([write_csv(plays.take(rows), tmp_path / f"{place}.csv")], store)
    found = {}
    for engine, workers in (("serial", 1), ("processes", 2), ("ray", 2)):
        folder = tmp_path / engine
        judged = judge_log(monitor(store, folder, engine=engine, workers=workers))
        found[engine] = json.dumps(judged.as_dict()), files_of(folder)
    assert found["ray"] == found["processes"] == found["serial"]
    assert len(found["ray"][1]) == 3 + 2
