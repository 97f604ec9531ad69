"""Whose fault it is when a check breaks: ours is told as ours, and an answer is never judged by it."""

import errno
import sqlite3
from contextlib import ExitStack

import pytest

from labkit.checks import blame
from labkit.checks.judge import BROKEN, UNUSABLE
from labkit.checks.listening import Patience
from labkit.checks.replay import run_replay
from labkit.checks.run import NURSERY, run_check
from labkit.errors import UsageError
from labkit.faults.nursery import Nursery
from tests.checkout import ROOT

GOOD = "def effect_key(task_id, step):\n    return f'{task_id}:{step}'\n"
RIGHT = (ROOT / "tests/answers/resume/right/plain_function.py").read_text()
SOON = Patience(stall=2.0, total=30.0)
PLANTED = {
    "no_runs": "the check itself failed: OverflowError: int too large to convert",
    "no_ends": "the check itself failed: ZeroDivisionError",
    "no_loading": "the check itself failed: RuntimeError: no limits here and more",
}


@pytest.fixture
def broken_host():
    """Makes nurseries whose hosts have a fault of their own."""
    with ExitStack() as stack:

        def plant(fault):
            nursery = Nursery([*NURSERY.preload, f"tests.checks.planted:{fault}"])
            stack.callback(nursery.close)
            return nursery

        yield plant


@pytest.mark.parametrize("engine", ["", "kill"])
@pytest.mark.parametrize(("fault", "said"), PLANTED.items(), ids=PLANTED)
def test_fault_of_the_host_is_no_verdict(broken_host, fault, said, engine):
    """An error of our own is unusable, in one line, whatever the engine; it is never the answer's."""
    nursery = broken_host(fault)
    for exercise, source in (("warmup", GOOD), ("resume", RIGHT)):
        report = run_check(exercise, source, databases=("sqlite",), engine=engine, nursery=nursery)
        assert (UNUSABLE, said, []) == (report.verdict, report.message, report.properties)


def test_fault_of_the_host_in_a_replay(broken_host):
    """A replay says the same."""
    with pytest.raises(UsageError, match=PLANTED["no_ends"]):
        run_replay("warmup.keys/memory:none", GOOD, nursery=broken_host("no_ends"))


STORES = """
from dataclasses import replace
def resume_task(store, task_id, work):
    return store.save(replace(store.get(task_id), state='running', error='x' * 3_000_000))
"""
FLOODS = """
import os
def effect_key(task_id, step):
    for pipe in range(3, 30):
        try:
            os.write(pipe, {said})
        except OSError:
            pass
    return task_id + step
"""
BLAMED = {
    "stores a mountain": ("resume", STORES, "more than anybody can look at"),
    "floods the reports": ("warmup", FLOODS.format(said="b'x' * 3_000_000 + b'\\n'"), "it spoke for the host"),
    "makes up a run": ("warmup", FLOODS.format(said=repr(b'{"seen": "end", "case": "keys", "end": {}}\n')), "it spoke"),
    "makes up a case": ("warmup", FLOODS.format(said=repr(b'{"seen": "end", "case": "x", "end": {}}\n')), "it spoke"),
    "leaves": ("warmup", "import os\ndef effect_key(task_id, step):\n    os._exit(3)", "status 3"),
}


@pytest.mark.parametrize(("exercise", "source", "why"), BLAMED.values(), ids=BLAMED)
def test_answer_is_blamed_for_what_it_does(exercise, source, why):
    """An answer that ends its process, floods the host or stores too much is broken."""
    report = run_check(exercise, source, databases=("sqlite",), patience=SOON)
    ends = next(one for one in report.properties if one.name == "ends")
    assert (BROKEN, "breaks the process it runs in") == (report.verdict, ends.diagnosis)
    assert why in ends.message


def test_what_was_found_before_stands(broken_host):
    """A run that broke a property is no less broken because the check failed later; the report says both."""
    source = "def resume_task(store, task_id, work):\n    return None\n"
    report = run_check("resume", source, databases=("sqlite",), nursery=broken_host("no_second_case"))
    assert BROKEN == report.verdict
    assert "the check itself failed: LookupError: no second case" == report.message
    assert "breaks the process it runs in" not in [one.diagnosis for one in report.properties]


def raised(error, source="raise error", name="<answer to warmup>"):
    """The error as it comes out of a piece of code of this name."""
    with pytest.raises(type(error)) as caught:
        exec(compile(source, name, "exec"), {"error": error})
    return caught.value


def disk_full():
    error = sqlite3.OperationalError("disk full")
    error.sqlite_errorname = "SQLITE_FULL"
    return error


def led_to(cause):
    error = RuntimeError("of ours")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(1),
        KeyboardInterrupt(),
        MemoryError(),
        RecursionError(),
        blame.TooMuch(),
        OSError(errno.EFBIG, "File too large"),
        disk_full(),
        raised(ValueError("x")),
        led_to(raised(ValueError("x"))),
        led_to(MemoryError()),
    ],
    ids=repr,
)
def test_the_answers_doing(error):
    """Exits, what is used up, and errors that come out of the answer's own code, directly or as a cause."""
    assert ["broke"] == list(blame.told(error))


@pytest.mark.parametrize(
    "error",
    [
        OverflowError("x"),
        KeyError("x"),
        OSError(errno.ENOENT, "gone"),
        sqlite3.OperationalError("no such table"),
        raised(ValueError("x"), name="labkit/host.py"),
        led_to(LookupError()),
    ],
    ids=repr,
)
def test_our_own_doing(error):
    """Everything else is ours, also an error that leads round in a circle."""
    assert ["failed"] == list(blame.told(error))
    error.__context__, error.__cause__ = (circle := led_to(error)), None
    assert circle.__cause__ is error
    assert ["failed"] == list(blame.told(error))
