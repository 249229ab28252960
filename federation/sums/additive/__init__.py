"""Additive sharing: every silo holds a share of every other's vector."""
