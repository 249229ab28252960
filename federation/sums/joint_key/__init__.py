"""CKKS under a joint public key, with partial decryptions: the sum of Lattigo and OpenFHE, for comparison."""
