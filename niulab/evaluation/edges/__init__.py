"""Where a player can gain: a card seen, a loss rebate, a promotion; figures, no reports."""
