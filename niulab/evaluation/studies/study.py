"""What a study is: a flat config that tells every mistake at once, and figures in three forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeAlias

from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
)

from niulab.engine.rules.catalog import DEFAULT_RULES, load_rules
from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip, verify_slip
from niulab.errors import ConfigError, RulesError, WagerError, explained
from niulab.evaluation.benchmark import circumstances
from niulab.evaluation.tables import Cells

__all__ = [
    "Columns",
    "OfConfig",
    "OptionalStakes",
    "Picture",
    "Progress",
    "Provenance",
    "Section",
    "Sheet",
    "Stakes",
    "Study",
    "StudyConfig",
    "make_provenance",
    "read_sheet",
]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is worked on, how much of it is done and how much it is in all."""


def read_sheet(value: Any) -> RuleSet:
    """A rule set with boxes, by name, path or as it is; raises RulesError."""
    rules = load_rules(value)
    if rules.is_ranking_only:
        raise RulesError(
            f"'{rules.name}' ranks hands and offers no bets: choose a rule set with boxes, as "
            f"'{DEFAULT_RULES}'"
        )
    return rules


def _optional_stakes(value: Any, info: ValidationInfo) -> Slip | None:
    return None if value is None else _stakes(value, info)


def _stakes(value: Any, info: ValidationInfo) -> Slip:
    if not isinstance(value, str | Mapping | Slip):
        raise WagerError(f"{value!r} is no slip: write whole cents as 'single=100,super=40'")
    slip = Slip.of(value)
    if "rules" in info.data:  # else the rules' own mistake is told
        verify_slip(info.data["rules"], slip)
    return slip


Sheet = Annotated[
    RuleSet, PlainValidator(read_sheet), PlainSerializer(lambda rules: rules.name, return_type=str)
]
"""A config's rule set: a shipped name, the path of a rules file, or a RuleSet; it has boxes."""

Stakes = Annotated[Slip, PlainValidator(_stakes), PlainSerializer(str, return_type=str)]
"""A config's slip, as ``"single=100,super=40"``; legal on the config's ``rules``."""

OptionalStakes = Annotated[
    Slip | None,
    PlainValidator(_optional_stakes),
    PlainSerializer(lambda slip: None if slip is None else str(slip)),
]
"""``Stakes`` that a config may leave out."""


class StudyConfig(BaseModel):
    """What every study is told; each kind adds its own keys, all of them at the top.

    Tuples need ``Annotated[tuple[...], Field(strict=False)]``, because TOML knows lists only. What
    two keys say together is checked in a ``model_validator(mode="after")`` that raises ValueError,
    one line per mistake. Raises ConfigError with every mistake.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    kind: str
    title: str
    rules: Annotated[Sheet, Field(validate_default=True)] = DEFAULT_RULES  # type: ignore[assignment] # read
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            known, items = type(self).model_fields, error.errors()
            # a list whose entries are all wrong is not too short besides
            wrong = {item["loc"][0] for item in items if len(item["loc"]) > 1}
            lines = (
                line
                for item in items
                if item["type"] != "too_short" or item["loc"][0] not in wrong
                for line in explained(item, ".".join(map(str, item["loc"])), known).split("\n")
            )
            mistakes = "\n".join(f"  - {line.strip().removeprefix('- ')}" for line in lines)
            raise ConfigError(f"this is no {known['kind'].default} study:\n{mistakes}") from None

    @property
    def sheets(self) -> tuple[RuleSet, ...]:
        """Every rule set the study is about, for its provenance."""
        return (self.rules,)


Columns: TypeAlias = dict[str, dict[str, Sequence[Any] | NDArray[Any]]]
"""Tables at full precision: table name -> column -> values of one kind."""


@dataclass(frozen=True)
class Picture:
    """A drawing: its file's stem, what it shows in words, and the PNG."""

    name: str
    alt: str
    png: bytes


@dataclass(frozen=True)
class Section:
    """A chapter of a report: sentences (Markdown with backquotes only), a table, pictures."""

    title: str
    lines: tuple[str, ...] = ()
    cells: Cells | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Provenance:
    """What is needed to make the same figures again; ``rules`` are names and hashes."""

    version: str
    deals_version: int
    study: str
    rules: tuple[tuple[str, str], ...]
    seed: int
    command: str
    date: str
    python: str
    numpy: str
    config: dict[str, Any]


class Study(Protocol):
    """The result of a study."""

    @property
    def kind(self) -> str:
        """The config's kind."""

    @property
    def title(self) -> str:
        """What heads the report."""

    def warnings(self) -> tuple[str, ...]:
        """What must be seen before any figure: boxes that favor the player (``player_edges``)."""

    def headline(self) -> dict[str, Any]:
        """The few figures one looks for first, for ``study.json`` and ``--json``.

        Exact ones are Fractions (written as "a/b"), all others what JSON holds.
        """

    def columns(self) -> Columns:
        """Every figure at full precision, for CSV and Parquet; Fractions are written as "a/b"."""

    def sections(self) -> tuple[Section, ...]:
        """The chapters of the report: figures are rounded here, pictures drawn here."""


class OfConfig:
    """A study that keeps its config has its kind and title from there."""

    config: StudyConfig

    @property
    def kind(self) -> str:
        """The config's kind."""
        return self.config.kind

    @property
    def title(self) -> str:
        """What heads the report."""
        return self.config.title


def make_provenance(
    config: StudyConfig, *, command: Sequence[str] | str | None = None, date: str | None = None
) -> Provenance:
    """The provenance of a study; ``command`` is what made it, ``date`` ISO (default: now)."""
    command = command or f"niulab.evaluation.studies.run_study({type(config).__name__}(...))"
    return Provenance(
        study=config.kind,
        rules=tuple((rules.name, rules.rules_hash) for rules in config.sheets),
        seed=config.seed,
        config=config.model_dump(mode="json"),
        **circumstances(command, date),
    )
