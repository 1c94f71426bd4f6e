"""Pictures as PNG bytes; the only rooms that import matplotlib, and without its state."""
