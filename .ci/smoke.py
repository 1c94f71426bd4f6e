"""Uses the installed wheel from another folder: its data, the command, one environment."""

import json
import subprocess
from pathlib import Path

import gymnasium as gym

import niulab

PACKAGE = Path(niulab.__file__).resolve().parent
CHECKOUT = Path(__file__).resolve().parents[1]


def run(*words: str) -> str:
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout


def the_package_is_the_installed_wheel() -> None:
    assert CHECKOUT not in PACKAGE.parents, f"imported from the checkout: {PACKAGE}"
    assert list((PACKAGE / "configs").rglob("*.toml")), "the wheel lacks configs/"
    assert list((PACKAGE / "engine" / "rules" / "variants").glob("*.toml")), "it lacks rule sheets"
    assert (PACKAGE / "py.typed").is_file(), "the wheel lacks py.typed"


def the_commands_answer() -> None:
    assert "Usage" in run("niulab", "--help")
    assert "single-double-super" in {
        s["name"] for s in json.loads(run("niulab", "rules", "--json"))
    }
    solution = json.loads(run("niulab", "solve", "single-double-super", "--json"))
    assert solution["boxes"]["single"]["ev"] == "-1/40", solution["boxes"]
    hand = json.loads(run("niulab", "hand", "KS QH 10D AC 7S", "--json"))
    assert hand["rank"] == "niu_8", hand


def the_environment_steps() -> None:
    env = gym.make("niulab/Arrange-v0")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.close()


def tensorboard_starts() -> None:
    """2.20 did not, beside a new setuptools."""
    run("tensorboard", "--version")


for check in (
    the_package_is_the_installed_wheel,
    the_commands_answer,
    the_environment_steps,
    tensorboard_starts,
):
    check()
    print("ok:", check.__name__.replace("_", " "))
