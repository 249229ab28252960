"""One entry a published comparison; each writes its table."""
