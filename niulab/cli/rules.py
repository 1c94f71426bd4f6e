"""``niulab rules``: the rule sets on offer, where they come from and what they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from niulab.cli.output import JsonFlag, console, examples, print_json, table

if TYPE_CHECKING:
    from niulab.engine.rules import RuleSet

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab rules",
    "niulab rules even-double-super-bonus-literal-note",
    "niulab rules ./mine.toml       [dim]# checks a file of your own[/dim]",
    "niulab rules --json",
)


def run(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RULES]...",
            help="Shipped names or paths of rules files, shown in full. Without any: all shipped.",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """List the shipped rule sets with their source and what they change.

    Loading checks a file but solves nothing: `niulab solve` says what a sheet is worth.
    """
    from niulab.engine.rules import load_rules, shipped_names

    found = [load_rules(name) for name in names or shipped_names()]
    if json:
        print_json([_record(rules) for rules in found])
    elif names:
        for rules in found:
            _print_in_full(rules)
    else:
        _print_list(found)


def _record(rules: RuleSet) -> dict[str, Any]:
    from niulab.engine.rules import changes_of

    return {
        "name": rules.name,
        "title": rules.title,
        "source": rules.source,
        "extends": rules.extends,
        "boxes": list(rules.boxes),
        "changes": changes_of(rules),
        "note": rules.note,
        "rules_hash": rules.rules_hash,
    }


def _print_list(found: list[RuleSet]) -> None:
    from niulab.engine.rules import changes_of

    listing = table("Shipped rule sets", "name")
    for column in ("boxes", "source, and what it changes"):
        listing.add_column(column)
    for rules in found:
        lines = [rules.source]
        if rules.extends is not None:
            lines += [f"[dim]changes {rules.extends}:[/dim]", *_brief(changes_of(rules))]
        listing.add_row(rules.name, ", ".join(rules.boxes) or "ranking only", "\n".join(lines))
        listing.add_section()
    console().print(listing)


def _brief(changes: list[str], most: int = 4) -> list[str]:
    left = len(changes) - most
    return [*changes[:most], f"... and {left} more: niulab rules NAME"] if left > 0 else changes


def _print_in_full(rules: RuleSet) -> None:
    from niulab.engine.rules import changes_of

    out = console()
    out.print(f"[bold]{rules.name}[/bold]  {rules.title}  [dim](hash {rules.rules_hash})[/dim]")
    out.print(f"source: {rules.source}", markup=False)
    if rules.note:
        out.print(f"note: {rules.note}", markup=False)
    if rules.extends is not None:
        out.print(f"changes {rules.extends}:")
        for line in changes_of(rules):
            out.print(f"  {line}", markup=False)
    main = [name for name, box in rules.boxes.items() if not box.is_bonus]
    if main:
        odds = table("Odds, x to 1: win / lose", "rank", *main)
        pays = {name: (rules.win_odds(name), rules.lose_odds(name)) for name in main}
        for index, rank in reversed(list(enumerate(rules.ranks))):
            odds.add_row(rank, *(f"{win[index]} / {lose[index]}" for win, lose in pays.values()))
        out.print(odds)
    else:
        out.print(f"ranks, highest first: {', '.join(reversed(rules.ranks))}")
    for name, box in rules.boxes.items():
        for award in (*box.awards, *box.hand_pays):
            out.print(f"{name} pays {award.odds} to 1 on {award.predicate}")
    out.print()
