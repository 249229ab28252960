"""The conditional GAN."""
