"""The promises of the floor plan: what may import what, how much a room holds, who may print."""

import ast
import importlib
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import niulab

PACKAGE = Path(niulab.__file__).resolve().parent
ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))

MOST_LINES = 400
MOST_MODULES = 12
TRAINING_LIBRARIES = {"torch", "stable_baselines3", "sb3_contrib", "tensorboard"}
SLOW_TO_START = {"numba", "scipy", "matplotlib", "pyarrow", *TRAINING_LIBRARIES}

LINT = """
import sys
from importlinter.cli import lint_imports
sys.exit(lint_imports(no_cache=True, no_logo=True))
"""


def fresh_python(script, folder):
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-c", script],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def lint_imports_in(folder):
    """Check the package below ``folder``, and only that one, against the contracts beside it."""
    return fresh_python(LINT, folder)


def loaded_after(statement, folder):
    """Names in ``sys.modules`` once a fresh process has run ``statement``."""
    process = fresh_python(f"import sys; {statement}; print(*sys.modules)", folder)
    assert process.returncode == 0, process.stderr
    return set(process.stdout.split())


def dotted(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# ---------------------------------------------------------------- imports


def test_imports_only_go_down():
    report = lint_imports_in(ROOT)
    assert report.returncode == 0, report.stdout + report.stderr


@pytest.mark.parametrize(
    ("room", "statement", "contract"),
    [
        ("engine", "import niulab.solvers", "Floors: imports only go down"),
        ("evaluation", "import niulab.training", "Floors: imports only go down"),
        ("solvers", "import torch", "Game, solvers, envs and evaluation"),
        ("agents", "import stable_baselines3", "Among agents, only agents.models may"),
        ("training", "import matplotlib.pyplot", "Pictures are made only in"),
        ("evaluation", "import matplotlib.figure", "Pictures are made only in"),
    ],
)
def test_the_checker_sees_a_planted_import(room, statement, contract, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "niulab", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "niulab" / room / "planted.py").write_text(f"{statement}\n")

    report = lint_imports_in(tmp_path)

    assert report.returncode == 1, report.stdout + report.stderr
    broken = [line for line in report.stdout.splitlines() if "BROKEN" in line]
    assert any(line.startswith(contract) for line in broken), report.stdout
    assert f"niulab.{room}.planted" in report.stdout


@pytest.mark.parametrize(
    "room", ["engine", "solvers", "envs", "evaluation", "agents", "agents.registry"]
)
def test_a_fresh_process_needs_no_training_library_for(room, tmp_path):
    loaded = loaded_after(f"import niulab.{room}", tmp_path)
    assert not loaded & TRAINING_LIBRARIES


@pytest.mark.parametrize("module", ["niulab", "niulab.cli.main"])
def test_a_fresh_process_starts_light_with(module, tmp_path):
    assert not loaded_after(f"import {module}", tmp_path) & SLOW_TO_START


# ---------------------------------------------------------------- rooms


def test_no_module_is_longer_than_a_sitting():
    lengths = {dotted(path): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def test_no_folder_holds_more_modules_than_one_can_keep_in_mind():
    folders = {path.parent for path in SOURCES}
    sizes = {
        str(folder.relative_to(PACKAGE)): sum(p.name != "__init__.py" for p in folder.glob("*.py"))
        for folder in folders
    }
    assert {name: n for name, n in sizes.items() if n > MOST_MODULES} == {}


def test_only_the_command_line_prints():
    printing = [
        f"{dotted(path)}:{node.lineno}"
        for path in SOURCES
        if PACKAGE / "cli" not in path.parents
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == []


# ---------------------------------------------------------------- public names


def modules_with_public_names():
    for info in pkgutil.walk_packages([str(PACKAGE)], "niulab."):
        if info.name.rpartition(".")[2] == "__main__":
            continue
        module = importlib.import_module(info.name)
        if hasattr(module, "__all__"):
            yield module
    if hasattr(niulab, "__all__"):
        yield niulab


def own_public_names(module):
    """Functions and classes that the module defines or, for a package, lifts from below itself."""
    home = module.__name__
    for name, value in vars(module).items():
        origin = getattr(value, "__module__", None)
        lifted = hasattr(module, "__path__") and str(origin).startswith(f"{home}.")
        if not name.startswith("_") and callable(value) and (origin == home or lifted):
            yield name


def test_all_lists_exactly_the_public_names():
    faults = []
    for module in modules_with_public_names():
        listed = list(module.__all__)
        faults += [
            f"{module.__name__}: {n} listed, not there" for n in listed if not hasattr(module, n)
        ]
        faults += [
            f"{module.__name__}: {n} public, not listed"
            for n in own_public_names(module)
            if n not in listed
        ]
        if len(set(listed)) < len(listed):
            faults.append(f"{module.__name__}: a name listed twice")
    assert faults == []
