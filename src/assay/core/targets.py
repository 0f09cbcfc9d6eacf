"""Targets as they are typed: ``precision:cnn within 0.02``, ``recall:new - recall:old``."""
