"""Searching hyperparameters: what is searched, and studies that can be interrupted (Optuna)."""
