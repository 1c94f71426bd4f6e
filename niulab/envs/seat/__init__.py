"""One seat at a time: the state, the rules and the observation behind the single environment."""
