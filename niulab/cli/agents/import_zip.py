"""``niulab import``: a zip of Stable-Baselines3 that is one's own, as a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from niulab.cli.output import JsonFlag, console, examples, print_json

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab import model.zip mine --env Arrange --allow-pickle",
    "niulab import model.zip mine --env Arrange --set encoding=ids --allow-pickle",
    "niulab evaluate mine",
)


def run(
    file: Annotated[Path, typer.Argument(help="The zip that SB3 wrote.", metavar="ZIP")],
    out: Annotated[Path, typer.Argument(help="The new model's folder.", metavar="OUT")],
    env: Annotated[
        str,
        typer.Option(help="The task it was trained on, as Shoe.", metavar="ID"),
    ] = "niulab/Arrange-v0",
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A keyword of that environment, as encoding=ids; repeatable.",
            metavar="KEY=VALUE",
        ),
    ] = None,
    allow_pickle: Annotated[
        bool,
        typer.Option("--allow-pickle", help="Load the zip, which runs whatever code it names."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Turn your own SB3 zip into a model file, which every command then plays.

    SB3 keeps pickles in its zips: loading one runs the code it names, so nothing
    is opened without --allow-pickle. The model file holds none, and answers as
    SB3 did, which is checked on sampled observations before it is written.
    """
    from niulab.engine.rules.toml import overridden
    from niulab.envs.presets import full_id
    from niulab.envs.settings import make_settings
    from niulab.training.sb3_zip import import_zip

    task = full_id(env)
    words: dict[str, Any] = overridden({}, changes or ())
    settings = make_settings(task, **words)
    card = import_zip(file, out, settings, task=task, allow_pickle=allow_pickle)
    if json:
        record = card.model_dump(mode="json", include={"task", "algorithm", "rules_hash", "steps"})
        print_json({"model": str(out), **record})
        return
    what = f"{card.algorithm}, {card.network.kind}, trained on {card.task}"
    console().print(f"model: {out} ({what})", markup=False)
