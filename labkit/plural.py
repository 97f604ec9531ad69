"""Counts in words: 1 run, 2 runs."""


def counted(count: int, thing: str, things: str = "") -> str:
    """`count` and the name of the thing, in the plural where it is not one."""
    return f"{count} {thing}" if count == 1 else f"{count} {things or thing + 's'}"
