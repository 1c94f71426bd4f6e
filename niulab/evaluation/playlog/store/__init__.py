"""The play log on disk: Parquet files by month and bucket of players, one writer, atomic commits."""
