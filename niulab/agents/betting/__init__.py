"""Agents that choose a bet by rule, and the optimal ones."""
