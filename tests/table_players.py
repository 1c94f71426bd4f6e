"""Whole tables of plays, for tests of what seats of one round do together."""

import numpy as np

from niulab.engine.batch import BatchEngine
from niulab.evaluation.playlog.plays import Plays, Vocabularies


def seated(sheet, n_tables, n_seats, n_rounds, *, seed=0, **columns):
    """Rows by table, round and seat; player k sits at table k // n_seats. One unit is staked."""
    n = n_tables * n_rounds
    seeds = np.arange(n, dtype=np.uint64) + np.uint64(seed << 32)
    packets = BatchEngine(sheet, n_seats).deal(seeds, np.zeros(n, dtype=np.int64))
    rows = n * n_seats
    table = np.repeat(np.arange(n_tables), n_rounds * n_seats)
    seat = np.tile(np.arange(n_seats), n)
    stakes = np.zeros((rows, 4), dtype=np.int64)
    stakes[:, 0] = 100
    given = {
        "player": table * n_seats + seat,
        "table": table,
        "dealer": table,
        "round": np.repeat(np.arange(n), n_seats),
        "time": np.repeat(np.tile(np.arange(n_rounds), n_tables), n_seats),
        "rules": 0,
        "seat": seat + 1,
        "stakes": stakes,
        "cards": packets[:, :-1].reshape(rows, 5),
        "dealer_cards": np.repeat(packets[:, -1], n_seats, axis=0),
    }
    texts = Vocabularies(
        players=tuple(f"p{k}" for k in range(n_tables * n_seats)),
        tables=tuple(f"t{k}" for k in range(n_tables)),
        dealers=tuple(f"d{k}" for k in range(n_tables)),
        rounds=tuple(f"r{k:07d}" for k in range(n)),
        rules=(sheet.name,),
    )
    return Plays.of(rows, texts, **(given | columns))


def exchanged(plays, sheet, switchers, rates, *, seed=0):
    """The plays after players have made the best exchange of one card with the next seat.

    rates: the chance of it by round and switcher. Returns other plays.
    """
    from niulab.engine.ranking import ranker

    rng = np.random.default_rng(seed)
    cards = plays.cards.copy()
    for row in np.flatnonzero(np.isin(plays.player, switchers)):
        if rng.random() >= rates:
            continue
        own, other = cards[row].copy(), cards[row + 1].copy()
        ways = [(a, b) for a in range(5) for b in range(5)]
        after = np.tile(own, (26, 1))
        for i, (a, b) in enumerate(ways):
            after[i, a] = other[b]
        ranks = ranker(sheet).best_ranks(np.sort(after, axis=1))
        best = int(ranks.argmax())
        if ranks[best] > ranks[25]:
            a, b = ways[best]
            cards[row, a], cards[row + 1, b] = other[b], own[a]
    return Plays.of(
        len(plays),
        plays.texts,
        **{
            name: getattr(plays, name)
            for name in (
                "player",
                "table",
                "dealer",
                "round",
                "time",
                "rules",
                "seat",
                "stakes",
                "dealer_cards",
            )
        },
        cards=cards,
    )


def steered(even, n_tables, n_rounds, wants, *, n_seats=3, seed=0):
    """Seat 1 stakes most where ``wants(first packet)`` says so; the dealer deals by stake."""
    plays = seated(even, n_tables, n_seats, n_rounds, seed=seed)
    packets = plays.cards.reshape(-1, n_seats, 5)
    rng = np.random.default_rng(seed)
    stakes = plays.stakes.reshape(-1, n_seats, 4).copy()
    stakes[:, 1:, 0] = 100 * rng.integers(1, 4, (len(packets), n_seats - 1))
    others = stakes[:, 1:, 0].max(axis=1)
    takes = wants(packets[:, 0], rng)
    stakes[:, 0, 0] = np.where(takes, others, others - 80)
    first = stakes[:, :, 0].argmax(axis=1)
    # clockwise from the first: seat k receives packet k - first
    at = (np.arange(n_seats) - first[:, None]) % n_seats
    cards = np.take_along_axis(packets, at[:, :, None], axis=1)
    return seated(
        even, n_tables, n_seats, n_rounds, seed=seed, stakes=stakes.reshape(-1, 4),
        cards=cards.reshape(-1, 5),
    )  # fmt: skip


def shared(rules, hands, seats, *, dealers=None):
    """Rounds whose k rows hold given hands (n, k, 5) on given seats, each of another player."""
    n, k = hands.shape[:2]
    texts = Vocabularies(
        players=tuple(f"p{i}" for i in range(k)),
        tables=("T1",),
        rounds=tuple(map(str, range(n))),
        rules=(rules.name,),
    )
    columns = {} if dealers is None else {"dealer_cards": dealers.repeat(k, axis=0)}
    return Plays.of(
        n * k,
        texts,
        player=np.tile(np.arange(k), n),
        round=np.repeat(np.arange(n), k),
        time=np.repeat(np.arange(n), k),
        table=0,
        rules=0,
        seat=np.tile(seats, n),
        cards=hands.reshape(n * k, 5),
        **columns,
    )
