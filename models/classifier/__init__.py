"""Networks that are trained on the silos' own labelled records."""
