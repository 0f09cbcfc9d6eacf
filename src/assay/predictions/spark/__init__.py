"""Predictions that Spark reads where they lie. Needs the extra ``spark``."""
