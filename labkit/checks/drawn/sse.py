"""Drawn stories of `sse`: other tasks, positions and texts, and other places at which a client goes on.

In plain letters: who loses others is told so by the fixed cases, and not by a drawn one that it loses updates.

Not handled here: clients that leave and odd texts (the fixed cases have them), and playing a story (see `sse_play`).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from labkit.checks.drawn.words import line, name, names
from labkit.checks.sse_stories import REST, UNKNOWN, Entry, Story, add
from labkit.progress.update import ProgressUpdate


def stories(rng: Random) -> dict[str, Sequence[Story]]:
    """Stories by the fixed case that they are like."""
    return {"requests": [_unknown(rng)], "live": [_live(rng)], "ends": [_ended(rng)], "resumes": [_going_on(rng)]}


def _entries(rng: Random, task: str) -> list[Entry]:
    """What a task told, to its end, at positions with gaps."""
    count = rng.randrange(3, 9)
    states = [*(rng.choice(("thinking", "tool_call", "tool_result")) for _ in range(count - 1)), rng.choice(("completed", "error"))]
    positions = sorted(rng.sample(range(13, 900), count))
    told = [
        ProgressUpdate(task_id=task, step=step, status=state, message=line(rng), total_step=count, tool=name(rng))  # type: ignore[arg-type]
        for step, state in enumerate(states, 1)
    ]
    return list(zip(positions, told, strict=True))


def _story(says: str, task: str, entries: Sequence[Entry], **more: object) -> Story:
    return Story(says, entries, query=f"task_id={task}", task_id=task, **more)  # type: ignore[arg-type]


def _unknown(rng: Random) -> Story:
    task, other = names(rng, 2)
    entries = _entries(rng, task)
    return Story("a drawn task that is unknown", entries, there=len(entries), query=f"task_id={other}", task_id=task, wants=404, wrong=UNKNOWN)


def _live(rng: Random) -> Story:
    task = name(rng)
    entries = _entries(rng, task)
    there = rng.randrange(len(entries) - 1)
    steps = [step for _ in entries[there:] for step in (add(), REST)]
    return _story("drawn updates that come one by one", task, entries, steps=(REST, *steps), there=there)


def _ended(rng: Random) -> Story:
    task = name(rng)
    entries = _entries(rng, task)
    return _story("a drawn task that has ended", task, entries, there=len(entries))


def _going_on(rng: Random) -> Story:
    task = name(rng)
    entries = _entries(rng, task)
    seen = rng.choice(entries[:-1])[0]
    return _story(f"Last-Event-ID {seen}", task, entries, there=len(entries), last=str(seen), after=seen)
