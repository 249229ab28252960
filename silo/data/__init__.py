"""A silo's data: reading it, dealing it out in simulations, and sampling it for private training."""
