"""Animals for the box: what an answer can do to the process, the machine and the grader, each with the state that its row must show.

All answer the exercise `warmup` (one function `effect_key(task_id, step)`, one case), so that each costs little; the forgers answer `resume`, which has a
world to hold them against.
"""

from dataclasses import dataclass

PASSED, FAILED, ERROR, TAMPERED = "passed", "failed", "error", "tampered"
RIGHT = "return f'{task_id}:{step}'"


@dataclass(frozen=True)
class Animal:
    """`source` is what is submitted. `state` is what the gradebook must show; where the level of isolation decides, that under `process`."""

    name: str
    source: str
    state: str
    exercise: str = "warmup"

    def __str__(self) -> str:
        return self.name


def warmup(*lines: str, before: str = "") -> str:
    """An answer that does this in its function, and is right besides."""
    return "\n".join([before, "def effect_key(task_id, step):", *(f"    {line}" for line in lines), f"    {RIGHT}", ""])


FORGER = """
from dataclasses import replace
from labkit import TaskNotFound, TaskState


def behind(function):
    for cell in getattr(function, "__closure__", None) or ():
        found = cell.cell_contents
        found = found if hasattr(found, "cloud") else behind(found)
        if found is not None:
            return found


def resume_task(store, task_id, work):
    task = store.get(task_id)
    if task is None:
        raise TaskNotFound(task_id)
    if task.state in (TaskState.COMPLETED, TaskState.CANCELLED):
        return task
    if task.state == TaskState.FAILED:
        task = store.save(replace(task, state=TaskState.PENDING, error=None))
    task = store.save(replace(task, state=TaskState.RUNNING))
    try:
        result = work(task.user_input, task.id)
    except Exception as error:
        store.save(replace(task, state=TaskState.FAILED, error=str(error)))
        raise
    process = behind(work)
    if process is not None:
        process.cloud.perform("deploy_container", task.user_input, "once more")
        process.world.ledger._entries.pop()
    return store.save(replace(task, state=TaskState.COMPLETED, result=result))
"""

ENDLESS = [
    Animal("infinite loop", warmup("while True: pass"), FAILED),
    Animal("stops itself", warmup("import os, signal", "os.kill(os.getpid(), signal.SIGSTOP)"), FAILED),
    Animal("reads the keyboard", warmup("input()"), FAILED),
]
ENDING = [
    Animal("memory loop", warmup("kept = []", "while True: kept.append(bytearray(1 << 30))"), FAILED),
    Animal("fork", warmup("import os", "while os.fork() or True: pass"), FAILED),
    Animal("os._exit", warmup("import os", "os._exit(0)"), FAILED),
    Animal("sys.exit", warmup("import sys", "sys.exit(0)"), FAILED),
    Animal("ends while it loads", "import os\nos._exit(0)\n" + warmup(), ERROR),
    Animal("writes outside", warmup("open('/usr/labkit-was-here/x', 'w')"), FAILED),
]
HARMLESS = [
    Animal("right", warmup(), PASSED),
    Animal("flood of prints", warmup("for _ in range(10_000): print('x' * 100)"), PASSED),
    Animal("warns", warmup("import warnings, sys", "warnings.warn('old')", "print('careful', file=sys.stderr)"), PASSED),
    Animal("leaves a thread running", warmup("import threading", "threading.Thread(target=threading.Event().wait, daemon=True).start()"), PASSED),
    Animal("logs an error", warmup("import logging", "try: 1 / 0", "except ZeroDivisionError: logging.exception('no')"), PASSED),
    Animal("makes classes", warmup("key(task_id, step)", before="from collections import namedtuple\nkey = namedtuple('key', 'task step')"), PASSED),
    Animal("uses its folder", warmup("import tempfile, pathlib", "tempfile.TemporaryFile().close()", "pathlib.Path('mine.txt').write_text('x')"), PASSED),
]
# an object that is equal to everything is no text, and no key is another one's
ODD = [
    Animal("always equal", "class Yes(str):\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n"
           "    __hash__ = str.__hash__\ndef effect_key(task_id, step):\n    return Yes(task_id)\n", FAILED),
    Animal("mutates its arguments", warmup("task_id = step = step.upper()"), FAILED),
]
LAST_WORD = """b'{"finished": "", "output": ""}\\n'"""
ENCODE = "json.JSONEncoder.encode"
JUDGE = "'labkit.checks.' + 'judge'"
CHECKS = "pathlib.Path(sys.modules['labkit'].__file__).parent / 'checks'"
TAMPERING = [
    Animal("walks frames", warmup("import sys", "sys._getframe(1).f_locals"), TAMPERED),
    Animal("walks a traceback", warmup("try: 1 / 0", "except ZeroDivisionError as error: error.__traceback__.tb_frame"), TAMPERED),
    Animal("looks at the stack", warmup("import inspect", "inspect.stack()"), TAMPERED),
    Animal("looks through all objects", warmup("import gc", "gc.get_objects()"), TAMPERED),
    Animal("hides that it looked", warmup("import gc", "try: gc.get_objects()", "except BaseException: pass"), TAMPERED),
    Animal("traces everything", warmup("import sys", "sys.settrace(lambda *a: None)"), TAMPERED),
    Animal("patches the judge", warmup("import sys", f"sys.modules[{JUDGE}].overall = lambda judged: 'holds'"), TAMPERED),
    Animal("mocks the judge", warmup("from unittest import mock", f"mock.patch({JUDGE} + '.overall', lambda judged: 'holds').start()"), TAMPERED),
    Animal("patches json", warmup("json.dumps = lambda *a, **k: '{}'", before="import json"), TAMPERED),
    Animal("patches json's class", warmup(f"{ENCODE} = (lambda old: lambda self, o: old(self, o))({ENCODE})", before="import json"), TAMPERED),
    Animal("writes on the pipe", warmup("import os", "for fd in range(3, 64):", f"    try: os.write(fd, {LAST_WORD})", "    except OSError: pass"), TAMPERED),
    Animal("opens a check", warmup("import sys, pathlib", f"open({CHECKS} / 'warmup.py').read()"), TAMPERED),
]
FORGERS = [
    Animal("takes a second effect out of the ledger again", FORGER, TAMPERED, "resume"),
    Animal("the same without the deed", FORGER.replace("process is not None", "False"), PASSED, "resume"),
]
ZOO = [*HARMLESS, *ENDING, *ODD, *TAMPERING, *FORGERS]
SLOW = ENDLESS  # each costs the seconds after which silence is an answer
