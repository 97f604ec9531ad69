"""From an answer to a report: whatever an answer does, there is one verdict, and never a traceback."""

import pytest

from labkit.checks import listening, run
from labkit.checks.cells import with_what_it_uses
from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, NOT_EXERCISED, UNUSABLE
from labkit.checks.listening import Patience
from labkit.checks.replay import run_replay
from labkit.checks.run import run_check
from labkit.errors import PostgresUnavailable, UsageError
from labkit.faults.picture import text
from tests.checkout import ROOT

SOON = Patience(stall=1.0, total=20.0)
DEF = "def effect_key(task_id, step):\n    "
GOOD = DEF + "return f'{task_id}:{step}'\n"


def check(source, exercise="warmup", **options):
    return run_check(exercise, source, **options)


def test_right_answer_holds():
    """A right answer holds, and its certificate says what was tried."""
    report = check(GOOD)
    assert (HOLDS, [], "") == (report.verdict, report.databases, report.message)
    assert "2 schedules; none broken" == report.certificate


ENDLESS = {
    "pure Python": "while True:\n        pass",
    "swallows everything": "while True:\n        try:\n            while True:\n                pass\n        except BaseException:\n            pass",
    "prints for ever": "while True:\n        print('x' * 1000)",
    "sleeps for ever": "import time\n    time.sleep(1000)",
    "waits for a lock": "import threading\n    lock = threading.Lock()\n    lock.acquire()\n    lock.acquire()",
    "swallows MemoryError": "kept = []\n    while True:\n        try:\n            kept.append(bytearray(1 << 28))\n"
    "        except MemoryError:\n            pass",
    "forks for ever": "import os\n    while True:\n        try:\n            os.fork()\n        except OSError:\n            pass",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_endless_answer_never_ends(body):
    """An answer that does not end is stopped from outside, and told so."""
    report = check(DEF + body, patience=SOON)
    assert BROKEN == report.verdict
    assert "never ends" == report.first_broken.diagnosis
    assert "keys" in report.first_broken.message


def test_time_that_is_used_up_is_no_verdict():
    """A check that was never silent and has not come to its end shows nothing: neither that the answer is right nor that it is wrong."""
    report = check(GOOD, patience=Patience(total=0.0))
    assert (NOT_EXERCISED, {NOT_EXERCISED}) == (report.verdict, {one.verdict for one in report.properties})
    assert {"too slow"} == {one.diagnosis for one in report.properties}
    assert "the machine is busy" in report.properties[0].message


def test_processor_time_that_is_used_up_is_the_answers_doing():
    """An answer that never is silent and spins all the time is broken, and named too slow."""
    spins = "import signal\n    signal.raise_signal(signal.SIGXCPU)"
    report = check(DEF + spins)
    assert (BROKEN, "too slow") == (report.verdict, report.first_broken.diagnosis)


def test_endless_calls_out_never_end():
    """An answer that swallows its own death and goes on calling out is stopped by the simulator, and told so."""
    source = "def execute_task_if_not_done(store, task_id, work):\n    while True:\n        store.get(task_id)\n"
    report = check(source, "idempotency", databases=("sqlite",))
    assert (BROKEN, "never ends") == (report.verdict, report.first_broken.diagnosis)


def test_ignored_signals_do_not_help():
    """An answer that ignores the signals that it can ignore, and leaves its group, is stopped all the same."""
    ignore = "try:\n    import os, signal\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    os.setsid()\nexcept (OSError, ValueError):\n    pass\n"
    report = check(ignore + DEF + "while True: pass", patience=SOON)
    assert "never ends" == report.first_broken.diagnosis


LOADING = {
    "never finishes": ("while True:\n    pass\n" + GOOD, "does not finish loading"),
    "sys.exit": ("import sys\nsys.exit(0)\n" + GOOD, "ends the process while it loads (SystemExit)"),
    "os._exit": ("import os\nos._exit(0)\n" + GOOD, "ends the process while it loads"),
    "KeyboardInterrupt": ("raise KeyboardInterrupt\n" + GOOD, "ends the process while it loads (KeyboardInterrupt)"),
    "an error": ("1 / 0\n" + GOOD, "fails while it loads: ZeroDivisionError: division by zero (line 1 of the answer)"),
    "an error that cannot be told": (
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd\n" + GOOD,
        "while it loads",
    ),
    "a killed process": ("import os\nos.kill(os.getpid(), 9)\n" + GOOD, "status -9"),
    "too deep": ("def f(): return f()\nf()\n" + GOOD, "fails while it loads: RecursionError"),
    "no name": ("def effect(task_id, step): return 1", "does not define effect_key(task_id, step)"),
    "no function": ("effect_key = 5", "effect_key is not a function"),
    "too few parameters": ("def effect_key(task_id): return 1", "another signature"),
    "too many parameters": ("def effect_key(task_id, step, more): return 1", "another signature"),
    "keyword only": ("def effect_key(*, task_id, step): return 1", "another signature"),
    "syntax": ("def effect_key(task_id, step:\n", "does not parse"),
    "tabs and spaces": ("def effect_key(task_id, step):\n\tif 1:\n        return 1\n", "does not parse"),
    "return outside": (GOOD + "return 5\n", "does not parse: 'return' outside function, line 3 of the answer (read by Python 3."),
    "noise": ("\x01\x7f\xfe\udcff", "does not parse"),
    "NUL": (GOOD + "\0", "not Python source"),
    "nothing": ("", "does not define"),
    "brackets": ("(" * 5000, "does not parse"),
    "minus signs": ("x = " + "-" * 100_000 + "1", "does not parse"),
    "too long": ("#" * 2_000_000, "not Python source"),
}


@pytest.mark.parametrize(("source", "why"), LOADING.values(), ids=LOADING)
def test_unusable_answer(source, why):
    """What cannot be loaded is unusable, with one line that says why."""
    report = check(source, patience=SOON if source.startswith("while") else Patience())
    assert UNUSABLE == report.verdict, report
    assert why in report.message
    assert 1 == len(report.message.splitlines())


BREAKS = {
    "os._exit 0": "import os\n    os._exit(0)",
    "os._exit 1": "import os\n    os._exit(1)",
    "SIGKILL": "import os\n    os.kill(os.getpid(), 9)",
    "SIGSEGV": "import ctypes\n    ctypes.string_at(0)",
    "a mountain": "return 'x' * 1_000_000",
}


@pytest.mark.parametrize("body", BREAKS.values(), ids=BREAKS)
def test_answer_that_breaks_its_process(body):
    """An answer that ends the process it runs in is broken, also where it ends it with status 0."""
    report = check(DEF + body)
    assert (BROKEN, "breaks the process it runs in") == (report.verdict, report.first_broken.diagnosis)
    assert "case keys" in report.first_broken.message


FAILS = {
    "sys.exit": "import sys\n    sys.exit(0)",
    "recursion": "return effect_key(task_id, step)",
    "memory": "return bytearray(1 << 40)",
    "stdin": "return input()",
    "system": "import os\n    os.system('true')",
    "subprocess": "import subprocess\n    subprocess.run(['true'])",
    "fork": "import os\n    os.fork()",
    "C's fork": "import ctypes\n    ctypes.CDLL(None).fork()",
    "kills its parent": "import os\n    os.kill(os.getppid(), 9)",
    "multiprocessing": "import multiprocessing\n    multiprocessing.get_context('fork').Process(target=print).start()",
    "odd error": "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})",
    "odd value": "return type('Odd', (), {'__repr__': lambda self: 1 / 0})()",
    "a coroutine": "async def later(): pass\n    return later()",
}


@pytest.mark.parametrize("body", FAILS.values(), ids=FAILS)
def test_answer_that_fails_is_broken(body):
    """Whatever goes wrong inside a call is the answer's, and the next check finds everything as before."""
    report = check(DEF + body)
    assert BROKEN == report.verdict
    assert report.first_broken.diagnosis
    assert HOLDS == check(GOOD).verdict


def test_output_changes_no_verdict():
    """A flood of output is capped and changes nothing, whichever way it takes."""
    flood = "import os, sys\n    print('x' * 100_000)\n    sys.stderr.write('y' * 100_000)\n    os.write(1, b'z' * 100_000)\n    "
    report = check(DEF + flood + "sys.__stdout__.write('w' * 100_000)\n    return f'{task_id}:{step}'")
    assert HOLDS == report.verdict
    assert report.output.startswith("xxx")
    assert 11_000 > len(report.output)


def test_stub_is_not_attempted():
    """The untouched stub, with or without a docstring, was not attempted; anything else was."""
    for body in ("...", '"""What it does."""\n    ...', '"""What it does."""'):
        assert NOT_ATTEMPTED == check(DEF + body).verdict
    for body in ("return None", "pass", "raise NotImplementedError", "return ..."):
        assert BROKEN == check(DEF + body).verdict


FORBIDDEN = {
    "the solution": "from labkit.execution import execute_task_if_not_done",
    "the simulator": "import labkit.faults",
    "a part of it": "from labkit.faults.process import Process",
    "the checks": "from labkit.checks import registry",
    "another name": "from labkit import VirtualClock",
    "an attribute": "import labkit\nlabkit.execution",
    "a package": "import numpy",
    "a package's part": "from numpy.linalg import norm",
    "a neighbour": "from . import helper",
    "importlib": "import importlib\nimportlib.import_module('labkit.execution')",
    "importlib, by parts": "from importlib import import_module\nimport_module('.'.join(['labkit', 'execution']))",
    "__import__": "__import__('lab' + 'kit.execution')",
    "an alias": "import labkit as x\nx.execution",
    "getattr": "import labkit\ngetattr(labkit, 'exec' + 'ution')",
    "sys.modules": "import sys\nsys.modules['labkit.execution']",
    "exec": "exec('from labkit.' + 'execution import resume_task')",
    "caught": "try:\n    import numpy\nexcept Exception:\n    pass",
}


@pytest.mark.parametrize("line", FORBIDDEN.values(), ids=FORBIDDEN)
def test_forbidden_import_is_broken(line):
    """An answer that imports what it may not is broken and told so, at the top or inside a call, by whatever way."""
    inside = DEF + line.replace("\n", "\n    ") + "\n    return f'{task_id}:{step}'"
    for source in (f"{line}\n{GOOD}", inside):
        report = check(source)
        assert (BROKEN, "own work") == (report.verdict, report.first_broken.name)
        assert "the answer imports" in report.first_broken.message


def test_swallowed_refusal_counts():
    """A refused import is broken also where the answer catches the refusal."""
    body = "try:\n        __import__('lab' + 'kit.execution')\n    except Exception:\n        pass\n    return f'{task_id}:{step}'"
    assert "own work" == check(DEF + body).first_broken.name


def test_allowed_imports():
    """The standard library, the packages and the names of the exercises may be imported, in every way of writing it."""
    lines = [
        "from __future__ import annotations",
        "import labkit, labkit.tables, labkit.errors as e, sqlalchemy.orm, pydantic, importlib.util, logging",
        "from labkit import *",
        "from labkit import Task, TaskNotFound as missing, write_transaction",
        "from labkit.tables import tasks, task_from_row",
        "from importlib import import_module",
        "assert labkit.TaskState.FAILED == 'failed' and labkit.tables.tasks is tasks and e.StaleTask is labkit.StaleTask",
        "assert import_module('json').loads('1') == 1 and import_module('labkit.tables').tasks is tasks",
        "log = logging.getLogger('labkit.answer')",
    ]
    assert HOLDS == check("\n".join(lines) + "\n" + GOOD).verdict


def test_nothing_survives_a_process():
    """Each process executes the answer anew: globals, defaults, class attributes and builtins begin again."""
    source = """
import builtins
seen = []
class Kept:
    seen = 0
def effect_key(task_id, step, default=[]):
    fresh = not seen and not Kept.seen and not default and not effect_key.__dict__
    __builtins__['kept' + task_id] = seen.append(1)
    Kept.seen += 1
    default.append(1)
    effect_key.kept = 1
    return f'{task_id}:{step}' if fresh else ''
"""
    first = check(source).first_broken  # the second case calls again and again in one process, and there all of it is kept
    assert first is not None
    assert first.token.startswith("warmup.many/")


def test_files_do_not_litter(tmp_path, monkeypatch):
    """What an answer writes into the current folder is gone afterwards."""
    monkeypatch.chdir(tmp_path)
    assert HOLDS == check("open('tasks.json', 'w').write('x')\n" + GOOD).verdict
    assert [] == list(tmp_path.iterdir())


def test_unknown_exercise():
    """An unknown exercise is a usage error that names those that exist."""
    with pytest.raises(UsageError, match="warmup"):
        check(GOOD, "nonsense")


def test_do_nothing_never_holds():
    """What was never put to the test does not hold: the properties that no run reached say so."""
    report = check("def resume_task(store, task_id, work):\n    return None\n", "resume", databases=("sqlite",))
    assert BROKEN == report.verdict
    assert NOT_EXERCISED in {one.verdict for one in report.properties}


def test_without_a_database_nothing_is_exercised():
    """An exercise that needs a database and gets none is not exercised, not praised."""
    report = check("def resume_task(store, task_id, work):\n    return None\n", "resume", databases=())
    assert (NOT_EXERCISED, []) == (report.verdict, report.databases)


def test_missing_postgres_is_said(monkeypatch):
    """Where there is no PostgreSQL the report says that it was not exercised there, and judges by SQLite."""

    def no_room(database):
        if database == "postgres":
            raise PostgresUnavailable("no server here")
        return real(database)

    real = run.room
    monkeypatch.setattr(run, "room", no_room)
    report = check("def resume_task(store, task_id, work):\n    return None\n", "resume")
    assert ["sqlite"] == report.databases
    monkeypatch.setattr(run.Jury, "broken", property(lambda jury: False))
    report = check("def resume_task(store, task_id, work):\n    return None\n", "resume")
    assert "not exercised on postgres: no server here" == report.message
    report = check("def resume_task(store, task_id, work):\n    return None\n", "resume", databases=("postgres",))
    assert (UNUSABLE, "not exercised on postgres: no server here", []) == (report.verdict, report.message, report.properties)


@pytest.mark.parametrize(("path", "verdict"), [("right/raw_sql_cte", HOLDS), ("wrong/do_nothing", BROKEN)])
def test_a_costly_case_is_run_last_and_for_a_whole_answer_only(path, verdict, monkeypatch):
    """An answer that is broken already is told so without the orders of three workers."""
    begun = []
    real = listening._take
    monkeypatch.setattr(listening, "_take", lambda heard, said: (begun.append(said.get("seen") and said["case"]), real(heard, said)))
    source = "print('hello')\n" + (ROOT / f"tests/answers/claim/{path}.py").read_text()
    report = check(source, "claim", databases=("sqlite",))
    assert verdict == report.verdict
    assert report.output.startswith("hello")
    seen = list(dict.fromkeys(filter(None, begun)))
    assert ("three_workers_four_tasks" in seen) == (verdict == HOLDS)
    assert "three_workers_four_tasks" == seen[-1] or verdict == BROKEN


BEATEN = """
from dataclasses import replace
def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    running = store.save(replace(task, state='running'))
    return store.save(replace(running, state='completed', result=work(task.user_input, {key})))
"""


@pytest.mark.parametrize("key", ["'x' + str(running.version)", "task_id"])
def test_every_token_shows_what_it_stands_for(key):
    """Each counterexample's token, replayed, breaks the same property, and twice the same way."""
    source = BEATEN.format(key=key)
    report = check(source, "idempotency", databases=("sqlite",))
    tokens = {one.name: one.token for one in report.properties if one.verdict == BROKEN}
    assert tokens
    for name, token in tokens.items():
        traces = [run_replay(token, source) for _ in range(2)]
        assert traces[0] == traces[1]
        assert name in [line.label for line in traces[0].lines if line.kind == "broken"], token
        assert text(traces[0])


def test_what_a_crash_left_is_replayed():
    """A property that only the state after a crash breaks is broken in the replay too."""
    source = BEATEN.format(key="task_id").replace(
        "running = store.save", "text = work(task.user_input, task_id)\n    running = store.save"
    )
    report = check(source, "idempotency", databases=("sqlite",))
    one = next(one for one in report.properties if one.name == "running is saved")
    assert (BROKEN, True) == (one.verdict, "crash" in one.token)
    assert "running is saved" in [line.label for line in run_replay(one.token, source).lines if line.kind == "broken"]


def test_stub_can_be_looked_at():
    """A replay of the untouched stub shows a process that does nothing, and judges nothing if asked not to."""
    stub = "def resume_task(store, task_id, work):\n    ...\n"
    trace = run_replay("resume.pending/memory:none", stub, judged=False)
    assert (["p1"], None) == (trace.processes, trace.broken)


UNREPLAYABLE = {
    "no token": ("nonsense", GOOD, "is not a token"),
    "no exercise": ("nonsense.keys/memory:none", GOOD, "no exercise"),
    "no case": ("warmup.nonsense/memory:none", GOOD, "no case 'nonsense'"),
    "no database": ("warmup.keys/oracle:none", GOOD, "no such database"),
    "does not parse": ("warmup.keys/memory:none", "def", "does not parse"),
    "fails": ("warmup.keys/memory:none", "1 / 0\n" + GOOD, "ZeroDivisionError"),
    "forbidden": ("warmup.keys/memory:none", "import numpy\n" + GOOD, "imports numpy"),
    "forbidden at load": ("warmup.keys/memory:none", "__import__('num' + 'py')\n" + GOOD, "imports numpy"),
    "endless while it loads": ("warmup.keys/memory:none", "while True:\n    pass\n" + GOOD, r"never ends.*in a loop \(line 1 of the answer\)"),
    "ends the process": ("warmup.keys/memory:none", "import os\n" + DEF + "os._exit(0)", "broke off"),
}


@pytest.mark.parametrize(("token", "source", "why"), UNREPLAYABLE.values(), ids=UNREPLAYABLE)
def test_unusable_replay(token, source, why):
    """A replay that cannot be made says why in one line."""
    with pytest.raises(UsageError, match=why):
        run_replay(token, source, patience=SOON)


def test_report_is_plain_data():
    """A report goes to JSON with the fields that scripts rely on, and says nothing of the machine but its seconds."""
    report = check(GOOD).to_data()
    assert {"exercise", "verdict", "properties", "certificate", "schedules", "databases", "seconds"} <= report.keys()
    again = check(GOOD).to_data()
    assert {**report, "seconds": 0} == {**again, "seconds": 0}


RAISES = {
    "in the answer": (DEF + "step = 1\n    return glue(step)\n", "name 'glue' is not defined (line 3 of the answer)"),
    "in its helper": (DEF + "return help(step)\ndef help(it):\n    return it.nothing\n", "(line 4 of the answer)"),
    "in a library": ("import json\n" + DEF + "return json.loads(step)\n", "(line 3 of the answer)"),
    "two lines of words": (DEF + "raise ValueError('one\\ntwo')\n", "raised ValueError: one (line 2 of the answer)"),
}


@pytest.mark.parametrize(("source", "why"), RAISES.values(), ids=RAISES)
def test_raised_error_names_its_line(source, why):
    """What an answer raised comes with the line of the answer; the trace stays as it is."""
    first = check(source).first_broken
    assert first.message.endswith(why)
    drawn = text(run_replay(first.token, source))
    assert "raised " in drawn
    assert " of the answer" not in drawn


def test_line_is_the_cells_own():
    """Lines are counted in the answer's own cell, whatever comes along from other cells; of those the line itself is shown."""
    helper = "def glue(a, b):\n    print(a)\n    return a + b + c\n"
    for uses, said in (
        ("return glue(task_id, step)", "(another cell, at `return a + b + c`)"),
        ("glue\n    return nothing", "(line 4 of the answer)"),
    ):
        source = with_what_it_uses(f"# labkit: warmup\n{DEF}{uses}\n", [helper])
        assert check(source).first_broken.message.endswith(said)


def test_unloadable_line_is_the_cells_own():
    """The same for what fails while it loads, or does not parse."""
    cell = "# labkit: warmup\n" + GOOD + "one = glue\n"
    for last, said in (("1 / 0", "(line 5 of the answer)"), ("return 5", "outside function, line 5 of the answer (read by Python 3")):
        report = check(with_what_it_uses(cell + last, ["def glue(a, b):\n    return a + b"]))
        assert (UNUSABLE, True) == (report.verdict, said in report.message), report.message


def test_line_of_an_error_inside_a_body():
    """An error that a case caught and wrote down has its line too."""
    source = (ROOT / "tests/answers/retry/right/plain_loop.py").read_text()
    report = check(source.replace("except Exception", "except BaseException"), "retry", databases=())
    exits = next(one for one in report.properties if one.name == "lets every exit through")
    assert "the call raised RetriesExhausted (line 15 of the answer)" in exits.message


@pytest.mark.postgres
def test_what_only_the_other_database_shows_is_not_spoken_of():
    """Who asks for one database hears of what is tested there."""
    source = (ROOT / "tests/answers/checkpoint/right/plain_class.py").read_text()
    report = check(source, "checkpoint", databases=("postgres",))
    assert HOLDS == report.verdict, report.properties
    assert len(report.properties) < len(run.registry.find("checkpoint").properties)


AGENT = "def run_agent(client, tools, journal, task, on_progress):\n    return 'done'\n"


def test_what_an_exercise_needs_is_named(monkeypatch):
    """Where a package that only one exercise needs is not installed, its answers are not judged, and what to install is said."""
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    why = "the exercise agent needs what is not installed here: pip install httpx openai"
    report = check(AGENT, "agent")
    assert (UNUSABLE, why, []) == (report.verdict, report.message, report.properties)
    with pytest.raises(UsageError, match=why):
        run_replay("agent.disk/memory:none", AGENT)
    assert HOLDS == check(GOOD).verdict


def test_one_warm_parent_for_each_preload():
    """Exercises that need no more than the others share the parent of all; those that do have one that has loaded it."""
    assert run.nursery_with("") is run.NURSERY
    assert run.nursery_with("labkit.checks.agent_wire:warm") is run.nursery_with("labkit.checks.agent_wire:warm")
    assert (*run.NURSERY.preload, "labkit.checks.agent_wire:warm") == run.nursery_with("labkit.checks.agent_wire:warm").preload
