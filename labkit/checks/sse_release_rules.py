"""What must hold of `sse` when nobody listens any longer: the subscriber is given back, and the stream ends.

Not handled here: what a client is sent while it listens (see `sse_rules`).
"""

from __future__ import annotations

from labkit.checks.exercise import Finding
from labkit.checks.sse_play import SOON
from labkit.checks.sse_rules import every, no_stream
from labkit.checks.sse_seen import Came
from labkit.checks.sse_stories import Story
from labkit.plural import counted

SWALLOWS = "swallows the cancellation: whoever is told to go does not go"


def _left(story: Story, came: Came) -> Finding | None:
    if came["spun"] in ("leave", "cancel"):
        return Finding(f"{story.says}: the stream goes round and round, and never ends", SWALLOWS)
    if came["spun"]:
        return Finding(f"{story.says}: the stream goes round and round before that", "never ends")
    if came["open"]:
        said = f"{story.says}: {counted(came['open'], 'subscriber')} still open {SOON:g} s later"
        return Finding(said, "a disconnect leaves the subscriber open")
    if not came["ended"]:
        return Finding(f"{story.says}: the response never ends", "a disconnect leaves the response running")
    return None


def _cancelled(story: Story, came: Came) -> Finding | None:
    missing = None if came["subscribed"] else no_stream(story, came)
    found = missing or _left(story, came)
    if found or came["cancelled"]:
        return found and Finding(found.message, found.diagnosis.replace("a disconnect", "a cancellation"))
    became = f"raised {came['raised']}" if came["raised"] else "ended as if nothing had been"
    return Finding(f"{story.says}: the response {became}", SWALLOWS)


released = every(_left)
cancelled = every(_cancelled)
