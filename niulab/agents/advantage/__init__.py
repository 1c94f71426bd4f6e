"""Advantage players: those for whom detectors must ring, and what each earns, exactly."""
