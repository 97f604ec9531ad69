"""Plans of a saga: the steps that an answer is given, and how each of them fails.

A plan says beforehand what becomes of it: which steps happen, which one fails and whether anybody can know that it did not happen, and which undo
fails in passing or for good. The actions and undos are calls of the process's cloud, under whatever key they are called with.

Not handled here: what must hold (see `saga_rules` and `saga_undo_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

from labkit.checks.common import called
from labkit.checks.naps import naps_of
from labkit.checks.saga_log import Log
from labkit.errors import CompensationFailed, SagaFailed, TransientError
from labkit.faults.fault import Crash
from labkit.faults.outcome import describe_error
from labkit.faults.process import Process
from labkit.saga.step import SagaStep

# step by place: what it does, and what takes that back; none of them stands on another, so that any order is possible
ACTS = (
    ("create_dns_record", "delete_dns_record"),
    ("issue_certificate", "revoke_certificate"),
    ("create_alert", "delete_alert"),
    ("charge", "refund"),
)
KINDS = ("dns_record", "certificate", "alert", "payment")
Make = Callable[[], Exception]


@dataclass(frozen=True)
class Step:
    """One step. `fails` makes the error of its action, which has happened all the same if `landed`; `unknown` says that nobody can tell.

    `undo_fails` are the errors of its undo, a try each; the last one stays if `for_good`, else the next try works. `gives` is what both return.
    """

    name: str
    fails: Make | None = None
    landed: bool = False
    unknown: bool = False
    undo_fails: tuple[Make, ...] = ()
    for_good: bool = False
    undo_landed: bool = False
    gives: Any = "done"

    @property
    def happens(self) -> bool:
        return self.fails is None or self.landed

    @property
    def tries(self) -> int:
        """How often its undo is asked for: an error in passing is tried again, three tries in all."""
        errors = [*self.undo_fails, *(self.undo_fails[-1:] * 3 if self.for_good else ())]
        final = (n for n, make in enumerate(errors) if not isinstance(make(), TransientError | TimeoutError))
        return min(next(final, len(errors)) + 1, 3)


@dataclass(frozen=True)
class Plan:
    """A saga of at most four steps on resources named `app`, called `times` times in a row by each process."""

    steps: tuple[Step, ...]
    saga_id: str = "deploy-7"
    app: str = "shop"
    times: int = 2
    as_tuple: bool = False

    @property
    def names(self) -> list[str]:
        return [step.name for step in self.steps]

    @property
    def fails_at(self) -> int | None:
        """The place of the step that fails, None if all of them work."""
        return next((place for place, step in enumerate(self.steps) if step.fails), None)

    @property
    def ran(self) -> list[Step]:
        """The steps that are run at all, in order."""
        return list(self.steps if self.fails_at is None else self.steps[: self.fails_at + 1])

    @property
    def to_undo(self) -> list[Step]:
        """The steps that must be undone, in the order in which they must be."""
        return [] if self.fails_at is None else [step for step in reversed(self.ran) if not step.fails or step.unknown]

    @property
    def remaining(self) -> list[str]:
        """The names of those whose undo fails for good, in undo order."""
        return [step.name for step in self.to_undo if step.for_good]

    def key(self, name: str, what: str) -> str:
        return f"{self.saga_id}:{name}:{what}"

    def resource(self, name: str) -> str:
        """What the cloud holds once this step has happened."""
        return f"{KINDS[self.names.index(name)]} {self.app}"


@dataclass
class Called:
    """What happened during one call of the answer, on the side of its steps."""

    plan: Plan
    process: Process
    calls: list[list[Any]]  # [step, do or undo, key, how]
    raised: list[BaseException]
    thread: int = field(default_factory=get_ident)

    def steps(self) -> Sequence[SagaStep]:
        made = [self._step(place, step) for place, step in enumerate(self.plan.steps)]
        return tuple(made) if self.plan.as_tuple else made

    def _step(self, place: int, step: Step) -> SagaStep:
        do, undo = (getattr(self.process.cloud, name) for name in ACTS[place])

        @called("execute")
        def execute(key: str) -> Any:
            return self._act(step, "do", key, do, step.fails, step.landed)

        @called("compensate")
        def compensate(key: str) -> Any:
            tries, errors = sum(one[:2] == [step.name, "undo"] for one in self.calls), step.undo_fails
            last = errors[-1] if errors and step.for_good else None
            return self._act(step, "undo", key, undo, errors[tries] if tries < len(errors) else last, step.undo_landed)

        return SagaStep(step.name, execute, compensate)

    def _act(self, step: Step, what: str, key: Any, act: Any, fails: Make | None, landed: bool) -> Any:
        said = [step.name, what, key, "returned" if fails is None else "raised"]
        self.calls.append(said)
        if fails is None or landed:
            act(self.plan.app, key=key)
        if fails is None:
            return step.gives
        error = fails()
        # subtle: no Future of asyncio can carry a StopIteration out of a thread
        if isinstance(error, StopIteration) and get_ident() != self.thread:
            error = RuntimeError(*error.args)
        if not landed:
            self.process.note(f"{step.name}:{what}", f"raises {type(error).__name__}")
        if what == "do":
            self.raised.append(error)
        raise error


def written(process: Process, saga_id: str) -> list[list[str]]:
    """What is in the log now, read past the gate: nothing can happen in between."""
    return [
        [row["event"], row["step"]] for row in process.world.rows().get("saga_log", ()) if row["saga_id"] == saga_id
    ]


def play(run: Any, plan: Plan, process: Process) -> list[dict[str, Any]]:
    """Call the answer `times` times with fresh steps and a fresh log, and tell of each call what it did."""
    told: list[dict[str, Any]] = []
    found = written(process, plan.saga_id)
    for _ in range(plan.times):
        one = Called(plan, process, [], [])
        steps = one.steps()
        given = list(steps)
        with naps_of(process, passing=False):
            ended = _how(lambda steps=steps: run(steps, Log(process.engine, plan.saga_id)), one.raised)  # type: ignore[misc]
        process.note(f"the saga {plan.saga_id}", f"raised {ended['error']['type']}" if ended["error"] else "returned")
        log = written(process, plan.saga_id)
        told.append({"found": found, "calls": one.calls, "log": log, "kept": list(steps) == given, **ended})
        found = log
    return told


def _alike(found: BaseException, raised: BaseException) -> bool:
    # subtle: asyncio hands a TimeoutError of a thread on as another one that says the same, and a generator makes a RuntimeError of a StopIteration
    made_anew = isinstance(raised, StopIteration | StopAsyncIteration) and found.__cause__ is raised
    return found is raised or made_anew or (type(found) is type(raised) and found.args == raised.args)


def _how(call: Callable[[], Any], raised: list[BaseException]) -> dict[str, Any]:
    """How a call ended, and whether its cause is the error that an action of this call raised. What is no Exception goes through."""
    try:
        call()
    except Crash:
        raise
    except Exception as error:
        said = describe_error(error)
        cause = error.__cause__
        cause_is = "none" if cause is None else "same" if any(_alike(cause, one) for one in raised) else "another"
        same = any(error is one for one in raised)
        came = "same" if same else "made" if isinstance(error, SagaFailed | CompensationFailed) else "another"
        return {"error": said, "cause": cause_is if raised else "", "came": came}
    return {"error": None, "cause": "", "came": ""}
