"""What becomes of a claim: two workers in every order, and one that dies at every place of its claim.

Two tasks are due, `shop` before `blog`, so there is one for each worker. A worker deploys the first task that its claim
hands out, and without a key, so that the cloud shows how often a task was handed out. The words are found in the runs:
*doubled* is a task with two containers, *lost* one that is marked as running and has none, *error* an error that came
out of a claim, *blocked* a claim that waited for a row while the other task was free, *right* all else.

Not handled here: which words stand in the table (see `claim_grid`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Engine, insert

from labkit.faults import End, Process, Scenario, Schedule, Trace, open_world, run_once
from labkit.faults.interleave import interleave_runs
from labkit.faults.runner import Runner
from labkit.faults.scenario import Body
from labkit.faults.schedule import Token
from labkit.faults.strip import Strip, strip
from labkit.faults.trace import Line
from labkit.faults.world import World
from labkit.lessons.story import APP
from labkit.tables import tasks

Claim = Callable[[Engine, str, datetime], list[str]]
Runs = list[tuple[str, str]]  # (token, word)

RIGHT, BLOCKED, ERROR, LOST, DOUBLED = WORDS = ("right", "blocked", "error", "lost", "doubled")  # the worst is last
APPS = (APP, "blog")
AWAY = 3600.0  # seconds until the next worker comes; any lease is over by then
DATABASES = {"SQLite": "sqlite", "PostgreSQL": "postgres"}


def two_due(process: Process) -> None:
    """A setup: both tasks are pending, `shop` is the older one."""
    now = process.clock.now()
    ages = [timedelta(minutes=len(APPS) - number) for number in range(len(APPS))]
    rows = [
        {"id": app, "user_input": f"deploy {app}", "created_at": now - age, "available_at": now, "updated_at": now}
        for app, age in zip(APPS, ages, strict=True)
    ]
    with process.engine.begin() as connection:
        connection.execute(insert(tasks), rows)


def worker(claim: Claim, name: str) -> Body:
    """Claims once, and deploys what it was given. It counts on one task."""

    def body(process: Process) -> list[str]:
        given = claim(process.engine, name, process.clock.now())[:1]
        for task_id in given:
            process.cloud.deploy_container(task_id)
        return given

    return body


def next_worker(claim: Claim) -> Body:
    """Comes an hour later and claims until nothing is left."""

    def body(process: Process) -> list[str]:
        process.clock.sleep(AWAY)
        taken: list[str] = []
        while len(taken) <= len(APPS) and (given := worker(claim, "w2")(process)):
            taken += given
        return taken

    return body


def deployed_once(end: End) -> str | None:
    """An invariant: no task is deployed twice."""
    twice = [app for app in APPS if end.count("deploy_container", app) > 1]
    return f"{twice[0]} was deployed twice" if twice else None


def none_lost(end: End) -> str | None:
    """An invariant: a task that is marked as running was deployed."""
    running = [app for app in APPS if end.tasks[app]["state"] == "running"]
    lost = [app for app in running if not end.count("deploy_container", app)]
    return f"{lost[0]} is running, says its row, and nobody is at it" if lost else None


def nobody_fails(end: End) -> str | None:
    """An invariant: no error comes out of a claim."""
    failed = [o for o in end.outcomes if o.how == "raised"]
    return f"{failed[0].process} {failed[0]}" if failed else end.deadlock or None


RULES = {deployed_once: DOUBLED, none_lost: LOST, nobody_fails: ERROR}  # the first that is broken says the word


def at_once(claim: Claim) -> Scenario:
    """Two workers claim at the same time."""
    return Scenario(claim.__name__, [worker(claim, "w1"), worker(claim, "w2")], [*RULES], setup=two_due)


def dies(claim: Claim) -> Scenario:
    """One worker claims; when it dies, the next one comes an hour later."""
    return Scenario(claim.__name__, worker(claim, "w1"), [*RULES], setup=two_due, recover=next_worker(claim))


def word_of(end: End) -> str:
    """What an end shows. Whether somebody waited it does not show."""
    return next((word for rule, word in RULES.items() if rule(end)), RIGHT)


def waiting(trace: Trace) -> str:
    """Who waited inside a statement for a row that another had locked, or "".

    On SQLite nobody is said to: there is one lock for the file, for which every writer waits a moment, whatever it asks.
    """
    if "/postgres:" not in trace.token:
        return ""
    inside: dict[str, Line] = {}
    for line in (line for line in trace.lines if line.kind == "cross"):
        stuck = [name for name in inside if name != line.process]
        if stuck:  # subtle: who moves to its next call leaves none open; so this one is stuck in it
            return stuck[0]
        inside = {line.process: line} if line.side == "before" else {}
    return ""


def every_order(claim: Claim, world: World) -> Runs:
    """(token, word) of every order of two workers within two preemptions, in the order of the orders."""
    runner, found = Runner(at_once(claim), world), []
    for end, order in list(interleave_runs(runner)):
        schedule, word = Schedule.parse(order), word_of(end)
        if word == RIGHT and world.database.kind == "postgres" and waiting(runner.replay(schedule)[1]):
            word = BLOCKED
        found.append((schedule.order, end.token, word))
    return [(token, word) for _, token, word in sorted(found)]


def every_place(claim: Claim, world: World) -> Runs:
    """(token, word) of one crash at each side of each statement of a claim, each run followed to its end."""
    runner = Runner(dies(claim), world)
    lines = runner.replay(Schedule())[1].lines
    places = [f"p1@{line.number}.{line.side}+crash" for line in lines if line.boundary == "sql"]
    ends = [runner.replay(Schedule.parse(place))[0] for place in places]
    return [(end.token, word_of(end)) for end in ends]


def in_every_order(claim: Claim, database: str = "sqlite") -> Runs:
    """The same as `every_order`, in a world of its own."""
    with open_world(database) as world:
        return every_order(claim, world)


def at_every_place(claim: Claim, database: str = "sqlite") -> Runs:
    """The same as `every_place`, in a world of its own."""
    with open_world(database) as world:
        return every_place(claim, world)


def shown(claim: Claim, order: str, database: str = "sqlite") -> Trace:
    """The trace of one order of two workers, such as 1x4.2x9; it says too when somebody waits for a row."""
    trace = run_once(at_once(claim), f"none;order={order}", database)
    who = "" if trace.broken else waiting(trace)
    return trace.with_broken([("nobody_waits", f"{who} waits for a row, and the other task is free")] if who else [])


def look_first(trace: Trace) -> bool:
    """Whether both have looked before one of them has committed what it took."""
    done = [line.label.split()[0] for line in trace.lines if line.kind == "cross" and line.side == "after"]
    return done[: done.index("COMMIT")].count("SELECT") > 1


def orders(claim: Claim, database: str = "sqlite") -> Strip:
    """A cell for each order of two workers that look and take, sorted by whether both look before one has taken."""
    rows: dict[bool, list[tuple[str, str, str]]] = {True: [], False: []}
    with open_world(database) as world:
        empty = world.photograph()
        runs = every_order(claim, world)
        world.put_back(empty)
        runner = Runner(at_once(claim), world)
        for token, word in runs:
            first = look_first(runner.replay(Token.parse(token).schedule)[1])
            rows[first].append((token, "holds" if word == RIGHT else "broken", word))
    named = (("both look first", rows[True]), ("one commits first", rows[False]))
    return strip(named, each="a cell is one order of two workers")
