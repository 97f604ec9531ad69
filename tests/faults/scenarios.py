"""Scenarios that the simulator's own tests share: small, and as far as can be without the library's durable parts."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import text

from labkit.execution import execute_task_if_not_done, resume_task
from labkit.faults import End, Process, Scenario, at_most_once, every_process_ends, exactly_once
from labkit.task import FINAL, Task

STEPS = ("create_dns_record", "create_namespace", "deploy_container", "configure_route")
READ, WRITE = text("SELECT step FROM steps_done"), text("INSERT INTO steps_done (step) VALUES (:step)")


def saga_tables(process: Process) -> None:
    with process.engine.begin() as connection:
        connection.execute(text("CREATE TABLE steps_done (step TEXT PRIMARY KEY)"))


def run_steps(process: Process, *, keys: bool = True) -> str:
    """Four steps, each with a line in a log after it: 36 crossings on SQLite."""
    with process.engine.connect() as connection:
        done = {row.step for row in connection.execute(READ)}
    for step in STEPS:
        if step not in done:
            getattr(process.cloud, step)("shop", key=step if keys else None)
            with process.engine.begin() as connection:
                connection.execute(WRITE, {"step": step})
    return "all done"


def run_steps_without_keys(process: Process) -> str:
    return run_steps(process, keys=False)


def reached_the_end(end: End) -> bool:
    return end.count(STEPS[-1]) == 1


ONCE = [every_process_ends, *(at_most_once(step) for step in STEPS)]
SAGA = Scenario("saga", run_steps, ONCE, setup=saga_tables, goal=reached_the_end)
SAGA_WITHOUT_KEYS = replace(SAGA, name="saga.no_keys", run=run_steps_without_keys)


def one_pending_task(process: Process) -> None:
    process.store.save(Task("t1", "shop"))


def execute(process: Process) -> Task:
    return execute_task_if_not_done(process.store, "t1", lambda app, key: process.cloud.deploy_container(app, key=key))


def resume(process: Process) -> Task:
    return resume_task(process.store, "t1", lambda app, key: process.cloud.deploy_container(app, key=key))


def without_key(process: Process) -> Task:
    """The planted bug: the effect has no key, so a crash before its record doubles it."""
    task = process.store.get("t1")
    assert task is not None
    if task.state in FINAL:
        return task
    running = process.store.save(replace(task, state="running"))
    result = process.cloud.deploy_container(task.user_input)
    return process.store.save(replace(running, state="completed", result=result))


DEPLOYED = [every_process_ends, exactly_once("deploy_container")]
EXECUTE = Scenario("execute", execute, DEPLOYED, setup=one_pending_task)
EXECUTE_IN_A_FILE = replace(EXECUTE, name="execute.json", store="json")
RESUME = Scenario("resume", resume, DEPLOYED, setup=one_pending_task)
WITHOUT_KEY = Scenario("without_key", without_key, DEPLOYED, setup=one_pending_task)


def do_nothing(process: Process) -> None:
    return None


DO_NOTHING = Scenario("nothing", do_nothing, ONCE, setup=saga_tables, goal=reached_the_end)
