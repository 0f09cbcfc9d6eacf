"""Plan: what an evaluation is likely to cost, before anybody labels."""
