"""Plan: the likely cost of an evaluation, before any labelling."""
