"""Two sets of predictions side by side, joined by id."""
