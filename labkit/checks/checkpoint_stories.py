"""What the answer of `checkpoint` finds: for each call the checkpoints that lie there, what must come of it, and what another end says.

Not handled here: making the calls (see `checkpoint_cases`), and judging them (see the rules).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from labkit.checks.checkpoint_shelf import HOUR, Row

DAY = 86_400.0
NOT_FOUND, CORRUPT = "CheckpointNotFound", "CheckpointCorrupt"
NOT_RESUMABLE, EXPIRED = "CheckpointNotResumable", "CheckpointExpired"
ERRORS = (NOT_FOUND, CORRUPT, NOT_RESUMABLE, EXPIRED)

NO_AGE = "resumes yesterday's world: the age is not looked at"
AGE_FIRST = "looks at the age before the state"
EXACTLY = "exactly as old as allowed is taken for too old"
SECONDS = "takes .seconds of a timedelta: whole days are left out"
WHOLE_SECONDS = "cuts the age to whole seconds"
OLD_NOW = "asks the time once, when the manager is made"
FALLS_BACK = "falls back on an older checkpoint when the newest cannot be used"
BY_TIME = "newest by time: after the clock was stepped back an older state is resumed"
BY_TEXT = "compares the numbers as text"
BY_PLACE = "takes a place in the list for a number"
OLDEST = "takes the oldest for the newest"
TASKS_AGE = "asks when the task was written, and not when the checkpoint was"
FUTURE = "a time that lies ahead is taken for old: the clock was stepped back"
WALL = "takes the time of another place for its own: an offset from UTC is cut off"
NO_CHECKSUM = "does not ask whether the checkpoint is intact"
OTHERS_DAMAGE = "an older damaged checkpoint stops the newest"


@dataclass(frozen=True)
class Resume:
    """One call of `validate_and_resume`. `wanted` is the number of the checkpoint that is returned, or the error."""

    id: str
    rows: tuple[Row, ...]
    wanted: int | str
    why: str  # what another end says about the answer
    max_age: timedelta = HOUR


def _lone(state: str, age: float, wanted: int | str, why: str, max_age: timedelta = HOUR, damage: str = "") -> Resume:
    name = f"{damage} {state} {age:g} of {max_age.total_seconds():g}".strip()
    return Resume(name, (Row(3, age, state, damage),), wanted, why, max_age)


RESUMES: dict[str, tuple[Resume, ...]] = {  # property -> what it looks at, the most telling first
    "found": (
        *(_lone(s, 1200.0, 3, f"refuses a {s} task, which can go on") for s in ("running", "waiting", "failed")),
        _lone("completed", 1200.0, 3, "refuses a completed task, which is to be handed back"),
    ),
    "state": (
        *(_lone(s, 1200.0, NOT_RESUMABLE, f"goes on from a {s} task") for s in ("pending", "cancelled")),
        *(_lone(s, 7200.0, NOT_RESUMABLE, AGE_FIRST) for s in ("pending", "cancelled")),
    ),
    "completed": (_lone("completed", 4 * DAY, 3, "an old completed checkpoint is expired: what is done does not age"),),
    "age": (
        _lone("running", 7200.0, EXPIRED, NO_AGE),
        *(_lone(s, 7200.0, EXPIRED, f"the age of a {s} task is not looked at") for s in ("waiting", "failed")),
        *(_lone(s, 3600.0, 3, EXACTLY) for s in ("running", "waiting", "failed")),
        _lone("running", 3900.0, EXPIRED, OLD_NOW),
        _lone("running", 3 * DAY + 60.0, EXPIRED, SECONDS),
        _lone("running", DAY, 3, SECONDS, timedelta(days=2)),
        _lone("running", 3600.25, EXPIRED, WHOLE_SECONDS),
        _lone("running", -4000.0, 3, FUTURE),
        Resume("saved long after", (Row(3, 1200.0, written=9000.0),), 3, TASKS_AGE),
        Resume("written since", (Row(3, 7200.0, written=10.0),), EXPIRED, TASKS_AGE),
        Resume("fresh in the west", (Row(3, 1200.0, east=-5),), 3, WALL),
        Resume("old in the east", (Row(3, 7200.0, east=5),), EXPIRED, WALL),
    ),
    "newest": (
        Resume("some", (Row(1, 900.0), Row(2, 800.0, "waiting"), Row(3, 700.0)), 3, OLDEST),
        Resume("clock stepped back", (Row(5, 600.0), Row(9, 3000.0, "failed")), 9, BY_TIME),
        Resume("ten", tuple(Row(seq, 2000.0 - seq) for seq in range(7, 12)), 11, BY_TEXT),
        Resume("gaps", (Row(2, 900.0), Row(11, 800.0), Row(12, 700.0)), 12, BY_PLACE),
        Resume("too old by a step back", (Row(5, 600.0), Row(9, 7200.0)), EXPIRED, FALLS_BACK),
        Resume("cancelled in the end", (Row(1, 900.0), Row(2, 600.0, "cancelled")), NOT_RESUMABLE, FALLS_BACK),
    ),
    "damaged": (
        Resume("changed", (Row(1, 900.0), Row(2, 600.0, damage="changed")), CORRUPT, NO_CHECKSUM),
        Resume("torn", (Row(1, 900.0), Row(2, 600.0, damage="torn")), CORRUPT, NO_CHECKSUM),
        _lone("running", 600.0, CORRUPT, NO_CHECKSUM, damage="torn"),
        _lone("running", 7200.0, CORRUPT, "looks at the age before the damage", damage="torn"),
        _lone("running", 7200.0, CORRUPT, "looks at the age before the damage", damage="changed"),
        _lone("cancelled", 600.0, CORRUPT, "believes the state in damaged data", damage="changed"),
        _lone("completed", 600.0, CORRUPT, "believes the state in damaged data", damage="changed"),
        Resume("torn before", (Row(1, 900.0, damage="torn"), Row(2, 600.0)), 2, OTHERS_DAMAGE),
    ),
    "missing": (Resume("nobody", (), NOT_FOUND, "an empty list is not thought of"),),
}


@dataclass(frozen=True)
class Cleanup:
    """One call of `cleanup`. `why` says what it means that the newest went, or that another one went or stayed."""

    id: str
    rows: tuple[Row, ...]
    max_count: int
    newest_gone: str = "cleanup deletes the newest"
    gone: str = "cleanup deletes more than it must"
    stayed: str = "what is too old stays"
    crowded: str = "the count is not enforced"
    max_age: timedelta = HOUR


def _fresh(*seqs: int) -> tuple[Row, ...]:
    return tuple(Row(seq, 1000.0 - seq) for seq in seqs)


ZERO = "max_count=0 deletes the newest too"
OLD_NEWEST = "the newest is deleted when it is too old"
DAMAGED_NEWEST = "a damaged newest is deleted, and an older state is resumed instead"
DAMAGED_OLDER = "cleanup deletes what is damaged"
ONLY_WHEN_MANY = "the age is looked at only when there are too many"
BY_TIME_HERE = "the newest by time is kept instead of the newest by number"
NEEDS_STATE = "cleanup asks for the state, which does not matter here"
NO_LIMIT = "max_age of zero is taken for no limit"
COUNTS_INTACT = "damaged ones are not counted"

CLEANUPS = (
    Cleanup("six", _fresh(2, 3, 5, 8, 9, 12), 3),
    Cleanup("three", _fresh(2, 3, 5), 3),
    Cleanup("two", _fresh(4, 7), 3),
    Cleanup("none", (), 3),
    Cleanup("aged", (Row(1, 7300.0), Row(2, 7200.0), Row(3, 900.0), Row(4, 800.0)), 10, stayed=ONLY_WHEN_MANY),
    Cleanup("aged and many", (Row(1, 9000.0), Row(2, 7200.0), *_fresh(3, 4, 5, 6)), 3),
    Cleanup("all aged", (Row(1, 9000.0), Row(2, 8000.0), Row(4, 7200.0)), 3, OLD_NEWEST),
    Cleanup("one aged", (Row(6, 7200.0),), 3, OLD_NEWEST),
    Cleanup("zero", _fresh(1, 2, 3), 0, ZERO),
    Cleanup("zero of one", _fresh(7), 0, ZERO),
    Cleanup("one of four", _fresh(8, 9, 10, 11), 1, BY_TEXT, crowded="max_count=1 leaves more than one"),
    Cleanup("edge", (Row(1, 3600.25), Row(2, 3600.0), Row(3, 10.0)), 10, gone=EXACTLY, stayed=WHOLE_SECONDS),
    Cleanup("later", (Row(1, 3900.0), Row(2, 10.0)), 10, stayed=OLD_NOW),
    Cleanup("days", (Row(1, 3 * DAY + 60.0), Row(2, 10.0)), 10, stayed=SECONDS),
    Cleanup("within days", (Row(1, DAY), Row(2, 10.0)), 10, gone=SECONDS, max_age=timedelta(days=2)),
    Cleanup("east and west", (Row(1, 7200.0, east=5), Row(2, 1200.0, east=-5), Row(3, 10.0)), 10, gone=WALL, stayed=WALL),
    Cleanup("ahead", (Row(1, -4000.0), Row(2, 10.0)), 10, gone=FUTURE),
    Cleanup("stepped back", (Row(4, 100.0), Row(7, 3000.0), Row(8, 2900.0)), 1, BY_TIME_HERE),
    Cleanup("stepped far back", (Row(4, 100.0), Row(6, 7200.0), Row(7, 7300.0)), 10, BY_TIME_HERE, FALLS_BACK),
    Cleanup("stepped here and there", (Row(1, 100.0), Row(2, 7200.0), Row(3, 50.0), Row(4, 200.0)), 2),
    Cleanup("old in the end", (Row(1, 100.0), Row(2, 90.0), Row(3, 7200.0)), 2, OLD_NEWEST),
    Cleanup("no age at all", (Row(1, 10.0), Row(2, 5.0)), 10, stayed=NO_LIMIT, max_age=timedelta(0)),
    Cleanup("torn in the end", (*_fresh(1, 2), Row(3, 300.0, damage="torn")), 1, DAMAGED_NEWEST),
    Cleanup("changed in the end", (*_fresh(1, 2), Row(3, 300.0, damage="changed")), 10, DAMAGED_NEWEST),
    Cleanup("torn before", (Row(1, 500.0, damage="torn"), *_fresh(2, 3)), 10, gone=DAMAGED_OLDER),
    Cleanup("torn and many", (Row(1, 500.0, damage="torn"), *_fresh(2, 3)), 2, crowded=COUNTS_INTACT),
    Cleanup(
        "completed in the end", (Row(1, 900.0), Row(2, 800.0, "completed"), Row(3, 700.0, "completed")), 1, NEEDS_STATE
    ),
    Cleanup(
        "ended",
        (
            Row(1, 9000.0, "completed"),
            Row(2, 8000.0, "pending"),
            Row(3, 900.0, "cancelled"),
            Row(4, 800.0, "completed"),
        ),
        10,
        gone=NEEDS_STATE,
        stayed=NEEDS_STATE,
    ),
)
BYSTANDERS = {
    "bystander": (Row(1, 9 * DAY, "completed"), Row(2, 8 * DAY), Row(5, 7 * DAY, damage="torn"), *_fresh(6, 7, 8, 9))
}
LASTING = ("completed", "failed", "cancelled")
