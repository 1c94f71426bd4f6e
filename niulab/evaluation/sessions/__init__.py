"""Whole sessions: exact scores of policies that bet over a bankroll, and their simulation."""
