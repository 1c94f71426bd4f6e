"""Optimal betting: the best slip at every bankroll, with proven gaps."""
