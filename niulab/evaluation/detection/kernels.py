"""Compiled loops of the fold: running stake scores, and wealth by component.

Wealth of a component mixes over the round at which the player turned: with a_j the weight of
turning at his round j and A_t their sum up to t,

    S_t = (S_{t-1} + a_t) f_t,   value_t = S_t + 1 - A_t

Numbers are kept as they are, not as logarithms, with one power of 1e100 a player, so that a round
is one multiplication and two additions a component.
"""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numba import njit

__all__ = [
    "LOG_UNIT",
    "card_levels",
    "fold_gains",
    "fold_rounds",
    "keep_paths",
    "not_yet",
    "running_bins",
    "seat_weights",
    "slip_bins",
    "stake_sums",
    "sum_gains",
    "worth",
]

_UNIT = 1e100
LOG_UNIT = log(_UNIT)
"""Logarithm of the power in which large wealth is kept."""

_PRIOR_ROUNDS = 4.0
_PRIOR_VARIANCE = 1e-3
_LIMIT = 3.0
_N_CARDS = 52
_BOX_STATISTICS = 6  # where those of the main boxes begin
_ROUNDED_UP = 1 + 1e-9  # a stake that equals the mean is not above it
_TAKEN_AS_RAISED = 3  # rounds in which a stake that has not varied counts as raised


@njit(cache=True, nogil=True)
def _score(x, n, mean, square):
    """Z of a value beside the rounds before; 0 on the first."""
    if n == 0:
        return 0.0
    variance = (square + _PRIOR_ROUNDS * _PRIOR_VARIANCE) / (n + _PRIOR_ROUNDS)
    return min(max((x - mean) / sqrt(variance), -_LIMIT), _LIMIT)


@njit(cache=True, nogil=True)
def running_bins(players, sizes, shares, n_bins, statistics, bins):
    """Bins (n_rounds, 2) of two values by round; ``statistics`` go on in place."""
    scale = (n_bins - 1) / (2 * _LIMIT)
    for player in range(len(players) - 1):
        for i in range(players[player], players[player + 1]):
            for score in range(2):
                x = sizes[i] if score == 0 else shares[i]
                n = statistics[player, 3 * score]
                mean = statistics[player, 3 * score + 1]
                z = _score(x, n, mean, statistics[player, 3 * score + 2])
                bins[i, score] = int(np.rint((z + _LIMIT) * scale))
                step = x - mean
                mean += step / (n + 1)
                statistics[player, 3 * score] = n + 1
                statistics[player, 3 * score + 1] = mean
                statistics[player, 3 * score + 2] += step * (x - mean)


@njit(cache=True, nogil=True)
def slip_bins(players, heights, statistics, bins):
    """Bins (n_rounds,) of ``slip``; sum, least and most of each box go on in ``statistics``.

    heights: (n_rounds, 3), each box's stake over the least one. bins: at first whether the top box
    is staked. Call it before ``running_bins``, which counts the rounds.
    """
    for player in range(len(players) - 1):
        n = statistics[player, 0]
        for i in range(players[player], players[player + 1]):
            code, weight = 0, 1
            for box in range(3):
                at = _BOX_STATISTICS + 3 * box
                x, total = heights[i, box], statistics[player, at]
                low = min(statistics[player, at + 1], x) if n > 0 else x
                high = max(statistics[player, at + 2], x) if n > 0 else x
                if low < high:
                    code += weight * (2 if x * n > total * _ROUNDED_UP else 1)
                elif x > 0 and n < _TAKEN_AS_RAISED:
                    code += weight * 2
                weight *= 3
                statistics[player, at] = total + x
                statistics[player, at + 1], statistics[player, at + 2] = low, high
            bins[i] = 27 * bins[i] + code
            n += 1


@njit(cache=True, nogil=True)
def stake_sums(rounds, rules, stakes, tops, base_units, least, units, shares, heights, slips):
    """Sum stakes, int64 (n, 4), by round into base units (n_rounds,) and shares on the top box.

    heights: (n_rounds, 3), base units a staked seat on each main box beyond its least stake. slips:
    whether the top box is staked, (n_rounds,). rounds: as of ``RoundStarts``. tops, base_units,
    least (n_sheets, 3): by sheet, whose last one serves unknown rules.
    """
    for i in range(len(rounds) - 1):
        total, on_top, n_staked = np.int64(0), np.int64(0), 0
        for row in range(rounds[i], rounds[i + 1]):
            own = stakes[row, 0] + stakes[row, 1] + stakes[row, 2] + stakes[row, 3]
            n_staked += own > 0  # a seat that is staked after the close alone tells nothing here
            total += own
            on_top += stakes[row, tops[rules[row]]]
        heights[i] = 0.0
        for row in range(rounds[i], rounds[i + 1]):
            unit = base_units[rules[row]] * max(n_staked, 1)
            for box in range(3):
                heights[i, box] += max(stakes[row, box] - least[rules[row], box], 0.0) / unit
        units[i] = total / base_units[rules[rounds[i]]]
        shares[i] = on_top / total if total > 0 else 0.0
        slips[i] = on_top > 0


@njit(cache=True, nogil=True)
def seat_weights(rounds, stakes, weights):
    """Write each row's share of its round's stakes, (n,); equal shares of nothing."""
    for i in range(len(rounds) - 1):
        first, end = rounds[i], rounds[i + 1]
        total = np.int64(0)
        for row in range(first, end):
            total += stakes[row, 0] + stakes[row, 1] + stakes[row, 2] + stakes[row, 3]
        for row in range(first, end):
            own = stakes[row, 0] + stakes[row, 1] + stakes[row, 2] + stakes[row, 3]
            weights[row] = own / total if total > 0 else 1.0 / (end - first)


@njit(cache=True, nogil=True)
def sum_gains(rounds, rules, stakes, results, base_units, first_cell, units, bounds, sums, known):
    """Sum excess, least and most of rows by round into ``sums`` (n_rounds, 3); see ``Gains``.

    results: (n,), -1 for none. base_units, first_cell: by sheet. units: excess per unit by cell of
    all sheets and column, (cells, 3). bounds: its least and most by sheet, (n_sheets, 2, 3).
    """
    for i in range(len(rounds) - 1):
        sums[i, 0] = sums[i, 1] = sums[i, 2] = 0.0
        known[i] = False
        for row in range(rounds[i], rounds[i + 1]):
            sheet = rules[row]
            if sheet < 0 or results[row] < 0:
                continue
            cell = first_cell[sheet] + results[row]
            a = stakes[row, 0] / base_units[sheet]
            b = stakes[row, 1] / base_units[sheet]
            c = stakes[row, 2] / base_units[sheet]
            known[i] |= a + b + c > 0
            sums[i, 0] += a * units[cell, 0] + b * units[cell, 1] + c * units[cell, 2]
            for end in range(2):
                u = bounds[sheet, end]
                sums[i, 1 + end] += a * u[0] + b * u[1] + c * u[2]


@njit(cache=True, nogil=True)
def card_levels(cards, dealer_cards, flags, left_out, no_order, has_low, levels, is_known):
    """Write the levels of the cards, -1 in the other slots, and which rows count and know the hand.

    cards, dealer_cards: uint8 (n, 5). left_out, no_order: masks of ``flags``. has_low: whether the
    slots of low cards are asked for. levels: int16 (n, slots), is_known: (n,).
    """
    for row in range(len(flags)):
        line = levels[row]
        line[:] = -1
        is_known[row] = False
        if flags[row] & left_out:
            continue
        for whose in range(2):
            hand = cards[row] if whose == 0 else dealer_cards[row]
            if max(hand[0], hand[1], hand[2], hand[3], hand[4]) >= _N_CARDS:
                continue
            if whose == 0:
                is_known[row] = True
            if not flags[row] & no_order:
                for j in range(5):
                    line[5 * whose + j] = hand[j]
            if has_low:
                first = 10 + 12 * whose
                for r in range(12):
                    line[first + r] = 0
                for j in range(5):
                    for r in range(hand[j] >> 2, 12):
                        line[first + r] += 1


@njit(cache=True, nogil=True)
def not_yet(t):
    """1 - A_t: the weight of turning after round t."""
    return 0.5 * log(10.0) / log(t + 9.0) if t > 0 else 1.0


# Places without a sign and no sum inside the loop: only so does LLVM use vector instructions.


@njit(cache=True, nogil=True)
def _grow(values, start, factors, place, k, a):
    """Play a round in one block."""
    first, row = np.uint64(start), np.uint64(place)
    for c in range(np.uint64(k)):
        values[first + c] = (values[first + c] + a) * factors[row + c]


@njit(cache=True, nogil=True)
def _wait(values, start, k, a):
    """The same where nothing was recorded: the factor is one."""
    first = np.uint64(start)
    for c in range(np.uint64(k)):
        values[first + c] += a


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def worth(values, weights):
    """The weighted sum of all values."""
    total = 0.0
    for c in range(len(values)):
        total += weights[c] * values[c]
    return total


@njit(cache=True, nogil=True)
def _mix(
    first, end, b, score, slot, n_levels, k, rules, bins, levels, seat_weights, offsets, tables,
    mean_row,
):  # fmt: skip
    """The mean of the factors of one player's seats in one round."""
    for c in range(k):
        mean_row[c] = 0.0
    for row in range(first, end):
        offset = offsets[rules[row], b] if rules[row] >= 0 else -1
        level = levels[row, slot]
        place = offset + (bins[row, score] * n_levels + level) * k
        is_known = level >= 0 and offset >= 0
        for c in range(k):
            mean_row[c] += seat_weights[row] * (tables[place + c] if is_known else 1.0)


@njit(cache=True, nogil=True)
def fold_rounds(
    players, rounds, rules, bins, levels, seat_weights, given, blocks, offsets, tables, weights,
    groups, log_bar, values, powers, n_rounds, peaks, alarms, shares, log_es,
):  # fmt: skip
    """Fold rounds of players into their states, in place.

    players, rounds: as of ``RoundStarts``. rules (n,), bins (n, scores), levels (n, slots),
    seat_weights (n,) and given (n, m) by row. blocks: (n_blocks, 6), score, slot, bins, levels,
    components, first component; a score of -1 takes the next columns of ``given``. offsets:
    (n_sheets, n_blocks) into ``tables``, -1 where the sheet has none. groups: (n_components,).
    values, powers, n_rounds, peaks, alarms, shares: states by player. log_es: (n_rounds,), written.
    """
    n_groups = shares.shape[1]
    n_widest = 0
    for b in range(len(blocks)):
        n_widest = max(n_widest, blocks[b, 4])
    mean_row = np.empty(n_widest)
    for player in range(len(players) - 1):
        state = values[player]
        t, power = n_rounds[player], powers[player]
        for i in range(players[player], players[player + 1]):
            first, end = rounds[i], rounds[i + 1]
            t += 1
            scale = _UNIT ** -float(power)
            a = (not_yet(t - 1) - not_yet(t)) * scale
            column = 0
            for b in range(len(blocks)):
                score, slot, n_levels = blocks[b, 0], blocks[b, 1], blocks[b, 3]
                k, start = blocks[b, 4], blocks[b, 5]
                if score < 0:
                    for c in range(k):
                        mean_row[c] = 0.0
                    for row in range(first, end):
                        for c in range(k):
                            mean_row[c] += seat_weights[row] * given[row, column + c]
                    column += k
                    _grow(state, start, mean_row, 0, k, a)
                    continue
                if end == first + 1:
                    offset = offsets[rules[first], b] if rules[first] >= 0 else -1
                    level = levels[first, slot]
                    if level < 0 or offset < 0:
                        _wait(state, start, k, a)
                    else:
                        place = offset + (bins[first, score] * n_levels + level) * k
                        _grow(state, start, tables, place, k, a)
                    continue
                _mix(
                    first, end, b, score, slot, n_levels, k, rules, bins, levels, seat_weights,
                    offsets, tables, mean_row,
                )  # fmt: skip
                _grow(state, start, mean_row, 0, k, a)
            total = not_yet(t) * scale + worth(state, weights)
            log_e = log(total) + power * LOG_UNIT
            log_es[i] = log_e
            peaks[player] = max(peaks[player], log_e)
            if log_e >= log_bar and alarms[player] == 0:
                alarms[player] = t
                for g in range(n_groups):
                    shares[player, g] = 0.0
                for c in range(len(state)):
                    waiting = not_yet(t) * scale
                    shares[player, groups[c]] += weights[c] * (state[c] + waiting) / total
            if total > _UNIT:
                for c in range(len(state)):
                    state[c] /= _UNIT
                power += 1
        n_rounds[player], powers[player] = t, power


@njit(cache=True, nogil=True)
def fold_gains(
    players, codes, excess, least, most, is_known, lower, upper, bernstein, rates, n, sums, above,
    below,
):  # fmt: skip
    """Add rounds to the sums of ``excess.ExcessStates`` in place, one after the other.

    players, codes: as of ``RoundStarts``. excess, least, most, is_known: as of ``Gains``. lower,
    upper: places of the bounds in ``bernstein`` (n_bounds, n_rates), -1 there where it cannot be
    used.
    """
    for place in range(len(codes)):
        player = codes[place]
        for i in range(players[place], players[place + 1]):
            if not is_known[i]:
                continue
            x = excess[i]
            n[player] += 1
            sums[player] += x
            span = most[i] - least[i]
            for k in range(len(rates)):
                reach = rates[k] * span
                plain = min(reach, reach * reach / 8)
                down, up = bernstein[lower[i], k], bernstein[upper[i], k]
                above[player, k] += down * x * x if down >= 0 else plain
                below[player, k] += up * x * x if up >= 0 else plain


@njit(cache=True, nogil=True)
def keep_paths(players, codes, before, log_es, paths, strides):
    """Keep every ``stride``-th log e-value of a player, the stride doubling when his row is full.

    players, codes: as of ``RoundStarts``. before: (n_players,) of all players, their rounds folded
    before these. paths: (n_players, n_points) of all, point j after round (j + 1) * stride, nan
    where there is none yet; strides: (n_players,). Both go on in place.
    """
    n_points = paths.shape[1]
    for place in range(len(codes)):
        player = codes[place]
        t = before[player]
        for i in range(players[place], players[place + 1]):
            t += 1
            if t % strides[player]:
                continue
            point = t // strides[player] - 1
            if point == n_points:
                for j in range(n_points // 2):
                    paths[player, j] = paths[player, 2 * j + 1]
                for j in range(n_points // 2, n_points):
                    paths[player, j] = np.nan
                strides[player] *= 2
                if t % strides[player]:
                    continue
                point = t // strides[player] - 1
            paths[player, point] = log_es[i]
