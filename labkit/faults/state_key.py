"""The state key: the world's durable state as a short text in which two states that mean the same are equal.

A sweep goes on from each distinct state once, so what makes states distinct decides whether it ever ends, and whether it misses something. Times are
relative to now, random ids are renamed by first appearance, numbers that the database gives out by itself keep only their order, and what
counts or dates writes is dropped. So is what a log says again: a table that is one says so of itself, by `Table.info["log"]`.

Not handled here: a program whose behaviour hangs on what is dropped; it could go two ways from one key, and a sweep would follow one. And what
is no part of the world: a process's name and its randomness (the sweep sees that code asks for them, and then tells its processes apart).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from labkit.cloud import Effect
from labkit.faults.trace import UUID
from labkit.tables import metadata

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
DROPPED = ("version", "updated_at")  # they count or date writes: two states that differ only here go on alike
INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
# a checksum says again what the content says, and would tell apart what the dropped counters make equal
COUNTER = re.compile(r'"(?:version|updated_at)": *(?:\d+|"[^"]*")|\b[0-9a-f]{64}\b')


def state_key(
    now: datetime,
    step: float,
    ledger: Sequence[Effect],
    files: Mapping[str, str],
    late: Sequence[tuple[float, str]],
    rows: Rows,
    numbered: Mapping[str, Sequence[str]],
    *,
    exact: bool = False,
) -> str:
    """The key of a state. `numbered` names the columns of surrogate keys; `exact` drops and renumbers nothing."""
    state = {
        "rows": {
            name: _kept(found if exact else _news(name, found), () if exact else DROPPED, numbered.get(name, ()))
            for name, found in rows.items()
            if found
        },
        "effects": [asdict(effect) for effect in ledger] if exact else _effects(ledger),
        "files": files if exact else {name: COUNTER.sub("", content) for name, content in files.items()},
        "late": sorted((round(due, 6), label) for due, label in late),
        "step": step,
    }
    text = json.dumps(state, default=str, sort_keys=True)
    names: dict[str, str] = {}
    text = UUID.sub(lambda match: names.setdefault(match.group(), f"id-{len(names) + 1}"), text)
    text = INSTANT.sub(lambda match: _relative(match.group(), now, exact), text)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _kept(rows: Sequence[Mapping[str, Any]], dropped: Sequence[str], numbered: Sequence[str]) -> list[dict[str, Any]]:
    kept = [{name: value for name, value in row.items() if name not in dropped} for row in rows]
    for column in numbered:
        rank = {
            value: place for place, value in enumerate(sorted(row[column] for row in kept if row[column] is not None))
        }
        for row in kept:
            row[column] = rank.get(row[column])
    return kept


def _news(name: str, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The rows of a log that say something new; whoever begins again what a dead process began says the same again."""
    table = metadata.tables.get(name)
    log = table.info.get("log") if table is not None else None
    if log is None or any(not row.keys() >= {*log["of"], log["says"], log["number"]} for row in rows):
        return rows  # no log, or a table of that name that is not ours
    last: dict[tuple[Any, ...], Any] = {}
    kept: list[dict[str, Any]] = []
    for row in rows:
        of = tuple(row[column] for column in log["of"])
        if last.get(of) != row[log["says"]]:
            last[of] = row[log["says"]]
            kept.append({**row, log["number"]: len(kept)})
    return kept


def _effects(ledger: Sequence[Effect]) -> list[str]:
    # subtle: a third copy of one effect adds nothing that the second did not show, and would keep a broken program from ever closing
    times = Counter((e.name, e.target, e.key, e.changed) for e in ledger)
    return [f"{effect} x{min(count, 2)}" for effect, count in times.items()]  # in the order of their first copies


def _relative(instant: str, now: datetime, exact: bool) -> str:
    """An instant as seconds from now: the same state a minute later is the same state.

    Of a past one only that it is past: an age that grows while a broken program is restarted again and again would never let its states close.
    """
    try:
        when = datetime.fromisoformat(instant)
    except ValueError:  # it only looked like one
        return instant
    seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds()
    return f"{seconds:+.6f}s" if exact or seconds > 0 else "past"
