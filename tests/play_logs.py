"""Plays of whole rounds, dealt and settled by the engine's readable round, for tests of the log."""

from collections import defaultdict
from itertools import pairwise

import numpy as np

from niulab.engine.hands import SPLITS, best_arrangement
from niulab.engine.round import Round
from niulab.engine.rules import load_rules
from niulab.evaluation.playlog.plays import BOXES, Plays, Vocabularies, boxes_of

MARCH = 1_709_251_200_000_000  # 2024-03-01


def played(n_rounds, *, sheets=("single-double-super",), n_seats=3, seed=0, players=7):
    """Rows of rounds under the sheets in turn, every stake settled by ``Round``; no flags."""
    rng = np.random.default_rng(seed)
    rows = defaultdict(list)
    for number in range(n_rounds):
        rules = load_rules(sheets[number % len(sheets)])
        columns = boxes_of(rules)
        state = Round.open(rules, n_seats)
        stakes = np.zeros((n_seats, len(BOXES)), dtype=np.int64)
        for seat in range(1, n_seats + 1):
            for column, box in enumerate(columns):
                if box is not None and (column == 0 or rng.random() < 0.4):
                    stakes[seat - 1, column] = 1000 * rng.integers(1, 6)
            slip = {box: int(s) for box, s in zip(columns, stakes[seat - 1], strict=True) if s}
            state = state.place(seat, slip)
        state = state.deal(seed=seed, round_index=number)
        pairs = {}
        for seat in state.packet_seats:
            hand = state.hand(seat)
            front = best_arrangement(hand, rules).pair
            if rules.arrangement == "as_set":
                split = SPLITS[rng.integers(10)] if rng.random() < 0.3 else None
                if split is not None:
                    front = tuple(hand[i] for i in split)
                places = tuple(sorted(hand.index(card) for card in front))
                state = state.set(seat, places)
            pairs[seat] = front
        state = state.settle()
        for place, seat in enumerate(state.packet_seats):
            nets = state.settlements[seat - 1].net_by_box
            rows["player"].append(int(rng.integers(players)))
            rows["table"].append(number % 2)
            rows["round"].append(number)
            rows["rules"].append(number % len(sheets))
            rows["time"].append(MARCH + number * 45_000_000)
            rows["seat"].append(seat)
            rows["stakes"].append(stakes[seat - 1])
            rows["nets"].append([nets.get(box, 0) for box in columns])
            rows["cards"].append(state.packets[place])
            rows["dealer_cards"].append(state.dealer_packet)
            rows["pair"].append(pairs[seat])
            rows["dealer_pair"].append(state.dealer_arrangement.pair)
    texts = Vocabularies(
        players=tuple(f"p{i}" for i in range(players)),
        tables=("T1", "T2"),
        rounds=tuple(f"r{i}" for i in range(n_rounds)),
        rules=tuple(sheets),
    )
    return Plays.of(len(rows["player"]), texts, **{k: np.array(v) for k, v in rows.items()})


def accounted(chunks):
    """The chunks as a list, every line of each accounted for and lines without a gap."""
    chunks = list(chunks)
    for chunk in chunks:
        kept = len(chunk.plays)
        quarantined = len(chunk.quarantined)
        assert chunk.n_read == (
            kept + chunk.n_duplicates + quarantined + chunk.n_blank + chunk.n_headers
        )
        assert len(chunk.lines) == kept
        lines = [*chunk.lines.tolist(), *(row.line for row in chunk.quarantined)]
        assert len(set(lines)) == len(lines)
        assert all(line < chunk.next_line for line in lines)
        assert all(row.reason for row in chunk.quarantined)
    for before, after in pairwise(chunks):
        assert after.next_line - before.next_line == after.n_read or before.n_read == 0
    return chunks
