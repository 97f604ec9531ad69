"""The exercise `sse`: what a task tells, streamed to whoever listens, from where they were, to the end, and to nobody who has left.

The stories stand in `sse_stories`, how they are played in `sse_play`, what must hold in `sse_rules` and `sse_release_rules`. A stream crosses no boundary of
the process, so there is nothing to crash at; what is no Exception is raised inside of the log instead.

Not handled here: the log itself and its one reader (see `progress`), and slow readers that nobody may wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from labkit.checks import sse_release_rules as release
from labkit.checks import sse_rules as rules
from labkit.checks import sse_stories as stories
from labkit.checks.common import ends, exits_rule
from labkit.checks.drawn import sse as drawn
from labkit.checks.exercise import Answer, Case, Exercise, Property
from labkit.checks.sse_play import leave, tell
from labkit.checks.sse_stories import Story
from labkit.faults.process import Process

NAME = "sse_progress"
Body = Callable[[Answer, Process], Any]


def _case(name: str, told: Sequence[Story], play: Body | None = None) -> Case:
    """A case of these stories: each of its own, with a fresh answer, unless `play` says something else."""

    def one_by_one(answer: Answer, process: Process) -> Any:
        return _until_spun(lambda: answer.fresh()[NAME], told, process)

    return Case(name, lambda answer: [partial(play or one_by_one, answer)], facts={"stories": told})


def _until_spun(handler: Callable[[], Any], told: Sequence[Story], process: Process) -> list[dict[str, Any]]:
    """What came of each story, to the first that goes round and round: the others would take as long."""
    came = list[dict[str, Any]]()
    for story in told:
        came += tell(handler(), [story], process)
        if came[-1]["spun"]:
            break
    return came


def _several(answer: Answer, process: Process) -> Any:
    kept = answer.fresh()[NAME]
    return _until_spun(lambda: kept, stories.SEVERAL, process)


def _at_once(answer: Answer, process: Process) -> Any:
    return tell(answer.fresh()[NAME], stories.AT_ONCE, process)


def _leave(answer: Answer, process: Process) -> Any:
    return leave(answer.fresh()[NAME], process)


TOLD = ("known", "live", "ends")
ENDS = ends()
heard = rules.heard

EXERCISE = Exercise(
    id="sse",
    title="Progress that a browser sees",
    chapter=21,
    origin="C",
    minutes=35,
    difficulty=3,
    points=15,
    essential=("every update", "closes", "goes on"),
    signatures={NAME: ("request",)},
    asynchronous=True,
    needs=("starlette",),
    preload="labkit.checks.asgi:warm",
    shown=("live:none", "leaves:none"),
    cases=(
        _case("known", stories.KNOWN),
        _case("requests", stories.REQUESTS),
        _case("live", stories.LIVE),
        _case("ends", stories.ENDS),
        _case("resumes", stories.RESUMES),
        _case("seen_all", stories.SEEN_ALL),
        _case("garbage", stories.GARBAGES),
        _case("odd", stories.ODD),
        _case("silence", stories.SILENCE),
        _case("leaves", stories.LEAVES),
        _case("cancels", stories.CANCELS),
        _case("breaks", stories.BREAKS),
        _case("at_once", stories.AT_ONCE, _at_once),
        _case("several", stories.SEVERAL, _several),
        Case("exits", lambda answer: [partial(_leave, answer)]),
    ),
    drawn=lambda rng: [_case(name, told) for name, told in drawn.stories(rng).items()],
    properties=(
        Property("which task", "400 without a task_id, 404 for an unknown one", rules.every(rules.status), ("requests", "known"), rules.answered),
        Property("an event stream", "the media type is text/event-stream", rules.every(rules.media_type), ("known",), heard),
        Property("no cache", "Cache-Control says no-cache", rules.every(rules.no_cache), ("known",), heard),
        Property("every update", "each once, in order, as JSON, with its position as id", rules.every(rules.events), TOLD, heard),
        Property("as they come", "an update is sent when it is told", rules.every(rules.as_they_come), ("live",), heard),
        Property("closes", "the stream ends with the terminal update", rules.every(rules.closes), (*TOLD, "resumes"), heard),
        Property("goes on", "Last-Event-ID is where a client goes on", rules.every(rules.resumed), ("resumes",), heard, unless=("every update",)),
        Property("nothing twice", "who has seen the end is told nothing, and the stream ends", rules.every(rules.seen_all), ("seen_all",), heard),
        Property("garbage is 0", "a Last-Event-ID that is none of ours", rules.every(rules.resumed), ("garbage",), heard, unless=("every update",)),
        Property("odd texts", "lines, escapes and other letters come through", rules.every(rules.texts), ("odd",), heard, unless=("every update",)),
        Property("silence", "minutes without an update are no end", rules.every(rules.silence), ("silence",), heard, unless=("every update", "closes")),
        Property(
            "at once",
            "two clients get what each asked for",
            rules.every(rules.at_once),
            ("at_once",),
            heard,
            unless=("every update", "goes on", "as they come"),
        ),
        Property("gives back", "who leaves is no subscriber any more", release.released, ("leaves",), heard),
        Property("can be cancelled", "a cancellation goes through, and leaves no subscriber", release.cancelled, ("cancels",), heard),
        Property("makes nothing up", "an error of the log is no update", rules.every(rules.broken_log), ("breaks",), heard, unless=("every update",)),
        Property(
            "starts afresh",
            "clients do not see each other",
            rules.every(rules.afresh),
            ("several",),
            heard,
            unless=("which task", "every update", "closes", "goes on", "garbage is 0"),
        ),
        exits_rule("exits"),
        replace(ENDS, find=lambda seen, facts: ENDS.find(seen, facts) or rules.spins(seen, facts)),
    ),
    hints=(
        "Write the bytes of one event by hand: which line carries the position, which the update, and what tells the browser that it is whole? Then: who "
        "notices that the browser has gone, and what of yours is still there?",
        "`StreamingResponse(events(), media_type='text/event-stream', headers={'Cache-Control': 'no-cache'})`, where `events` is an async generator: "
        "`async for seq, update in log.subscribe(task_id, after=...)`. When the client leaves, the generator is cancelled where it stands; "
        "`contextlib.aclosing` around the subscription closes it, too.",
        "`yield f'id: {seq}\\ndata: {update.model_dump_json()}\\n\\n'`: JSON has no line ends of its own. `int()` of the header in a `try`, "
        "`except ValueError` is 0, and `max(0, ...)`. Catch no `CancelledError`, and no time limit around the subscription: a cancelled generator is over.",
    ),
)
