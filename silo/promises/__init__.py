"""What every learner promises, as checks that run on any class: the trainer and the sums rely on nothing else."""
