"""An answer that does not come back is told where it was, in which run, and how to see it again."""

import pytest

from labkit.checks.cells import with_what_it_uses
from labkit.checks.judge import BROKEN
from labkit.checks.listening import Patience
from labkit.checks.replay import run_replay
from labkit.checks.run import run_check
from labkit.errors import UsageError

SOON = Patience(stall=1.0, total=20.0)
KEY = "def effect_key(task_id, step):\n    "
RETRY = "def execute_with_retry(fn, max_attempts, clock):\n    "
ON_ERROR = RETRY + "try:\n        return fn()\n    except Exception:\n        {}\n"


def broken(exercise, source, **options):
    """What is said of the property `ends`."""
    report = run_check(exercise, source, patience=SOON, databases=("sqlite",), **options)
    return next(one for one in report.properties if one.name == "ends" and one.verdict == BROKEN)


PLACES = {
    "a loop": (KEY + "while True:\n        pass", "in a loop (line 2 of the answer)"),
    "a loop in a loop": (KEY + "while True:\n        for x in range(9):\n            step += step[:1]", "in a loop (line 2 of the answer)"),
    "a loop in a helper": (KEY + "return spin()\ndef spin():\n    n = 0\n    while n < 1: n -= 1", "in a loop (line 5 of the answer)"),
    "a helper in a loop": (KEY + "while True:\n        spin()\ndef spin():\n    for x in range(9): pass", "in a loop (line 2 of the answer)"),
    "a sleep": (KEY + "import time\n    time.sleep(1000)", "at one and the same place (line 3 of the answer)"),
    "a lock": (KEY + "from threading import Lock\n    lock = Lock()\n    lock.acquire()\n    lock.acquire()", "(line 5 of the answer)"),
    "a thread": (
        KEY + "import threading\n    one = threading.Thread(target=spin)\n    one.start()\n    one.join()\ndef spin():\n    while True: pass",
        "in a loop (line 7 of the answer)",
    ),
    "one call of Python's own": (KEY + "return sum(range(10**12))", "at one and the same place (line 2 of the answer)"),
    "a folder in the place of its file": (
        "import os\n" + KEY + "os.remove('../whereabouts')\n    os.mkdir('../whereabouts')\n    while True: pass",
        "look for a loop that nothing ends, or for a wait that nobody ends",
    ),
    "no listener": (
        "import signal\n" + KEY + "signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n    while True: pass",
        "look for a loop that nothing ends, or for a wait that nobody ends",
    ),
}


@pytest.mark.parametrize(("source", "said"), PLACES.values(), ids=PLACES)
def test_where_a_silent_answer_is(source, said):
    """A loop is named by its first line, whichever of its lines was met; a wait by its own; what cannot be known is not made up."""
    found = broken("warmup", source)
    assert found.message.startswith("the answer never ends (case keys): ")
    assert found.message.endswith(said)
    assert "warmup.keys/memory:none" == found.token


def test_line_of_a_loop_is_the_cells_own():
    """Lines are counted in the answer's own cell; of a loop in another cell the line itself is shown."""
    helper = "def spin():\n    while True:\n        pass"
    source = with_what_it_uses(f"# labkit: warmup\n{KEY}spin()\n", [helper])
    assert broken("warmup", source).message.endswith("in a loop (another cell, at `while True:`)")
    source = with_what_it_uses(f"# labkit: warmup\n{KEY}while True: glue\n", ["def glue(): pass"])
    assert broken("warmup", source).message.endswith("in a loop (line 3 of the answer)")


RUNS = {
    "the first run": (RETRY + "while True: pass", "retry.four_attempts/memory:none"),
    "a later run": (ON_ERROR.format("while True: pass"), "retry.four_attempts/memory:p1@cloud1.before+error"),
    "another case": (RETRY + "while max_attempts == 1: pass\n    return fn()", "retry.a_single_attempt/memory:none"),
    "the process is gone": ("import os\n" + ON_ERROR.format("os._exit(3)"), "retry.four_attempts/memory:p1@cloud1.before+error"),
}


@pytest.mark.parametrize(("source", "token"), RUNS.values(), ids=RUNS)
def test_token_is_that_of_the_run_that_did_not_end(source, token):
    """Not the run before it, which was fine, but the one that was under way."""
    assert token == broken("retry", source).token


def test_no_token_where_nobody_knows_the_run():
    """A run in the middle of a sweep is not known by its token, so none is told: another one would show nothing."""
    source = (
        "from labkit import RetriesExhausted, TerminalError\n" + RETRY + "if max_attempts < 1:\n        raise ValueError\n"
        "    for attempt in range(max_attempts):\n        try:\n            return fn()\n        except TerminalError:\n            raise\n"
        "        except KeyboardInterrupt as told:\n            while not str(told): pass\n            raise\n        except Exception as error:\n"
        "            if attempt == max_attempts - 1:\n                raise RetriesExhausted(attempts=max_attempts) from error\n"
        "        clock.sleep(2**attempt)\n"
    )
    found = broken("retry", source)
    assert ("", True) == (found.token, found.message.startswith("the answer never ends (case third_time): "))


def test_replay_of_an_endless_run_shows_what_came_before():
    """What was done before the answer fell silent is drawn, and that it has no end is told with the line."""
    trace = run_replay("retry.four_attempts/memory:p1@cloud1.before+error", ON_ERROR.format("while True: pass"), patience=SOON)
    assert ["start", "cross", "end", "broken"] == [line.kind for line in trace.lines]
    assert "endless" == trace.lines[2].label
    assert trace.broken.endswith("in a loop (line 5 of the answer)")


def test_replay_that_tells_nothing_says_so():
    """Where nothing can be asked but the line there is nothing to draw."""
    with pytest.raises(UsageError, match=r"there is nothing to draw: .* at one and the same place \(line 2 of the answer\)"):
        run_replay("warmup.keys/memory:none", KEY + "return sum(range(10**12))", patience=SOON)


def test_endless_calls_name_their_line():
    """A process that is stopped because it calls out for ever was called out from a line of the answer."""
    source = "def execute_task_if_not_done(store, task_id, work):\n    while True:\n        store.get(task_id)\n"
    found = broken("idempotency", source)
    assert "p1 calls out again and again and never ends (line 3 of the answer)" == found.message
    assert found.token
