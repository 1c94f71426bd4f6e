"""Zips of Stable-Baselines3: ours open there, one's own come in, others' run nothing."""

import base64
import json
import os
import subprocess
import sys
import zipfile

import cloudpickle
import numpy as np
import pytest
import torch
from sb3_contrib import QRDQN, MaskablePPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3

from niulab.agents.models.card import CardNetwork, MlpNetwork, ModelCard
from niulab.agents.models.file import load_model, save_model
from niulab.agents.models.sb3 import agent_of, build_policy, load_agent
from niulab.engine.ranking import all_hands
from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.errors import CheckpointError, ConfigError
from niulab.training.sb3_vec import make_sb3_vec
from niulab.training.sb3_zip import export_zip, import_zip

IDS = make_settings("niulab/Arrange-v0", encoding="ids")
FLAGS = make_settings("niulab/Arrange-v0")
SMALL = CardNetwork(embedding=8, hidden=(8,), critic_embedding=8, critic_hidden=(8,))
LOADERS = {"ppo": PPO, "a2c": A2C, "maskable_ppo": MaskablePPO, "dqn": DQN, "qrdqn": QRDQN}
HANDS = all_hands()[::20_000]


def written(folder, algorithm="ppo", network=SMALL, settings=IDS):
    torch.manual_seed(5)
    policy = build_policy(algorithm, network, settings)
    card = ModelCard.of(
        settings, task="niulab/Arrange-v0", algorithm=algorithm, network=network, seed=3, steps=64
    )
    save_model(folder, card, policy.state_dict())
    return agent_of(policy, settings)


@pytest.mark.parametrize("algorithm", LOADERS)
@pytest.mark.parametrize("network", [SMALL, MlpNetwork(hidden=(8,))], ids=["cards", "mlp"])
def test_an_exported_model_plays_the_same_in_sb3_and_comes_back(algorithm, network, tmp_path):
    settings = IDS if network is SMALL else FLAGS
    if algorithm == "qrdqn":
        network = network.model_copy(update={"n_quantiles": 3})
    agent = written(tmp_path / "m", algorithm, network, settings)
    export_zip(tmp_path / "m", tmp_path / "model.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "model.zip"]
    model = LOADERS[algorithm].load(tmp_path / "model.zip", device="cpu")
    seen = Encoding(settings).encode_hands(HANDS)
    expected = agent.set_hands(HANDS)
    assert len(set(expected.tolist())) > 1
    assert np.array_equal(model.predict(seen, deterministic=True)[0], expected)
    card = import_zip(
        tmp_path / "model.zip",
        tmp_path / "back",
        settings,
        task="niulab/Arrange-v0",
        allow_pickle=True,
    )
    assert (card.algorithm, card.network, card.seed, card.steps) == (algorithm, network, 3, 64)
    _, weights = load_model(tmp_path / "m")
    _, back = load_model(tmp_path / "back")
    assert weights.keys() == back.keys()
    assert all(torch.equal(weights[name], back[name]) for name in weights)
    assert np.array_equal(load_agent(tmp_path / "back", settings).set_hands(HANDS), expected)


def test_imitation_leaves_as_a_policy_of_ppos(tmp_path):
    agent = written(tmp_path / "m", "imitation")
    export_zip(tmp_path / "m", tmp_path / "model.zip")
    assert (tmp_path / "model.zip").stat().st_size < 200_000  # no table of the oracle's settings
    model = PPO.load(tmp_path / "model.zip", device="cpu")
    assert type(model.policy).__module__.startswith("niulab.agents")  # and none of training
    seen = Encoding(IDS).encode_hands(HANDS)
    assert np.array_equal(model.predict(seen, deterministic=True)[0], agent.set_hands(HANDS))


@pytest.mark.parametrize("kind", [SAC, TD3])
def test_vectors_leave_for_sb3_and_are_refused_on_the_way_back(kind, tmp_path):
    stakes = make_settings("niulab/SessionStake-v0")
    agent = written(tmp_path / "m", kind.__name__.lower(), MlpNetwork(hidden=(8,)), stakes)
    export_zip(tmp_path / "m", tmp_path / "model.zip")
    model = kind.load(tmp_path / "model.zip", device="cpu")
    assert model.buffer_size == 1_000  # SB3's million rows would be allocated at once
    left, chips = np.meshgrid([1, 3, 6], [500, 2_000, 3_900])
    seen = Encoding(stakes).encode_bets(9, bankrolls=chips.ravel(), rounds_left=left.ravel())
    masks = np.ones((9, stakes.n_actions), dtype=np.bool_)
    vectors, _ = agent.act(seen, masks, {}, None, np.random.default_rng(0))
    assert np.allclose(model.predict(seen, deterministic=True)[0], vectors, atol=1e-6)
    with pytest.raises(CheckpointError, match=f"{kind.__name__}Policy, of none of .*its own class"):
        import_zip(
            tmp_path / "model.zip",
            tmp_path / "back",
            stakes,
            task="niulab/SessionStake-v0",
            allow_pickle=True,
        )


def test_a_perceptron_needs_no_niulab_in_sb3(tmp_path):
    agent = written(tmp_path / "m", network=MlpNetwork(hidden=(8,)), settings=FLAGS)
    export_zip(tmp_path / "m", tmp_path / "model.zip")
    np.save(tmp_path / "seen.npy", Encoding(FLAGS).encode_hands(HANDS))
    script = (
        "import sys; sys.modules['niulab'] = None\n"
        "import numpy as np\n"
        "from stable_baselines3 import PPO\n"
        "model = PPO.load('model.zip', device='cpu')\n"
        "np.save('actions.npy', model.predict(np.load('seen.npy'), deterministic=True)[0])\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60)
    assert np.array_equal(np.load(tmp_path / "actions.npy"), agent.set_hands(HANDS))


def test_ones_own_model_of_sb3_comes_in(tmp_path):
    env = make_sb3_vec(8, FLAGS)
    model = PPO("MlpPolicy", env, n_steps=4, batch_size=32, seed=1, device="cpu")
    model.learn(64)
    model.save(tmp_path / "own.zip")
    words = {"task": "niulab/Arrange-v0", "allow_pickle": True}
    card = import_zip(tmp_path / "own.zip", tmp_path / "own", FLAGS, **words)
    assert (card.network, card.steps) == (MlpNetwork(hidden=(64, 64), activation="tanh"), 64)
    seen = Encoding(FLAGS).encode_hands(HANDS)
    expected = model.predict(seen, deterministic=True)[0]
    assert np.array_equal(load_agent(tmp_path / "own", FLAGS).set_hands(HANDS), expected)
    with pytest.raises(CheckpointError, match=r"shows .* 10: give the task and settings"):
        import_zip(tmp_path / "own.zip", tmp_path / "other", IDS, **words)
    with pytest.raises(ConfigError, match="exists already"):
        import_zip(tmp_path / "own.zip", tmp_path / "own", FLAGS, **words)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"net_arch": {"pi": [8], "vf": [4]}}, "different widths"),
        ({"net_arch": [8], "activation_fn": torch.nn.GELU}, "its activation is"),
    ],
)
def test_networks_that_no_card_can_describe_are_named(keywords, message, tmp_path):
    model = PPO("MlpPolicy", make_sb3_vec(1, FLAGS), policy_kwargs=keywords, device="cpu")
    model.save(tmp_path / "own.zip")
    with pytest.raises(CheckpointError, match=message):
        import_zip(
            tmp_path / "own.zip",
            tmp_path / "own",
            FLAGS,
            task="niulab/Arrange-v0",
            allow_pickle=True,
        )
    assert not (tmp_path / "own").exists()


class Poison:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (self.folder,)


def poisoned(file, trap):
    text = base64.b64encode(cloudpickle.dumps(Poison(str(trap)))).decode()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data", json.dumps({"policy_class": {":serialized:": text}}))


def test_a_poisoned_zip_runs_nothing_unless_allowed(tmp_path):
    trap = tmp_path / "trap"
    poisoned(tmp_path / "model.zip", trap)
    words = (tmp_path / "model.zip", tmp_path / "own", IDS)
    with pytest.raises(CheckpointError, match=r"runs the code it names.*--allow-pickle"):
        import_zip(*words, task="niulab/Arrange-v0")
    assert not trap.exists()
    with pytest.raises(CheckpointError):
        import_zip(*words, task="niulab/Arrange-v0", allow_pickle=True)
    assert trap.exists()  # the trap was set well: the flag is what keeps it shut
    assert not (tmp_path / "own").exists()


def test_what_is_no_zip_says_so(tmp_path):
    (tmp_path / "model.zip").write_bytes(b"PK")
    for name, message in [("model.zip", "no zip archive"), ("none.zip", "no such file")]:
        with pytest.raises(CheckpointError, match=message):
            import_zip(
                tmp_path / name,
                tmp_path / "own",
                IDS,
                task="niulab/Arrange-v0",
                allow_pickle=True,
            )
