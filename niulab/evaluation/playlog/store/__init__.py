"""The play log on disk: Parquet by month and bucket of players, one writer, atomic commits."""
