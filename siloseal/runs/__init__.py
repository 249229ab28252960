"""Whole runs on one machine or deployed: how they go, what they record and how they end."""
