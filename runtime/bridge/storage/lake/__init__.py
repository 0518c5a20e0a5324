"""Sessions as parquet files of a season, read together as one table."""
