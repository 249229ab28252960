"""Training under differential privacy: sample, clip, add noise, scale, step."""
