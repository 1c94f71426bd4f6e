"""Attacks that leave other marks than stakes on seen cards: late, steered, switched, in groups."""
