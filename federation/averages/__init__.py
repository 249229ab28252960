"""Weighted averages of what the silos' own scripts train: the job, its sums, and what travels of them."""
