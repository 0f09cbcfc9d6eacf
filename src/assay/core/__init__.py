"""The statistics: numpy and scipy only, no input or output, no hidden randomness."""
