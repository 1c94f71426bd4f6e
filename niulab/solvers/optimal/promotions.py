"""What a coupon on a bet is worth: free bets, match play, promotional chips, exactly.

A coupon of some face lies on one box in place of the player's chips, or beside them. Terms are
named after "Promotional, Match-Play, and Non-Negotiable Chips", wizardofodds.com; where houses
differ, both ways are offered:

    free_bet     the coupon alone is staked: a win pays as chips would, commission and all, a loss
                 costs the coupon. With ``stake_returned`` a winner gets its face in cash, too.
    match_play   an equal cash stake lies beside it: a win pays on both, a loss costs the cash.
    one_shot     the coupon is taken after the first decision, won or lost ("promotional chip").
    until_lost   a winning coupon stays and is played again until it loses ("non-negotiable chip").
    owed/waived  ``multiples``: of a loss of several times the stake, what exceeds the coupon's face
                 is owed in cash, or nothing is.

A push decides nothing: the coupon lies again. By Wald's equation the value is the mean of a round
times the mean number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import least_slip, terms_of
from niulab.errors import ConfigError, nearest
from niulab.solvers.joint_law import JointLaw, joint_law
from niulab.solvers.values import slip_values

__all__ = ["CouponValue", "coupon_value"]

Kind = Literal["free_bet", "match_play"]
Life = Literal["one_shot", "until_lost"]
Multiples = Literal["owed", "waived"]


@dataclass(frozen=True)
class CouponValue:
    """A coupon on a box: value per unit of its face, against not playing at all.

    p_win, p_lose: of a round. rounds: the mean number until it is taken. beside_cents: what the
    least slip, which has to lie beside a coupon on an optional box, loses over these rounds.
    """

    box: str
    value: Fraction
    p_win: Fraction
    p_lose: Fraction
    rounds: Fraction
    beside_cents: Fraction


def coupon_value(
    rules: RuleSet,
    box: str,
    *,
    kind: Kind = "free_bet",
    life: Life = "one_shot",
    multiples: Multiples = "owed",
    stake_returned: bool = False,
    law: JointLaw | None = None,
) -> CouponValue:
    """The value of a coupon by its terms, before rounding and table limits.

    Raises WagerError for an unknown box and ConfigError for terms that are none.
    """
    is_optional = not terms_of(rules, box).required
    for what, given, known in (
        ("kind", kind, get_args(Kind)),
        ("life", life, get_args(Life)),
        ("multiples", multiples, get_args(Multiples)),
    ):
        if given not in known:
            raise ConfigError(f"no {what} '{given}' of a coupon{nearest(str(given), known)}")
    if stake_returned and (kind, life) != ("free_bet", "one_shot"):
        raise ConfigError(
            "stake_returned pays out a free bet that is taken after a win: it belongs to "
            f"kind='free_bet' and life='one_shot', got '{kind}' and '{life}'"
        )
    law = joint_law(rules) if law is None else law
    won = lost = n_won = n_lost = Fraction(0)
    for cell, n in law.cells.items():
        net = cell.unit(rules, box).net
        if net > 0:
            n_won += n
            won += n * (2 * net if kind == "match_play" else net + stake_returned)
        elif net < 0:
            n_lost += n
            cash = net if kind == "match_play" else Fraction(0)
            owed = min(net + 1, Fraction(0)) if multiples == "owed" else Fraction(0)
            lost += n * (cash + owed)
    ends = n_lost if life == "until_lost" else n_won + n_lost
    if not ends:
        raise ConfigError(f"box '{box}' of {rules.name} never takes a coupon: it cannot be lost")
    rounds = Fraction(law.n_deals) / ends
    return CouponValue(
        box=box,
        value=(won + lost) / ends,
        p_win=n_won / law.n_deals,
        p_lose=n_lost / law.n_deals,
        rounds=rounds,
        beside_cents=-slip_values(rules, least_slip(rules), law).ev_cents * rounds
        if is_optional
        else Fraction(0),
    )
