"""Tables of the lesson on progress: the impatient user, pages that come at different times, cut connections, ends, and every error.

Each cell is a run, made now.

Not handled here: the scenarios themselves (see `streams`, `streams_ends` and `streams_slow`).
"""

from __future__ import annotations

from functools import cache

from labkit.errors import TaskCancelled
from labkit.faults import run_once, sweep
from labkit.faults.chart_table import Mark, Table, bad, good, judged, table
from labkit.lessons import streams, streams_ends, streams_slow
from labkit.lessons.checkpoints_errors import Error
from labkit.lessons.streams import ALL_SECONDS, STEP_SECONDS, STEPS, WHOLE, work
from labkit.lessons.streams_ends import PATHS, ending

PATIENCE = 25  # seconds without news after which the user presses Cancel
BETWEEN = "p1@10.after+crash"  # the schedule: state and event in two commits, and a crash behind the first
VISITS = {"before it begins": 1, "after 15 s": 4, "after the end": 8}
SERVERS = (streams.without_ids, streams.from_now, streams.own_numbers, streams.with_ids)


def impatient(*, tells: bool) -> list[Mark | str]:
    """What the page shows every five seconds, and what becomes of the task. The user waits for news, and for no longer than that."""
    now, seen, news, page = work(), 0, 0, list[Mark | str]()
    for second in range(0, ALL_SECONDS, STEP_SECONDS):
        if tells:
            now.tell(1 + second // STEP_SECONDS)
        told = len(now.log.after(now.task_id))
        news, seen = (second, told) if told > seen else (news, seen)
        if second - news >= PATIENCE:
            now.queue.cancel(now.task_id, "the user")
        page.append(f"{told} of {len(STEPS)}" if told else "a spinner")
        now.clock.sleep(STEP_SECONDS)
    try:
        now.end()
    except TaskCancelled:
        return [*page[:-1], bad("Cancel"), bad(now.queue.get(now.task_id).state)]
    return [*page, good(now.queue.get(now.task_id).state)]


def symptom() -> Table:
    """A user in front of a silent task, and in front of one that tells."""
    heads = ["the task", *(f"{second} s" for second in range(0, ALL_SECONDS + 1, STEP_SECONDS))]
    return table(heads, [["is silent", *impatient(tells=False)], ["tells", *impatient(tells=True)]])


def visits() -> Table:
    """What a page shows, by the time at which it comes."""
    ways = (streams.callback, streams.logged)
    rows = [[name, *(_page(way, comes) for way in ways)] for name, comes in VISITS.items()]
    return table(["the page comes", "the callback: it shows", "the log: it shows"], rows)


def _page(way: streams.Way, comes: int) -> Mark:
    why = run_once(streams.late(way, comes)).broken
    return bad(why.removeprefix("the page shows: ")) if why else good(WHOLE)


def tunnels() -> Table:
    """What a page shows whose connection is cut, for each way to number events."""
    rows = []
    for frames in SERVERS:
        why = run_once(streams.cut(frames)).broken
        rows.append([frames.__name__.replace("_", " "), bad(why) if why else good("1 2 3 | 4 5 6 | end")])
    return table(["", "the page shows (| is a cut)"], rows)


def last_words() -> Table:
    """Each way for a task to end, and the last event that a page has."""
    says = (streams_ends.handler_says, streams_ends.queue_says)
    rows = [[path, *(_last(one, path) for one in says)] for path in PATHS]
    return table(["the task ends with", "the handler says: last event", "the queue says: last event"], rows)


def _last(says: streams_ends.Says, path: str) -> Mark:
    why = run_once(ending(says, path)).broken
    return bad(why) if why else good(PATHS[path])


ERRORS = (
    Error("progress in memory only", streams.late(streams.callback), streams.late(streams.logged)),
    Error("an end on the happy path only", ending(streams_ends.handler_says, "an error"), ending(streams_ends.queue_says, "an error")),
    Error("no id is sent", streams.cut(streams.without_ids), streams.cut(streams.with_ids)),
    Error("only what comes from now on", streams.cut(streams.from_now), streams.cut(streams.with_ids)),
    Error("each connection counts anew", streams.cut(streams.own_numbers), streams.cut(streams.with_ids)),
    Error("the event after the state", streams_ends.dying(streams_ends.state_first), streams_ends.dying(streams_ends.one_commit), BETWEEN),
    Error("the event before the state", streams_ends.dying(streams_ends.event_first), streams_ends.dying(streams_ends.one_commit), BETWEEN),
    Error("a queue for each reader", streams_slow.slow(streams_slow.queue_each), streams_slow.slow(streams_slow.position)),
)  # fmt: skip


def why(error: Error, *, sound: bool) -> str | None:
    """What breaks it: on its schedule; the library's end of a task is tried with any crash."""
    if sound and error.schedule == BETWEEN:
        return _any_crash()
    return run_once(error.sound if sound else error.first, error.schedule).broken


@cache
def _any_crash() -> str | None:
    report = sweep(streams_ends.dying(streams_ends.one_commit))
    return report.broken[0].why if report.broken else None


def errors() -> Table:
    """Every error, as one writes it first and as it should be, run now."""
    rows = [[one.name, *(judged(why(one, sound=sound)) for sound in (False, True))] for one in ERRORS]
    return table(["", "as one writes it first", "as it should be"], rows)
