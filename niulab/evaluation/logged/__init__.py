"""Simulated play logs whose players are known, each with its label."""
