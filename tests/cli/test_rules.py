"""``niulab rules``."""

from __future__ import annotations

from niulab.engine.rules import shipped_names


def test_json_lists_every_shipped_set(run_json):
    listed = run_json("rules")
    assert [sheet["name"] for sheet in listed] == list(shipped_names())
    for sheet in listed:
        assert {"name", "title", "source", "extends", "boxes"} <= set(sheet)
        assert sheet["title"]
        assert sheet["source"]


def test_a_reading_says_what_it_changes(run_json):
    by_name = {sheet["name"]: sheet for sheet in run_json("rules")}
    base = by_name["even-double-super-bonus"]
    reading = by_name["even-double-super-bonus-half-on-7"]
    assert base["boxes"] == ["even", "double", "super", "bonus"]
    assert base["extends"] is None
    assert base["changes"] == []
    assert reading["extends"] == "even-double-super-bonus"
    assert reading["changes"] == ["boxes.even.half_pay: niu_6 -> niu_7"]
    assert by_name["bomb-room"]["boxes"] == []


def test_the_list_shows_names_and_changes(run):
    shown = run("rules").stdout
    for name in shipped_names():
        assert name in shown
    assert "boxes.even.half_pay: niu_6 -> niu_7" in shown


def test_one_set_is_shown_in_full(run):
    shown = run("rules", "even-double-super-bonus").stdout
    assert "10 / 10" in shown  # niu_niu on super, win / lose
    assert "bonus pays 100 to 1 on five_faces" in shown


def test_a_file_of_ones_own_is_checked_and_shown(run_json, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ntitle = "t"\nsource = "s"\nextends = "single-double-super"\n'
        "[boxes.super.win_odds]\nniu_niu = 11\n"
    )
    (mine,) = run_json("rules", str(path))
    assert mine["changes"] == [
        "boxes.super.win_odds.niu_niu: 10 -> 11",
        "boxes.super.lose_odds.niu_niu: 10 -> 11",
    ]
