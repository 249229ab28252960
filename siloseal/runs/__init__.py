"""Whole runs on one machine or deployed: their folders, their records and how they end."""
