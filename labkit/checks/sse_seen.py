"""Which updates of the log a client of `sse` has seen, and why an event is not the one that is wanted in its place.

What only keeps a connection awake is no event here. The data must be the JSON of an update, and the id its position.

Not handled here: when it should have seen them (see `sse_rules`), and the bytes (see `event_stream`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError

from labkit.checks.event_stream import Event, events_in
from labkit.checks.sse_stories import Entry
from labkit.faults.outcome import cut
from labkit.progress.update import ProgressUpdate

Came = dict[str, Any]
BEATS = ("ping", "heartbeat", "keepalive", "keep-alive")  # events of these names keep a connection awake
LOST, DOUBLED, MADE_UP = "an update is lost", "an update is sent twice", "an event that is no update of the log"


@cache
def _events(sent: str) -> tuple[list[Event], str] | None:
    try:
        return events_in(sent.encode("latin-1"))
    except UnicodeDecodeError:
        return None


def updates_of(came: Came, until: int | None = None) -> tuple[list[Event], str] | None:
    """What a browser has seen of the first bytes, without what only keeps the connection awake; None where they are no UTF-8."""
    found = _events(came["sent"][:until])
    return found and ([one for one in found[0] if one.id is not None or one.name not in BEATS], found[1])


def event_off(event: Event, wanted: Sequence[Entry], place: int) -> tuple[str, str] | None:
    """Why this is not the event that is wanted at this place, and the likely mistake."""
    try:
        update = ProgressUpdate.model_validate_json(event.data, strict=True)
    except ValidationError:
        return f"the data {cut(repr(event.data), 80)} is not the JSON of an update", _no_json(event.data)
    if place >= len(wanted) or wanted[place][1] != update:
        places = [at for at, entry in enumerate(wanted) if entry[1] == update]
        if not places:
            return f"an event says {cut(repr(event.data), 80)}", MADE_UP
        there = wanted[places[0]][0]
        return f"the update at {there} came as event {place + 1}", DOUBLED if places[0] < place else LOST
    if event.id is None:
        return f"the event of the update at {wanted[place][0]} has no id", "an event without `id:`"
    if event.id != str(wanted[place][0]):
        said = f"the id of the update at {wanted[place][0]} is {cut(event.id, 40)!r}"
        return said, "the id of an event is not the position in the log"
    return None


def _no_json(data: str) -> str:
    try:
        told = json.loads(data)
    except ValueError:
        return "the data is not JSON" if "\n" not in data else "line ends in the data break its JSON"
    return "the data is another JSON than the update's" if isinstance(told, dict) else "the data is JSON of something else than the update"


def is_of(event: Event, update: ProgressUpdate) -> bool:
    try:
        return ProgressUpdate.model_validate_json(event.data) == update
    except ValidationError:
        return False
