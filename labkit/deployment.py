"""Deploy an application so that each of its six effects happens once, however often the process dies on the way.

Each step is written to a durable log before it starts and after it is done, and its effect carries the key `<task>:<step>`. A process that takes over skips
what is done; what was started and never recorded as done it asks for again under the same key, and the cloud answers from its own ledger. Beside it stands
the same work without log and keys: it looks as sound, ends as `completed` too, and doubles what was done before the crash.

Not handled here: taking a half-made deployment down again (that is a saga), and two workers on one task (that is a lease).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, insert, select

from labkit.clock import Clock
from labkit.cloud import Cloud
from labkit.database import busy_is_an_answer, reading
from labkit.execution import Work

metadata = MetaData()
step_log = Table(
    "step_log",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("task_id", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("event", Text, nullable=False),  # started, done
)


@dataclass(frozen=True)
class Step:
    """One call to the cloud, and how long it takes until what was asked for is ready."""

    name: str
    call: Callable[[Cloud, str, str | None], str]
    minutes: int

    @property
    def effect(self) -> str:
        """What the cloud's ledger calls it."""
        return self.call.__name__

    def __repr__(self) -> str:
        return f"<Step {self.name} {self.minutes} min>"


STEPS = (
    Step("namespace", Cloud.create_namespace, 1),
    Step("container", Cloud.deploy_container, 3),
    Step("route", Cloud.configure_route, 1),
    Step("certificate", Cloud.issue_certificate, 3),
    Step("dns", Cloud.create_dns_record, 1),
    Step("alert", Cloud.create_alert, 1),
)


class StepLog:
    """What was started and what is done, in a table that is only ever appended to; each line is a commit."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def write(self, task_id: str, step: Step, event: str) -> None:
        with busy_is_an_answer(), self._engine.begin() as connection:
            connection.execute(insert(step_log), {"task_id": task_id, "step": step.name, "event": event})

    def done(self, task_id: str) -> set[str]:
        """The names of the steps that need no second thought."""
        query = select(step_log.c.step).where(step_log.c.task_id == task_id, step_log.c.event == "done")
        with reading(self._engine) as connection:
            return set(connection.scalars(query))


def deployment(cloud: Cloud, clock: Clock, log: StepLog) -> Work:
    """The work of a deployment task, for `execute_task_if_not_done` and `resume_task`: its input is the application."""

    def work(app: str, key: str) -> str:
        done = log.done(key)
        for step in STEPS:
            if step.name not in done:
                log.write(key, step, "started")
                step.call(cloud, app, f"{key}:{step.name}")
                clock.sleep(60 * step.minutes)
                # crash here: the effect is there and no record says so; the key makes asking again harmless
                log.write(key, step, "done")
        return f"{app} is up"

    return work


def naive_deployment(cloud: Cloud, clock: Clock) -> Work:
    """The same work, trusting that the process which begins it also ends it."""

    def work(app: str, key: str) -> str:
        for step in STEPS:
            step.call(cloud, app, None)
            clock.sleep(60 * step.minutes)
            # crash here: the next process knows nothing of this and begins anew
        return f"{app} is up"

    return work
