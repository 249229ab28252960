"""Differential privacy: what a release costs, how costs add up, and the mechanisms that noise a sum."""
