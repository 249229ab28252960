"""The secure-sum game: a masked total goes from silo to silo."""
