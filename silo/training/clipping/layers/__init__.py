"""Per-row gradient norms and weighted gradient sums of one layer, from its input and its output's derivative."""
