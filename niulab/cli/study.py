"""``niulab study``: a question about betting, answered exactly, with its report."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from niulab.cli.output import (
    JsonFlag,
    command_line,
    console,
    examples,
    print_json,
    print_sections,
    progress_bar,
    warn,
)

if TYPE_CHECKING:
    from niulab.evaluation.studies import Section, Study, StudyFiles

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab study mix",
    "niulab study mix --set required_cents=200 --set slip=single=200,super=40",
    "niulab study ruin --set target_cents=20_000 --out reports/far",
    "niulab study ./mine.toml --out reports/mine",
    "niulab study readings --json > readings.json",
)


def run(
    config: Annotated[
        str,
        typer.Argument(help="A shipped study or the path of a .toml file.", metavar="CONFIG"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the report. Default: reports/NAME.", metavar="DIR"),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change a value, as required_cents=200; repeatable.", metavar="KEY=VALUE"
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run a study of betting and write its report.

    The report is Markdown with pictures, one self-contained HTML page, and every
    figure at full precision as CSV and Parquet. A long study that is interrupted
    goes on from what it had finished when the same command is run again.
    """
    from niulab.evaluation.studies import make_provenance, read_study, run_study, write_study
    from niulab.evaluation.studies.report import study_dict

    checked = read_study(config, overrides=changes or ())
    folder = out or Path("reports") / Path(config).stem
    made = _make(folder)
    try:
        with progress_bar(with_eta=True) as report:
            study = run_study(checked, progress=report, keep=folder / "kept")
        warn(study.warnings())
        provenance, sections = make_provenance(checked, command=command_line()), study.sections()
        files = write_study(study, folder, provenance, sections=sections)
    except KeyboardInterrupt:
        if (folder / "kept").exists():
            warn([f"stopped; the same command goes on from what lies in {folder / 'kept'}"])
        raise
    finally:
        _drop(made)
    if json:
        print_json({**study_dict(study, provenance), "report": vars(files)})
    else:
        _print(study, sections, files)


def _make(folder: Path) -> list[Path]:
    """Make a folder, so that one that cannot be is found out first; returns what was not there."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return new


def _drop(folders: Sequence[Path]) -> None:
    """Take away folders in which nothing lies."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _print(study: Study, sections: Sequence[Section], files: StudyFiles) -> None:
    out = console()
    out.print(f"\n{study.title}", style="bold", markup=False)
    print_sections(sections)
    names = ", ".join(path.name for path in (files.markdown, files.json, *files.tables))
    out.print(f"\nreport: {files.html} (and {names})", markup=False)
