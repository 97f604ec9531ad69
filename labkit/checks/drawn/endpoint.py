"""Drawn requests of `endpoint`: other texts, ids, priorities and keys, and other seconds after which a full queue can be asked again.

Not handled here: odd bodies (the fixed cases have them), and sending (see `endpoint_play`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random

from labkit.checks.drawn.words import name, text
from labkit.checks.endpoint_cases import FULL, LOST, LOST_KEY, MISSING, NOT_202, REFUSED, ROUNDS, Row, sent


def rows(rng: Random) -> dict[str, Sequence[Row]]:
    """Requests by the fixed case that they are like."""
    return {"accepts": [_task(rng)], "priorities": [_urgent(rng)], "keys": [_keyed(rng)], "bad_texts": [_no_text(rng)], "full": [_full(rng)]}


def _task(rng: Random) -> Row:
    said = text(rng)
    return sent("a drawn task", {"user_input": said}, text=said, task_id=name(rng), pieces=rng.randrange(1, 4), wrong=NOT_202)


def _urgent(rng: Random) -> Row:
    said, priority = text(rng), rng.choice((-1, 1)) * rng.randrange(10, 900)
    return sent(f"priority {priority}", {"user_input": said, "priority": priority}, text=said, priority=priority, task_id=name(rng), wrong=LOST)


def _keyed(rng: Random) -> Row:
    said, key = text(rng), name(rng)
    headers = (("Idempotency-Key", key),)
    return sent(f"the key {key}", {"user_input": said}, text=said, key=key, headers=headers, task_id=name(rng), wrong=LOST_KEY)


def _no_text(rng: Random) -> Row:
    return sent("a drawn field in place of user_input", {name(rng): text(rng)}, wants=REFUSED, wrong=MISSING)


def _full(rng: Random) -> Row:
    said, asked = text(rng), round(rng.uniform(3, 900), 1)
    fields = {"user_input": said}
    return sent(f"a full queue that asks for {asked:g} s", fields, wants=FULL, text=said, full=asked, seconds=str(ceil(asked)), wrong=ROUNDS)
