"""Facts as tables: ``data/*.toml``, typed rows, and the queries on them. What ages is data, never code."""
