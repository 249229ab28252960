"""Code of the user's own that a job names and never carries: found, compared with its digest, then imported."""
