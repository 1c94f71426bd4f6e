"""Many environments as rows of arrays: what ``envs.vector`` puts into Gymnasium's words."""
