"""Networks made for cards: order-free scores of the ten splits of a hand, in plain torch.

A split is scored by its base plus its pair, each from the sum of its cards' vectors, so the order
in which cards are shown cannot matter. One deck has only 22,100 bases and 1,326 pairs: both are
scored once per minibatch and looked up, the same function with the same gradient at half the work.

The hidden layer is a sine. What makes a base depends on its points modulo ten, a periodic function
of a sum, which one layer of sines represents exactly (its Fourier series) and rectifiers only by
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from niulab.agents.models.layers import perceptron
from niulab.engine.cards import HAND_SIZE, N_CARDS, RANKS, SUITS
from niulab.engine.hands import SPLITS
from niulab.envs.encoding import NO_CARD, Encoding

__all__ = [
    "CardLayout",
    "CardReader",
    "CardSetScores",
    "DeepSet",
    "SplitActorCritic",
    "SplitQNetwork",
    "SplitQuantileNetwork",
]


_N_FEATURES = 8
"""Length of the vectors whose inner product is the value of a base with a pair."""


# ---------------------------------------------------------------- reading observations


@dataclass(frozen=True)
class CardLayout:
    """Where an observation holds the own hand.

    Five cards of ``card_width`` columns each, from column ``start``; a card of width 1 is an id, a
    wider one starts with 13 + 4 flags.
    """

    start: int
    card_width: int

    @classmethod
    def of(cls, encoding: Encoding) -> CardLayout:
        """The layout of a task that sets hands."""
        hand = next(field for field in encoding.layout if field.name == "own hand")
        return cls(hand.start, (hand.stop - hand.start) // HAND_SIZE)

    @property
    def stop(self) -> int:
        return self.start + HAND_SIZE * self.card_width


class CardReader(nn.Module):
    """Splits observations into card ids (n, 5) and everything else, scaled to [0, 1].

    highs: the largest value of each column, as the observation space gives it.
    """

    highs: Tensor

    def __init__(self, layout: CardLayout, highs: Sequence[float]) -> None:
        super().__init__()
        self.layout = layout
        rest = [*highs[: layout.start], *highs[layout.stop :]]
        self.n_context = len(rest)
        self.register_buffer("highs", torch.tensor(rest, dtype=torch.float32), persistent=False)

    def cards(self, observations: Tensor) -> Tensor:
        """Card ids, int64 (n, 5); NO_CARD where none lies."""
        columns = observations[:, self.layout.start : self.layout.stop]
        if self.layout.card_width == 1:
            return columns.long()
        flags = columns.reshape(len(columns), HAND_SIZE, self.layout.card_width)
        ids = 4 * flags[:, :, :13].argmax(dim=2) + flags[:, :, 13:17].argmax(dim=2)
        return torch.where(flags[:, :, :13].any(dim=2), ids, NO_CARD)

    def context(self, observations: Tensor) -> Tensor:
        """What is no own card, (n, n_context)."""
        before = observations[:, : self.layout.start]
        after = observations[:, self.layout.stop :]
        return torch.cat([before, after], dim=1).float() / self.highs


# ---------------------------------------------------------------- scores of cards


class _CardVectors(nn.Embedding):
    """A vector for each card, zeros for NO_CARD."""

    def __init__(self, width: int) -> None:
        super().__init__(N_CARDS + 1, width, padding_idx=NO_CARD)


class _RankAndSuitVectors(nn.Module):
    """The sum of a rank's and a suit's vector; suits start small, as few sheets look at them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ranks = nn.Parameter(torch.randn(len(RANKS), 1, width))
        self.suits = nn.Parameter(0.1 * torch.randn(len(SUITS), width))

    @property
    def weight(self) -> Tensor:
        """Vectors (53, width) by card id, zeros for NO_CARD."""
        return functional.pad((self.ranks + self.suits).flatten(0, 1), (0, 0, 0, 1))


class DeepSet(nn.Module):
    """A function of a set of cards: a perceptron of the sum of their vectors (NO_CARD: none).

    ``vectors`` is "cards", one for each of 52, or "ranks_and_suits": a card's is the sum of its
    rank's and its suit's, a linear layer on its flags, so that what is seen of one king holds for
    all. With ``products`` it also reads the sum over pairs of cards of the products of their
    vectors' entries (He and Chua, *Neural factorization machines*, 2017): equal ranks are a
    product, and from a sum alone a hidden layer has to memorize them.
    """

    def __init__(
        self,
        embedding: int,
        hidden: Sequence[int],
        n_out: int,
        activation: str,
        *,
        vectors: str = "cards",
        products: bool = False,
    ) -> None:
        super().__init__()
        self.products = products
        vector_of = _CardVectors if vectors == "cards" else _RankAndSuitVectors
        self.vectors = vector_of(embedding)
        self.head = perceptron((1 + products) * embedding, hidden, n_out, activation)

    def forward(self, cards: Tensor) -> Tensor:
        """Cards (n, k) to (n, n_out)."""
        vectors = self.vectors.weight
        read = self._summed(cards, vectors)
        if self.products:
            squares = self._summed(cards, vectors.square())
            read = torch.cat([read, (read.square() - squares) / 2], dim=1)
        result: Tensor = self.head(read)
        return result

    def _summed(self, cards: Tensor, vectors: Tensor) -> Tensor:
        return functional.embedding_bag(cards, vectors, mode="sum", padding_idx=NO_CARD)


class CardSetScores(nn.Module):
    """A DeepSet of every set of ``size`` cards at once, and where to find a set in that table.

    has_repeats: whether a card may lie twice (several decks).
    """

    sets: Tensor
    rows: Tensor

    def __init__(self, size: int, function: DeepSet, *, has_repeats: bool) -> None:
        super().__init__()
        self.function = function
        choose = combinations_with_replacement if has_repeats else combinations
        sets = np.array(list(choose(range(N_CARDS), size)), dtype=np.int64)
        rows = np.zeros((NO_CARD + 1,) * size, dtype=np.int64)  # sets with NO_CARD: row 0, unused
        for order in permutations(range(size)):
            rows[tuple(sets[:, order].T)] = np.arange(len(sets))
        self._strides = [(NO_CARD + 1) ** power for power in reversed(range(size))]
        self.register_buffer("sets", torch.from_numpy(sets), persistent=False)
        self.register_buffer("rows", torch.from_numpy(rows.reshape(-1)), persistent=False)
        self._kept: tuple[Tensor, Tensor] | None = None

    def table(self) -> Tensor:
        """Scores of all sets; where no gradient is asked for, kept until a weight changes."""
        if torch.is_grad_enabled():
            result: Tensor = self.function(self.sets)
            return result
        # the weights themselves are compared: torch does not count what is written through .data,
        # as the updates of DQN's target network are
        weights = nn.utils.parameters_to_vector(self.function.parameters())
        if self._kept is None or not torch.equal(self._kept[0], weights):
            self._kept = weights, self.function(self.sets)
        return self._kept[1]

    def forward(self, cards: Sequence[Tensor]) -> Tensor:
        """Scores (..., n_out) of sets given as one id tensor per place."""
        index = sum(stride * ids for stride, ids in zip(self._strides, cards, strict=True))
        return functional.embedding(self.rows[index], self.table())


_FRONTS = tuple(zip(*SPLITS, strict=True))
_BACKS = tuple(zip(*(sorted({*range(HAND_SIZE)} - {*split}) for split in SPLITS), strict=True))


def _places(cards: Tensor, positions: Sequence[tuple[int, ...]]) -> list[Tensor]:
    """For each place of a set, the ids (n, 10) that the ten splits put there."""
    return [cards[:, list(position)] for position in positions]


# ---------------------------------------------------------------- networks


class SplitActorCritic(nn.Module):
    """Logits of a hand's ten splits and the value of what is seen.

    logits = score of the base + score of the pair + <their vectors of ``features`` numbers>, while
    a hand lies on the table: a pair counts where the base behind it qualifies. What else the
    task shows (phase, stakes, bankroll) adds logits of its own. The critic is a deep set of the
    five cards beside the same context. The methods are those SB3 asks of an ``mlp_extractor``.
    """

    def __init__(
        self,
        layout: CardLayout,
        highs: Sequence[float],
        n_actions: int,
        *,
        embedding: int = 128,
        hidden: Sequence[int] = (64,),
        pair_embedding: int = 16,
        pair_hidden: Sequence[int] = (16,),
        activation: str = "sine",
        vectors: str = "cards",
        products: bool = False,
        critic_embedding: int = 64,
        critic_hidden: Sequence[int] = (64,),
        critic_activation: str = "relu",
        frequencies: int = 0,
        bandwidth: float = 30.0,
        features: int = 0,
        has_repeats: bool = False,
    ) -> None:
        super().__init__()
        self.latent_dim_pi, self.latent_dim_vf = n_actions, 1
        self.n_actions = n_actions
        self.reader = CardReader(layout, highs)
        waves = (frequencies, bandwidth)
        reads: Any = {"vectors": vectors, "products": products}
        base = DeepSet(embedding, hidden, 1 + features, activation, **reads)
        pair = DeepSet(pair_embedding, pair_hidden, 1 + features, activation, **reads)
        self.bases = CardSetScores(3, base, has_repeats=has_repeats)
        self.pairs = CardSetScores(2, pair, has_repeats=has_repeats)
        self.critic = DeepSet(critic_embedding, critic_hidden, 1, critic_activation)
        n_context = self.reader.n_context
        self.context: nn.Module | None = None
        if n_context:
            self.context = perceptron(
                n_context, critic_hidden, n_actions + 1, critic_activation, waves=waves
            )

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        return self.forward_actor(observations), self.forward_critic(observations)

    def forward_actor(self, observations: Tensor) -> Tensor:
        """Logits (n, n_actions)."""
        cards = self.reader.cards(observations)
        bases: Tensor = self.bases(_places(cards, _BACKS))
        pairs: Tensor = self.pairs(_places(cards, _FRONTS))
        logits = (bases + pairs)[..., 0] + (bases * pairs)[..., 1:].sum(dim=2)
        if self.context is None:
            return logits
        of_context: Tensor = self.context(self.reader.context(observations))
        return of_context[:, : self.n_actions] + _padded(logits, cards, self.n_actions)

    def forward_critic(self, observations: Tensor) -> Tensor:
        """Values (n, 1)."""
        values: Tensor = self.critic(self.reader.cards(observations))
        if self.context is None:
            return values
        of_context: Tensor = self.context(self.reader.context(observations))
        return values + of_context[:, self.n_actions :]


class _SplitProducts(nn.Module):
    """What action values of splits are made of: products of a base's and a pair's vectors, an
    offset of the hand and one of the context, the last two with ``n_outputs`` numbers per action.
    """

    def __init__(
        self,
        layout: CardLayout,
        highs: Sequence[float],
        n_actions: int,
        *,
        n_outputs: int,
        embedding: int = 128,
        hidden: Sequence[int] = (64,),
        pair_embedding: int = 16,
        pair_hidden: Sequence[int] = (16,),
        activation: str = "sine",
        vectors: str = "cards",
        products: bool = False,
        critic_embedding: int = 64,
        critic_hidden: Sequence[int] = (64,),
        critic_activation: str = "relu",
        frequencies: int = 0,
        bandwidth: float = 30.0,
        features: int = 0,  # of actors only: values always have products
        has_repeats: bool = False,
    ) -> None:
        super().__init__()
        self.n_actions = n_actions
        self.n_outputs = n_outputs
        self.reader = CardReader(layout, highs)
        waves = (frequencies, bandwidth)
        reads: Any = {"vectors": vectors, "products": products}
        base = DeepSet(embedding, hidden, _N_FEATURES, activation, **reads)
        pair = DeepSet(pair_embedding, pair_hidden, _N_FEATURES, activation, **reads)
        self.bases = CardSetScores(3, base, has_repeats=has_repeats)
        self.pairs = CardSetScores(2, pair, has_repeats=has_repeats)
        self.hand_value = DeepSet(critic_embedding, critic_hidden, n_outputs, critic_activation)
        n_context = self.reader.n_context
        self.context: nn.Module | None = None
        if n_context:
            n_out = n_actions * n_outputs
            self.context = perceptron(
                n_context, critic_hidden, n_out, critic_activation, waves=waves
            )

    def products(self, cards: Tensor) -> Tensor:
        """Vectors of the ten splits, (n, 10, features)."""
        bases: Tensor = self.bases(_places(cards, _BACKS))
        pairs: Tensor = self.pairs(_places(cards, _FRONTS))
        return bases * pairs


class SplitQNetwork(_SplitProducts):
    """Action values of a hand's ten splits, (n, n_actions).

    value of a split = value of the hand + <vector of the base, vector of the pair>: what a pair is
    worth depends on whether the base behind it qualifies, which a sum of two scores cannot say.
    """

    def __init__(
        self, layout: CardLayout, highs: Sequence[float], n_actions: int, **widths: Any
    ) -> None:
        super().__init__(layout, highs, n_actions, n_outputs=1, **widths)

    def forward(self, observations: Tensor) -> Tensor:
        cards = self.reader.cards(observations)
        values: Tensor = self.hand_value(cards) + self.products(cards).sum(dim=2)
        if self.context is None:
            return values
        of_context: Tensor = self.context(self.reader.context(observations))
        return of_context + _padded(values, cards, self.n_actions)


class SplitQuantileNetwork(_SplitProducts):
    """Quantiles of the return of each action, (n, n_quantiles, n_actions).

    As ``SplitQNetwork``, with every quantile a sum of the product's entries of its own.
    """

    def __init__(
        self,
        layout: CardLayout,
        highs: Sequence[float],
        n_actions: int,
        *,
        n_quantiles: int,
        **widths: Any,
    ) -> None:
        super().__init__(layout, highs, n_actions, n_outputs=n_quantiles, **widths)
        self.spread = nn.Linear(_N_FEATURES, n_quantiles, bias=False)

    def forward(self, observations: Tensor) -> Tensor:
        cards = self.reader.cards(observations)
        of_hand: Tensor = self.hand_value(cards)
        of_splits: Tensor = self.spread(self.products(cards))
        values = of_hand[:, :, None] + of_splits.transpose(1, 2)
        if self.context is None:
            return values
        of_context: Tensor = self.context(self.reader.context(observations))
        shape = (len(cards), self.n_outputs, self.n_actions)
        return of_context.reshape(shape) + _padded(values, cards[:, :, None], self.n_actions)


def _padded(scores: Tensor, cards: Tensor, n_actions: int) -> Tensor:
    """Scores (..., 10) of the splits where a hand lies, zeros elsewhere, (..., n_actions)."""
    scores = scores * (cards[:, :1] != NO_CARD)
    return functional.pad(scores, (0, n_actions - scores.shape[-1]))
