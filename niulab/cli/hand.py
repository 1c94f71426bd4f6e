"""``niulab hand``: one hand, its ten settings, and one deal against a dealer's hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from niulab.cli.output import JsonFlag, console, exact, examples, print_json, table, warn

if TYPE_CHECKING:
    from niulab.engine.hands import Arrangement
    from niulab.solvers.one_hand import Deal, HandReport

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    'niulab hand "KS QH 10D AC 7S"',
    'niulab hand "KS QH 10D AC 7S" --dealer "2S 3S 4D 9H 9C" --slip single=100,super=40',
    'niulab hand "♠K ♥Q TD 1C 7S" --rules ngau-ngau-hong-kong --json',
)

_WINNERS = ("dealer", "push", "player")  # by Outcome


def run(
    cards: Annotated[
        str,
        typer.Argument(help="Five cards: rank and suit, as KS, 10D, TD or ♠K.", metavar="CARDS"),
    ],
    rules: Annotated[
        str, typer.Option(help="A shipped name or the path of a rules file.")
    ] = "single-double-super",
    dealer: Annotated[
        str | None,
        typer.Option(help="The dealer's five cards: settles this deal.", metavar="CARDS"),
    ] = None,
    slip: Annotated[
        str | None,
        typer.Option(
            help="Stakes in cents by box, as single=100,super=40. Default: the least slip.",
            metavar="STAKES",
        ),
    ] = None,
    bankroll: Annotated[
        int | None,
        typer.Option(help="Chips in cents that must cover the slip.", metavar="CENTS", min=0),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Set one hand best for the slip at stake, and say what it and every other setting is worth.

    EV is given that the hand is known and the dealer's is not: per unit staked
    by box, and in cents of the slip for each of the ten settings. With --dealer
    the deal is settled as well, both hands best set; win probability and EV stay
    those before the dealer's cards are known.
    """
    from niulab.engine.cards import parse_cards
    from niulab.engine.rules import load_rules
    from niulab.engine.wagers import Slip
    from niulab.solvers.one_hand import hand_report, play
    from niulab.solvers.values import player_edges

    sheet, shown, opposite = load_rules(rules), parse_cards(cards), parse_cards(dealer or "")
    stakes = None if slip is None else Slip.parse(slip)
    report = hand_report(sheet, shown, stakes, bankroll_cents=bankroll)
    deal = None if dealer is None else play(report, opposite)
    warnings = player_edges(sheet)
    warn(warnings)
    if json:
        print_json({**_record(report, shown, deal), "warnings": warnings})
    else:
        _print(report, shown)
        if deal is not None:
            _print_deal(deal, shown, opposite)


def _texts(cards: Iterable[int], shown: tuple[int, ...]) -> list[str]:
    """Cards as text, in the order in which they were written."""
    from niulab.engine.cards import card_text

    return [card_text(card) for card in sorted(cards, key=shown.index)]


def _record(report: HandReport, shown: tuple[int, ...], deal: Deal | None) -> dict[str, Any]:
    best, slip = report.best.arrangement, report.slip
    settled = None if deal is None else deal.settlement
    return {
        "rules": report.rules.name,
        "rules_hash": report.rules.rules_hash,
        "cards": _texts(shown, shown),
        "rank": best.rank,
        "base": _texts(best.shown_base, shown),
        "pair": _texts(best.shown_pair, shown),
        "strength": best.strength,
        "win_probability": exact(report.best.win_probability),
        "ev": {box: float(ev) for box, ev in report.best.ev.items()},
        "slip": None if slip is None else dict(slip.stakes),
        "arrangements": [
            {
                "pair": _texts(setting.arrangement.pair, shown),
                "rank": setting.arrangement.rank,
                "ev": None if slip is None else float(setting.ev_cents),
                "win_probability": exact(setting.win_probability),
            }
            for setting in report.settings
        ],
        "winner": None if deal is None else _WINNERS[deal.outcome],
        "net": None if settled is None else settled.net_by_box,
    }


def _print(report: HandReport, shown: tuple[int, ...]) -> None:
    out, best = console(), report.best
    out.print(f"[bold]{_set_hand(best.arrangement, shown)}[/bold]  under {report.rules.name}")
    chance = f"{float(best.win_probability):.10f} ({exact(best.win_probability)})"
    out.print(f"wins with probability {chance}, before the dealer's cards are known")
    if report.slip is not None:
        ev = ", ".join(f"{box} {float(value):+.6f}" for box, value in best.ev.items())
        out.print(f"EV per unit staked: {ev}\n")
    columns = ["counts as", "P(win)"] + (["EV, cents"] if report.slip is not None else [])
    title = "The ten settings" + ("" if report.slip is None else f", slip {report.slip}")
    settings = table(title, "front", *columns)
    for setting in report.settings:
        row = [
            " ".join(_texts(setting.arrangement.pair, shown)),
            setting.arrangement.rank,
            f"{float(setting.win_probability):.6f}",
        ]
        if report.slip is not None:
            row.append(f"{float(setting.ev_cents):+.4f}")
        settings.add_row(*row, style="bold" if setting is best else None)
    out.print(settings)


def _print_deal(deal: Deal, shown: tuple[int, ...], opposite: tuple[int, ...]) -> None:
    out = console()
    out.print(f"\nplayer: {_set_hand(deal.player, shown)}")
    out.print(f"dealer: {_set_hand(deal.dealer, opposite)}")
    winner = _WINNERS[deal.outcome]
    out.print(f"[bold]{'a push' if winner == 'push' else f'the {winner} wins'}[/bold]")
    if deal.settlement is not None:
        nets = ", ".join(f"{box} {net:+d}" for box, net in deal.settlement.net_by_box.items())
        out.print(f"net in cents: {nets}; together {deal.settlement.net_cents:+d}")


def _set_hand(hand: Arrangement, shown: tuple[int, ...]) -> str:
    behind = " ".join(_texts(hand.shown_base, shown)) or "no base"
    return f"{hand.rank}: {behind} / {' '.join(_texts(hand.shown_pair, shown))}"
