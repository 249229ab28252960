"""What happens in a run, as one stream of typed events that everything which watches subscribes to."""
