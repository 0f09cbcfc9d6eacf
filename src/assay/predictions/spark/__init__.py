"""Predictions that Spark reads in place. Needs the extra ``spark``."""
