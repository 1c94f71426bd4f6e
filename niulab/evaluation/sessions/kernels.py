"""Compiled sessions: many policies play the same rounds; only ``play`` calls this."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["PLAYING", "play_block"]

PLAYING, RUINED, AT_TOP, LEFT = 0, 1, 2, 3
STOP = -1  # of the tables
DRAW_BITS = np.uint64(26)  # a 58-bit word leaves 32 bits, which draw a memory


@njit(cache=True, nogil=True)
def play_block(
    cells, class_of, words, sessions, choices, followings, offsets, nets, levels, memories, ends,
    played, placed,
):  # fmt: skip
    """Play a block of rounds of some sessions under every policy.

    cells (n, R): of each session's rounds. class_of (cells,): classes of equal nets. words (n, R)
    uint64, or (n, 0) where no policy draws. sessions (n,): their places in the state. choices,
    followings: the policies' tables end to end; offsets (P, 8): where a policy's choices,
    followings and slips begin, its number of levels, ruin and top, whether and from how many
    memories it draws. nets (S, classes) in the policies' own steps. State, changed: levels,
    memories, ends, played (N, P); placed (S,).

    A choice is made from the level and the memory before the round's cell is looked at.
    """
    n_rounds = cells.shape[1]
    classes = np.empty(n_rounds, dtype=np.int64)
    for i in range(len(sessions)):
        session = sessions[i]
        for t in range(n_rounds):
            classes[t] = class_of[cells[i, t]]
        for p in range(len(offsets)):
            if ends[session, p] != PLAYING:
                continue
            choice_at, next_at, slip_at, n_levels, bottom, top, draws, n_memories = offsets[p]
            level, memory, end = levels[session, p], memories[session, p], PLAYING
            t = 0
            while t < n_rounds:
                if draws:
                    word = (words[i, t] >> DRAW_BITS) * np.uint64(n_memories)
                    memory = np.int64(word >> np.uint64(32))
                slip = choices[choice_at + memory * n_levels + level]
                if slip == STOP:
                    end = LEFT
                    break
                placed[slip_at + slip] += 1
                net = nets[slip_at + slip, classes[t]]
                level += net
                memory = followings[next_at + 3 * memory + 1 + (net > 0) - (net < 0)]
                t += 1
                if level >= top:
                    end = AT_TOP
                    break
                if level < bottom:
                    end = RUINED
                    break
            levels[session, p], memories[session, p], ends[session, p] = level, memory, end
            played[session, p] += t
