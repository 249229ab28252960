"""Few-shot learners: a shared model that learns a new task from a few labelled images."""
