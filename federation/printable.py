"""Text that somebody else chose, made fit for a terminal. It imports nothing, so that all may import it."""


def printable(text: str) -> str:
    """The text with a blank for each character that a terminal would obey.

    These are control characters of both blocks (ESC and CSI among them), ends of lines, marks that turn the direction
    of writing, and whatever else has no shape of its own.
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)
