"""The exercise `agent`: a conversation with a model and its tools that any process can go on with, and that ends once.

A process dies at every crossing of a short run and of whatever goes on from there; and between the calls of a message that has three. The model is the official
client before an endpoint that refuses what a real one refuses: no error is as lasting as a history with a hole in it.

Not handled here: two processes with one run at once, a model that streams or changes its mind, and people who are asked (see `agent.loop`).
"""

from __future__ import annotations

from random import Random
from typing import Any

from labkit.checks import agent_call_rules as calls
from labkit.checks import agent_end_rules as ends_of
from labkit.checks import agent_rules as rules
from labkit.checks.agent_play import body_of, leave
from labkit.checks.agent_talks import BAD, BATCH, DISK, ENDLESS, FALSY, LATE, LATER, NO_MODEL, SWEPT, TENTH, Talk
from labkit.checks.agent_view import View, called, everywhere, when
from labkit.checks.common import after_crash, body, crash_rule, ends, exits_rule, interrupted
from labkit.checks.drawn import agent as drawn
from labkit.checks.exercise import SQL, Case, Exercise, Property, Seen

NAME = "run_agent"
AMID = (
    "p1@cloud1.before+crash",
    "p1@cloud1.after+crash",
    "p1@cloud2.after+crash",
    "p1@cloud3.after+crash",
    "p1@http2.before+crash",
    "p1@cloud1.after+crash,p2@cloud2.after+crash",
    "p1@cloud2.after+timeout",
)
AMID_A_LATER_MESSAGE = (
    "p1@cloud1.after+crash",  # in the first, to tell who forgets calls from who forgets those of a later one
    "p1@cloud3.before+crash",
    "p1@cloud4.after+crash",
)


def _case(name: str, *talks: Talk, in_database: bool = False, same_ids: bool = False, seam: bool = False, **options: Any) -> Case:
    play = body_of(talks, in_database=in_database, same_ids=same_ids, seam=seam)
    return Case(name, body(NAME, play), facts={"talks": talks}, **options)


CASES = (
    _case("disk", DISK),
    _case("falsy", *FALSY),
    _case("bad_calls", *BAD),
    _case("fails_late", LATE),
    _case("no_model", *NO_MODEL),
    Case("told_to_leave", body(NAME, leave)),
    _case("later", LATER, left=False, schedules=AMID_A_LATER_MESSAGE),
    _case("tenth", TENTH, seam=True, left=False, schedules=("p1@file10.after+crash",)),
    _case("endless", ENDLESS, left=False, schedules=("none", "p1@cloud2.after+crash")),
    _case("batch", BATCH, in_database=True, left=False, databases=SQL, schedules=("none", *AMID)),
    _case("swept", SWEPT, in_database=True, same_ids=True, databases=("sqlite",), engine="sweep"),
)
TALKS = tuple(case.name for case in CASES if case.facts)
ANSWERED = tuple(name for name in TALKS if name not in ("no_model", "endless"))
CRASHED = ("batch", "swept", "endless", "later")


def _drawn(rng: Random) -> tuple[Case, ...]:
    talk, schedules = drawn.batch(rng)
    return (_case("disk", drawn.talk(rng)), _case("batch", talk, in_database=True, left=False, databases=("sqlite",), schedules=schedules))


def _asked(view: View) -> bool:
    return bool(view.requests)


def _ran(view: View) -> bool:
    return bool(view.runs)


def _went_on(seen: Seen, facts: dict[str, Any]) -> bool:
    return after_crash(seen, facts) and when(lambda view: view.went_on and _asked(view))(seen, facts)


def _conversation() -> tuple[Property, ...]:
    twice = when(lambda view: len(view.requests) > 1)
    return (
        Property(
            "goes on", "after a crash the conversation goes on where it was", called(rules.goes_on), TALKS, _went_on
        ),
        Property("task", "the model is sent the task, once", called(rules.task), TALKS, when(_asked)),
        Property("tools are named", "every request names the tools", called(rules.schemas), TALKS, when(_asked)),
        Property(
            "valid history", "the model is sent only what the chat API takes", called(rules.history), TALKS, twice
        ),
        Property(
            "said as it was", "what the model said is sent back as it said it", called(rules.whole), ANSWERED, twice
        ),
    )


def _outcomes() -> tuple[Property, ...]:
    answered = when(lambda view: view.talk.ends == "completes" and _asked(view))
    failed = when(
        lambda view: view.talk.ends == "fails" and (_asked(view) or view.went_on) and bool(view.told["error"])
    )
    return (
        Property("answer", "the model's last word is what comes out", called(rules.answer), TALKS, answered),
        Property(
            "ten messages",
            "ten messages of the model are the most, in all processes",
            called(rules.ten),
            ("tenth", "endless"),
            failed,
        ),
        Property("model fails", "an error of the client comes out", called(rules.no_model), ("no_model",), failed),
    )


def _tools() -> tuple[Property, ...]:
    heard = when(lambda view: _ran(view) and len(view.requests) > 1)
    return (
        Property("keys", "each call carries a key of its own", called(calls.keys), TALKS, when(_ran)),
        Property("calls", "each call is made as the model wrote it, and once", called(calls.made), TALKS, when(_ran)),
        Property(
            "effects once",
            "each effect is there once, whatever died",
            everywhere(calls.once),
            ("disk", "bad_calls", "fails_late", *CRASHED),
            when(_ran),
        ),
        Property(
            "bad calls",
            "a call that cannot be made is answered all the same",
            called(calls.answered),
            ("bad_calls", "falsy", "fails_late"),
            heard,
        ),
        Property("results", "the model is told what its calls gave", called(calls.heard), ANSWERED, heard),
    )


def _updates() -> tuple[Property, ...]:
    return (
        Property(
            "of this task",
            "every update names this task",
            called(ends_of.ours),
            TALKS,
            when(lambda view: bool(view.updates)),
        ),
        Property(
            "one end",
            "over the whole run one terminal update is told",
            everywhere(ends_of.one_end),
            TALKS,
            when(_asked),
        ),
        Property(
            "told",
            "thinking, tool calls and results are told",
            called(ends_of.told),
            ("disk", "falsy", "batch"),
            when(_ran),
        ),
        Property("tools stay", "the tools are left as they were", called(ends_of.untouched), TALKS, when(_asked)),
    )


EXERCISE = Exercise(
    id="agent",
    title="An agent that dies and goes on",
    chapter=21,
    origin="+",
    minutes=45,
    difficulty=4,
    points=20,
    essential=("goes on", "valid history", "effects once"),
    signatures={NAME: ("client", "tools", "journal", "task", "on_progress")},
    needs=("httpx", "openai"),
    preload="labkit.checks.agent_wire:warm",
    shown=("batch:none", "batch:p1@cloud2.after+crash"),
    cases=CASES,
    drawn=_drawn,
    properties=(
        ends(),
        crash_rule("swept"),
        exits_rule("told_to_leave"),
        Property(
            "no end by Ctrl-C",
            "Ctrl-C is not told as the end of the run",
            ends_of.no_end_by_interrupt,
            ("swept",),
            interrupted,
        ),
        *_conversation(),
        *_outcomes(),
        *_tools(),
        *_updates(),
    ),
    hints=(
        "A new process knows the journal and nothing else. Which calls of the last assistant message have no tool message yet? They come first, "
        "before the model is asked again.",
        "Write before you go on: the user's message, then each assistant message as a whole before any of its tools runs, then each result by "
        "`journal.record` and as a tool message. Count the assistant messages in `journal.messages()`; a variable forgets. Every way out that is "
        "an Exception tells one `error`.",
        "One loop: answer what is open (`result = journal.result(id)`, and `None` alone means that there is none), return when the last message is an "
        "assistant's without calls, raise when ten are there, else ask. A call is answered by `try`: `json.loads`, `isinstance(..., dict)`, "
        "`tools[name](arguments, id)`, and `except Exception` around it all gives the text of the tool message. The terminal updates stand outside of it.",
    ),
)
