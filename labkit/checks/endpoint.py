"""The exercise `endpoint`: a task is accepted at once, or refused at once, and the event loop is free all the while.

What a client sends stands in `endpoint_cases`, how it is sent in `endpoint_play`, what must hold in `endpoint_rules`. A request crosses no boundary of
the process, so there is nothing to crash at; what is no Exception is raised inside of `submit` instead.

Not handled here: the queue itself (see `backpressure`), and what a task tells while it runs (see `sse`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from labkit.checks import endpoint_cases as cases
from labkit.checks import endpoint_loop_rules as loop
from labkit.checks import endpoint_rules as rules
from labkit.checks.common import ends, exits_rule
from labkit.checks.drawn import endpoint as drawn
from labkit.checks.endpoint_cases import ACCEPTED, FULL, REFUSED, Row
from labkit.checks.endpoint_play import ask, fail, leave, slowly
from labkit.checks.exercise import Answer, Case, Exercise, Property
from labkit.faults.process import Process

NAME = "submit_task"


def _rows(name: str, rows: Sequence[Row], send: Callable[..., Any] = ask, *, afresh: bool = True) -> Case:
    """A case that sends these requests, each to a new process or, not `afresh`, all to one."""

    def play(answer: Answer, process: Process) -> Any:
        kept = answer.fresh()[NAME]
        return [send(answer.fresh()[NAME] if afresh else kept, row, process) for row in rows]

    return Case(name, lambda answer: [partial(play, answer)], facts={"rows": rows})


def _once(name: str, send: Callable[..., Any], **facts: Any) -> Case:
    def play(answer: Answer, process: Process) -> Any:
        return send(answer.fresh()[NAME], process)

    return Case(name, lambda answer: [partial(play, answer)], facts=facts)


GOOD = ("accepts", "texts", "priorities", "keys")
BAD = ("not_objects", "bad_texts", "bad_priorities")
ROWS = (*GOOD, *BAD, "full")

EXERCISE = Exercise(
    id="endpoint",
    title="Accepted, at once",
    chapter=21,
    origin="C",
    minutes=25,
    difficulty=2,
    points=10,
    essential=("keeps the loop free", "queued first", "full is 429"),
    signatures={NAME: ("request",)},
    asynchronous=True,
    needs=("starlette",),
    preload="labkit.checks.asgi:warm",
    shown=("slow:none", "full:none"),
    cases=(
        _once("slow", slowly, row=cases.ACCEPTS[0]),
        _rows("accepts", cases.ACCEPTS),
        _rows("texts", cases.TEXTS),
        _rows("priorities", cases.PRIORITIES),
        _rows("keys", cases.KEYS),
        _rows("not_objects", cases.NOT_OBJECTS),
        _rows("bad_texts", cases.BAD_TEXTS),
        _rows("bad_priorities", cases.BAD_PRIORITIES),
        _rows("full", cases.FULLS),
        _rows("fails", cases.ACCEPTS[:1], fail),
        _rows("several", cases.SEVERAL, afresh=False),
        _once("exits", leave),
    ),
    drawn=lambda rng: [_rows(name, rows) for name, rows in drawn.rows(rng).items()],
    properties=(
        Property("keeps the loop free", "while submit takes its time, others move", loop.loop_is_free, ("slow",), loop.was_held),
        Property("queued first", "the answer comes when submit has returned", loop.in_order, ("slow",), loop.was_held),
        Property("accepts", "202 with the id that the queue gave", rules.every(rules.accepted), GOOD, rules.answered(ACCEPTED)),
        Property("the text", "submit is given the text as it was sent", rules.every(rules.given(0, "text")), ("accepts", "texts"), rules.submitted),
        Property("the priority", "submit is given the priority", rules.every(rules.given(1, "priority")), ("priorities",), rules.submitted),
        Property("the key", "submit is given the Idempotency-Key", rules.every(rules.given(2, "key")), ("keys",), rules.submitted),
        Property("once, and no more", "one submit; the work is left to the workers", rules.every(rules.once), (*GOOD, "full"), rules.submitted),
        Property("no object", "400 for a body that is not a JSON object", rules.every(rules.refused), ("not_objects",), rules.answered(REFUSED)),
        Property("no text", "400 for a missing, empty or other user_input", rules.every(rules.refused), ("bad_texts",), rules.answered(REFUSED)),
        Property(
            "no integer", "400 for a priority that is no integer", rules.every(rules.refused), ("bad_priorities",), rules.answered(REFUSED)
        ),
        Property("says why", "a refusal is JSON", rules.every(rules.in_json), BAD, rules.answered(REFUSED)),
        Property("refused is not queued", "what is refused never reaches the queue", rules.every(rules.not_queued), BAD, rules.answered(REFUSED)),
        Property("full is 429", "429 with Retry-After, whole seconds, rounded up", rules.every(rules.full), ("full",), rules.answered(FULL)),
        Property("other errors", "another error of submit is no acceptance, and no full queue", rules.every(rules.other_error), ("fails",), rules.submitted),
        Property(
            "starts afresh",
            "requests do not see each other",
            rules.afresh(rules.every(rules.whole)),
            ("several",),
            rules.answered(ACCEPTED),
            unless=("accepts", "no object", "no text", "full is 429", "the key", "the priority", "once, and no more", "says why"),
        ),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "Go through a request line by line: which of your calls may take a second? While it does, who else is served by this process?",
        "Read the body and look at it before you ask the queue; each way to be wrong is a 400. Call `submit` in another thread: "
        "`asyncio.to_thread(queue.submit, ...)`. `except QueueFull` around it is the 429.",
        "`json.loads(await request.body())` raises ValueError, and RecursionError for what is nested too deeply. Then `isinstance(body, dict)`, "
        "`isinstance(text, str) and text`, and `type(priority) is int`, since True is an instance of int. `body.get('priority', 0)` leaves a null a null. "
        "`Retry-After` is `str(max(1, math.ceil(full.retry_after)))`.",
    ),
)
