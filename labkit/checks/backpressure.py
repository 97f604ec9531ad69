"""The exercise `backpressure`: a queue that says no in time, counts rightly when several submit at once, and knows a request by its key.

Two and three submitters at once, starting just below the limit, in every order within two preemptions, on both databases.

Not handled here: what becomes of a failed task whose key comes again (the library runs it anew).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from sqlalchemy import Executable, event, insert, update

from labkit.checks import backpressure_many as many
from labkit.checks import backpressure_races as races
from labkit.checks import backpressure_rules as rules
from labkit.checks.claims import AWAY, case
from labkit.checks.common import after_crash, crash_rule, crashed, ends, outcome_of
from labkit.checks.drawn import backpressure as drawn
from labkit.checks.drawn.backpressure import Asked
from labkit.checks.exercise import Case, Exercise, Property
from labkit.checks.naps import naps_of
from labkit.checks.rows import Row, meanwhile, stored
from labkit.checks.rows import row as row_at
from labkit.faults.process import Process
from labkit.tables import tasks

NAME = "submit"
STATES = ("pending", "running", "waiting", "completed", "failed", "cancelled")
ONE = ("accepts",)
LIMITS = ("two_at_the_limit", "three_at_the_limit", "two_with_room")


def _ask(submit: Any, process: Process, text: str, most: int, key: str | None = None) -> Any:
    with naps_of(process):
        if key is None:
            return submit(process.engine, text, max_pending=most, now=rules.NOW)
        return submit(process.engine, text, max_pending=most, now=rules.NOW, idempotency_key=key)


def row(task_id: str, state: str = "pending", *, made: float = -3600.0, due: float = -60.0, **fields: Any) -> Row:
    """A row whose times are seconds from when one submits."""
    return row_at(task_id, state, made=made + rules.BEFORE, due=due + rules.BEFORE, **fields)


def _one_by_one(asked: Sequence[Asked | Executable], submit: Any, process: Process) -> Any:
    """Submit one after the other; what each was told, and the rows after it. A statement among them is what others do meanwhile.

    Notes how many connections were not given back.
    """
    process.note("connections", "0")
    out: list[int] = []
    event.listen(process.engine, "checkout", lambda *_: out.append(1))
    event.listen(process.engine, "checkin", lambda *_: out.append(-1))
    told: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    for one in asked:
        if not isinstance(one, tuple):
            meanwhile(process, one)
            before = {"before": stored(process)}
            continue
        ended = outcome_of(partial(_ask, submit, process, *one))
        told.append({"asked": list(one), "rows": stored(process)} | before | ended)
        before = {}
    process.note("connections", str(sum(out)))
    return told


def _alone(name: str, rows: Sequence[Any], *asked: Asked | Executable) -> Case:
    return case(name, rows, partial(_one_by_one, asked), claim=NAME)


def _submits(text: str, most: int, key: str | None = None) -> Callable[[Any, Process], Any]:
    return lambda submit, process: _ask(submit, process, text, most, key)


def _then_away(submit: Any, process: Process) -> Any:
    made = _ask(submit, process, "shop", 10)
    process.note("submitted")
    process.clock.sleep(AWAY)
    return made


def _at_once(name: str, rows: int, room: int, *calls: Callable[[Any, Process], Any], **options: Any) -> Case:
    """`rows` are pending, and there is room for `room` more."""
    facts = {"room": room, "most": rows + room}
    waiting = [row(f"r{number}") for number in range(rows)]
    race = {"engine": "interleave", "alike": True, **options}
    return case(name, waiting, *calls, claim=NAME, facts=facts, **race)


BUSY = [
    row("here"),
    row("soon", due=9.0),
    row("tomorrow", due=90_000.0),
    *(row(state, state, worker_id="w0", attempt=1) for state in STATES[1:]),
]
FILLING: list[Asked | Executable] = [
    ("4th", 4, None),
    ("5th", 4, "order 8"),
    ("5th", 5, "order 8"),
    ("6th", 5, None),
    update(tasks).where(tasks.c.id == "here").values(state="running", worker_id="w9"),  # there is room for one
    ("6th", 5, None),
    insert(tasks).values(row("of another")),  # another process was faster
    ("7th", 6, None),
    ("8th", 1, None),
]
TEXT = " café ☕\n" * 2000  # as long as it is, and with the blanks at its ends
LONG = "Shop%_order-10/" + "0" * 250 + "1"
LIKE = {  # other keys, each of which somebody takes for it
    "in another case": LONG.swapcase(),
    "with another end": f"{LONG[:-1]}2",
    "the beginning of a known one": LONG[:-1],
    "a known one that goes on": f"{LONG}0",
    "a known one with a blank": f"{LONG} ",
    "with _ where a known one has -": LONG.replace("-", "_"),
    "with % where a known one has more": LONG.replace("0" * 250, "%"),
    "with - where a known one has _": LONG.replace("_", "-"),
}
KNOWN = [
    *(row(f"old {state}", state, idempotency_key=f"key {state}", attempt=1) for state in STATES),
    row("old one", "completed", idempotency_key="", attempt=1),
]
LONG_AGO = row("long ago", "completed", made=-400 * rules.DAY, idempotency_key=LONG, attempt=1)
KEYS = {f"key_of_{state}": f"key {state}" for state in STATES} | {"empty_key": ""}


def _again(key: str) -> list[Asked]:
    """A known key comes again: there is room, the queue is full, and it takes nobody at all."""
    return [("something else", most, key) for most in (100, 1, 0)]


def _drawn(rng: Random) -> tuple[Case, ...]:
    waiting, asked = drawn.filling(rng)
    state, known, again = drawn.known(rng)
    return (
        _alone("accepts", [], *drawn.accepted(rng)),
        _alone("limit", [row(one, of, due=due) for one, of, due, _ in waiting], *asked),
        _alone(f"key_of_{state}", [row(one, of, due=due, idempotency_key=key) for one, of, due, key in known], *again),
    )


EXERCISE = Exercise(
    id="backpressure",
    title="A queue that says no",
    chapter=21,
    origin="C",
    minutes=30,
    difficulty=3,
    points=15,
    essential=("says no", "never too many", "one key, one task"),
    signatures={NAME: ("engine", "user_input", "*max_pending", "*now", "*idempotency_key")},
    shown=("two_at_the_limit:none;order=1x2.2x9", "two_at_the_limit:none;order=1x3.2x9"),
    cases=(
        _alone("accepts", [], ("shop", 9, None), ("shop", 9, None), (TEXT, 9, LONG), ("x", 9, None)),
        _alone("limit", BUSY, *FILLING),
        _alone("zero", BUSY[3:], ("shop", 0, None), ("shop", 0, "order 9")),
        *(_alone(name, KNOWN, *_again(key)) for name, key in KEYS.items()),
        _alone(
            "new_key",
            [*KNOWN, LONG_AGO],
            ("new", 1, "order 10"),
            ("new", 2, "order 10"),
            ("newer", 2, "order 10"),
            *((like, 99, key) for like, key in LIKE.items()),
            ("of long ago", 99, LONG),
        ),
        case("very_many", [], many.submit_many, claim=NAME, databases=("sqlite",), on_file=False),
        _at_once("two_at_the_limit", 1, 1, *[_submits("shop", 2)] * 2),
        _at_once("three_at_the_limit", 1, 2, *[_submits("shop", 3)] * 3, costly=True),
        _at_once("two_with_room", 0, 2, *[_submits("shop", 5)] * 2),
        _at_once("one_key", 0, 9, *[_submits("shop", 9, "order 7")] * 2),
        _at_once("one_key_one_place", 0, 1, *[_submits("shop", 1, "order 7")] * 2),
        _at_once("at_work", 0, 2, _then_away, _then_away, preemptions=0),
        case("crashes", [row("here")], _submits("shop", 2, "order 7"), claim=NAME, engine="sweep"),
    ),
    drawn=_drawn,
    properties=(
        Property("each is its own", "two submits without a key are two tasks", rules.own, ONE, rules.stored_some),
        Property("never clashes", "of very many tasks each has an id of its own", many.no_clash, ("very_many",), many.accepted),
        Property("accepts", "a task is stored and its id returned", rules.accepts, ONE, rules.stored_some),
        Property(
            "stores it whole",
            "pending, due at once, with its input and its key",
            rules.stores,
            ("accepts", "limit"),
            rules.stored_some,
        ),
        Property(
            "counts what is pending",
            "as many as max_pending, in no other state",
            rules.counts,
            ("limit",),
            rules.stored_some,
        ),
        Property("none for nobody", "max_pending 0 is always full", rules.zero, ("zero",), needs="accepts"),
        Property(
            "says no",
            "full is QueueFull, and nothing is stored",
            rules.says_no,
            ("limit", "zero", "new_key"),
            rules.refused_some,
            needs="accepts",
        ),
        Property(
            "says when",
            "QueueFull says after how many seconds to come again",
            rules.says_when,
            ("limit", "zero"),
            rules.refused_some,
            needs="accepts",
        ),
        Property(
            "knows its keys",
            "a known key gives its task's id, whatever its state, and no other key does",
            rules.knows,
            (*KEYS, "new_key"),
            rules.knew_some,
        ),
        Property(
            "key before limit",
            "a known key is answered when the queue is full",
            rules.key_first,
            (*KEYS, "new_key"),
            rules.knew_some,
            unless=("knows its keys",),
        ),
        Property(
            "gives its connection back",
            "no call keeps a connection",
            rules.gives_back,
            ("accepts", "limit"),
            rules.stored_some,
        ),
        Property(
            "lets others work",
            "nobody waits for one who has submitted",
            races.does_not_wait,
            ("at_work",),
            races.both_accepted,
        ),
        Property(
            "nothing half-written",
            "a crash leaves the whole task or none of it",
            races.whole,
            ("crashes",),
            crashed,
            unless=("stores it whole",),
        ),
        Property(
            "never too many",
            "submitters at once never exceed the limit",
            races.never_too_many,
            LIMITS,
            races.accepted,
        ),
        Property("uses its room", "nobody is refused while there is room", races.uses_room, LIMITS, races.accepted),
        Property("one key, one task", "two at once under one key get one id", races.one_key, ("one_key",)),
        Property("one key, one place", "also when there is room for one only", races.one_key, ("one_key_one_place",)),
        Property(
            "no error leaks", "at once nobody hears of anything but QueueFull", races.no_error, LIMITS, races.accepted
        ),
        Property(
            "once after a crash", "asked again after a crash, there is one task", races.once, ("crashes",), after_crash
        ),
        crash_rule("crashes"),
        ends(),
    ),
    hints=(
        "Two submitters count at the same moment, one place is left. What does each of them see, and what does it do? Counting and inserting must be one act.",
        "On SQLite `write_transaction` is enough: it holds the write lock while you count. On PostgreSQL rows that are not there yet cannot be locked: let each"
        " submitter take one lock first, `pg_advisory_xact_lock(n)` or LOCK TABLE. Inside, the order is: key, count, insert.",
        "`with write_transaction(engine) as connection:` take the lock on PostgreSQL; with a key, look for its id and return it; count the pending ones, and "
        "`raise QueueFull(retry_after=1.0)` if there are `max_pending` or more; insert id, user_input, the three times and the key; return the id.",
    ),
)
