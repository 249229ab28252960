"""Questions about the silos' pooled records that noised sums answer: one file a question."""
