"""The labelling of a campaign: its items drawn, assigned, answered and counted."""
