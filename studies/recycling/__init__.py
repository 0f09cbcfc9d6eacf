"""Paper 3: its tables and figures, on our populations."""
