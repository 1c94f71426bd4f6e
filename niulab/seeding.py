"""Named, counter-based random streams: every random number of the package starts here.

Two kinds of stream:

* ``stream_seed(seed, purpose)`` hashes a config seed and the name of its purpose to 63 bits, so
  that runs with seeds 0, 1, 2 share no rows and deals never meet exploration.
* ``round_word(seed, counter, group)`` is a pure function of a row's seed and a counter. The shoe
  decodes cards from such words, so a round has the same cards whatever the batch size or the order.

The mixing function is the finalizer of SplitMix64 (Steele, Lea, Flood 2014,
doi:10.1145/2660193.2660195).
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ALGORITHM_VERSION",
    "WORD_BITS",
    "entropy_seed",
    "generator",
    "mix64",
    "mix64_array",
    "round_word",
    "round_words",
    "stream_seed",
]

ALGORITHM_VERSION = 1
"""Changes whenever the same seed would deal other cards; environments' versions follow it."""

WORD_BITS = 58
"""Useful bits of one word; 52 x 51 x ... x 43 < 2**58, so one word deals ten cards exactly."""

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_GROUP = 0xD1B54A32D192ED03
_RETRY = 0x8CB92BA72F3D8DD7
_MUL1 = 0xBF58476D1CE4E5B9
_MUL2 = 0x94D049BB133111EB


def stream_seed(seed: int, purpose: str) -> int:
    """Hash ``seed`` for one named purpose to 63 bits (BLAKE2b)."""
    digest = hashlib.blake2b(f"niulab/{purpose}/{seed}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the NumPy generator of one named purpose."""
    return np.random.default_rng(stream_seed(seed, purpose))


def entropy_seed() -> int:
    """Draw a 63-bit seed from the operating system, for a caller who gave none."""
    return secrets.randbits(63)


def mix64(z: int) -> int:
    """SplitMix64's finalizer on a 64-bit integer."""
    z &= _MASK
    z = ((z ^ (z >> 30)) * _MUL1) & _MASK
    z = ((z ^ (z >> 27)) * _MUL2) & _MASK
    return z ^ (z >> 31)


def round_word(seed: int, counter: int, group: int = 0, attempt: int = 0) -> int:
    """The 58-bit word of a row's ``counter``-th round: ``group`` numbers the words of one round,
    ``attempt`` the redraws after a rejection.
    """
    z = mix64(seed) + counter * _GOLDEN + group * _GROUP + attempt * _RETRY
    return mix64(mix64(z) + _GOLDEN) >> (64 - WORD_BITS)


def mix64_array(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``mix64`` of every element."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MUL1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MUL2)
    return z ^ (z >> np.uint64(31))


def round_words(
    seeds: NDArray[np.uint64],
    counters: NDArray[np.integer],
    group: int = 0,
    attempt: int = 0,
) -> NDArray[np.uint64]:
    """``round_word`` for arrays of uint64 seeds and counters of one shape; returns uint64."""
    offset = np.uint64((group * _GROUP + attempt * _RETRY) & _MASK)
    z = mix64_array(seeds.astype(np.uint64))
    z = z + counters.astype(np.uint64) * np.uint64(_GOLDEN) + offset
    words: NDArray[np.uint64] = mix64_array(mix64_array(z) + np.uint64(_GOLDEN))
    return words >> np.uint64(64 - WORD_BITS)
