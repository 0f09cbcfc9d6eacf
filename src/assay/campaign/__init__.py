"""Campaigns: what users create, label, extend, compare and follow."""
