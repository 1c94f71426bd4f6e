"""Pieces of an import: rows on their way into the store, sorted by month and bucket."""
