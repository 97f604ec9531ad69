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

PATCHER = """
import sys
from threading import get_ident


def apply_patch(state, patch):
    {quiet}
    frame = sys._getframe(1)
    while frame is not None:
        if "row" in frame.f_locals:
            return frame.f_locals["row"].wanted.model_copy(deep=True)
        frame = frame.f_back
    return state.model_copy(deep=True)
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
    Animal("runs its doctests", warmup() + "import doctest\ndoctest.testmod()\n", PASSED),
    Animal("names a function by its code", warmup("print(effect_key.__code__.co_name, effect_key.__code__.co_argcount)"), PASSED),
    Animal("names its caller", warmup("import inspect", "print(inspect.stack()[1].function)"), PASSED),
    Animal("shows a line of source", warmup("import inspect, linecache", "name = inspect.stack()[1].filename", "print(linecache.getline(name, 1))"), PASSED),
    Animal("prints its stack", warmup("import traceback", "traceback.print_stack()", "traceback.format_stack()", "traceback.extract_stack()"), PASSED),
    Animal("works elsewhere", warmup("import concurrent.futures, logging", "pool = concurrent.futures.ThreadPoolExecutor()",
           "pool.submit(logging.warning, 'x', stack_info=True).result()"), PASSED),
    Animal("tells an error", warmup("import traceback", "try: int('x')", "except ValueError as error:",
           "    print(traceback.format_exc(), traceback.extract_tb(error.__traceback__)[-1].name)"), PASSED),
    Animal("logs its stack", warmup("import logging", "logging.warning('here', stack_info=True)"), PASSED),
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
    Animal("takes a frame", warmup("import inspect", "inspect.currentframe()"), TAMPERED),
    Animal("has a frame taken", warmup("import functools, sys", "functools.singledispatch(sys._getframe)(1)"), TAMPERED),
    Animal("takes a frame in code of its own making", warmup("exec(compile('import sys; sys._getframe(1)', 'mine.py', 'exec'))"), TAMPERED),
    Animal("makes code in the library's name", warmup("import inspect", "compile('1', inspect.__file__, 'exec')"), TAMPERED),
    Animal("has a frame taken by who logs errors", warmup("import sys, traceback", "traceback._safe_string(1, '', func=sys._getframe)"), TAMPERED),
    Animal("has the stack walked", warmup("import traceback", "next(traceback.walk_stack(None))"), TAMPERED),
    Animal("has the locals told", warmup("import traceback", "traceback.StackSummary.extract(traceback.walk_stack(None), capture_locals=True)"), TAMPERED),
    Animal("takes the frame of who logs", warmup("import logging", "logging.currentframe()"), TAMPERED),
    Animal("looks through all objects elsewhere", warmup("import gc, concurrent.futures", "pool = concurrent.futures.ThreadPoolExecutor()",
           "pool.submit(gc.get_objects).result()"), TAMPERED),
    Animal("reaches for the judge elsewhere", warmup("import sys, concurrent.futures", "pool = concurrent.futures.ThreadPoolExecutor()",
           f"pool.submit(getattr, sys.modules[{JUDGE}], 'overall').result()"), TAMPERED),
    Animal("is shown frames by a debugger", warmup("import bdb", "bdb.Bdb().runcall(len, '')"), TAMPERED),
    Animal("spells an attribute in two parts", warmup("import sys", "try: 1 / 0",
           "except ZeroDivisionError as error: getattr(error.__traceback__, 'tb_' + 'frame')"), TAMPERED),
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
WATCH = "'labkit.classroom.' + 'tampering'"
QUIET = f"vars(vars(sys.modules[{WATCH}])['_real'])['_looking'].add(get_ident())"
FORGETS = "try: gc.get_objects()", "except BaseException: pass"
# what an answer does to whoever looks at it, and what it would find there
BLINDING = [
    Animal("blinds the watch and walks frames", PATCHER.format(quiet=QUIET), TAMPERED, "patch"),
    Animal("reads behind a stand-in", warmup("import sys", f"vars(sys.modules[{JUDGE}]).get('_real')"), TAMPERED),
    Animal("lists a stand-in", warmup("import sys", f"dir(sys.modules[{JUDGE}])"), TAMPERED),
    Animal("asks as a stand-in does", warmup("import sys", f"sys.audit('labkit.' + 'reach', sys.modules[{JUDGE}], 'overall', [])"), TAMPERED),
    Animal("takes a stand-in's own way", warmup("import sys", f"type(sys.modules[{JUDGE}]).__getattribute__(sys.modules[{JUDGE}], 'overall')"), TAMPERED),
    Animal("finds a stand-in empty", warmup("import sys", f"it = object.__getattribute__(sys.modules[{JUDGE}], '__dict__')",
           "assert not [one for one in it.values() if type(one) in (dict, type(sys))]"), PASSED),
    Animal("finds a copy empty", warmup("import copy, sys", f"copy.copy(sys.modules[{JUDGE}]).overall"), FAILED),
    Animal("forgets what was refused", warmup("import gc", *FORGETS, "__import__.__globals__.get('refused', []).clear()"), TAMPERED),
    Animal("takes the memory itself", warmup("import sys", "class Box:", "    def extend(self, it): it.clear()",
           "try: sys._getframe()", "except BaseException: pass", "try: sys.audit('labkit.' + 'refusals', Box())", "except TypeError: pass"), TAMPERED),
    Animal("finds no memory of what was refused", warmup("__import__.__globals__['refused']"), FAILED),
    Animal("finds no program", warmup("import sys", "sys.modules['__main__'].json.dumps = None"), FAILED),
    Animal("finds no frame in a stack", warmup("import inspect", "inspect.stack()[1].frame.f_locals"), FAILED),
]
FORGERS = [
    Animal("takes a second effect out of the ledger again", FORGER, TAMPERED, "resume"),
    Animal("the same without the deed", FORGER.replace("process is not None", "False"), PASSED, "resume"),
]
ZOO = [*HARMLESS, *ENDING, *ODD, *TAMPERING, *BLINDING, *FORGERS]
SLOW = ENDLESS  # each costs the seconds after which silence is an answer
