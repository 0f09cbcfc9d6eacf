"""Predictions that DuckDB reads: into memory, or where they lie, out of core."""
