"""What a round is worth when part of the shoe has been dealt, exactly, for any cards left."""
