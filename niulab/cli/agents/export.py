"""``niulab export``: a trained model as a small file to give away, or as SB3's zip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from niulab.cli.output import JsonFlag, console, examples, print_json

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab export runs/ppo_arrange-0 model.zip   [dim]# for stable_baselines3.PPO.load[/dim]",
    "niulab export trained:ppo_arrange model.zip",
    "niulab export runs/ppo_arrange-0 mine   [dim]# a model file of half the size, scored[/dim]",
)


def run(
    model: Annotated[
        str,
        typer.Argument(
            help="The folder of a model or of its run, or trained:NAME.", metavar="MODEL"
        ),
    ],
    out: Annotated[
        Path,
        typer.Argument(help="A file ending in .zip, or a model's folder.", metavar="OUT"),
    ],
    json: JsonFlag = False,
) -> None:
    """Write a trained model for others.

    OUT ending in .zip becomes a zip of Stable-Baselines3, for PPO.load and its
    like. Any other OUT becomes a model file with numbers of 16 bits whose card
    holds its whole score, exact where the task has one.
    """
    from niulab.cli.agents.choosing import model_path
    from niulab.training.runs.publish import publish_model
    from niulab.training.sb3_zip import export_zip

    source = model_path(model) or Path(model)
    card = export_zip(source, out) if out.suffix == ".zip" else publish_model(source, out)
    files = [out] if out.is_file() else sorted(out.iterdir())
    sizes = {file.name: file.stat().st_size for file in files}
    record = {
        "model": str(out),
        "task": card.task,
        "algorithm": card.algorithm,
        "rules_hash": card.rules_hash,
        "bytes": sizes,
        "scores": card.scores,
    }
    if json:
        print_json(record)
        return
    for name, size in sizes.items():
        console().print(f"{out / name if out.is_dir() else out}: {size:,} bytes", markup=False)
