"""Registration: ids appear on import, twice is once, and the start stays light."""

import pytest
from stray import in_fresh_process

import niulab
from niulab.envs.registration import ENV_IDS


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_ids_work_after_the_import_and_through_the_module_form(env_id, tmp_path):
    script = f"""
import gymnasium
env = gymnasium.make("niulab.envs:{env_id}")
import niulab
print(env.unwrapped.settings == gymnasium.make("{env_id}").unwrapped.settings)
"""
    assert in_fresh_process(script, tmp_path) == "True\n"


def test_importing_twice_gives_no_warning(tmp_path):
    script = """
import importlib, niulab, niulab.envs.registration as registration
importlib.reload(registration); importlib.reload(niulab)
import gymnasium
print(*[name for name in gymnasium.registry if name.startswith("niulab/")])
"""
    assert in_fresh_process(script, tmp_path).split() == list(ENV_IDS)


def test_the_import_solves_and_compiles_nothing(tmp_path):
    script = """
import sys, niulab
print([m for m in ("numba", "scipy", "matplotlib", "torch", "pydantic") if m in sys.modules])
"""
    assert in_fresh_process(script, tmp_path) == "[]\n"


def test_the_packages_first_names_come_when_called():
    assert niulab.load_rules().name == "single-double-super"
    assert str(niulab.Card.of("10S")) == "10S"
    assert set(niulab.__all__) <= set(dir(niulab))
    with pytest.raises(AttributeError, match="no attribute 'solver'"):
        niulab.solver  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'NiuEnv'"):
        niulab.envs.NiuEnv  # noqa: B018
