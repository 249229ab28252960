"""What the aggregator runs: rounds and the journal. It holds no secret and imports no silo code."""
