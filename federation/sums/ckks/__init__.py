"""CKKS under an additively shared key: every silo encrypts under its own share, and only the key of the sum opens."""
