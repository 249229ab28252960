"""Comparisons: grids of measurements over the same job, their table, and what runs them."""
