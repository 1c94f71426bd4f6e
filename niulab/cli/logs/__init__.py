"""Commands around play logs: the logs themselves, and what is found in them."""
