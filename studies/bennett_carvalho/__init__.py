"""Paper 1: Table 1 and Figure 2, on our populations."""
