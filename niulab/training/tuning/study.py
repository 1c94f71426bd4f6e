"""A search over hyperparameters that can be interrupted at any moment (Optuna's samplers).

runs/tune/<name>/
    study.db        Optuna's storage (SQLite): trials, their values, errors
    trials/0003/    the runs of the fourth trial, a folder per seed
    best.toml       the best trial's training config, written after each trial

A trial's score is the mean final score of its runs, normalized where the bounds are known. All
trials train with the same seeds, so they are dealt the same cards. The sampler is seeded anew for
each trial from the study's seed and the number of trials that ended before, so a study that was
interrupted tries what an uninterrupted one tries; the runs under way go on from their checkpoints.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from niulab.agents.models.file import write_synced
from niulab.errors import CheckpointError, ConfigError, MissingExtraError, NiuLabError
from niulab.parallel import run_tasks
from niulab.seeding import stream_seed
from niulab.training.config import TrainConfig
from niulab.training.run import train
from niulab.training.runs.run_folder import RunFolder
from niulab.training.tuning.config import Choice, Range, TuneConfig, parse_tune, without_nones

if TYPE_CHECKING:
    import optuna

__all__ = ["TrialRow", "TuneResult", "best_config", "default_study", "find_study", "tune"]

_STORAGE, _BEST = "study.db", "best.toml"
_CONFIG = "config"  # user attributes
_INTERRUPTED, _ERROR, _SCORES = "interrupted", "error", "scores"
_SEED_MASK = (1 << 32) - 1


@dataclass(frozen=True)
class TrialRow:
    """One trial that ended.

    state: "complete", "pruned" or "failed". values: by key of the search space. score: mean over
    the seeds in ``scores`` (None if it failed). error: why it failed, else "".
    """

    number: int
    state: str
    values: Mapping[str, Any]
    score: float | None
    scores: tuple[float, ...]
    error: str


@dataclass(frozen=True)
class TuneResult:
    """A study as it stands; best is None while no trial is complete."""

    folder: Path
    rows: tuple[TrialRow, ...]
    best: TrialRow | None


def default_study(name: str) -> Path:
    """The folder of a study that was given none."""
    return Path("runs") / "tune" / name


def tune(
    config: TuneConfig,
    folder: Path | None = None,
    *,
    jobs: int = 1,
    command: str = "",
    on_trial: Callable[[TrialRow], None] | None = None,
) -> TuneResult:
    """Run a study up to its number of trials, in ``folder`` (default ``runs/tune/<name>``).

    A study that stands there goes on. With ``jobs`` above 1 as many trials are trained at a time,
    in processes of their own; those of a batch do not know of each other, so another number of
    jobs tries other values. Raises ConfigError for a folder of something else, CheckpointError for
    a study begun with another config, MissingExtraError without Optuna.
    """
    _verify_optuna()
    if jobs < 1:
        raise ConfigError(f"a search needs at least 1 job, got {jobs}: write 1")
    if jobs > 1 and config.tune.prune:
        raise ConfigError("trials of a batch cannot be pruned: write prune = false, or 1 job")
    folder = folder or default_study(config.name)
    study = _opened(folder, config)
    _fail_interrupted(study)
    while (n_ended := len(_ended(study))) < config.tune.n_trials:
        n = min(jobs, config.tune.n_trials - n_ended)
        trials = [_asked(study, config, n_ended + place) for place in range(n)]
        places = [folder / "trials" / f"{n_ended + place:04d}" for place in range(n)]
        if n == 1:
            _carry_out(study, config, trials[0], places[0], command)
        else:
            _carry_out_apart(study, config, trials, places, command)
        result = _result(folder, study)
        if result.best is not None:
            text = config.best(result.best.values).to_toml()
            write_synced(folder / _BEST, text.encode())
        if on_trial is not None:
            for row in result.rows[n_ended:]:
                on_trial(row)
    return _result(folder, study)


def find_study(name: str | Path) -> Path:
    """The folder of a study by its name, its folder or its storage; ConfigError if none is there.

    A name stands for ``runs/tune/<name>``.
    """
    path = Path(name)
    if path.name == _STORAGE:
        path = path.parent
    for folder in (path, default_study(str(name))):
        if (folder / _STORAGE).is_file():
            return folder
    raise ConfigError(
        f"there is no study '{name}': give the name of one below runs/tune, or the folder that "
        f"niulab tune wrote (it holds {_STORAGE})"
    )


def best_config(name: str | Path) -> TrainConfig:
    """The training config of a study's best trial so far, finished or not, at its own budget."""
    _verify_optuna()
    folder = find_study(name)
    study = _loaded(folder)
    result = _result(folder, study)
    if result.best is None:
        raise ConfigError(
            f"no trial of the study in '{folder}' is complete: go on with niulab tune, or look at "
            "the errors of its trials"
        )
    return _config_of(study).best(result.best.values)


# ---------------------------------------------------------------- trials


def _carry_out(
    study: optuna.Study, config: TuneConfig, trial: optuna.Trial, place: Path, command: str
) -> None:
    """Train a trial's runs here, one after the other."""
    from optuna.trial import TrialState

    scores: list[float] = []
    try:
        for step, run in enumerate(_runs(config, trial, place, command)):
            scores.append(_trained(run))
            trial.set_user_attr(_SCORES, scores)
            trial.report(fmean(scores), step)
            is_last = step == len(config.tune.seeds) - 1
            if config.tune.prune and not is_last and trial.should_prune():
                study.tell(trial, state=TrialState.PRUNED)
                return
    except NiuLabError as error:
        _tell_failure(study, trial, str(error))
    else:
        study.tell(trial, fmean(scores))


def _carry_out_apart(
    study: optuna.Study,
    config: TuneConfig,
    trials: Sequence[optuna.Trial],
    places: Sequence[Path],
    command: str,
) -> None:
    """Train the runs of several trials at a time, in as many processes."""
    runs: list[_Run] = []
    owners: list[optuna.Trial] = []
    for trial, place in zip(trials, places, strict=True):
        try:
            own = list(_runs(config, trial, place.absolute(), command))
        except ConfigError as error:
            _tell_failure(study, trial, str(error))
            continue
        runs += own
        owners += [trial] * len(own)
    outcomes = run_tasks(_trained, runs, engine="processes", workers=len(trials))
    for trial in dict.fromkeys(owners):
        own_outcomes = [o for o, owner in zip(outcomes, owners, strict=True) if owner is trial]
        errors = [str(o.error) for o in own_outcomes if o.error is not None]
        scores = [o.value for o in own_outcomes if o.value is not None]
        trial.set_user_attr(_SCORES, scores)
        if errors:
            _tell_failure(study, trial, errors[0])
        else:
            study.tell(trial, fmean(scores))


@dataclass(frozen=True)
class _Run:
    config: TrainConfig
    place: Path
    command: str


def _runs(config: TuneConfig, trial: optuna.Trial, place: Path, command: str) -> Iterator[_Run]:
    values = {key: _plain(config, key, value) for key, value in trial.params.items()}
    for seed in config.tune.seeds:
        yield _Run(config.trial(values, seed), place / f"seed-{seed}", command)


def _trained(run: _Run) -> float:
    """A run's score; a run that stands there already goes on, or is only read if finished."""
    resume = RunFolder(run.place).manifest_file.exists()
    try:
        result = train(run.config, run.place, resume=resume, progress=False, command=run.command)
    except NiuLabError:
        raise
    except Exception as error:  # a trial's values may break what no check foresees
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise NiuLabError(
            f"{type(error).__name__} in {last.name}: {error}; leave such values out of tune.space"
        ) from error
    record = result.score.to_record()
    normalized = record["normalized_score"]
    score: float = record["value"] if normalized is None else normalized
    return score


def _tell_failure(study: optuna.Study, trial: optuna.Trial, error: str) -> None:
    from optuna.trial import TrialState

    trial.set_user_attr(_ERROR, error)
    study.tell(trial, state=TrialState.FAIL)


def _asked(study: optuna.Study, config: TuneConfig, n_ended: int) -> optuna.Trial:
    """The next trial, its values drawn."""
    from optuna.samplers import RandomSampler, TPESampler

    seed = stream_seed(config.tune.seed, f"tune/{n_ended}") & _SEED_MASK
    kinds = {"tpe": TPESampler, "random": RandomSampler}
    study.sampler = kinds[config.tune.sampler](seed=seed)
    trial = study.ask()
    for key, dimension in config.tune.space.items():
        _draw(trial, key, dimension)
    return trial


def _draw(trial: optuna.Trial, key: str, dimension: Range | Choice) -> None:
    if isinstance(dimension, Choice):
        trial.suggest_categorical(key, [json.dumps(value) for value in dimension.values])
        return
    low, high, step = dimension.low, dimension.high, dimension.step
    if dimension.is_whole:
        trial.suggest_int(key, int(low), int(high), log=dimension.log, step=int(step or 1))
    else:
        trial.suggest_float(key, low, high, log=dimension.log, step=step)


def _plain(config: TuneConfig, key: str, value: Any) -> Any:
    """A drawn value as a config writes it: choices are kept as JSON."""
    return json.loads(value) if isinstance(config.tune.space[key], Choice) else value


# ---------------------------------------------------------------- the study on disk


def _verify_optuna() -> None:
    if find_spec("optuna") is None:
        raise MissingExtraError(
            "searching hyperparameters needs Optuna, which is not installed: "
            "pip install 'niulab[tune]'"
        )


def _opened(folder: Path, config: TuneConfig) -> optuna.Study:
    """The study in a folder, begun if there is none."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not (folder / _STORAGE).exists() and folder.exists() and any(folder.iterdir()):
        raise ConfigError(f"'{folder}' holds something else: give the study a folder of its own")
    folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        study_name=config.name,
        storage=_url(folder),
        direction="maximize",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=0),
    )
    if _CONFIG not in study.user_attrs:
        study.set_user_attr(_CONFIG, json.dumps(config.to_json()))
    begun = _config_of(study)
    if _identity(begun) != _identity(config):
        raise CheckpointError(
            f"the study in '{folder}' was begun with another config ({_changed(begun, config)}): "
            "go on with its own, or give this search another name or folder"
        )
    return study


def _loaded(folder: Path) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        (summary,) = optuna.get_all_study_summaries(_url(folder))
        return optuna.load_study(study_name=summary.study_name, storage=_url(folder))
    except Exception as error:  # noqa: BLE001  SQLAlchemy raises what it likes
        raise CheckpointError(
            f"'{folder / _STORAGE}' is no study that niulab tune wrote ({type(error).__name__}): "
            "give the folder of one"
        ) from None


def _url(folder: Path) -> str:
    return f"sqlite:///{(folder / _STORAGE).absolute()}"


def _config_of(study: optuna.Study) -> TuneConfig:
    tree = json.loads(study.user_attrs[_CONFIG])
    space = {k: v.get("values", v) for k, v in without_nones(tree["tune"]["space"]).items()}
    return parse_tune(
        {
            "name": tree["name"],
            "config": without_nones(tree["base"]),
            "tune": tree["tune"] | {"space": space},
        },
        origin="the study's config",
    )


def _identity(config: TuneConfig) -> dict[str, Any]:
    """What must not change between the legs of a study; it may be given more trials."""
    tree = config.to_json()
    del tree["tune"]["n_trials"]
    return tree


def _changed(old: TuneConfig, new: TuneConfig) -> str:
    before, after = _identity(old), _identity(new)
    keys = [key for key in ("name", "base") if before[key] != after[key]]
    keys += [f"tune.{key}" for key in after["tune"] if before["tune"][key] != after["tune"][key]]
    return ", ".join(keys) + " changed"


def _fail_interrupted(study: optuna.Study) -> None:
    """Put away what a killed leg left running; its values are drawn again."""
    from optuna.trial import TrialState

    for frozen in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        storage: Any = study._storage  # noqa: SLF001  ask() alone hands out trials that can be told
        storage.set_trial_user_attr(frozen._trial_id, _INTERRUPTED, value=True)  # noqa: SLF001  as above
        study.tell(frozen.number, state=TrialState.FAIL)


def _ended(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """Trials that ended by themselves, in order."""
    trials = study.get_trials(deepcopy=False)
    return [t for t in trials if t.state.is_finished() and not t.user_attrs.get(_INTERRUPTED)]


def _result(folder: Path, study: optuna.Study) -> TuneResult:
    config = _config_of(study)
    words = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}
    rows = []
    for number, trial in enumerate(_ended(study)):
        scores = tuple(trial.user_attrs.get(_SCORES, ()))
        state = words[trial.state.name]
        rows.append(
            TrialRow(
                number=number,
                state=state,
                values={key: _plain(config, key, value) for key, value in trial.params.items()},
                score=fmean(scores) if scores and state != "failed" else None,
                scores=scores,
                error=trial.user_attrs.get(_ERROR, ""),
            )
        )
    complete = [row for row in rows if row.state == "complete"]
    best = max(complete, key=lambda row: row.score or 0.0, default=None)
    return TuneResult(folder, tuple(rows), best)
