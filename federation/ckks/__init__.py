"""CKKS under additively shared keys: a sum that nobody can open alone."""
