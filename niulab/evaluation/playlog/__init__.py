"""The play log: rounds and plays as they were, from an operator's export or our own simulation."""
