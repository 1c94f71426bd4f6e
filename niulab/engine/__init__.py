"""The game: cards, rules as data, ranking, wagers, dealing and settlement."""
