"""Sparse sums: a few messages a silo, recovered from a secure sum of tables."""
