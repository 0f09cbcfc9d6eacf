"""Predictions that DuckDB reads: into memory, or in place, out of core."""
