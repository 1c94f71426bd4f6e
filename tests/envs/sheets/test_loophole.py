"""Tasks that draw a sheet for every round: each row is settled under its own, alone and batched."""

import json
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction
from gymnasium.utils.env_checker import check_env
from rows import assert_same
from scipy.stats import chisquare

from niulab.engine.rules import load_rules
from niulab.envs.checker import check_environment
from niulab.envs.settings import make_settings
from niulab.envs.sheets.drawing import Sheets, slip_under
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

LOOPHOLE = "niulab/Loophole-v0"
BASE = "even-double-super-bonus"
NOTE = f"{BASE}-literal-note"
SINGLE = "single-double-super"
BONUS_SLIP = 9


@pytest.fixture(scope="module")
def settings():
    return make_settings(LOOPHOLE)


@pytest.fixture(scope="module")
def sheets(settings):
    return Sheets(settings.sheets, settings.menu)


# ---------------------------------------------------------------- the draw


def test_a_sheet_is_a_function_of_seed_and_round_alone_and_drawn_uniformly(sheets):
    seeds = np.repeat(np.arange(260, dtype=np.uint64), 50)
    rounds = np.tile(np.arange(50), 260)
    drawn = sheets.draw_rows(seeds, rounds)
    assert drawn.tolist() == [
        sheets.draw(seed, index)
        for seed, index in zip(seeds.tolist(), rounds.tolist(), strict=True)
    ]
    assert chisquare(np.bincount(drawn, minlength=13)).pvalue > 1e-3
    pairs = np.bincount(13 * drawn[:-1] + drawn[1:], minlength=169)  # no round tells the next
    assert chisquare(pairs).pvalue > 1e-3


def test_sheets_change_no_card():
    one, other = NiuNiuEnv(LOOPHOLE), NiuNiuEnv(LOOPHOLE, rules=SINGLE)
    for env in (one, other):
        env.reset(seed=5)
    for _ in range(60):
        cards = [env.step(0)[4]["settlement"]["dealer_cards"].tolist() for env in (one, other)]
        assert cards[0] == cards[1]
        for env in (one, other):
            env.reset()


# ---------------------------------------------------------------- slips on other sheets


def test_required_boxes_correspond_and_the_others_by_name(settings, sheets):
    single, base = load_rules(SINGLE), load_rules(BASE)
    texts = [str(slip_under(single, slip, base)) for slip in settings.menu]
    assert texts[:2] == ["single=100", "single=200"]
    assert texts[8] == "single=500,double=500,super=100"
    assert texts[BONUS_SLIP] == "None"
    assert slip_under(base, settings.menu[BONUS_SLIP], base) == settings.menu[BONUS_SLIP]
    assert np.argwhere(~sheets.takes).tolist() == [[12, BONUS_SLIP]]
    assert str(sheets.menus[12][BONUS_SLIP]) == "single=100"


# ---------------------------------------------------------------- settlement


@pytest.mark.parametrize("seed", [0, 1_000])
def test_each_round_is_settled_as_under_its_sheet_alone(sheets, seed):
    env, n_rounds = NiuNiuEnv(LOOPHOLE), 130
    alone = [
        NiuNiuEnv(LOOPHOLE, rules=rules, menu=[slip for slip, is_taken in places if is_taken])
        for rules, places in zip(
            sheets.rules, map(zip, sheets.menus, sheets.takes.tolist()), strict=True
        )
    ]
    env.reset(seed=seed)
    seen = set()
    for index in range(n_rounds):
        number, action = sheets.draw(seed, index), index % 10
        other = alone[number]
        if action >= len(other.settings.menu):
            action = 0
        other.reset(seed=seed)
        for _ in range(index - other.get_state()["state"]["round_index"]):
            other.reset()
        result, expected = env.step(action), other.step(action)
        assert result[1] == expected[1]
        for info in (result[4], expected[4]):
            del info["action_mask"]  # one menu is shorter
        assert_same(result[4], expected[4])
        seen.add(number)
        env.reset()
    assert len(seen) == 13


def test_the_note_costs_the_dealer_five_units():
    """Dealer wins with Niu 6: a unit by the literal note, six where losses mirror wins."""
    deal = ("2D 3D 4D 6C 9C", "10D QH KS 7S 9D")  # high card against Niu 6
    seeds = {}
    env = NiuNiuEnv(LOOPHOLE, sheets=[BASE, NOTE])
    for seed in range(20):
        observation, _ = env.reset(seed=seed, options={"deal": deal})
        reward = env.step(6)[1]
        seeds[int(env.encoding.decode_sheet(observation[None])[0])] = reward
    assert seeds == {0: -7.0, 1: -2.0}


@pytest.mark.parametrize("is_visible", [True, False])
@pytest.mark.parametrize("words", [{}, {"n_rounds": 3}, {"observation": "uint8"}], ids=str)
def test_rows_play_what_single_environments_play(words, is_visible):
    n, words = 40, words | {"rules_visible": is_visible}
    batch = NiuNiuVectorEnv(n, LOOPHOLE, autoreset_mode="Disabled", **words)
    singles = [NiuNiuEnv(LOOPHOLE, **words) for _ in range(n)]
    rows, infos = batch.reset(seed=40)
    starts = [env.reset(seed=40 + i) for i, env in enumerate(singles)]
    rng, n_illegal = np.random.default_rng(0), 0
    alone, masks = np.stack([o for o, _ in starts]), [i["action_mask"] for _, i in starts]
    for _ in range(15):
        assert rows.tobytes() == alone.tobytes()
        assert (infos["action_mask"] == masks).all()
        actions = rng.choice([0, 6, 8, BONUS_SLIP], n)
        rows, rewards, ended, _, infos = batch.step(actions)
        steps = [env.step(int(action)) for env, action in zip(singles, actions, strict=True)]
        alone = np.stack([step[0] for step in steps])
        masks = [step[4]["action_mask"] for step in steps]
        assert rewards.tolist() == [step[1] for step in steps]
        assert ended.tolist() == [step[2] for step in steps]
        illegal = [step[4].get("illegal_action", False) for step in steps]
        assert infos.get("illegal_action", np.zeros(n, dtype=bool)).tolist() == illegal
        settlement = infos["settlement"]
        for row, step in enumerate(steps):
            for key in ("slip", "net_cents", "player_rank", "moved_cents"):
                assert settlement[key][row] == step[4]["settlement"][key]
            nets = settlement["net_by_box"]
            boxes = {box: nets[box][row] for box in nets if box[0] != "_" and nets[f"_{box}"][row]}
            assert boxes == step[4]["settlement"]["net_by_box"]
        n_illegal += sum(illegal)
        if ended.any():
            assert rows.tobytes() == alone.tobytes()
            rows, infos = batch.reset(options={"reset_mask": ended})
            for i in np.flatnonzero(ended):
                alone[i], info = singles[i].reset()
                masks[i] = info["action_mask"]
            infos = {"action_mask": batch.action_masks().astype(np.int8)}
    assert n_illegal > 0


def test_sync_batches_give_the_native_ones_transitions():
    native = gymnasium.make_vec(LOOPHOLE, num_envs=7)
    mode = {"autoreset_mode": gymnasium.vector.AutoresetMode.SAME_STEP}
    sync = gymnasium.make_vec(LOOPHOLE, 7, vectorization_mode="sync", vector_kwargs=mode)
    seen = [env.reset(seed=6)[0] for env in (native, sync)]
    for action in range(10):
        assert (seen[0] == seen[1]).all()
        steps = [env.step(np.full(7, action)) for env in (native, sync)]
        assert (steps[0][1] == steps[1][1]).all()
        seen = [step[0] for step in steps]


# ---------------------------------------------------------------- what is hidden, what is illegal


def test_hidden_rules_show_nothing_of_the_sheet(sheets):
    env = NiuNiuEnv(LOOPHOLE, rules_visible=False, render_mode="ansi")
    seen, drawn = set(), set()
    for seed in range(200):
        observation, info = env.reset(seed=seed)
        seen.add((observation.tobytes(), info["action_mask"].tobytes(), env.render()))
        drawn.add(sheets.draw(seed, 0))
    assert len(seen) == 1
    assert drawn == set(range(13))
    assert "one of 13 sheets" in env.render()


def test_a_slip_the_sheet_does_not_take_is_masked_or_found_out_and_becomes_the_least(sheets):
    seed = next(s for s in range(1_000) if sheets.draw(s, 0) == 12)
    for is_visible in (True, False):
        env = NiuNiuEnv(LOOPHOLE, rules_visible=is_visible)
        env.reset(seed=seed)
        assert env.action_masks().tolist() == [True] * 9 + [not is_visible]
        info = env.step(BONUS_SLIP)[4]
        assert info["illegal_action"]
        assert info["settlement"]["slip"] == 0
        assert set(info["settlement"]["net_by_box"]) == {"single"}
        strict = NiuNiuEnv(LOOPHOLE, rules_visible=is_visible, illegal="raise")
        batch = NiuNiuVectorEnv(1, LOOPHOLE, rules_visible=is_visible, illegal="raise")
        for each, action in ((strict, BONUS_SLIP), (batch, np.array([BONUS_SLIP]))):
            each.reset(seed=seed)
            with pytest.raises(InvalidAction, match="illegal here"):
                each.step(action)


def test_the_table_in_words_names_the_sheet_and_its_boxes(sheets):
    seed = next(s for s in range(1_000) if sheets.draw(s, 0) == 12)
    env = NiuNiuEnv(LOOPHOLE, render_mode="ansi", n_rounds=2)
    env.reset(seed=seed)
    assert env.render().startswith(f"{SINGLE} | round 0")
    assert "6: single=100,super=100" in env.render()
    env.step(6)
    text = env.render()
    assert text.startswith(sheets.rules[sheets.draw(seed, 1)].name)
    assert "slip single=100,super=100" in text  # of the round before, under its own sheet


# ---------------------------------------------------------------- states


@pytest.mark.parametrize("is_visible", [True, False])
def test_states_and_pickles_keep_sheets_and_future(is_visible):
    batch = NiuNiuVectorEnv(40, LOOPHOLE, rules_visible=is_visible)
    batch.reset(seed=2)
    batch.step(np.zeros(40, dtype=np.int64))
    copy = pickle.loads(pickle.dumps(batch))  # noqa: S301, our own bytes
    other = NiuNiuVectorEnv(40, LOOPHOLE, rules_visible=is_visible)
    other.reset(seed=77)
    other.set_state(json.loads(json.dumps(batch.get_state())))
    for action in (6, 9, 8):
        steps = [env.step(np.full(40, action)) for env in (batch, copy, other)]
        for step in steps[1:]:
            assert_same(step[:4], steps[0][:4])


def test_a_state_of_other_sheets_is_refused():
    one, other = NiuNiuEnv(LOOPHOLE), NiuNiuEnv(LOOPHOLE, sheets=[BASE, NOTE])
    one.reset(seed=0)
    other.reset(seed=0)
    with pytest.raises(ConfigError, match="rules"):
        one.set_state(other.get_state())


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ({"sheets": BASE}, "sheets takes a list"),
        ({"sheets": [BASE]}, "two sheets or more"),
        ({"sheets": [BASE, BASE]}, "one game twice"),
        ({"sheets": [BASE, "no-sheet"]}, "no rule set 'no-sheet'"),
        ({"sheets": [BASE, "six-deck-shoe-bonus"]}, "share one deck"),
        ({"sheets": [BASE, NOTE], "rules": NOTE}, "not the first of sheets"),
        ({"decisions": "bet_and_set"}, "decisions='bet'"),
        ({"bankroll_cents": 9_000}, "bankroll_cents=None"),
        ({"channel": {}}, "channel=None"),
        ({"shoe": "counts"}, "shoe=None"),
        ({"stakes": "continuous", "chip_cents": 100, "maximum_cents": 200}, "stakes='menu'"),
        ({"can_leave": True}, "can_leave=False"),
        ({"reward": "expected"}, "reward='settled'"),
        ({"rules_visible": 1}, "rules_visible is True or False"),
        ({"rules": BASE, "rules_visible": False}, "give sheets"),
        ({"bankroll_cents": 9_000, "objective": "time_at_table"}, "objective='profit'"),
    ],
    ids=str,
)
def test_contradictions_are_named(words, part):
    with pytest.raises(ConfigError) as caught:
        make_settings(LOOPHOLE, **words)
    assert part in str(caught.value)


def test_the_least_slip_is_one_of_every_sheet():
    dear = load_rules(SINGLE).model_dump(mode="json") | {"name": "dear"}
    dear["boxes"]["single"]["minimum_cents"] = 200
    path_free = load_rules(BASE)
    with pytest.raises(ConfigError, match="'even=100' is none under the sheet 'dear'"):
        make_settings(LOOPHOLE, sheets=[path_free, load_rules(SINGLE).model_validate(dear)])


def test_base_units_are_shared_and_sheets_are_few():
    other = load_rules(NOTE).model_copy(update={"base_unit_cents": 200})
    with pytest.raises(ConfigError, match="share one base unit"):
        make_settings(LOOPHOLE, sheets=[BASE, other])
    with pytest.raises(ConfigError, match="64 sheets at most, got 65"):
        make_settings(LOOPHOLE, sheets=[BASE] * 65)


def test_settings_are_made_again_from_json_and_one_sheet_is_an_ordinary_task(settings):
    tree = json.loads(json.dumps(settings.to_json()))
    assert make_settings(LOOPHOLE, **tree) == settings
    assert make_settings(settings, n_rounds=2).sheets == settings.sheets
    plain = make_settings(LOOPHOLE, rules=NOTE)
    assert (plain.sheets, plain.rules.name, plain.rules_hash) == (
        None,
        NOTE,
        plain.rules.rules_hash,
    )
    assert make_settings(LOOPHOLE, **plain.to_json()) == plain
    assert "sheets" not in plain.to_json()
    fewer = make_settings(settings, sheets=[NOTE, BASE])
    assert fewer.rules.name == NOTE
    assert fewer.rules_hash != make_settings(settings, sheets=[BASE, NOTE]).rules_hash


@pytest.mark.parametrize("words", [{}, {"mask": "observation"}, {"n_rounds": 4}], ids=str)
def test_hidden_sheets_keep_the_checkers_promises(words):
    env = gymnasium.make(LOOPHOLE, rules_visible=False, render_mode="ansi", **words)
    check_env(env.unwrapped)
    check_environment(NiuNiuEnv(LOOPHOLE, rules_visible=False, **words), n_steps=30)
