"""Sums of per-row clipped gradients: by book-keeping where its formulas hold, else one row's gradient at a time."""
