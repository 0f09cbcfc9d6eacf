"""Paper 2: its stratifications and allocations, on our populations."""
