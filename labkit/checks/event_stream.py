"""What a browser makes of a stream of events: bytes in, events out, by the rules of the HTML standard.

A line ends with CR LF, LF or CR; a blank line ends an event; one that the stream's end cuts off is lost. Lines of `data:` are joined by a line end,
a line that begins with a colon is a comment, a field that nobody knows is nothing.

Not handled here: whether these are the events of a task (see `sse_rules`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Event:
    """One event. `id` is None where it has none of its own."""

    id: str | None
    name: str
    data: str


def events_in(sent: bytes) -> tuple[list[Event], str]:
    """The whole events, and what stands after the last blank line. Raises `UnicodeDecodeError` for bytes that are no UTF-8."""
    lines = LINE_END.split(sent.decode().removeprefix("\ufeff"))
    found, begun = list[Event](), list[str]()
    for line in lines[:-1]:
        if line:
            begun.append(line)
            continue
        found += _event(begun)
        begun = []
    rest = [line for line in [*begun, lines[-1]] if line and not line.startswith(":")]
    return found, "\n".join(rest)


def _event(lines: list[str]) -> list[Event]:
    """The event of these lines, if they make one: without data there is none."""
    fields = [line.partition(":") for line in lines if not line.startswith(":")]
    told = [(name, value.removeprefix(" ")) for name, _, value in fields]
    data = [value for name, value in told if name == "data"]
    ids = [value for name, value in told if name == "id" and "\0" not in value]
    names = [value for name, value in told if name == "event"]
    return [Event(ids[-1] if ids else None, names[-1] if names else "", "\n".join(data))] if data else []
