"""Studies of betting: a question each, from a checked config to figures, pictures and a report.

Every study is a function of its config; its room holds both (``mix.mix_study(MixConfig(...))``).
"""

from __future__ import annotations

from niulab.evaluation.studies.config import KINDS, parse_study, read_study, run_study
from niulab.evaluation.studies.report import StudyFiles, write_study
from niulab.evaluation.studies.study import (
    Picture,
    Provenance,
    Section,
    Study,
    StudyConfig,
    make_provenance,
)

__all__ = [
    "KINDS",
    "Picture",
    "Provenance",
    "Section",
    "Study",
    "StudyConfig",
    "StudyFiles",
    "make_provenance",
    "parse_study",
    "read_study",
    "run_study",
    "write_study",
]
