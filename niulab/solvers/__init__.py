"""Exact solutions: the law of a round, values of boxes, slips and hands, and the oracle."""
