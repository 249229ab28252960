"""Secure sums by masks that cancel: every silo with every other, or with its neighbours on a random ring."""
