"""The rows of `invariant`: runs, each with whether it is broken and how, and the likely mistake of an answer that gets it wrong.

Some are recorded runs of the systems in `labkit.invariants`, the others such runs with one thing edited. In each case what any answer must see
stands first, and what only a subtle mistake misses stands last.

Not handled here: asking the answer (see `invariant`), and what came of it (see `invariant_rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from labkit.checks import invariant_edits as edits
from labkit.checks.invariant_row import Row, Rows, broken, edited, fine
from labkit.invariants.events import TraceEvent
from labkit.invariants.rules import RULES
from labkit.invariants.runs import recorded
from labkit.invariants.trace import Trace

LOST, DOUBLED, ZOMBIE, ORDER, UNTOLD, TOLD_TWICE = RULES  # the kinds of broken runs
EDITED = ("calm", "crash", "late", "withdrawn", "refused", "shaky", "cancelled", "taken_back", "crowd")  # stories of which edits are made


def all_edited(story: str, traces: Iterable[Trace], kind: str, why: str) -> Iterator[Row]:
    return (edited(f"sound.{story}, edited", trace, kind, why) for trace in traces)


AGAIN = "takes a task that is claimed again for a broken run"
FENCED = "takes a write that was fenced off for one that went through"
STUCK = "takes an undo that failed for good for a wrong order"
MIXED = "mixes up what happened to different tasks"
SAGA = "takes a saga that was taken back for a broken run"


def _lost() -> Iterator[Row]:
    yield broken("no_lease.crash", LOST, "does not see a task that never ends")
    crash, some = recorded("sound", "crash"), "looks at some of the tasks only"
    yield edited("sound.crash, edited", edits.lost(crash, "t-1", "pending"), LOST, "takes a task that is pending at the end for a fine one")
    yield edited("sound.crash, edited", edits.told_and_lost(crash, "t-1"), LOST, "believes what was told instead of the final state")
    yield edited("sound.crash, edited", edits.lost(crash, "t-1", ""), LOST, "looks only at the tasks that are left at the end")
    yield broken("no_lease.crowd", LOST, some)
    for story in ("calm", "crash", "crowd"):
        trace = recorded("sound", story)
        for task in edits.submitted(trace):
            states = (edits.lost(trace, task, state) for state in ("running", "pending", ""))
            yield from all_edited(story, [*states, edits.told_and_lost(trace, task)], LOST, some)


def _doubled() -> Iterator[Row]:
    some = "looks at some of the effects only"
    yield broken("no_key.crash", DOUBLED, "does not see an effect that happened twice")
    new_key = "tells effects apart by their keys, so one under a new key is another one"
    at_once, *later = edits.doubled_effects(recorded("sound", "crash"), "{} again")
    yield edited("sound.crash, edited", at_once, DOUBLED, new_key)
    yield from all_edited("crash", later, DOUBLED, "does not see an effect that is doubled later in the run")
    yield broken("no_key.crash_in_undo", DOUBLED, "does not see an undo that happened twice")
    yield broken("no_key.crowd", DOUBLED, MIXED)
    for story in ("calm", "taken_back", "crowd"):
        for key in ("{} again", ""):
            yield from all_edited(story, edits.doubled_effects(recorded("sound", story), key), DOUBLED, some)


def _zombies() -> Iterator[Row]:
    yield broken("no_fence.late", ZOMBIE, "does not see the write of a worker that has lost its task")
    yield broken("no_fence.awake", ZOMBIE, "does not see a zombie that writes before its successor does")
    yield broken("no_fence.namesakes", ZOMBIE, "tells workers apart by their names alone")
    for story in ("late", "awake", "late_in_saga", "namesakes"):
        yield from all_edited(story, edits.let_through(recorded("sound", story)), ZOMBIE, "misses some writes of zombies")
    yield from (edited("sound.late, edited", trace, ZOMBIE, "compares with another claim than the newest") for trace in _thirds())
    for story in ("late", "awake", "namesakes"):
        trace = recorded("no_fence", story)
        yield edited(f"no_fence.{story}, edited", edits.after(trace, recorded("sound", "calm")), ZOMBIE, "looks for zombies in some of the tasks only")
        yield edited(f"no_fence.{story}, edited", edits.failed(trace, "t-1"), ZOMBIE, "looks for zombies in completed tasks only")
    alone = recorded("no_fence", "late")
    holder = max(edits.places(alone, "claimed", "t-1"))
    theirs = alone.events[holder]
    written = [e for e in alone.events if e.kind != "written" or (e.worker, e.attempt) != (theirs.worker, theirs.attempt)]
    yield edited("no_fence.late, edited", edits.with_events(alone, written), ZOMBIE, "misses a zombie where the holder never writes")


def _thirds() -> Iterator[Trace]:
    """A third worker has claimed the task in the end: the second is a zombie, or the first is."""
    for zombie in (("w2", 2), ("w1", 1)):
        write = TraceEvent("written", "t-1", *zombie)
        yield _third(write, [])
        yield _third(None, [write])


def _third(before: TraceEvent | None, after: Sequence[TraceEvent]) -> Trace:
    """The run of `late` with a third claim before the task is done, one event right behind that claim, and others at the end."""
    late = recorded("sound", "late")
    end = next(place for place, event in enumerate(late.events) if event.kind == "written")
    done = [replace(event, worker="w3", attempt=3) for event in late.events[end:] if event.kind != "refused"]
    claimed = [TraceEvent("claimed", "t-1", "w3", 3), *([before] if before else [])]
    tasks = {id: replace(task, worker_id="w3", attempt=3) for id, task in late.tasks.items()}
    return replace(late, tasks=tasks, events=(*late.events[:end], *claimed, *done, *after))


def _third_fenced() -> Row:
    first, second = TraceEvent("refused", "t-1", "w1", 1), TraceEvent("refused", "t-1", "w2", 2)
    return Row("sound.late, edited", "three workers claim a task, and the two that are late are refused", "", FENCED, _third(second, [first]))


def _orders() -> Iterator[Row]:
    yield broken("no_reverse.taken_back", ORDER, "does not see that steps were undone in the wrong order")
    back = recorded("sound", "taken_back")
    first, middle, last = edits.swapped(back, "t-1")
    yield edited("sound.taken_back, edited", middle, ORDER, "does not compare each undone step with the next one")
    yield edited("sound.taken_back, edited", last, ORDER, "does not compare the last step that was undone")
    yield edited("sound.taken_back, edited", first, ORDER, "does not compare the first step that was undone")
    yield broken("no_reverse.taken_back_early", ORDER, "does not see two steps that were undone in the wrong order")
    for order in ((3, 0, 1, 2), (1, 2, 3, 0), (2, 1, 0, 3), (0, 3, 2, 1), (2, 3, 0, 1)):
        yield edited("sound.taken_back, edited", edits.reordered(back, "t-1", order), ORDER, "compares some of the undone steps only")
    for story in ("crash_then_back", "crash_in_undo"):
        yield from all_edited(story, edits.swapped(recorded("sound", story), "t-1"), ORDER, "compares the steps of one worker or attempt only")
    yield broken("no_reverse.stuck_last", ORDER, "lets any order pass where an undo has failed")
    for story in ("stuck_middle", "stuck_first", "stuck_last"):
        yield from all_edited(story, edits.swapped(recorded("sound", story), "t-1"), ORDER, "lets any order pass where an undo has failed")
    yield from (broken(f"no_reverse.{story}", ORDER, MIXED) for story in ("two_sagas", "two_taken_back", "crowd"))
    for task in ("t-1", "t-2"):
        yield from all_edited("two_taken_back", edits.swapped(recorded("sound", "two_taken_back"), task), ORDER, MIXED)


def _untold() -> Iterator[Row]:
    yield broken("told_after.crash_at_end", UNTOLD, "does not see that nobody was told of an end")
    for story in ("refused", "taken_back"):
        trace = next(edits.without_ends(recorded("sound", story)))
        yield edited(f"sound.{story}, edited", trace, UNTOLD, "does not see that nobody was told of a failure")
    for story in ("cancelled", "withdrawn"):
        trace = next(edits.without_ends(recorded("sound", story)))
        yield edited(f"sound.{story}, edited", trace, UNTOLD, "does not see that nobody was told of a cancel")
    for story in EDITED:
        yield from all_edited(story, edits.without_ends(recorded("sound", story)), UNTOLD, "looks at the ends of some tasks only")


def _told_twice() -> Iterator[Row]:
    yield broken("told_before.crash_at_news", TOLD_TWICE, "does not see that an end was told twice")
    yield broken("told_before.late", TOLD_TWICE, "does not see that an end was told by a zombie too")
    calm, refused = recorded("sound", "calm"), recorded("sound", "refused")
    same, other = edits.doubled_ends(refused, other=False), edits.doubled_ends(calm, other=True)
    yield edited("sound.refused, edited", next(same), TOLD_TWICE, "does not see that a failure was told twice")
    yield edited("sound.calm, edited", next(other), TOLD_TWICE, "does not see that two different ends of one task were told")
    for story in ("calm", "cancelled", "crowd"):
        yield from all_edited(story, edits.told_of_another(recorded("sound", story)), TOLD_TWICE, "counts the ends of all tasks together")
    for story in EDITED:
        for word in (False, True):
            yield from all_edited(story, edits.doubled_ends(recorded("sound", story), word), TOLD_TWICE, "looks at some of the ends only")


def _fenced() -> Iterator[Row]:
    yield from (fine(story, FENCED) for story in ("late", "awake", "late_in_saga", "namesakes"))
    yield _third_fenced()


def _failed() -> Iterator[Row]:
    yield fine("refused", "takes a failed task for a broken run")
    yield from (fine(story, "takes an attempt that failed for the end of its task") for story in ("shaky", "shaky_twice"))


def _cancelled() -> Iterator[Row]:
    yield fine("withdrawn", "takes a task that nobody claimed before it was cancelled for a broken run")
    yield fine("cancelled", "takes a task that was cancelled under its worker for a broken run")


def _all_fine(why: str, *stories: str) -> Rows:
    return Rows(lambda: (fine(story, why) for story in stories))


FINE = {
    "calm": _all_fine("raises a false alarm when nothing went wrong", "calm"),
    "nothing": _all_fine("raises a false alarm when there are no tasks", "nothing"),
    "reclaimed": _all_fine(AGAIN, "crash", "restart", "crash_in_saga", "crash_at_end", "crash_at_news"),
    "fenced": Rows(_fenced),
    "failed": Rows(_failed),
    "cancelled": Rows(_cancelled),
    "undone": _all_fine(SAGA, "taken_back", "taken_back_early", "crash_in_undo", "crash_then_back"),
    "stuck": _all_fine(STUCK, "stuck_middle", "stuck_first", "stuck_last"),
    "crowd": _all_fine(MIXED, "two_sagas", "two_taken_back", "crowd"),
}
BROKEN = {
    "lost": Rows(_lost),
    "doubled": Rows(_doubled),
    "zombies": Rows(_zombies),
    "orders": Rows(_orders),
    "untold": Rows(_untold),
    "told_twice": Rows(_told_twice),
}
