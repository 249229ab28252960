"""Ring learning with errors: the rings of polynomials that both CKKS sums compute in, by Microsoft SEAL."""
