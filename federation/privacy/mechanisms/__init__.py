"""Noise on sums: one file a mechanism, and what they share."""
