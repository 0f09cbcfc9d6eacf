"""Results that are handed out, as text, HTML and DataFrames."""
