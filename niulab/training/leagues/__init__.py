"""Agents held against each other: leagues over one task and suites over many."""
