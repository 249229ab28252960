"""Values that a caller or a file gave, as error messages quote them."""


def quoted(value: object, most: int = 80) -> str:
    """The value as Python writes it; of a longer text, both ends in `most` characters.

    >>> quoted("3"), quoted("north" * 100, most=12)
    ("'3'", "'nort...rth'")
    """
    text = repr(value)
    if len(text) <= most:
        return text
    kept = most - len("...")
    return f"{text[: kept - kept // 2]}...{text[len(text) - kept // 2 :]}"
