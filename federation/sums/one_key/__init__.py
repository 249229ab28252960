"""Sums under one key that every silo holds: what other systems do, for comparison."""
