"""Lines of JSON split by compiled loops."""
