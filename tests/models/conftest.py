"""Fixtures of a user's own modules, for everything that builds networks."""

from .user_code.conftest import home, write

__all__ = ["home", "write"]
