"""SQL that the engines share."""
