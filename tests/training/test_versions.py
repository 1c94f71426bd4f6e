"""Versions on record: of the package itself without installed metadata, from one source."""

import json
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

import niulab
from niulab.training.runs import run_folder

ROOT = Path(__file__).parents[2]
CARDS = sorted((ROOT / "niulab" / "agents" / "trained").glob("*/card.json"))


def test_a_source_tree_that_was_never_installed_knows_its_version(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(run_folder, "version", missing)
    found = run_folder.package_versions()
    assert found.pop("niulab") == niulab.__version__
    assert found.pop("python")
    assert set(found.values()) == {"unknown"}


def test_the_build_takes_the_version_from_the_package():
    tree = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "version" not in tree["project"]
    assert "version" in tree["project"]["dynamic"]
    assert tree["tool"]["hatch"]["version"]["path"] == "niulab/__init__.py"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.parent.name)
def test_shipped_agents_say_what_made_them(card):
    versions = json.loads(card.read_text("utf-8"))["versions"]
    assert "unknown" not in versions.values()
    assert versions["niulab"] == "0.1.0"  # the only version there was when they were trained
