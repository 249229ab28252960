"""What carries messages between machines: chunks, TLS, backoff."""
