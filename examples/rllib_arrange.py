"""RLlib's PPO on Arrange: two iterations on Ray's new API stack, and the exact score.

    python -m venv rllib && rllib/bin/pip install niulab "ray[rllib]"
    rllib/bin/python examples/rllib_arrange.py --iterations 2

RLlib pins an older Gymnasium (Ray 2.60: 1.2.2), hence an environment of its own. It makes its own
batches of single environments; masks are not needed, since every setting is legal.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.tune.registry import register_env

import niulab

TASK = "niulab/Arrange-v0"


def make_env(config: dict[str, Any]) -> gymnasium.Env:
    """The task with ``env_config`` as its keywords; the import registers it in every worker."""
    import niulab  # noqa: F401, registers the ids

    return gymnasium.make(TASK, **config)


def build(seed: int, rows: int) -> Any:
    """RLlib's PPO, ready to train."""
    register_env(TASK, make_env)
    config = (
        PPOConfig()
        .environment(TASK, env_config={"reward": "expected"})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=rows)
        .learners(num_learners=0)
        .training(
            gamma=0.0,  # one-step task
            lr=1e-3,
            entropy_coeff=0.01,
            train_batch_size_per_learner=4096,
            minibatch_size=1024,
            num_epochs=4,
        )
        .debugging(seed=seed)
    )
    return config.build_algo()


def policy_of(algorithm: Any) -> Any:
    """The likeliest actions of rows of observations, as ``niulab.evaluate`` asks for them."""
    module = algorithm.get_module()

    def act(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            answer = module.forward_inference({"obs": torch.as_tensor(observations)})
        return answer["action_dist_inputs"].argmax(dim=1).numpy()

    return act


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=32)
    args = parser.parse_args()
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    algorithm = build(args.seed, args.rows)
    for iteration in range(1, args.iterations + 1):
        result = algorithm.train()
        runners = result["env_runners"]
        print(
            f"iteration {iteration}: {runners['num_env_steps_sampled_lifetime']:,.0f} steps, "
            f"mean reward {runners['episode_return_mean']:+.4f}"
        )
    score = niulab.evaluate(policy_of(algorithm), TASK)
    print(f"normalized score {float(score.normalized):.6f}, {score.n_errors:,} hands set wrong")
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
