"""PPO in one file: learns to set a Niu Niu hand, and says how well, over all 2,598,960 hands.

    python examples/ppo_arrange.py
    python examples/ppo_arrange.py --network mlp --total-steps 1000000 --seed 3 --tensorboard runs

Plain PyTorch on the native batch, to be read from top to bottom and changed. An episode of Arrange
is one step, so there is no value to be bootstrapped: an action's advantage is its reward less the
critic's guess.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, fields
from itertools import combinations

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import niulab

TASK = "niulab/Arrange-v0"


@dataclass
class Args:
    """Every setting, as ``--its-name VALUE``."""

    seed: int = 0
    network: str = "cards"  # or "mlp"
    total_steps: int = 400_000
    num_envs: int = 2048  # rows of the native batch
    num_steps: int = 4  # of each row between two updates
    batch_size: int = 8192
    epochs: int = 2
    learning_rate: float = 0.01
    final_learning_rate: float = 0.0002
    entropy: float = 0.15  # annealed to
    final_entropy: float = 0.001
    clip: float = 0.2
    value_weight: float = 0.5
    max_grad_norm: float = 0.5
    tensorboard: str = ""  # folder of the event files; none by default


# ---------------------------------------------------------------- networks

PAIRS = list(combinations(range(5), 2))  # what action k puts in front
BASES = [[i for i in range(5) if i not in pair] for pair in PAIRS]


class CardSets(nn.Module):
    """A score for every set of k cards: a weighted sum of sines of the sum of its cards' vectors.

    What makes a base is its points modulo ten: a periodic function of a sum. There are few sets
    (22,100 bases, 1,326 pairs), so all are scored at once and looked up.
    """

    def __init__(self, k: int, vectors: int, width: int) -> None:
        super().__init__()
        self.sets = torch.combinations(torch.arange(52), k)
        self.places = torch.tensor([52**i for i in reversed(range(k))])
        self.row = torch.zeros(52**k, dtype=torch.long)
        self.row[self.sets @ self.places] = torch.arange(len(self.sets))
        self.vectors, self.mix = nn.Embedding(52, vectors), nn.Linear(vectors, width)
        self.weigh = nn.Linear(width, 1)

    def forward(self, cards: Tensor) -> Tensor:
        """Scores of sets (..., k) of ascending ids."""
        phases = self.mix(self.vectors.weight)[self.sets].sum(dim=1)
        return self.weigh(phases.sin())[self.row[cards @ self.places], 0]


class Splits(nn.Module):
    """Rates the ten splits of five cards, each by its base and its pair."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.pair = CardSets(3, 128, 64), CardSets(2, 16, 16)

    def forward(self, cards: Tensor) -> Tensor:
        return self.base(cards[:, BASES]) + self.pair(cards[:, PAIRS])


class SetValue(nn.Module):
    """The critic of a hand: a perceptron of the sum of its cards' vectors."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.vectors = nn.Embedding(52, width)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, cards: Tensor) -> Tensor:
        return self.head(self.vectors(cards).sum(dim=1)).squeeze(1)


class Perceptron(nn.Module):
    """Five cards as flags, each position learned by itself: for contrast."""

    def __init__(self, n_out: int, width: int = 256) -> None:
        super().__init__()
        sizes = [(5 * 52, width), (width, width)]
        hidden = [layer for size in sizes for layer in (nn.Linear(*size), nn.ReLU())]
        self.layers = nn.Sequential(*hidden, nn.Linear(width, n_out))

    def forward(self, cards: Tensor) -> Tensor:
        flags = nn.functional.one_hot(cards, 52).flatten(1).float()
        return self.layers(flags).squeeze(1)


class Agent(nn.Module):
    """An actor with ten logits and a critic, both of five card ids."""

    def __init__(self, network: str) -> None:
        super().__init__()
        kinds = {
            "cards": lambda: (Splits(), SetValue()),
            "mlp": lambda: (Perceptron(10), Perceptron(1)),
        }
        if network not in kinds:
            raise SystemExit(f"--network is one of {', '.join(kinds)}, got '{network}'")
        self.actor, self.critic = kinds[network]()

    @torch.no_grad()
    def best(self, observations: np.ndarray) -> np.ndarray:
        """The likeliest action of each row, some thousands of rows at a time."""
        parts = torch.as_tensor(observations).long().split(1 << 14)
        return torch.cat([self.actor(part).argmax(dim=1) for part in parts]).numpy()


# ---------------------------------------------------------------- training


def train(args: Args) -> Agent:
    """The trained agent; one seed fixes its cards, weights and actions."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # more are slower on networks as small as these
    writer = make_writer(args)
    env = gymnasium.make_vec(TASK, num_envs=args.num_envs, encoding="ids", reward="expected")
    agent = Agent(args.network)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    rollout = args.num_envs * args.num_steps
    n_updates = max(1, args.total_steps // rollout)
    seen, _ = env.reset(seed=args.seed * 1_000_003)  # rows of other seeds never meet these

    for update in range(n_updates):
        progress = update / n_updates
        rate = args.learning_rate + progress * (args.final_learning_rate - args.learning_rate)
        entropy_weight = args.entropy + progress * (args.final_entropy - args.entropy)
        optimizer.param_groups[0]["lr"] = rate

        # play
        cards = torch.empty((args.num_steps, args.num_envs, 5), dtype=torch.long)
        actions = torch.empty((args.num_steps, args.num_envs), dtype=torch.long)
        log_probs, rewards, values = (torch.empty(actions.shape) for _ in range(3))
        with torch.no_grad():
            for step in range(args.num_steps):
                cards[step] = torch.as_tensor(seen)
                choice = Categorical(logits=agent.actor(cards[step]))
                actions[step] = choice.sample()
                log_probs[step] = choice.log_prob(actions[step])
                values[step] = agent.critic(cards[step])
                seen, reward, *_ = env.step(actions[step].numpy())
                rewards[step] = torch.as_tensor(reward)
        played = [part.flatten(0, 1) for part in (cards, actions, log_probs, rewards, values)]

        # learn
        for _ in range(args.epochs):
            for rows in torch.randperm(rollout).split(args.batch_size):
                hand, action, old_log_prob, reward, value = (part[rows] for part in played)
                choice = Categorical(logits=agent.actor(hand))
                advantage = reward - value
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                ratio = (choice.log_prob(action) - old_log_prob).exp()
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                policy_loss = -torch.min(advantage * ratio, advantage * clipped).mean()
                value_loss = (agent.critic(hand) - reward).square().mean()
                entropy = choice.entropy().mean()
                loss = policy_loss + args.value_weight * value_loss - entropy_weight * entropy
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()

        if writer is not None:
            step = (update + 1) * rollout
            writer.add_scalar("rollout/reward", rewards.mean().item(), step)
            writer.add_scalar("train/entropy", entropy.item(), step)
            writer.add_scalar("train/value_loss", value_loss.item(), step)
    if writer is not None:
        writer.close()
    return agent


def make_writer(args: Args):  # noqa: ANN201, TensorBoard is imported only if it is asked for
    if not args.tensorboard:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(f"{args.tensorboard}/ppo_arrange-{args.network}-{args.seed}")


def score(agent: Agent) -> niulab.evaluation.ArrangementScore:
    """The exact score of the agent's likeliest actions."""
    return niulab.evaluate(agent.best, TASK, encoding="ids")


def read_args(words: list[str] | None = None) -> Args:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for field in fields(Args):
        name = "--" + field.name.replace("_", "-")
        parser.add_argument(name, type=type(field.default), default=field.default)
    return Args(**vars(parser.parse_args(words)))


def main() -> None:
    args = read_args()
    start = time.process_time()
    agent = train(args)
    seconds = time.process_time() - start
    result = score(agent)
    print(f"{args.total_steps:,} steps in {seconds:.1f} cpu-seconds")
    print(f"normalized score {float(result.normalized):.6f}, {result.n_errors:,} hands set wrong")


if __name__ == "__main__":
    main()
