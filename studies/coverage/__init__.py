"""The coverage study: how often intervals are right where a campaign stops."""
