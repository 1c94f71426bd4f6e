"""Whatever the bytes: an import into a store accounts for every line, or is refused whole."""

import random

import pytest
from mutated_logs import CORE_CSV, SEEDS, mutated

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.quarantine import read_quarantine
from niulab.evaluation.playlog.store.folder import create_store, open_store
from niulab.evaluation.playlog.store.importing import import_log
from niulab.evaluation.playlog.store.stats import store_stats


def imported(folder, seed, n):
    """Mutated logs into stores of one or two imports; how many rows were kept, and refusals."""
    rng = random.Random(seed)  # noqa: S311 - a seeded fuzzer
    n_kept = n_refused = 0
    for number in range(n):
        store = create_store(folder / f"{seed}-{number}", buckets=2)
        for place in range(rng.choice((1, 2))):
            log = folder / f"{seed}-{number}-{place}"
            log.write_bytes(mutated(rng.choice(SEEDS), rng))
            version = store.manifest.version
            try:
                import_log([log], store)
            except PlayLogError:
                n_refused += 1
                assert open_store(store.path).manifest.version == version
        found = store_stats(open_store(store.path))
        counts = found.counts
        assert counts.read == (
            counts.kept + counts.duplicates + counts.quarantined + counts.blank + counts.headers
        )
        assert found.n_plays == counts.kept
        n_kept += found.n_plays
    return n_kept, n_refused


def test_a_quarantined_line_with_a_carriage_return_comes_back_whole(tmp_path):
    """The fuzzer found it: an import reads the rows that it set aside again."""
    log, text = tmp_path / "log.csv", "never\rseen\r"
    log.write_bytes(CORE_CSV + text.encode() + b"\r\n")
    found = import_log([log], create_store(tmp_path / "store", buckets=2))
    assert found.counts.quarantined == 1
    ((source, row),) = read_quarantine(found.quarantine)
    assert (source, row.text) == ("log.csv", text)
    assert row.reason


def test_mutated_logs_are_imported_or_refused(tmp_path):
    n_kept, n_refused = imported(tmp_path, 77, 12)
    assert n_kept > 100
    assert n_refused < 12


@pytest.mark.long
@pytest.mark.parametrize("seed", range(78, 80))
def test_many_mutated_logs_are_imported_or_refused(tmp_path, seed):
    n_kept, n_refused = imported(tmp_path, seed, 200)
    assert n_kept > 3_000
    assert n_refused > 20
