"""Secure sums: the contract that every scheme meets, what schemes share, and one folder a scheme."""
