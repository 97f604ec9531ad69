"""The deployment written twice, as a saga of labkit and as a workflow of DBOS, in the ways in which its teams write it.

Only processes of their own import this. `saga` is a list of steps, a log in PostgreSQL, and a call that goes on from wherever the log stands. A way of DBOS
registers its workflow in the process and returns it: `deploy` first, then what a team changed while a deployment was under way. The state of DBOS, its threads
and its registry live and die with the process. It talks to PostgreSQL and to nobody else.

Not handled here: queues of DBOS, its conductor and its asynchronous steps; the hands (see `engines`), and who starts a process again (see `engines_runs`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from dbos import DBOS, DBOSClient, DBOSConfig, SetWorkflowID, StepOptions

from labkit.database import open_engine
from labkit.errors import CompensationFailed, QueueFull, SagaFailed, TerminalError
from labkit.faults.nursery import Report
from labkit.lessons import engines
from labkit.lessons.engines import APP, FORTY, RENAMED, STEPS, Hands, Make, Steps
from labkit.queue import TaskQueue
from labkit.retry import RetryPolicy, is_transient
from labkit.saga import Saga, SagaLog, SagaStep
from labkit.tables import create_tables

Workflow = Callable[[str], None]
QUIET = 0.1  # seconds from one look for the end to the next
hands: Hands  # of this process


def saga(app: str, log: SagaLog, act: Make, steps: Steps) -> None:
    """Make everything, or take back what was made."""
    todo = [SagaStep(name, partial(act, do, app), partial(act, undo, app)) for name, (do, undo) in steps.items()]
    Saga(todo).run(log)


def saga_retried(app: str, log: SagaLog, act: Make, steps: Steps) -> None:
    """The same, and what fails in passing is tried again."""
    todo = [SagaStep(name, partial(act, do, app), partial(act, undo, app)) for name, (do, undo) in steps.items()]
    Saga(todo, policy=RetryPolicy(max_attempts=3, base=0.0)).run(log)


def act(call: str, app: str, name: str, kind: str = "do") -> str:
    """What a step does: a call, under a key that is the same in each process."""
    return hands.act(call, app, f"{DBOS.workflow_id}:{name}:{kind}")


def deploy() -> Workflow:
    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """Make everything."""
        for name, (do, _) in STEPS.items():
            DBOS.run_step({"name": name}, act, do, app, name)

    return deploy


def deploy_or_undo() -> Workflow:
    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """Make everything, or take back what was made."""
        done: list[str] = []
        try:
            for name, (do, _) in STEPS.items():
                DBOS.run_step({"name": name}, act, do, app, name)
                done.append(name)
        except TerminalError:
            for name in reversed(done):
                DBOS.run_step({"name": f"undo {name}"}, act, STEPS[name][1], app, name, "undo")
            raise

    return deploy


def certificate_first() -> Workflow:
    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """Make a certificate, and then everything."""
        DBOS.run_step({"name": "certificate"}, act, "issue_certificate", app, "certificate")
        for name, (do, _) in STEPS.items():
            DBOS.run_step({"name": name}, act, do, app, name)

    return deploy


def patched() -> Workflow:
    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """Make a certificate unless this run is older than that, and then everything."""
        if DBOS.patch("certificate"):
            DBOS.run_step({"name": "certificate"}, act, "issue_certificate", app, "certificate")
        for name, (do, _) in STEPS.items():
            DBOS.run_step({"name": name}, act, do, app, name)

    return deploy


def renamed() -> Workflow:
    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """The first step has a better name now."""
        for name, (do, _) in RENAMED.items():
            DBOS.run_step({"name": name}, act, do, app, name)

    return deploy


def one_name() -> Workflow:
    make = DBOS.step(name="make")(act)

    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """One function for all steps, and so one name."""
        for name, (do, _) in STEPS.items():
            make(do, app, name)

    return deploy


def one_name_first() -> Workflow:
    make = DBOS.step(name="make")(act)

    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """The same, and a certificate first."""
        make("issue_certificate", app, "certificate")
        for name, (do, _) in STEPS.items():
            make(do, app, name)

    return deploy


def retried(should_retry: Callable[[Any], bool] | None = None) -> Workflow:
    @DBOS.workflow(name="deploy")
    def deploy(app: str) -> None:
        """Retries are allowed: whatever fails is tried three times, unless somebody has said which errors are worth it."""
        for name, (do, _) in STEPS.items():
            how = StepOptions(name=name, retries_allowed=True, max_attempts=3, interval_seconds=0.01, should_retry=should_retry)
            DBOS.run_step(how, act, do, app, name)

    return deploy


def choosy() -> Workflow:
    return retried(is_transient)


def forty() -> Workflow:
    @DBOS.workflow(name="forty")
    def forty(app: str) -> None:
        for name, (do, _) in FORTY.items():
            DBOS.run_step({"name": name}, act, do, app, name)

    return forty


def play_labkit(report: Report, *, url: str, name: str, ledger: str, way: str = "saga", steps: str = "STEPS", how: dict[str, Any] | None = None) -> None:
    """One process: begin the deployment of this name, or go on with it, and report how it ended."""
    hands = Hands(ledger, **(how or {}))
    engine = open_engine(url)
    end = "completed"
    try:
        globals()[way](APP, SagaLog(engine, name), hands.act, getattr(engines, steps))
    except (SagaFailed, CompensationFailed) as error:
        end = "failed" if isinstance(error, SagaFailed) else f"remains: {', '.join(error.remaining)}"
    report({"end": end, "calls": hands.calls, "sent": hands.sent()})


def prepare_labkit(report: Report, *, url: str) -> None:
    """The tables."""
    create_tables(open_engine(url))
    report({"end": "ready"})


def flood_labkit(report: Report, *, url: str, most: int, many: int) -> None:
    """Submit more than anybody will do tonight, and report how many were taken."""
    queue, taken = TaskQueue(open_engine(url), max_pending=most), 0
    try:
        for _ in range(many):
            queue.submit(APP)
            taken += 1
    except QueueFull:
        pass
    report({"end": "full" if taken < many else "taken", "taken": taken})


def launch(url: str, name: str, *, pinned: bool = True) -> None:
    """DBOS in this process, as an application of its own. Unless it is pinned, DBOS computes its version from the source of its workflows."""
    config = DBOSConfig(name=name, system_database_url=url.replace("+psycopg", ""), log_level="CRITICAL")
    if pinned:
        config["application_version"] = f"{name}-1"
    DBOS(config=config)
    DBOS.launch()


def play_dbos(
    report: Report, *, url: str, name: str, ledger: str, way: str = "deploy", pinned: bool = True, then: str = "", how: dict[str, Any] | None = None
) -> None:
    """One process: begin the deployment of this name, or wait until DBOS has gone on with it, and report how it ended.

    With `then` it begins the deployment of that application, too, waits for the end of this one, and reports how the first one stands by then.
    """
    global hands
    hands = Hands(ledger, **(how or {}))
    workflow = globals()[way]()
    launch(url, name, pinned=pinned)
    for app, workflow_id in ((APP, name), *([(then, f"{name}-{then}")] if then else [])):
        with SetWorkflowID(workflow_id):
            handle = DBOS.start_workflow(workflow, app)
    with suppress(Exception):  # it is in the status, too
        handle.get_result(polling_interval_sec=QUIET)
    found = DBOS.get_workflow_status(name)
    error = type(found.error).__name__ if found and found.error else ""
    report({"end": found.status if found else "unknown", "error": error, "calls": hands.calls, "sent": hands.sent()})


def prepare_dbos(report: Report, *, url: str) -> None:
    """The tables."""
    launch(url, "tables")
    report({"end": "ready"})


def flood_dbos(report: Report, *, url: str, many: int) -> None:
    """Enqueue more than anybody will do tonight, and report how many were taken."""
    client = DBOSClient(system_database_url=url.replace("+psycopg", ""))
    taken = 0
    for _ in range(many):
        client.enqueue({"queue_name": "tonight", "workflow_name": "deploy"}, APP)
        taken += 1
    report({"end": "taken", "taken": taken})
