"""What every secret has in common: it does not print, pickle or copy."""

from typing import NoReturn


class Secret:
    """Base of the types that hold key material."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<secret>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is secret: it is neither pickled nor copied")
