"""What damage to a snapshot is noticed: every way to cut a stored text short, and every single changed digit and letter.

A text that cannot be parsed says so by itself. A digit that is another one does not: only the checksum of what was written
tells that apart. Here both are asked about each damaged text, and a real row is damaged to see what a resume says.

Not handled here: two changes that together have the same checksum, which nobody has ever seen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import text

from labkit.checkpoint import CheckpointManager, CheckpointStore
from labkit.checkpoint.data import checksum_of, decode, encode
from labkit.clock import STORY_BEGINS, VirtualClock
from labkit.database import open_engine, writing
from labkit.faults.chart_table import Table, bad, good, table
from labkit.lessons.checkpoints import DAY, TASK
from labkit.lessons.story import APP
from labkit.tables import create_tables
from labkit.task import Task, TaskState

RUNNING = Task(TASK, f"roll out {APP}", TaskState.RUNNING, created_at=STORY_BEGINS, updated_at=STORY_BEGINS)


def stored_text() -> str:
    """A checkpoint as it is stored."""
    return encode(vars(RUNNING) | {"extra": {"done": 27}})


def damages() -> Iterator[tuple[str, str, str]]:
    """(kind, text, the task that it is read as): all cuts, all single changed digits and letters, and the row of another task."""
    whole = stored_text()
    for place, sign in enumerate(whole):
        yield "cut short", whole[:place], TASK
        before, after = whole[:place], whole[place + 1 :]
        if sign.isdigit():
            yield "a digit is another", f"{before}{(int(sign) + 1) % 10}{after}", TASK
        if sign.isalpha():
            yield "a letter is another", f"{before}{'y' if sign == 'x' else 'x'}{after}", TASK
    yield "it is another task's", whole, f"deploy-{APP}"


def noticed() -> Table:
    """Of each kind of damage: how many ways there are, how many a JSON parser notices, and how many the checksum."""
    found: dict[str, list[int]] = {}
    checksum = checksum_of(TASK, stored_text())
    for kind, damaged, task_id in damages():
        seen = (True, is_no_json(damaged), decode(task_id, damaged, checksum) is None)
        found[kind] = [count + one for count, one in zip(found.get(kind, [0, 0, 0]), seen, strict=True)]
    rows = [[kind, ways, *((good if n == ways else bad)(n) for n in seen)] for kind, (ways, *seen) in found.items()]
    return table(["damage", "ways", "the parser sees", "the checksum sees"], rows)


def is_no_json(damaged: str) -> bool:
    """Whether a parser refuses it."""
    try:
        return not isinstance(json.loads(damaged), dict)
    except ValueError:
        return True


def one_digit_changed() -> tuple[CheckpointStore, CheckpointManager]:
    """Three checkpoints in a real database, and a disk that made a 1 of a 3 in the newest."""
    engine, clock = open_engine("sqlite://"), VirtualClock()
    create_tables(engine)
    store = CheckpointStore(engine, now=clock.now)
    manager = CheckpointManager(store, clock, strategy="every_step", max_age=DAY, max_count=3)
    for done in (1, 2, 3):
        manager.maybe_save(RUNNING, "every_step", extra={"done": done})
    changed = text("UPDATE checkpoints SET data = replace(data, :was, :is) WHERE seq = 3")
    with writing(engine) as connection:
        connection.execute(changed, {"was": '"done":3', "is": '"done":1'})
    return store, manager
