"""Reports of suites: algorithms on tasks with seeds, beside agents that need no training."""
