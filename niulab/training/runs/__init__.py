"""A run on disk: its folder, checkpoints, progress, TensorBoard events and published model."""
