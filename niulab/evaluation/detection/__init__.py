"""Tests of whether stakes carried information about cards not yet dealt, with guarantees.

Everything known when betting closes may shape the stakes; the deal that follows is uniform. Factors
whose mean under that law is one multiply to a wealth that stays below 1/alpha with probability
1 - alpha, whatever the player does and whenever one looks (Ville's inequality).
"""
