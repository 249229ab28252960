"""Networks and learners, how they are built, and how their output is measured."""
