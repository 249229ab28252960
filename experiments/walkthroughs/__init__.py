"""Modules that the notebooks import: sums in small numbers, small jobs, deployments, and pictures."""
