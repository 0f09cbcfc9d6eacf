"""SQL shared by the engines."""
