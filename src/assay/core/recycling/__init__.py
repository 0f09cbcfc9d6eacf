"""Paper 3: one set of labels for several classifiers."""
