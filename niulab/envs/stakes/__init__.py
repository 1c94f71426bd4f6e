"""Continuous stakes: one number per box, mapped to the chips that the bankroll covers."""
