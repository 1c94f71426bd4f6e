"""Tasks whose rule sheet is drawn anew for every round: which it is, its terms, its values."""
