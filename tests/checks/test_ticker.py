"""The line that says how far a check is: after a moment, on a terminal only, and gone at the end."""

import io
import re

from labkit.checks import ticker
from labkit.checks.run import run_check
from labkit.checks.ticker import Ticker
from labkit.clock import VirtualClock


class Terminal(io.StringIO):
    """A terminal of one line: `seen` is what stands there now."""

    def isatty(self):
        return True

    @property
    def seen(self):
        line = ""
        for part in self.getvalue().split("\r"):
            line = part + line[len(part) :]
        return line.rstrip()


def test_line_after_a_moment_and_gone_at_the_end(clock: VirtualClock):
    """Short work shows nothing; long work shows the last word, over longer ones too, and erases it."""
    screen = Terminal()
    with Ticker(screen, clock) as tell:
        tell("too soon")
        assert "" == screen.getvalue()
        for said in ("a long line", "short", "last"):
            clock.sleep(ticker.A_MOMENT)
            tell(said)
            assert said == screen.seen
        tell("too soon again")
        assert "last" == screen.seen
    assert "" == screen.seen


def test_line_does_not_wrap(clock, monkeypatch):
    """A line that the terminal has no room for is cut."""
    monkeypatch.setenv("COLUMNS", "10")
    screen = Terminal()
    with Ticker(screen, clock) as tell:
        clock.sleep(ticker.A_MOMENT)
        tell("x" * 100)
        assert "x" * 9 == screen.seen


def test_nothing_in_a_pipe(clock):
    """Where no terminal is, nothing is written."""
    pipe = io.StringIO()
    with Ticker(pipe, clock) as tell:
        clock.sleep(10 * ticker.A_MOMENT)
        tell("anything")
    assert "" == pipe.getvalue()


def test_what_a_check_tells():
    """A check says which exercise, database and case it is at, and how many runs it has seen; the number grows."""
    said = []
    source = "def resume_task(store, task_id, work):\n    return None\n"
    run_check("resume", source, databases=("sqlite",), told=lambda heard: said.append(str(heard)))
    assert "resume: loading" == said[0]
    assert "resume: sqlite, case pending_undisturbed, 1 run" in said
    counts = [int(re.fullmatch(r"resume: sqlite, case \w+, (\d+) runs?", line).group(1)) for line in said[1:]]
    assert sorted(counts) == counts
    assert counts[-1] > 10
