"""Betting systems: finite-state policies in units of a base slip, and the agents that play them."""
