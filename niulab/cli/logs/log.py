"""``niulab log``: play logs into a store, and what lies in it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from niulab.cli.logs.tables import flag_names, print_check, print_counts, print_stats
from niulab.cli.output import (
    JsonFlag,
    console,
    examples,
    print_json,
    progress_bar,
    say,
    table,
    warn,
)
from niulab.errors import ConfigError

if TYPE_CHECKING:
    from niulab.evaluation.playlog.chunk import ReadOptions
    from niulab.evaluation.playlog.store.importing import Imported

__all__ = [
    "app",
    "check_files",
    "export",
    "import_files",
    "pseudonymize_names",
    "retain",
    "show",
    "stats",
]

app = typer.Typer(
    help="Import play logs into a store, look at them, export them, replace names by pseudonyms.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Files = Annotated[
    list[Path],
    typer.Argument(help="Flat logs: CSV or JSON Lines, plain or packed.", metavar="FILES..."),
]
StoreFolder = Annotated[Path, typer.Argument(help="Folder of a store.", metavar="STORE")]
RulesOption = Annotated[
    str | None,
    typer.Option(help="Sheet of rows that name none: a shipped name or a .toml file."),
]
SheetOption = Annotated[
    list[str] | None,
    typer.Option(help="Sheet behind a name in the log; repeatable.", metavar="NAME=RULES"),
]
ZoneOption = Annotated[str, typer.Option(help="Zone of times written without one.")]
SeparatorOption = Annotated[
    str | None, typer.Option(help="Between the fields. Default: found from the header.")
]
EncodingOption = Annotated[str | None, typer.Option(help="Default: found from the bytes.")]
SuitsOption = Annotated[
    str | None,
    typer.Option(help="Order of suits where cards are numbers, as DCHS. Default: none are."),
]
IdsByOption = Annotated[
    Literal["rank", "suit"],
    typer.Option(help="Numbered cards: the four of a rank in a row, or the thirteen of a suit."),
]
FirstIdOption = Annotated[int, typer.Option(help="Numbered cards: the first number.")]
OrderOption = Annotated[
    bool | None,
    typer.Option(
        "--deal-order/--any-order",
        help="Whether cards stand in the order dealt. Default: found from the hands.",
    ),
]
MemoryOption = Annotated[str, typer.Option(help="What DuckDB may use.", metavar="SIZE")]


@app.command(
    "import",
    epilog=examples(
        "niulab log import night.csv --store plays",
        "niulab log import 2026-*.csv.gz --store plays --zone Asia/Macau --workers 2",
        "niulab log import floor.csv --store plays --sheet T1=./mine.toml --suits DCHS",
    ),
)
def import_files(
    files: Files,
    store: Annotated[Path, typer.Option(help="Folder of the store; made if new.", metavar="DIR")],
    rules: RulesOption = None,
    sheet: SheetOption = None,
    zone: ZoneOption = "UTC",
    separator: SeparatorOption = None,
    encoding: EncodingOption = None,
    suits: SuitsOption = None,
    ids_by: IdsByOption = "rank",
    first_id: FirstIdOption = 0,
    deal_order: OrderOption = None,
    buckets: Annotated[
        int | None, typer.Option(help="Parts of the players in a new store, 1 to 128. Default: 64.")
    ] = None,
    memory: MemoryOption = "2GB",
    workers: Annotated[int, typer.Option(help="Processes, that share large files.", min=1)] = 1,
    json: JsonFlag = False,
) -> None:
    """Bring flat logs into a store: all of them, or none.

    After a kill the same command goes on where it stopped. Rows that cannot be
    are put aside, with line and reason; rows that came before count once.
    """
    from niulab.evaluation.playlog.store.folder import begin_store
    from niulab.evaluation.playlog.store.importing import import_log

    options = _options(
        rules, sheet, zone, separator, encoding, suits, ids_by, first_id, deal_order=deal_order
    )
    _verify_files(files)
    with begin_store(store, buckets=buckets) as opened, progress_bar() as report:
        done = import_log(
            files, opened, options=options, memory=memory, workers=workers, progress=report
        )
    _warn_of(done.warnings)
    if json:
        print_json(_import_dict(done))
        return
    for name in done.known:
        say(f"{name}: imported before, passed over")
    if done.version is None:
        console().print("nothing new")
        return
    print_counts(f"Imported into {store}, version {done.version}", done.counts)
    if done.quarantine is not None:
        say(f"rows that were not kept: {done.quarantine}")


@app.command("check", epilog=examples("niulab log check night.csv --quarantine bad.csv"))
def check_files(
    files: Files,
    quarantine: Annotated[
        Path | None, typer.Option(help="Where to write the rows that would not be kept.")
    ] = None,
    rules: RulesOption = None,
    sheet: SheetOption = None,
    zone: ZoneOption = "UTC",
    separator: SeparatorOption = None,
    encoding: EncodingOption = None,
    suits: SuitsOption = None,
    ids_by: IdsByOption = "rank",
    first_id: FirstIdOption = 0,
    deal_order: OrderOption = None,
    json: JsonFlag = False,
) -> None:
    """Read flat logs as an import would, and keep nothing.

    Rows that come again are found within 100,000 rows; an import finds all.
    """
    from niulab.evaluation.playlog.store.importing import check_log

    options = _options(
        rules, sheet, zone, separator, encoding, suits, ids_by, first_id, deal_order=deal_order
    )
    _verify_files(files)
    with progress_bar() as report:
        found = check_log(files, options=options, quarantine=quarantine, progress=report)
    _warn_of(found.warnings)
    if json:
        print_json(asdict(found))
    else:
        print_check(found)


@app.command("show", epilog=examples('niulab log show plays --player "Guest 7" --rows 5'))
def show(
    store: StoreFolder,
    player: Annotated[str | None, typer.Option(help="Only this player's rows.")] = None,
    rows: Annotated[int, typer.Option(help="The last so many.", min=1)] = 20,
    json: JsonFlag = False,
) -> None:
    """Show the last rows of a player, or the first rows of a store."""
    from niulab.evaluation.playlog.flat import flat_columns
    from niulab.evaluation.playlog.store.folder import open_store
    from niulab.evaluation.playlog.store.loading import player_plays, scan_rounds

    opened = open_store(store)
    if player is not None:
        plays = player_plays(opened, player)
        if not len(plays):
            raise ConfigError(f"no player '{player}' in '{store}': names are as the log wrote them")
        plays = plays.take(slice(-rows, None))
    else:
        found = next(scan_rounds(opened, rows=max(rows, 1000)), None)
        if found is None:
            raise ConfigError(f"the store in '{store}' is empty")
        plays = found.take(slice(rows))
    columns = flat_columns(plays)
    columns["residual"] = [str(cents) for cents in plays.residuals.sum(axis=1).tolist()]
    columns["flags"] = [flag_names(flags) for flags in plays.flags.tolist()]
    if json:
        print_json(
            [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        )
        return
    used = [name for name, texts in columns.items() if any(text not in {"", "0"} for text in texts)]
    listing = table("", *used)
    for row in zip(*(columns[name] for name in used), strict=True):
        listing.add_row(*row)
    console().print(listing)


@app.command("stats", epilog=examples("niulab log stats plays", "niulab log stats plays --json"))
def stats(store: StoreFolder, memory: MemoryOption = "2GB", json: JsonFlag = False) -> None:
    """Print what lies in a store: sizes, money, flags, gaps, how much was recorded."""
    from niulab.evaluation.playlog.store.folder import open_store
    from niulab.evaluation.playlog.store.stats import store_stats

    found = store_stats(open_store(store), memory=memory)
    if json:
        print_json(asdict(found))
    else:
        print_stats(found)


@app.command("export", epilog=examples("niulab log export plays plays.csv.gz"))
def export(
    store: StoreFolder,
    file: Annotated[Path, typer.Argument(help="A .csv or .jsonl file, also with .gz.")],
    month: Annotated[
        list[str] | None, typer.Option(help="Only this month; repeatable.", metavar="YYYY-MM")
    ] = None,
    memory: MemoryOption = "2GB",
    json: JsonFlag = False,
) -> None:
    """Write the rows of a store as a flat log."""
    from niulab.evaluation.playlog.store.exporting import export_log
    from niulab.evaluation.playlog.store.folder import open_store

    n = export_log(open_store(store), file, months=month, memory=memory)
    if json:
        print_json({"rows": n, "file": file})
    else:
        console().print(f"{n:,} rows in {file}", markup=False)


@app.command(
    "pseudonymize",
    epilog=examples(
        "openssl rand -hex 32 > key && chmod 600 key",
        "niulab log pseudonymize plays plays-shared --key-file key",
    ),
)
def pseudonymize_names(
    store: StoreFolder,
    out: Annotated[Path, typer.Argument(help="Folder of the new store.", metavar="OUT")],
    key_file: Annotated[
        Path | None,
        typer.Option(help="File of the key, readable by you alone. Default: NIULAB_LOG_KEY."),
    ] = None,
    memory: MemoryOption = "2GB",
    json: JsonFlag = False,
) -> None:
    """Write a store anew with keyed hashes in place of players' and dealers' names.

    Who has the key can link names and hashes; keep it apart from the store.
    """
    from niulab.evaluation.playlog.store.folder import begin_store, open_store
    from niulab.evaluation.playlog.store.pseudonyms import pseudonymize, read_key

    key = read_key(key_file)
    opened = open_store(store)
    with begin_store(out, buckets=opened.manifest.buckets) as target:
        done = pseudonymize(opened, target, key, memory=memory)
    if json:
        print_json(_import_dict(done))
    else:
        console().print(f"{done.counts.kept:,} rows in {out}", markup=False)


@app.command("retain", epilog=examples("niulab log retain plays --from 2026-01-01"))
def retain(
    store: StoreFolder,
    day: Annotated[
        str, typer.Option("--from", help="The first day that stays, UTC.", metavar="YYYY-MM-DD")
    ],
    json: JsonFlag = False,
) -> None:
    """Drop all rounds before a day from a store, for good, and all quarantine files."""
    from niulab.evaluation.playlog.store.folder import open_store
    from niulab.evaluation.playlog.store.pseudonyms import drop_before

    try:
        first = date.fromisoformat(day)
    except ValueError:
        raise ConfigError(f"'{day}' is no day: write it as 2026-01-01") from None
    gone = drop_before(open_store(store), first)
    if json:
        print_json({"dropped": gone})
    else:
        console().print(f"{gone:,} rows dropped")


def _options(
    rules: str | None,
    sheets: list[str] | None,
    zone: str,
    separator: str | None,
    encoding: str | None,
    suits: str | None,
    ids_by: Literal["rank", "suit"],
    first_id: int,
    *,
    deal_order: bool | None,
) -> ReadOptions:
    from niulab.engine.rules import load_rules
    from niulab.evaluation.playlog.chunk import CardIds, ReadOptions

    declared = {}
    for text in sheets or ():
        name, sign, path = text.partition("=")
        if not sign or not name or not path:
            raise ConfigError(f"--sheet {text}: write NAME=RULES, as T1=single-double-super")
        declared[name] = load_rules(path)
    return ReadOptions(
        separator={"tab": "\t", "\\t": "\t"}.get(separator or "", separator),
        encoding=encoding,
        zone=zone,
        card_ids=CardIds(suits.upper(), ids_by, first_id) if suits else None,
        rules=declared,
        default_rules=load_rules(rules) if rules else None,
        in_deal_order=deal_order,
    )


def _verify_files(files: list[Path]) -> None:
    """Raise before anything is begun: a folder that was made for nothing is in the way later."""
    missing = [str(path) for path in files if not path.is_file()]
    if missing:
        raise ConfigError(f"no file {', '.join(missing)}: give the paths of flat logs")


def _warn_of(warnings: dict[str, int]) -> None:
    warn(f"{text} ({n:,} times)" if n > 1 else text for text, n in warnings.items())


def _import_dict(done: Imported) -> dict[str, Any]:
    return {
        "version": done.version,
        "counts": asdict(done.counts),
        "known": list(done.known),
        "warnings": done.warnings,
        "quarantine": done.quarantine,
    }
