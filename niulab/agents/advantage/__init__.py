"""Advantage players: attackers of the game, for whom detectors must ring, with their exact worth."""
