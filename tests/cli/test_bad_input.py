"""Bad input: one clear message with the remedy, exit code 2, nothing on stdout, no traceback."""

from __future__ import annotations

import pytest

HAND = "KS QH 10D AC 7S"

HANDS = {
    "unknown card": (["KX QH 10D AC 7S"], ["'KX' is no card", "did you mean", "write rank"]),
    "no card at all": (["hello"], ["'hello' is no card"]),
    "card twice": (["KS KS 10D AC 7S"], ["KS is dealt twice"]),
    "four cards": (["KS QH 10D AC"], ["a hand has 5 cards, got 4", "write all five"]),
    "six cards": (["KS QH 10D AC 7S 8S"], ["a hand has 5 cards, got 6"]),
    "no cards": ([""], ["a hand has 5 cards, got 0"]),
    "dealer's card is the player's": ([HAND, "--dealer", "KS 2H 3D 4C 5S"], ["KS is dealt twice"]),
    "dealer has four": ([HAND, "--dealer", "2H 3D 4C 5S"], ["a hand has 5 cards, got 4"]),
    "empty dealer": ([HAND, "--dealer", ""], ["a hand has 5 cards, got 0"]),
}


@pytest.mark.parametrize(("words", "parts"), HANDS.values(), ids=HANDS)
def test_hands(refused, words, parts):
    message = refused("hand", *words)
    assert all(part in message for part in parts), message


SLIPS = {
    "required box missing": ("super=40", ["lacks the required box 'single'", "add single=100"]),
    "unknown box": ("single=100,supr=40", ["no box 'supr'", "did you mean 'super'"]),
    "below the minimum": ("single=20", ["below the box's minimum of 100", "write 100"]),
    "above the maximum": ("single=20000000", ["above the box's maximum of 10000000"]),
    "fraction of a cent": ("single=110", ["multiples of 20 cents", "write 100 or 120"]),
    "box twice": ("single=100,single=100", ["box 'single' has two stakes"]),
    "not a number": ("single=nan", ["'single=nan'", "is no stake", "single=100,super=40"]),
    "infinite": ("single=inf", ["'single=inf'", "is no stake"]),
    "negative": ("single=-100", ["'single=-100'", "is no stake"]),
    "with a point": ("single=1.5", ["'single=1.5'", "is no stake"]),
    "no stakes": ("", ["is no stake"]),
}


@pytest.mark.parametrize("command", ["solve", "hand"])
@pytest.mark.parametrize(("slip", "parts"), SLIPS.values(), ids=SLIPS)
def test_slips(refused, command, slip, parts):
    words = ["solve", "single-double-super"] if command == "solve" else ["hand", HAND]
    message = refused(*words, "--slip", slip)
    assert all(part in message for part in parts), message


def test_a_ranking_only_sheet_takes_no_slip(refused):
    message = refused("solve", "bomb-room", "--slip", "single=100")
    assert "ranks hands and offers no bets" in message


@pytest.mark.parametrize("command", ["solve", "hand"])
def test_cover_short(refused, command):
    words = ["solve", "single-double-super"] if command == "solve" else ["hand", HAND]
    message = refused(*words, "--slip", "single=100,double=100", "--bankroll", "400")
    assert "DOUBLE 100 needs 300 cents of cover (3 x stake), has 200" in message
    assert "the largest stake accepted is 60 cents" in message


COMMANDS_WITH_RULES = [["rules"], ["solve"], ["hand", HAND, "--rules"]]


@pytest.mark.parametrize("words", COMMANDS_WITH_RULES, ids=lambda words: words[0])
def test_unknown_rules_with_the_nearest(refused, words):
    message = refused(*words, "single-double-supper")
    assert "no rule set 'single-double-supper'; did you mean 'single-double-super'?" in message


def test_a_ranking_only_sheet_takes_no_bankroll(refused):
    message = refused("hand", HAND, "--rules", "bomb-room", "--bankroll", "5")
    assert "offers no bets: leave the bankroll out" in message


EVALUATIONS = {
    "too few rounds": (["oracle", "--rounds", "5"], "rounds is 0 (no cross-check) or at least 100"),
    "seed out of range": (["oracle", "--seed", str(1 << 63)], "seed is a whole number from 0 to"),
    "no name": ([""], "write model:PATH, or an agent's name"),
    "empty environment": (["oracle", "--env", ""], "no environment ''"),
    "a bettor's name": (["flat:3"], "'flat:3' bets, and this task only sets hands"),
}


@pytest.mark.parametrize(("words", "part"), EVALUATIONS.values(), ids=EVALUATIONS)
def test_evaluations(refused, words, part):
    assert part in refused("evaluate", *words)


def test_an_output_folder_that_cannot_be(refused, tmp_path):
    (tmp_path / "file").write_text("x")
    config = tmp_path / "b.toml"
    config.write_text('task = "niulab/Arrange-v0"\nagents = ["oracle"]\nrounds = 0\n')
    message = refused("benchmark", str(config), "--out", str(tmp_path / "file" / "x"))
    assert "give a path that can be read and written" in message


def test_a_bad_model_is_found_before_anything_is_written(refused, tmp_path):
    config = tmp_path / "b.toml"
    config.write_text(f'task = "niulab/Arrange-v0"\nagents = ["model:{tmp_path}"]\n')
    message = refused("benchmark", str(config), "--out", str(tmp_path / "report"))
    assert "this is no model. A model is a folder with weights.safetensors" in message
    assert not (tmp_path / "report").exists()


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


HEAD = 'name = "mine"\ntitle = "t"\nsource = "s"\nextends = "single-double-super"\n'
FILES = {
    "no TOML": ("name = ", ["is no TOML"]),
    "unknown key": (
        HEAD + "[order]\ntie_brake = 'push'",
        ["tie_brake", "did you mean 'tie_break'"],
    ),
    "unknown parent": (HEAD.replace("super", "supper"), ["no shipped rule set", "did you mean"]),
    "contradiction": (
        HEAD + "[boxes.super]\nminimum_cents = 200\nmaximum_cents = 100",
        ["minimum_cents 200 exceeds maximum_cents 100"],
    ),
    "two required boxes": (HEAD + "[boxes.double]\nrequired = true", ["exactly one box"]),
    "NaN rate": (
        HEAD + "[boxes.single.commission]\nrate = nan",
        ["rate", "write an exact rate as text"],
    ),
    "infinite odds": (HEAD + "[boxes.super.win_odds]\nniu_niu = inf", ["niu_niu", "got inf"]),
    "two mistakes at once": (
        HEAD + "[deck]\ndecks = 0\n[base]\nmultiple_of = 1",
        ["deck.decks", "base.multiple_of"],
    ),
}


@pytest.mark.parametrize(("text", "parts"), FILES.values(), ids=FILES)
def test_rules_files(refused, tmp_path, text, parts):
    message = refused("solve", write(tmp_path, text))
    assert all(part in message for part in parts), message


def test_a_rules_file_that_is_not_there(refused, tmp_path):
    assert "cannot read the rules file" in refused("solve", str(tmp_path / "none.toml"))


def test_a_card_the_shoe_does_not_hold(refused, tmp_path):
    path = write(tmp_path, HEAD + "[deck]\nremoved_ranks = ['K']\n[table]\nmax_seats = 8")
    assert "KS is not in the shoe of mine" in refused("hand", HAND, "--rules", path)


USAGE = {
    "unknown command": (["slove"], "slove"),
    "unknown option": (["solve", "single-double-super", "--slp", "x"], "--slp"),
    "argument missing": (["solve"], "RULES"),
    "bankroll that is no number": (["hand", HAND, "--bankroll", "nan"], "--bankroll"),
    "negative bankroll": (["hand", HAND, "--bankroll", "-1"], "--bankroll"),
    "bankroll without slip": (["solve", "single-double-super", "--bankroll", "5"], "--slip"),
}


@pytest.mark.parametrize(("words", "part"), USAGE.values(), ids=USAGE)
def test_wrong_words(run, words, part):
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert part in result.stderr
    assert "Traceback" not in result.stderr


def test_the_demo_looks_at_its_folder_before_it_solves(refused, tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "demo"):
        message = refused("demo", "--out", str(out))
        assert str(out) in message
        assert "solving" not in message
