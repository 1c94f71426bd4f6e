import json
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch

from niulab.agents import make_agent
from niulab.agents.models.card import CardNetwork, MlpNetwork, ModelCard
from niulab.agents.models.file import load_model, read_card, save_model
from niulab.agents.models.policies import build_policy
from niulab.agents.models.sb3 import agent_of, load_agent
from niulab.engine.ranking import all_hands
from niulab.envs import make_settings
from niulab.envs.encoding import Encoding
from niulab.errors import CheckpointError
from niulab.seeding import generator

ARRANGE = make_settings("niulab/Arrange-v0", encoding="ids")
NETWORK = CardNetwork(embedding=8, hidden=(8,), critic_embedding=8, critic_hidden=(8,))
HANDS = all_hands()[::40_000]


def written(folder, *, algorithm="ppo", network=NETWORK, settings=ARRANGE, **changes):
    torch.manual_seed(0)
    policy = build_policy(algorithm, network, settings)
    card = ModelCard.of(
        settings,
        task="niulab/Arrange-v0",
        algorithm=algorithm,
        network=network,
        seed=3,
        steps=64,
        scores={"n_errors": 5},
    )
    return policy, save_model(folder, card.model_copy(update=changes), policy.state_dict())


@pytest.mark.parametrize("algorithm", ["ppo", "a2c", "maskable_ppo", "imitation", "dqn", "qrdqn"])
@pytest.mark.parametrize(
    "network",
    [
        NETWORK,
        NETWORK.model_copy(update={"vectors": "ranks_and_suits", "products": True, "features": 2}),
        MlpNetwork(hidden=(8,)),
        MlpNetwork(hidden=(8,), frequencies=4),
    ],
    ids=["cards", "ranks and suits", "mlp", "waves"],
)
def test_a_model_comes_back_as_it_was(algorithm, network, tmp_path):
    policy, folder = written(tmp_path / "m", algorithm=algorithm, network=network)
    agent = load_agent(folder, ARRANGE)
    expected = agent_of(policy, ARRANGE).set_hands(HANDS)
    assert np.array_equal(agent.set_hands(HANDS), expected)
    assert hasattr(agent, "probabilities") == (algorithm not in {"dqn", "qrdqn"})
    assert agent.name == f"{algorithm}-{network.kind}-3"


def test_a_model_is_found_by_folder_by_file_by_run_and_by_name(tmp_path):
    _, folder = written(tmp_path / "run" / "final")
    for path in (folder, folder / "card.json", folder / "weights.safetensors", tmp_path / "run"):
        assert read_card(path).scores == {"n_errors": 5}
    assert make_agent(f"model:{tmp_path / 'run'}", ARRANGE).name == "ppo-cards-3"


def test_loading_unpickles_nothing(tmp_path, monkeypatch):
    _, folder = written(tmp_path / "m")

    def forbidden(*args, **keywords):
        raise AssertionError("something was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, forbidden)
    monkeypatch.setattr(torch, "load", forbidden)
    load_agent(folder, ARRANGE)


class Poison:
    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (self.file,)


@pytest.mark.parametrize("disguise", ["pickle", "zip", "garbage", "empty", "cut"])
def test_a_poisoned_or_broken_file_is_refused_and_runs_nothing(disguise, tmp_path):
    _, folder = written(tmp_path / "m")
    file, trap = folder / "weights.safetensors", tmp_path / "trap"
    poison = pickle.dumps(Poison(str(trap)))
    if disguise == "zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("data.pkl", poison)
    else:
        contents = {"pickle": poison, "garbage": b"\x00" * 99, "empty": b""}
        file.write_bytes(contents.get(disguise, file.read_bytes()[:-1]))
    with pytest.raises(CheckpointError):
        load_agent(folder, ARRANGE)
    assert not trap.exists()


def test_weights_of_another_model_are_noticed(tmp_path):
    _, folder = written(tmp_path / "m")
    _, other = written(tmp_path / "other", network=MlpNetwork(hidden=(8,)))
    (folder / "weights.safetensors").write_bytes((other / "weights.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="not those its card speaks of"):
        load_model(folder)


@pytest.mark.parametrize("path", ["nothing", "model.zip", "folder"])
def test_what_is_no_model_says_what_one_is(path, tmp_path):
    (tmp_path / "model.zip").write_bytes(b"PK")
    (tmp_path / "folder").mkdir()
    with pytest.raises(CheckpointError, match=r"A model is a folder with weights\.safetensors"):
        load_agent(tmp_path / path, ARRANGE)


@pytest.mark.parametrize(
    "card", ["", "[]", "{}", '{"format": "other"}'], ids=["empty", "list", "bare", "foreign"]
)
def test_a_card_that_is_none_is_refused(card, tmp_path):
    _, folder = written(tmp_path / "m")
    (folder / "card.json").write_text(card)
    with pytest.raises(CheckpointError, match="no card of a niulab model"):
        load_agent(folder, ARRANGE)


def test_another_rule_set_needs_transfer(tmp_path):
    _, folder = written(tmp_path / "m")
    hong_kong = make_settings("niulab/Arrange-v0", encoding="ids", rules="ngau-ngau-hong-kong")
    with pytest.raises(CheckpointError, match="--transfer"):
        load_agent(folder, hong_kong)
    agent = load_agent(folder, hong_kong, transfer=True)
    assert agent.set_hands(HANDS).shape == (len(HANDS),)


def test_another_slip_needs_transfer(tmp_path):
    _, folder = written(tmp_path / "m")
    other = make_settings("niulab/Arrange-v0", slip="single=100,super=40")
    with pytest.raises(CheckpointError, match=r"slip='single=100'.*--transfer"):
        load_agent(folder, other)
    load_agent(folder, other, transfer=True)


@pytest.mark.parametrize("transfer", [False, True])
def test_another_task_is_refused(transfer, tmp_path):
    _, folder = written(tmp_path / "m")
    with pytest.raises(CheckpointError, match=r"evaluate it on 'niulab/Arrange-v0'"):
        load_agent(folder, make_settings("niulab/NiuNiu-v0"), transfer=transfer)


@pytest.mark.parametrize(
    ("key", "value"), [("encoding", "cards-ids-v0"), ("n_columns", 7), ("rules_hash", "0" * 16)]
)
def test_what_this_version_encodes_otherwise_is_refused(key, value, tmp_path):
    _, folder = written(tmp_path / "m")
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {key: value}))
    with pytest.raises(CheckpointError, match="train it again"):
        load_agent(folder, ARRANGE)


@pytest.mark.parametrize("shown", [{}, {"observation": "uint8"}, {"point_flags": True}])
def test_hands_shown_in_another_encoding_are_read_all_the_same(shown, tmp_path):
    _, folder = written(tmp_path / "m")
    settings = make_settings("niulab/Arrange-v0", **shown)
    agent = load_agent(folder, settings)
    observations = Encoding(settings).encode_hands(HANDS)
    masks = np.ones((len(HANDS), 10), dtype=np.bool_)
    actions, _ = agent.act(observations, masks, {}, None, generator(0, "test"))
    assert np.array_equal(actions, load_agent(folder, ARRANGE).set_hands(HANDS))
    chances = agent.probabilities(observations, masks)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.array_equal(chances.argmax(axis=1), actions)


def test_a_maskable_policy_never_answers_what_is_masked(tmp_path):
    policy, _ = written(tmp_path / "m", algorithm="maskable_ppo")
    agent = agent_of(policy, ARRANGE)
    masks = np.zeros((len(HANDS), 10), dtype=np.bool_)
    masks[:, [2, 7]] = True
    observations = Encoding(ARRANGE).encode_hands(HANDS)
    actions, _ = agent.act(observations, masks, {}, None, generator(0, "test"))
    assert set(actions.tolist()) <= {2, 7}
    assert not agent.probabilities(observations, masks)[:, [0, 1, 3, 4, 5, 6, 8, 9]].any()


def test_a_model_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    _, folder = written(tmp_path / "m")
    before = (folder / "weights.safetensors").read_bytes()

    def full(file, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("niulab.agents.models.file.write_synced", full)
    with pytest.raises(CheckpointError, match="No space left on device"):
        written(folder)
    assert (folder / "weights.safetensors").read_bytes() == before
    load_agent(folder, ARRANGE)


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        (lambda tensor: torch.full_like(tensor, torch.nan), "holds NaN or infinity"),
        (lambda tensor: torch.full_like(tensor, torch.inf), "holds NaN or infinity"),
        (lambda tensor: tensor.to(torch.int64), "holds torch.int64, the network torch.float32"),
        (lambda tensor: tensor.new_zeros(3, 3), "size mismatch"),
    ],
)
def test_weights_that_are_none_are_refused(damage, part, tmp_path):
    _, folder = written(tmp_path / "m")
    card, weights = load_model(folder)
    name = next(name for name, tensor in weights.items() if tensor.is_floating_point())
    save_model(folder, card, {**weights, name: damage(weights[name])})
    with pytest.raises(CheckpointError, match="do not fit the network on its card") as error:
        load_agent(folder, ARRANGE)
    assert part in str(error.value)
    assert name in str(error.value)


@pytest.mark.parametrize(("key", "value"), [("n_actions", 7), ("rules", "bull-bull-live")])
def test_a_card_that_contradicts_itself_is_refused(key, value, tmp_path):
    _, folder = written(tmp_path / "m", **{key: value})
    with pytest.raises(CheckpointError, match="card contradicts itself"):
        load_agent(folder, ARRANGE)


@pytest.mark.parametrize("settings", [{"preset": "niulab/Table-v0"}, {"rules": {"name": "x"}}])
def test_a_card_of_impossible_settings_is_refused(settings, tmp_path):
    _, folder = written(tmp_path / "m")
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {"settings": settings}))
    with pytest.raises(CheckpointError, match="cannot be made by this version") as error:
        load_agent(folder, ARRANGE)
    assert "pydantic" not in str(error.value)


@pytest.mark.parametrize(("own", "claimed"), [("ppo", "a2c"), ("a2c", "maskable_ppo")])
def test_a_card_cannot_claim_another_algorithm_with_the_same_network(own, claimed, tmp_path):
    _, folder = written(tmp_path / "m", algorithm=own)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | {"algorithm": claimed}))
    message = f"claims algorithm = '{claimed}', its weights are of algorithm = '{own}'"
    with pytest.raises(CheckpointError, match=message):
        load_agent(folder, ARRANGE)


def test_numbers_of_16_bits_come_back_rounded_as_32(tmp_path):
    _, folder = written(tmp_path / "m")
    card, weights = load_model(folder)
    half = save_model(tmp_path / "half", card, weights, is_half=True)
    sizes = [(place / "weights.safetensors").stat().st_size for place in (folder, half)]
    assert sizes[1] < 0.65 * sizes[0]
    _, read = load_model(half)
    assert all(torch.equal(read[name], weights[name].half().float()) for name in weights)
    load_agent(half, ARRANGE)
