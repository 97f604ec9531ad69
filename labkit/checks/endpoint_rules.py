"""What must hold of `endpoint`, read off the responses and off what the queue was asked.

Not handled here: the event loop meanwhile (see `endpoint_loop_rules`), the requests (see `endpoint_cases`), and sending them (see `endpoint_play`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from labkit.checks.asgi import NOT_ASYNC
from labkit.checks.common import over_each
from labkit.checks.endpoint_cases import ACCEPTED, EITHER, FULL, NOT_202, ODD_TEXT, REFUSED, ROUNDS, Row
from labkit.checks.endpoint_play import WAITS
from labkit.checks.exercise import Finding, Seen
from labkit.faults.outcome import cut
from labkit.plural import counted

Came = dict[str, Any]
Find = Callable[[Seen, dict[str, Any]], Finding | None]
A_SECOND = 1.0  # of virtual time that an answer may take
OTHER_THAN_400 = "another status than 400 for a bad body"


def every(off: Callable[[Row, Came], Finding | None]) -> Find:
    """For a property's `find`: the first row of which `off` says why it is wrong."""
    return over_each("rows", off)


def answered(*wants: str) -> Callable[[Seen, dict[str, Any]], bool]:
    """For a property's `exercised`: whether a request of these kinds was answered at all."""

    def exercised(seen: Seen, facts: dict[str, Any]) -> bool:
        pairs = zip(facts["rows"], seen.end.last.value or (), strict=False)
        return any(came["status"] for row, came in pairs if not wants or row.wants in wants)

    return exercised


def submitted(seen: Seen, facts: dict[str, Any]) -> bool:
    return any(came["asked"] for came in seen.end.last.value or ())


def nothing(row: Row, came: Came) -> Finding | None:
    """Why no whole answer came, or None."""
    if came["status"]:
        return None
    if came["raised"]:
        return Finding(f"{row.says}: the handler raised {cut(came['raised'], 120)}", row.wrong or NOT_202)
    if came["how"] == NOT_ASYNC:
        return Finding(f"submit_task {NOT_ASYNC}", "a plain function where an `async def` is asked for")
    if came["how"] == WAITS:
        return Finding(f"{row.says}: the handler {WAITS}", "never ends")
    return Finding(f"{row.says}: the handler {came['how'] or 'sent no whole response'}", "returns no response")


def _said(row: Row, came: Came) -> str:
    return f"{row.says}: the answer was {came['status']} {cut(came['body'], 80)}".rstrip()


def accepted(row: Row, came: Came) -> Finding | None:
    """202 with the id that the queue gave."""
    if row.wants == EITHER and came["status"] == 400:
        return None
    if row.wants not in (ACCEPTED, EITHER):
        return None
    missing = nothing(row, came)
    if missing:
        return missing
    if row.wants == EITHER and came["status"] in (422, 415):
        return Finding(_said(row, came), OTHER_THAN_400)
    if came["status"] in (400, 422, 429):
        return Finding(_said(row, came), row.wrong if came["status"] != 429 else "429 though the queue is not full")
    if came["status"] != 202:
        return Finding(_said(row, came), "another status than 202 for a task that was accepted")
    if not came["asked"]:
        return Finding(f"{row.says}: 202, and submit was never called", "says 202 and queues nothing")
    told = _json(came["body"])
    if not isinstance(told, dict) or "task_id" not in told:
        return Finding(_said(row, came), "202 without the task_id in a JSON object")
    if told["task_id"] != row.task_id:
        said = f"{row.says}: submit returned {row.task_id!r}, and the answer says {told['task_id']!r}"
        return Finding(said, "another task_id than the queue's")
    return None


def given(place: int, what: str) -> Callable[[Row, Came], Finding | None]:
    """What `submit` was given at this place is what the client sent."""

    def off(row: Row, came: Came) -> Finding | None:
        wanted = (row.text, row.priority, row.key)[place]
        if not came["asked"] or row.wants not in (ACCEPTED, EITHER) or (row.wants == EITHER and not place):
            return nothing(row, came) if row.wants == ACCEPTED else None
        got = came["asked"][0][place]
        if got == wanted and isinstance(got, bool) == isinstance(wanted, bool):
            return None
        said = f"{row.says}: submit was given the {what} {cut(repr(got), 60)}, not {cut(repr(wanted), 60)}"
        return Finding(said, row.wrong if place else ODD_TEXT)

    return off


def once(row: Row, came: Came) -> Finding | None:
    """One request is one submit, and whatever else a queue can do is not asked of it."""
    if came["others"]:
        return Finding(f"{row.says}: queue.{came['others'][0]} was called", "does the work, or waits for it, inside of the request")
    if came["seconds"] > A_SECOND:
        said = f"{row.says}: {came['seconds']:g} s passed before the answer"
        return Finding(said, "waits, or does the work, inside of the request")
    if len(came["asked"]) > 1:
        return Finding(f"{row.says}: submit was called {counted(len(came['asked']), 'time')}", "submits more than once")
    return None


def refused(row: Row, came: Came) -> Finding | None:
    """400, and nothing is queued."""
    if row.wants != REFUSED:
        return None
    missing = nothing(row, came)
    if missing:
        return missing
    if came["status"] == 400:
        return None
    other = 400 < came["status"] < 500
    return Finding(_said(row, came), OTHER_THAN_400 if other else row.wrong)


def not_queued(row: Row, came: Came) -> Finding | None:
    if row.wants == REFUSED and came["asked"] and came["status"] in (0, 400, 422):
        said = f"{row.says}: submit was called with {cut(repr(came['asked'][0]), 80)}"
        return Finding(said, "queues a task that it refuses: asks the queue before it has looked at all")
    return None


def in_json(row: Row, came: Came) -> Finding | None:
    """A refusal says why, in JSON."""
    if came["status"] == 400 and not _json(came["body"]):
        return Finding(_said(row, came) or row.says, "a 400 that says nothing in JSON")
    return None


def full(row: Row, came: Came) -> Finding | None:
    """429 with Retry-After."""
    if row.wants != FULL:
        return None
    if came["raised"] or not came["status"]:
        missing = nothing(row, came)
        return missing and Finding(missing.message, "a full queue is an error of the server" if came["raised"] else missing.diagnosis)
    if came["status"] != 429:
        return Finding(_said(row, came), "a full queue is not answered with 429")
    said = came["retry_after"]
    if said is None:
        return Finding(f"{row.says}: 429 without a Retry-After header", "429 without Retry-After")
    if not re.fullmatch(r"[0-9]+", said):
        return Finding(f"{row.says}: Retry-After is {said!r}", "Retry-After is no whole number of seconds")
    if said != row.seconds:
        wrong = row.wrong if row.seconds == "1" and said == "0" else ROUNDS
        return Finding(f"{row.says}: Retry-After is {said}, not {row.seconds}", wrong)
    return None


def other_error(row: Row, came: Came) -> Finding | None:
    """Submit raised an error that is not QueueFull."""
    if not came["asked"] or came["raised"]:
        return None
    if 200 <= came["status"] < 300:
        return Finding(f"submit raised RuntimeError, and the answer was {came['status']}", "says that a task was accepted though submit failed")
    if came["status"] in (400, 422, 429):
        said = f"submit raised RuntimeError, and the answer was {came['status']}"
        return Finding(said, "takes every error for a full queue" if came["status"] == 429 else "takes every error for a bad request")
    return None


def afresh(find: Find) -> Find:
    """The same of requests in one process."""

    def told(seen: Seen, facts: dict[str, Any]) -> Finding | None:
        found = find(seen, facts)
        return found and Finding(f"several requests in one process, {found.message}", "keeps something from one request to the next")

    return told


def whole(row: Row, came: Came) -> Finding | None:
    """All that is asked of a row."""
    rules = (accepted, refused, full, in_json, given(0, "text"), given(1, "priority"), given(2, "key"), once)
    return next((found for rule in rules if (found := rule(row, came))), None)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
