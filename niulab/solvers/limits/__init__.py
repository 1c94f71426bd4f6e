"""What no player can hide and no detector can beat: information, frontier, price."""
