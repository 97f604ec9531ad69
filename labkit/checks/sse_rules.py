"""What must hold of `sse`, read off what each client was sent and off who was still subscribed.

Not handled here: what a browser makes of bytes (see `event_stream`), which updates these are (see `sse_seen`), and clients that leave (see
`sse_release_rules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.checks.asgi import NOT_ASYNC
from labkit.checks.common import over_each
from labkit.checks.exercise import Finding, Seen
from labkit.checks.sse_seen import LOST, Came, event_off, is_of, updates_of
from labkit.checks.sse_stories import Story
from labkit.faults.outcome import cut
from labkit.plural import counted

Off = Callable[[Story, Came], Finding | None]
Find = Callable[[Seen, dict[str, Any]], Finding | None]
NO_RESPONSE, NO_UTF8 = "returns no response", "sends bytes that are no UTF-8"
NOT_WHOLE = "an event without the blank line that ends it: the browser never sees it"
NOT_FROM, AGAIN = "does not go on from Last-Event-ID, begins anew", "tells the update of Last-Event-ID again: it was seen"
SKIPS = "skips an update: Last-Event-ID is the last one that was seen"


def every(off: Off) -> Find:
    """For a property's `find`: the first story of which `off` says why it is wrong."""
    return over_each("stories", off)


def some(wants: Callable[[Story, Came], bool]) -> Callable[[Seen, dict[str, Any]], bool]:
    """For a property's `exercised`: whether this is so of at least one story."""

    def exercised(seen: Seen, facts: dict[str, Any]) -> bool:
        return any(wants(story, came) for story, came in zip(facts["stories"], seen.end.last.value or (), strict=False))

    return exercised


heard = some(lambda story, came: came["status"] == 200 and bool(came["subscribed"]))
answered = some(lambda story, came: bool(came["status"]))


def no_stream(story: Story, came: Came) -> Finding | None:
    """Why no stream began, or None."""
    if came["status"] == 200:
        return None
    if came["raised"]:
        return Finding(f"{story.says}: the handler raised {cut(came['raised'], 120)}", story.wrong or "fails where it should answer")
    if came["how"] == NOT_ASYNC:
        return Finding(f"sse_progress {NOT_ASYNC}", "a plain function where an `async def` is asked for")
    if not came["status"]:
        said = f"{story.says}: the handler {came['how'] or 'began no response'}"
        return Finding(said, NO_RESPONSE if came["how"] else "begins no response until something is told")
    return Finding(f"{story.says}: the status was {came['status']}", story.wrong or "refuses a task that is there")


def status(story: Story, came: Came) -> Finding | None:
    """400 or 404, and no subscriber."""
    if story.wants == 200:
        return no_stream(story, came)
    if came["raised"] or not came["status"]:
        missing = no_stream(story, came)
        return missing and Finding(missing.message, story.wrong if came["raised"] else missing.diagnosis)
    if came["status"] != story.wants:
        other = 400 <= came["status"] < 500
        return Finding(f"{story.says}: the status was {came['status']}, not {story.wants}", f"another status than {story.wants}" if other else story.wrong)
    return Finding(f"{story.says}: {story.wants}, and a subscriber", story.wrong) if came["subscribed"] else None


def media_type(story: Story, came: Came) -> Finding | None:
    missing = no_stream(story, came)
    kind = (came["content-type"] or "").partition(";")[0].strip().lower()
    if missing or kind == "text/event-stream":
        return missing
    return Finding(f"the Content-Type was {came['content-type']!r}", "the media type is not text/event-stream")


def no_cache(story: Story, came: Came) -> Finding | None:
    told = came["cache-control"]
    directives = [one.strip().lower() for one in (told or "").split(",")]
    if came["status"] != 200 or "no-cache" in directives:
        return None
    return Finding(f"the Cache-Control was {told!r}", "no Cache-Control: no-cache")


def events(story: Story, came: Came) -> Finding | None:
    """Every update that is wanted, once, in order, each with its position."""
    missing = no_stream(story, came)
    found = updates_of(came)
    if missing or found is None:
        return missing or Finding(f"{story.says}: the stream cannot be decoded", NO_UTF8)
    told, rest = found
    wanted = story.wanted()
    if story.after is None and not told and not rest:
        return None
    for place, event in enumerate(told):
        off = event_off(event, wanted, place)
        if off:
            return Finding(f"{story.says}: {off[0]}", off[1])
    if len(told) < len(wanted):
        said = f"{story.says}: {len(told)} of {counted(len(wanted), 'update')} came"
        return Finding(f"{said}, and {cut(repr(rest), 60)} stood at the end" if rest else said, NOT_WHOLE if rest else LOST)
    return None


def texts(story: Story, came: Came) -> Finding | None:
    """The same for odd texts, in words of their own."""
    found = events(story, came)
    return found and Finding(found.message, "an odd text does not come through: lines, escapes or letters of it are changed")


def resumed(story: Story, came: Came) -> Finding | None:
    """The same for a client that says what it has seen."""
    found = events(story, came)
    return found and Finding(found.message, story.wrong or _wrong_start(story, came) or found.diagnosis)


def _wrong_start(story: Story, came: Came) -> str:
    """How a client goes on at another place than after what it has seen; "" where that is not so."""
    told, wanted = updates_of(came), story.wanted()
    at = [seq for seq, update in story.entries if told and told[0] and is_of(told[0][0], update)]
    if not at or not story.after:
        return ""
    if at[0] <= story.after:
        return AGAIN if at[0] == story.after else NOT_FROM
    return SKIPS if wanted and at[0] > wanted[0][0] else ""


def seen_all(story: Story, came: Came) -> Finding | None:
    """Who has seen the end is told nothing, and the stream ends."""
    found = resumed(story, came) or closes(story, came)
    return found and Finding(found.message, story.wrong)


def as_they_come(story: Story, came: Came) -> Finding | None:
    """After each step the client has seen all that is in the log by then."""
    there = story.there
    for step, (what, sizes, seconds) in zip(story.steps, came["steps"], strict=False):
        if what in ("rest", "add") and seconds > 0:
            return Finding(f"{story.says}: everything stood still for {seconds:g} s", "blocks the event loop: a sleep that is not awaited")
        there += step[1] if what == "add" else 0
        found = updates_of(came, sizes[came["number"]]) if what == "rest" else None
        entries = [entry for entry in story.entries[:there] if entry[0] > (story.after or 0)]
        if found is not None and len(found[0]) < len(entries):
            said = f"{story.says}: {counted(len(entries), 'update')} told, and the client had seen {len(found[0])}"
            return Finding(said, "updates are held back, or end where the next one begins")
    return None


def closes(story: Story, came: Came) -> Finding | None:
    """The response ends with the terminal update, and not before."""
    missing = no_stream(story, came)
    if missing:
        return missing
    if came["spun"]:
        return Finding(f"{story.says}: the stream goes round and round", "does not end: subscribes again and again")
    if not came["whole"]:
        return Finding(f"{story.says}: the stream stayed open", "the stream is not closed after its end")
    return Finding(f"{story.says}: a subscriber is left", "a subscriber is left after the end") if came["open"] else None


def spins(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """For `ends`: a stream that turns the loop again and again is told by its story, and its process goes on."""
    spun = [(story, came) for story, came in zip(facts.get("stories", ()), seen.end.last.value or (), strict=False) if came["spun"]]
    return Finding(f"{spun[0][0].says}: the stream goes round and round", "never ends") if spun else None


def silence(story: Story, came: Came) -> Finding | None:
    """What is told after a silence comes like everything else."""
    found = events(story, came)
    if found is None:
        return closes(story, came)
    ended = found.diagnosis == LOST
    return Finding(found.message, "a silence ends the stream: a time limit that ends the subscription, too" if ended else found.diagnosis)


def broken_log(story: Story, came: Came) -> Finding | None:
    """An error of the log adds nothing to what the log has told."""
    found = updates_of(came)
    if came["status"] != 200 or not found:
        return no_stream(story, came)
    if came["spun"] or not came["ended"]:
        return Finding(f"{story.says}: the stream goes on", "an error of the log is swallowed, and the stream never ends")
    off = (event_off(event, story.wanted(), place) for place, event in enumerate(found[0]))
    made_up = next((one for one in off if one), None)
    return made_up and Finding(f"{story.says}: {made_up[0]}", "makes an end up that the task never told")


def afresh(story: Story, came: Came) -> Finding | None:
    """All that is asked of a story, of several in one process."""
    rules = (status,) if story.wants != 200 else (events, closes)
    if story.steps[-1] == ("leave",):
        return None
    found = next((one for rule in rules if (one := rule(story, came))), None)
    return found and Finding(f"several clients of one process, {found.message}", "keeps something from one client to the next")


def at_once(story: Story, came: Came) -> Finding | None:
    found = events(story, came) or as_they_come(story, came)
    return found and Finding(found.message, "clients that listen at the same time get in each other's way")
