"""Attacks, so that the guarantees are seen to hold: each a function that plays the attacker in earnest."""
