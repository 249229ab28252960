"""Rings of polynomials in SEAL, which both CKKS sums compute in."""
