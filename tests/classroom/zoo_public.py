"""What a rebuilt notebook may be made to do while it runs, and what the public pass must say of it.

Each animal is a right answer to `retry` with something added, so that it can be put into a small notebook or into the exercise's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.corpus import ANSWERS

RIGHT = f"# labkit: retry\n{(ANSWERS / 'retry/right/plain_loop.py').read_text(encoding='utf-8')}"


@dataclass(frozen=True)
class Animal:
    """`trick` stands below the answer, in its cell; `later` in a cell of the learner's own behind it; `files` lie beside the notebook that was handed in."""

    name: str
    state: str  # the worst of its notebook's cells
    trick: str
    later: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer(self) -> str:
        return f"{RIGHT}\n\n{self.trick}\n"


FORGED = (
    '<testsuites><testsuite name="pytest" errors="0" failures="0"><testcase name="Cell 1"/></testsuite></testsuites>'
)
FORGES = f"""
import pathlib
graders = [found for disk in ("/dev/shm", "/tmp") for found in pathlib.Path(disk).glob("labkit-world-*")]
for folder in [pathlib.Path.cwd(), *pathlib.Path.cwd().parents, *graders]:
    for name in ("junit.xml", "report.xml"):
        if str(folder).count("/") > 2:
            try:
                (folder / name).write_text({FORGED!r})
            except OSError:
                pass
raise ValueError("all of it is wrong")
"""
SHIPPED = """
import os, random
import labkit
assert os.listdir(".") == [], os.listdir(".")
assert not hasattr(random, "shipped")
assert not hasattr(labkit, "shipped")
"""
PATCHED = """
import pytest, hypothesis
pytest.fail = pytest.raises = pytest.Item.runtest = lambda *args, **kwargs: None
hypothesis.given = hypothesis.settings = lambda *args, **kwargs: lambda function: lambda: None
"""
DOES_NOTHING = """
shell = get_ipython()
async def do_execute(code, silent, *args, **kwargs):
    return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}
shell.kernel.do_execute = do_execute
"""
REPLIES_WELL = """
shell = get_ipython()
execute = shell.kernel.do_execute
async def do_execute(*args, **kwargs):
    return {**await execute(*args, **kwargs), "status": "ok"}
shell.kernel.do_execute = do_execute
"""
STUBBORN = """
import time
while True:
    try:
        while True:
            time.sleep(60)
    except BaseException:
        pass
"""
ENDS_WELL = """
import time
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("done")
"""
LEFT_RUNNING = """
import threading, time
def talk():
    while True:
        print("still there")
        time.sleep(0.01)
threading.Thread(target=talk, daemon=True).start()
"""


ZOO = [
    Animal("right", "passed", ""),
    Animal("raises", "failed", 'raise ValueError("no")'),
    Animal("showtraceback_silenced", "tampered", "get_ipython().showtraceback = lambda *args, **kwargs: None\n1 / 0"),
    Animal("do_execute_does_nothing", "tampered", DOES_NOTHING),
    Animal("do_execute_replies_well", "tampered", REPLIES_WELL),
    Animal("pytest_and_hypothesis_patched", "passed", PATCHED),
    Animal(
        "files_shipped",
        "passed",
        SHIPPED,
        files={
            "conftest.py": "raise SystemExit",
            "pytest.ini": "[pytest]\naddopts = --collect-only",
            "random.py": "shipped = True",
            "labkit.py": "shipped = True",
        },
    ),
    Animal("told_to_skip", "failed", "# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION\n1 / 0"),
    Animal("report_forged", "failed", FORGES),
    Animal("kernel_ended", "error", "import os\nos._exit(0)"),
    Animal("group_killed", "error", "import os, signal\nos.killpg(0, signal.SIGKILL)"),
    Animal("sys_exit", "failed", "import sys\nsys.exit(0)"),
    Animal("infinite_loop", "timeout", "while True:\n    pass"),
    Animal("infinite_loop_that_cannot_be_interrupted", "timeout", STUBBORN),
    Animal("infinite_loop_that_ends_well", "timeout", ENDS_WELL),
    Animal("flood_of_output", "passed", "for _ in range(50):\n    print('x' * 100_000)"),
    Animal("flood_without_end", "timeout", "while True:\n    print('x' * 1000)"),
    Animal("asks_for_input", "failed", 'input("what now? ")'),
    Animal("asks_for_memory", "failed", "bytearray(1 << 33)"),
    Animal("warns", "passed", "import sys, warnings\nwarnings.warn('old')\nprint('odd', file=sys.stderr)"),
    Animal("thread_left_running", "passed", LEFT_RUNNING),
    Animal("name_used_again", "passed", "", later="execute_with_retry = AssertionError = Exception = 3"),
]
