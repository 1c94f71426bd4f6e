"""Imitation of the oracle: cross-entropy on its settings, as a supervised point of reference.

No reinforcement takes place: where the oracle is known it can simply be copied, and how fast that
goes is what an algorithm that only sees rewards is measured against. The class stands in SB3's
clothes, so that run folders, curves, exact scores and resume are those of every other algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from niulab.engine.ranking import hand_index
from niulab.envs.encoding import Encoding
from niulab.envs.seat.core import settings_in_order
from niulab.envs.settings import N_SETTINGS, EnvSettings
from niulab.solvers.hand_values import hand_values
from niulab.training.sb3_vec import Sb3Vec

__all__ = ["OracleImitation", "OracleLabels", "imitation_loss"]


class OracleLabels:
    """Which settings of a shown hand are optimal, in a task that only sets hands."""

    def __init__(self, settings: EnvSettings) -> None:
        self._settings = settings
        self._encoding = Encoding(settings)
        self._optimal = hand_values(settings.rules, settings.slip).optimal
        self._is_multi = settings.rules.deck.decks > 1

    def __call__(self, observations: NDArray[Any]) -> NDArray[np.bool_]:
        """Observations (n, ...) to bool (n, 10), at least one True in each row."""
        shown = self._encoding.decode_hands(observations)
        if self._settings.card_order == "sorted":
            return self._optimal[hand_index(shown, multi=self._is_multi)]
        order = np.argsort(shown, axis=1, kind="stable")
        hands = np.take_along_axis(shown, order, axis=1)
        of_sorted = self._optimal[hand_index(hands, multi=self._is_multi)]
        result, rows = np.empty_like(of_sorted), np.arange(len(shown))
        for action in range(N_SETTINGS):  # back to where the cards were shown
            places = settings_in_order(np.full(len(shown), action), order)
            result[rows, places] = of_sorted[:, action]
        return result


def imitation_loss(logits: Tensor, is_optimal: Tensor) -> Tensor:
    """Mean of -log P(an optimal setting): how a policy spreads over equals costs nothing."""
    of_optimal = logits.masked_fill(~is_optimal, -torch.inf).logsumexp(dim=1)
    return (logits.logsumexp(dim=1) - of_optimal).mean()


class OracleImitation(OnPolicyAlgorithm):
    """Learns the oracle's settings of the hands that the environment deals.

    A step is a hand with its label; the oracle plays, so ``rollout/ep_rew_mean`` is its reward. The
    critic, where the policy has one, is left alone.
    """

    def __init__(
        self,
        policy: type[ActorCriticPolicy],
        env: Sb3Vec,
        *,
        learning_rate: float = 1e-3,
        n_steps: int = 4,
        batch_size: int = 1024,
        n_epochs: int = 1,
        max_grad_norm: float = 10.0,
        **words: Any,
    ) -> None:
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self._labels = OracleLabels(env.env.settings)
        self._seen: list[NDArray[Any]] = []
        self._label_rows: list[NDArray[np.bool_]] = []
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            n_steps=n_steps,
            gamma=0.0,
            gae_lambda=1.0,
            ent_coef=0.0,
            vf_coef=0.0,
            max_grad_norm=max_grad_norm,
            use_sde=False,
            sde_sample_freq=-1,
            **words,
        )

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
    ) -> bool:
        """Deal ``n_rollout_steps`` hands to every row and note the oracle's settings."""
        self._seen, self._label_rows = [], []
        callback.on_rollout_start()
        for _ in range(n_rollout_steps):
            observations: Any = self._last_obs
            labels = self._labels(observations)
            self._seen.append(np.array(observations))
            self._label_rows.append(labels)
            following, _, dones, infos = env.step(labels.argmax(axis=1))
            self._last_obs = following  # type: ignore[assignment]  # SB3 types its own the same
            self._last_episode_starts = dones
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            self._update_info_buffer(infos, dones)
        callback.on_rollout_end()
        return True

    def train(self) -> None:
        """Epochs of minibatches over what was dealt."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        seen = torch.as_tensor(np.concatenate(self._seen), device=self.device)
        labels = torch.as_tensor(np.concatenate(self._label_rows), device=self.device)
        losses = []
        for _ in range(self.n_epochs):
            for rows in torch.randperm(len(seen), device=self.device).split(  # type: ignore[no-untyped-call]
                self.batch_size
            ):
                distribution: Any = self.policy.get_distribution(seen[rows]).distribution
                loss = imitation_loss(distribution.logits, labels[rows])
                self.policy.optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()
                losses.append(loss.item())
        self._n_updates += self.n_epochs
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/loss", float(np.mean(losses)))
