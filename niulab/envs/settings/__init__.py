"""The settings of an environment: what they are, how they are read, what does not go together."""

from niulab.envs.settings.model import N_SETTINGS, EnvSettings
from niulab.envs.settings.reading import make_settings

__all__ = ["N_SETTINGS", "EnvSettings", "make_settings"]
