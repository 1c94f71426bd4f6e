"""Cover of one box: the chips in sight against multiplied losses, and the losses they cap."""

from __future__ import annotations

from niulab.engine.rules.model import Box

__all__ = ["cover_cents", "full_in_sight_cents", "least_in_sight_cents", "loss_cents"]


def cover_cents(terms: Box, stake_cents: int) -> int:
    """The cover a stake asks for: a multiple of it, at most ``cover.max_cents``."""
    cover = terms.cover.multiple * stake_cents
    return cover if terms.cover.max_cents is None else min(cover, terms.cover.max_cents)


def full_in_sight_cents(terms: Box, stake_cents: int) -> int:
    """Chips in sight in all, the stake among them, for a stake with its full cover."""
    cover = cover_cents(terms, stake_cents)
    return max(stake_cents, cover) if terms.cover.counts_stake else stake_cents + cover


def least_in_sight_cents(terms: Box, stake_cents: int) -> int:
    """Chips the table insists on: all, or the stake alone where short cover caps the loss."""
    if terms.cover.shortfall == "cap_loss":
        return stake_cents
    return full_in_sight_cents(terms, stake_cents)


def loss_cents(
    terms: Box, stake_cents: int, *, odds: int, in_sight_cents: int | None = None
) -> int:
    """What a box loses at ``odds``: at most its ``max_loss_cents`` and, where short cover caps the
    loss, at most what is in sight (None: the full cover).
    """
    caps = [stake_cents * odds]
    if terms.max_loss_cents is not None:
        caps.append(terms.max_loss_cents)
    if terms.cover.shortfall == "cap_loss":
        full = full_in_sight_cents(terms, stake_cents)
        caps.append(full if in_sight_cents is None else in_sight_cents)
    return min(caps)
