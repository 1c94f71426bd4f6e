"""``niulab log`` from the words to the files."""

import os

import pytest
from made_logs import lines_of, make_plays, write_log


@pytest.fixture
def log(tmp_path):
    return write_log(tmp_path / "night.csv", [*lines_of(make_plays(40)), "bad\n"])


def test_a_log_goes_in_is_shown_and_comes_out(run, run_json, log, tmp_path):
    store = str(tmp_path / "plays")
    done = run_json("log", "import", str(log), "--store", store)
    assert (done["version"], done["counts"]["kept"], done["counts"]["quarantined"]) == (1, 120, 1)
    assert done["quarantine"].endswith("quarantine/v000001.csv")
    assert run_json("log", "import", str(log), "--store", store)["known"] == [str(log)]
    stats = run_json("log", "stats", store)
    assert (stats["n_plays"], stats["n_rounds"]) == (120, 40)
    rows = run_json("log", "show", store, "--player", "Guest 3", "--rows", "2")
    assert [row["player"] for row in rows] == ["Guest 3"] * 2
    out = tmp_path / "out.csv"
    assert run_json("log", "export", store, str(out))["rows"] == 120
    assert sorted(out.read_text().splitlines()) == sorted(log.read_text().splitlines()[:-1])
    months = {f"--month={row['time'][:7]}" for row in run_json("log", "show", store)}
    assert run_json("log", "export", store, str(out), *months)["rows"] > 0
    for words in (["stats", store], ["show", store], ["check", str(log)]):
        assert run("log", *words).exit_code == 0


def test_a_month_without_rounds_is_refused_and_nothing_written(refused, run_json, log, tmp_path):
    store, out = str(tmp_path / "plays"), tmp_path / "out.csv"
    run_json("log", "import", str(log), "--store", store)
    said = refused("log", "export", store, str(out), "--month", "1999-01")
    assert "no rounds of month '1999-01'" in said
    assert not out.exists()


def test_checking_keeps_nothing(run_json, log, tmp_path):
    found = run_json("log", "check", str(log))
    assert found["counts"]["kept"] == 120
    assert sum(found["reasons"].values()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["night.csv"]


def test_names_become_pseudonyms_and_old_rounds_go(run_json, log, tmp_path):
    store, out, key = (str(tmp_path / name) for name in ("plays", "anon", "key"))
    run_json("log", "import", str(log), "--store", store)
    (tmp_path / "key").write_text("0123456789abcdef")
    os.chmod(key, 0o600)  # noqa: PTH101, as a user would
    assert run_json("log", "pseudonymize", store, out, "--key-file", key)["counts"]["kept"] == 120
    assert run_json("log", "show", out)[0]["player"].startswith("player-")
    assert run_json("log", "retain", store, "--from", "2026-01-01") == {"dropped": 120}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["import", "{tmp}/none.csv", "--store", "{tmp}/s"], "no file"),
        (["import", "{log}", "--store", "{tmp}"], "holds other files"),
        (["import", "{log}", "--store", "{tmp}/s", "--memory", "9"], "memory limit"),
        (["import", "{log}", "--store", "{tmp}/s", "--sheet", "T1"], "NAME=RULES"),
        (["import", "{log}", "--store", "{tmp}/s", "--zone", "Mars/Sea"], "zone"),
        (["check", "{log}", "--suits", "DCH"], "suits"),
        (["stats", "{tmp}"], "no play log's store"),
        (["show", "{tmp}/none"], "no play log's store"),
        (["export", "{tmp}/none", "{tmp}/x.csv"], "no play log's store"),
        (["retain", "{tmp}", "--from", "soon"], "is no day"),
    ],
)
def test_bad_words_are_refused(refused, log, tmp_path, words, message):
    assert message in refused("log", *(word.format(tmp=tmp_path, log=log) for word in words))


@pytest.mark.parametrize(
    "words", [("log", "import", "{log}", "--store"), ("detect", "{log}", "--state")]
)
def test_a_refused_log_leaves_no_new_folder(refused, tmp_path, words):
    log = tmp_path / "bare.csv"
    log.write_text("a,b\n1,2\n")
    known = [word.format(log=log) for word in words]
    assert "no header of a play log" in refused(*known, str(tmp_path / "new" / "plays"))
    assert [path.name for path in tmp_path.iterdir()] == ["bare.csv"]
    (tmp_path / "empty").mkdir()
    refused(*known, str(tmp_path / "empty"))
    assert not any((tmp_path / "empty").iterdir())


def test_a_refused_log_leaves_a_store_as_it_was(refused, run_json, log, tmp_path):
    store = tmp_path / "plays"
    run_json("log", "import", str(log), "--store", str(store))
    before = (store / "manifest.json").read_bytes()
    bare = tmp_path / "bare.csv"
    bare.write_text("a,b\n1,2\n")
    refused("log", "import", str(bare), "--store", str(store))
    assert (store / "manifest.json").read_bytes() == before
    assert run_json("log", "stats", str(store))["n_plays"] == 120
