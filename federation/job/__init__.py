"""A job: its config, the phases and releases that follow from it, and what the silos agree on before it begins."""
