"""The cases of `saga`, as data: every place of the failing step, every kind of error, undos that fail in passing and for good.

Those in which a process dies are short: two steps, each at once done or failing, show every way in which it can.

Not handled here: what must hold (see `saga`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.checks.common import body
from labkit.checks.exercise import SQL, Case
from labkit.checks.saga_plans import Plan, Step, play
from labkit.errors import (
    CallTimeout,
    CompensationFailed,
    QueueFull,
    SagaFailed,
    StaleTask,
    StoreBusy,
    TerminalError,
    TransientError,
)

NAME = "run_saga"


class Unreachable(Exception):
    """A client's own error: the request may have arrived."""

    definite = False


DEFINITE: dict[str, Callable[[], Exception]] = {
    "ValueError": lambda: ValueError("no such zone"),
    "KeyError": KeyError,
    "AssertionError": lambda: AssertionError("the zone is there already"),
    "AttributeError": lambda: AttributeError("zone"),
    "ConnectionRefusedError": lambda: ConnectionRefusedError("nobody listens"),
    "TransientError": lambda: TransientError("the cloud is busy"),
    "TerminalError": lambda: TerminalError("no more certificates this month"),
    "StoreBusy": lambda: StoreBusy("the zone is locked"),
    "StaleTask": lambda: StaleTask("another deployment of the shop came first"),
    "SagaFailed": lambda: SagaFailed("the saga inside failed", step="inside"),
    # what Python itself takes for something else than a failure, here and there
    "StopIteration": lambda: StopIteration("no more zones"),
    "StopAsyncIteration": lambda: StopAsyncIteration("no more zones"),
    "UserWarning": lambda: UserWarning("the zone is old"),
    "ExceptionGroup": lambda: ExceptionGroup("two zones failed", [ValueError("no such zone"), KeyError("zone")]),
}
INDEFINITE: dict[str, Callable[[], Exception]] = {
    "TimeoutError": lambda: TimeoutError("no answer"),
    "CallTimeout": lambda: CallTimeout("no answer"),
    "Unreachable": lambda: Unreachable("the line is dead"),
    "TransientError": lambda: TransientError("the gateway gave up", definite=False),
}


def final() -> Exception:
    return TerminalError("it is in use")


def busy() -> Exception:
    return TransientError("busy")


def late() -> Exception:
    return TimeoutError("no answer")


def lost(name: str, **more: Any) -> Step:
    """A step whose answer is lost though it happened."""
    return Step(name, late, landed=True, unknown=True, **more)


DNS, TLS, ALERT, PAY = (Step(name) for name in ("dns", "tls", "alert", "pay"))
ODD = tuple(Step(name) for name in ("failed", "Café ☕: route/1", "undo do", "do"))

ALIKE = tuple(Step(name) for name in ("zone eu", "zone", "zone eu 2", "2"))  # one begins or ends as another one is called


def case(name: str, *plans: Plan, **options: Any) -> Case:
    def call(run: Any, process: Any) -> Any:
        return [play(run, plan, process) for plan in plans]

    return Case(name, body(NAME, call), facts={"plans": plans}, **{"databases": ("sqlite",), **options})


def _dying() -> tuple[Case, ...]:
    sweep: Any = {"engine": "sweep"}
    only_crash: Any = {**sweep, "faults": ("crash",), "costly": True}
    return (
        case("forward", Plan((DNS, TLS)), **sweep),
        case("answer_lost", Plan((DNS, lost("tls")), "deploy-8"), engine="sweep", faults=("crash",)),
        case("refused", Plan((DNS, Step("tls", final)), "deploy-9", times=1), **only_crash),
        case(
            "undo_refused",
            Plan((DNS, lost("tls", undo_fails=(final,), for_good=True)), "deploy-10", times=1),
            **only_crash,
        ),
        # the sweeps are SQLite's: here is what they show, once
        case(
            "dies",
            Plan((DNS, lost("tls")), "deploy-11"),
            databases=("postgres",),
            schedules=("p1@cloud1.after+crash", "p1@cloud3.after+crash", "p1@cloud2.after+interrupt"),
        ),
    )


def _forward() -> tuple[Case, ...]:
    falsy = (Step("dns", gives=None), Step("tls", gives=False), Step("alert", gives=0))
    return (
        case("no_steps", Plan((), "nothing")),
        case("one_step", Plan((PAY,), "one")),
        case("four_steps", Plan(ODD, "Order 2026/077: Café", "café", as_tuple=True), databases=SQL),
        case("names_alike", Plan(ALIKE, "alike"), Plan((*ALIKE[:3], Step("2", final)), "taken back", "blog")),
        case("falsy_steps", Plan(falsy, "falsy")),
        case(
            "two_sagas",
            Plan((DNS, TLS), "s1", "wiki"),
            Plan((DNS, TLS, Step("alert", final)), "s1:dns", "blog"),
            Plan((DNS, Step("tls", busy), ALERT), "s", "mail"),
            databases=SQL,
        ),
    )


def _failing() -> tuple[Case, ...]:
    """Each place at which one of four steps can fail, and each kind of error."""
    errors = [DEFINITE["ValueError"], final, busy, DEFINITE["KeyError"]]
    made = []
    for place, error in enumerate(errors):
        steps = [*ODD[:place], Step(ODD[place].name, error), *ODD[place + 1 :]]
        options = {"databases": SQL} if place == 3 else {}
        made.append(case(f"step_{place + 1}_fails", Plan(tuple(steps), f"f{place}", as_tuple=place == 1), **options))
    for name, error in DEFINITE.items():
        made.append(case(f"refused_{name}", Plan((TLS, Step("alert", error), PAY), f"refused {name}", times=1)))
    for number, (name, error) in enumerate(INDEFINITE.items()):
        step = Step("alert", error, landed=number % 2 == 0, unknown=True)
        made.append(case(f"lost_{name}", Plan((TLS, step, PAY), f"lost {name}", times=1)))
    made.append(case("first_step_is_lost", Plan((lost("tls", undo_fails=(busy, late)), PAY), "first"), databases=SQL))
    falsy = (Step("dns", gives=None), Step("tls", gives=False), Step("alert", final))
    made.append(case("falsy_undo", Plan(falsy, "falsy undo")))
    return tuple(made)


def _undoing() -> tuple[Case, ...]:
    """The third of three steps fails, and the undo of the second one has its ways."""

    def undoing(name: str, *errors: Callable[[], Exception], **how: Any) -> Case:
        return case(name, Plan((DNS, Step("tls", undo_fails=errors, **how), Step("alert", final)), name))

    odd = ("StopAsyncIteration", "StopIteration", "UserWarning")
    oddly = [Step(name, undo_fails=(DEFINITE[error],), for_good=True) for name, error in zip(("dns", "tls", "alert"), odd, strict=True)]
    a = Step("dns", undo_fails=(busy, late, busy), for_good=True)
    c = Step("tls", undo_fails=(lambda: ValueError("no"),), for_good=True)
    return (
        undoing("undo_busy_twice", lambda: QueueFull(retry_after=2.0), lambda: CallTimeout("no answer")),
        undoing("undo_busy_twice_landed", late, lambda: StoreBusy("the zone is locked"), undo_landed=True),
        undoing("undo_fails", final, for_good=True),
        undoing("undo_fails_CompensationFailed", lambda: CompensationFailed("inside", remaining=["x"]), for_good=True),
        undoing("undo_fails_ConnectionResetError", lambda: ConnectionResetError("the line is dead"), for_good=True),
        undoing("undo_busy_then_fails", busy, final, for_good=True),
        case("undos_fail_oddly", Plan((*oddly, Step("pay", final)), "oddly")),
        undoing("undo_busy_for_good", busy, late, late, for_good=True),
        case("two_undos_fail", Plan((a, c, ALERT, Step("pay", final)), "two undos"), databases=SQL),
        case(
            "all_undos_fail",
            Plan(
                (
                    a,
                    Step("tls", undo_fails=(KeyError,), for_good=True),
                    Step("alert", late, unknown=True, undo_fails=(lambda: AssertionError("held"),), for_good=True),
                ),
                "all undos",
            ),
        ),
    )


DYING = _dying()
PLANNED = (*DYING, *_forward(), *_failing(), *_undoing())
EVERY = tuple(case.name for case in PLANNED)
TURNED = tuple(case.name for case in PLANNED if any(plan.fails_at is not None for plan in case.facts["plans"]))
STAY = tuple(case.name for case in PLANNED if any(plan.remaining for plan in case.facts["plans"]))
CRASHES = tuple(case.name for case in DYING)
