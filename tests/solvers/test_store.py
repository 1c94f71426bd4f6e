"""Tables kept on disk: the same numbers, and no trouble from whatever lies in the folder."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from niulab.engine.rules import load_rules
from niulab.solvers import matchups as module
from niulab.solvers import store
from niulab.solvers.matchups import Matchups, matchups

ARRAYS: dict[str, NDArray[np.integer]] = {
    "counts": np.arange(12, dtype=np.int32).reshape(3, 4),
    "less": np.ones(5, np.int64),
}
RULES = load_rules("single-double-super")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "not yet there"
    monkeypatch.setenv("NIULAB_CACHE", str(folder))
    return folder


def is_same(found: dict[str, np.ndarray] | None) -> bool:
    return found is not None and all(
        (found[key] == array).all() and found[key].dtype == array.dtype
        for key, array in ARRAYS.items()
    )


def test_what_is_saved_is_loaded_and_nothing_else_is_left(cache: Path) -> None:
    assert store.load("table") is None
    store.save("table", ARRAYS)
    store.save("table", ARRAYS)
    assert is_same(store.load("table"))
    assert [path.name for path in cache.iterdir()] == ["table.safetensors"]


def test_damaged_foreign_and_renamed_files_are_ignored_and_written_anew(cache: Path) -> None:
    store.save("table", ARRAYS)
    file = cache / "table.safetensors"
    sound = file.read_bytes()
    flipped = sound[:-1] + bytes([sound[-1] ^ 1])
    for bad in (
        b"",
        b"something else",
        sound[:-3],
        flipped,
        sound.replace(b"niulab 1", b"niulab 0"),
    ):
        file.write_bytes(bad)
        assert store.load("table") is None
        store.save("table", ARRAYS)
        assert is_same(store.load("table"))
    (cache / "other.safetensors").write_bytes(sound)
    assert store.load("other") is None


def test_an_empty_variable_keeps_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIULAB_CACHE", "")
    store.save("table", ARRAYS)
    assert store.folder() is None
    assert store.load("table") is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_no_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NIULAB_CACHE", str(tmp_path / "file" / "folder"))
    store.save("table", ARRAYS)
    assert store.load("table") is None


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("NIULAB_CACHE")
    monkeypatch.setattr(Path, "home", no_home)
    assert store.folder() is None


def test_a_home_that_is_none_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIULAB_CACHE", "~nobody-of-that-name/tables")
    assert store.folder() is None


@pytest.mark.parametrize(
    ("platform", "variable", "base"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_the_folder_is_where_the_platform_keeps_caches(
    platform: str, variable: str | None, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("NIULAB_CACHE")
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    assert store.folder() == Path("home", base, "niulab")
    if variable is not None:
        monkeypatch.setenv(variable, "elsewhere")
        assert store.folder() == Path("elsewhere", "niulab")


def fresh_matchups(monkeypatch: pytest.MonkeyPatch) -> Matchups:
    monkeypatch.setattr(module, "_CACHE", {})
    return matchups(RULES)


def test_counts_from_the_disk_are_those_computed(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = fresh_matchups(monkeypatch)
    file = cache / f"matchups-{RULES.ranking_hash}.safetensors"
    assert file.stat().st_size < 22_000_000
    with monkeypatch.context() as patch:
        patch.setattr(module, "_swept", lambda *_: pytest.fail("swept again"))
        loaded = fresh_matchups(patch)
    for name in ("class_counts", "class_of", "less", "equal", "weights", "options", "counts"):
        one, other = getattr(computed, name), getattr(loaded, name)
        assert one.dtype == other.dtype
        assert (one == other).all()
        assert other.flags.writeable == one.flags.writeable
    store.save(file.stem, {"class_counts": computed.class_counts, "less": computed.less[1:]})
    assert (fresh_matchups(monkeypatch).less == computed.less).all()


def test_only_a_whole_deck_whose_ranks_see_no_suits_is_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_CACHE", {})
    copies = [0] * 36 + [1] * 16
    matchups(RULES, copies)
    assert not cache.exists()
