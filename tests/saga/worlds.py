"""What the tests of sagas share: a log in memory, steps that fail as told, and the deployment whose end is all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sqlalchemy.exc import DBAPIError

from labkit.errors import CallTimeout, CompensationFailed, LabkitError, SagaFailed, StoreBusy, TerminalError
from labkit.faults import End, Process, Scenario, every_process_ends
from labkit.saga import Saga, SagaLog, SagaStep, run_saga, saga_step

NAMES = ("a", "b", "c", "d")


class ListLog:
    """The least that a log is: it appends and reads."""

    def __init__(self, saga_id: str = "s1") -> None:
        self.saga_id, self.kept, self.before = saga_id, list[tuple[str, str]](), lambda: None

    def append(self, event: str, step: str = "") -> None:
        self.before()
        self.kept.append((event, step))

    def entries(self) -> list[tuple[str, str]]:
        return list(self.kept)


class Calls:
    """Steps a, b, c, d over a world of sets; what is in `errors` for a key is raised in turn, None means that it works."""

    def __init__(self, names: tuple[str, ...] = NAMES, saga_id: str = "s1") -> None:
        self.names, self.saga_id = names, saga_id
        self.made: list[str] = []
        self.there: set[str] = set()
        self.errors: dict[str, list[BaseException | None]] = {}
        self.before: Callable[[], None] = lambda: None

    def fail(self, call: str, *errors: BaseException | None) -> None:
        self.errors[f"{self.saga_id}:{call}"] = list(errors)

    def _call(self, name: str, exists: bool, key: str) -> None:
        self.before()
        self.made.append(key.removeprefix(f"{self.saga_id}:"))
        error = self.errors[key].pop(0) if self.errors.get(key) else None
        if error is None or getattr(error, "happened", False):
            (self.there.add if exists else self.there.discard)(name)
        if error is not None:
            raise error

    def steps(self) -> list[SagaStep]:
        return [SagaStep(n, partial(self._call, n, True), partial(self._call, n, False)) for n in self.names]


class Landed(CallTimeout):
    """The answer was lost; the effect is there."""

    happened = True


class Died(BaseException):
    """The process died here."""


def how(act: Callable[[], object]) -> tuple[str, object]:
    """How a call to run a saga ended, as data."""
    try:
        act()
    except SagaFailed as error:
        return "failed", error.step
    except CompensationFailed as error:
        return "remains", list(error.remaining)
    return "completed", None


# The deployment: four effects of the cloud, each with its undo.

PAIRS = {
    "create_namespace": "delete_namespace",
    "deploy_container": "remove_container",
    "configure_route": "delete_route",
    "create_dns_record": "delete_dns_record",
}
ALL = Counter(f"{kind} shop" for kind in ("namespace", "container", "route", "dns_record"))
ERRORS: dict[str, Callable[[], LabkitError]] = {"definite": TerminalError, "unknown": CallTimeout}


def deployment_steps(process: Process, fail: str = "", kind: str = "definite", landed: bool = False) -> list[SagaStep]:
    """The four steps; `fail` names one whose action, or undo, raises each time, with its effect (`landed`) or without."""

    def bound(method: str, key: str) -> None:
        if method != fail or landed:
            getattr(process.cloud, method)("shop", key=key)
        if method == fail:
            raise ERRORS[kind]("on purpose")

    return [SagaStep(do, partial(bound, do), partial(bound, undo)) for do, undo in PAIRS.items()]


def deploy(process: Process, **fails: object) -> list[object]:
    """Run the deployment as somebody would who calls again while the database does not answer."""
    steps = deployment_steps(process, **fails)  # type: ignore[arg-type]
    return called_again(process, lambda log: run_saga(steps, log))


def deploy_nested(process: Process, **fails: object) -> list[object]:
    """The same with its first two steps as a saga of their own."""
    *inner, third, last = deployment_steps(process, **fails)  # type: ignore[arg-type]
    nested = saga_step("serve", Saga(inner, clock=process.clock), partial(SagaLog, process.engine))
    return called_again(process, lambda log: run_saga([nested, third, last], log))


def called_again(process: Process, run: Callable[[SagaLog], None]) -> list[object]:
    log = SagaLog(process.engine, "deploy")
    for _ in range(9):
        try:
            return list(how(lambda: run(log)))
        except (DBAPIError, StoreBusy):
            continue
    return ["gave up", None]


def all_or_nothing(end: End) -> str | None:
    """Everything exists once and the saga says so, or nothing does and it says so. Who was interrupted has not ended yet."""
    if end.last.how == "raised" and end.last.error["type"] == "KeyboardInterrupt":
        return None
    if end.last.how != "returned":
        return f"ended by {end.last}"
    said, there = end.last.value[0], end.resources
    if (said, there) in (("completed", ALL), ("failed", Counter())):
        return None
    return f"{said}, and there is {dict(there)}"


def log_is_whole(end: End) -> str | None:
    """In each saga's log an end follows each start, and exactly one final event ends it."""
    logs: dict[str, list[tuple[str, str]]] = {}
    for row in end.rows.get("saga_log", []):
        logs.setdefault(row["saga_id"], []).append((row["event"], row["step"]))
    for saga, entries in logs.items():
        count = Counter(entries)
        if end.last.how == "raised":
            continue  # it goes on
        starts = sum(event in ("started", "undoing") for event, _ in entries)
        ends = sum(event in ("done", "failed", "unknown", "undone") for event, _ in entries)
        finals = [event for event, step in entries if not step]
        taken_back = saga != "deploy" and finals == ["completed", "compensated"]
        if starts != ends or max(count.values()) > 1 or (len(finals) != 1 and not taken_back) or entries[-1][1]:
            return f"the log of {saga} is {entries}"
    return None


def scenario(name: str, run: Callable[..., list[object]] = deploy, **fails: object) -> Scenario:
    goal = "failed" if fails else "completed"
    return Scenario(
        name,
        partial(run, **fails),
        [every_process_ends, all_or_nothing, log_is_whole],
        goal=lambda end: end.last.how == "returned" and end.last.value[0] == goal,
    )


FORWARD = scenario("saga.forward")
FORWARD_UNDER_FAULTS = replace(FORWARD, goal=lambda end: end.last.how == "returned")
BACKWARD = scenario("saga.backward", fail="create_dns_record")
UNKNOWN = scenario("saga.unknown", fail="create_dns_record", kind="unknown", landed=True)
NESTED = scenario("saga.nested", deploy_nested, fail="configure_route")
