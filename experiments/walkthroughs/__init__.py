"""What the notebooks import: sums in small numbers, parties at one table, small jobs, and pictures."""
