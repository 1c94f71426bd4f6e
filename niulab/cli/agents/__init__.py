"""Commands around an agent: play against it or watch it, hand it to others, take one in."""
