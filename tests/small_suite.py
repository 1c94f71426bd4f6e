"""A suite of minutes made of seconds, for tests of suites and their configs."""

TRAIN = """
name = "small"
task = "niulab/Session-v0"
total_steps = 512
n_envs = 8
[network]
kind = "mlp"
hidden = [8]
[algorithm]
name = "ppo"
n_steps = 8
batch_size = 32
n_epochs = 1
learning_rate = 0.01
[checkpoint]
every = 128
"""


def make_tree(small):
    return {
        "suite": {
            "name": "small",
            "seeds": [3, 5],
            "steps": 256,
            "evaluations": 4,
            "n_resamples": 100,
        },
        "task": [
            {"name": "Two", "id": "niulab/Session-v0", "env": {"n_rounds": 2}},
            {
                "name": "One",
                "id": "niulab/Session-v0",
                "env": {"n_rounds": 1, "target_cents": 2_500},
                "steps": 128,
            },
        ],
        "learner": [
            {"label": "PPO", "configs": {"Two": small, "One": small}},
            {
                "label": "PPO, slow",
                "configs": {"Two": small, "One": small},
                "set": ["algorithm.learning_rate=0.00001"],
            },
        ],
        "reference": [
            {"label": "optimum", "agent": "optimal"},
            {"label": "bold", "agents": {"Two": "system:bold"}},
        ],
    }
