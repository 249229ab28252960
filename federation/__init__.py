"""What both sides agree on: secure sums, mechanisms, accounting, messages, config. It imports none of the others."""
