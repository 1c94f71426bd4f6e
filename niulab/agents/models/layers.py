"""Layers the networks are built of: activations by name, waves of numbers, perceptrons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["ACTIVATIONS", "Sine", "Waves", "perceptron"]


class Sine(nn.Module):
    """The sine of every entry."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "sine": Sine,
    "relu": nn.ReLU,
    "silu": nn.SiLU,
    "tanh": nn.Tanh,
}
"""Hidden activations by the name a config writes."""


class Waves(nn.Module):
    """The numbers given, and sines of learned directions of them (Tancik et al., *Fourier features
    let networks learn high frequency functions in low dimensional domains*, 2020).

    A bankroll is one number in [0, 1], and what is best changes from one lattice point to the next:
    a perceptron alone is too smooth for that. bandwidth: standard deviation of the directions.
    """

    def __init__(self, n_in: int, frequencies: int, bandwidth: float) -> None:
        super().__init__()
        # bare parameters: SB3 draws every nn.Linear of an actor-critic anew
        self.directions = nn.Parameter(bandwidth * torch.randn(frequencies, n_in))
        self.phases = nn.Parameter(2 * torch.pi * torch.rand(frequencies))

    def forward(self, x: Tensor) -> Tensor:
        """Numbers (n, n_in) to (n, n_in + frequencies)."""
        return torch.cat([x, functional.linear(x, self.directions, self.phases).sin()], dim=1)


def perceptron(
    n_in: int,
    hidden: Sequence[int],
    n_out: int,
    activation: str,
    *,
    waves: tuple[int, float] = (0, 1.0),
) -> nn.Sequential:
    """Linear layers of the given hidden widths with an activation between them.

    waves: how many, and the bandwidth, of ``Waves`` before them.
    """
    layers: list[nn.Module] = []
    if waves[0]:
        layers.append(Waves(n_in, *waves))
    widths = [n_in + waves[0], *hidden]
    for width, following in pairwise(widths):
        layers += [nn.Linear(width, following), ACTIVATIONS[activation]()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_out))
