"""A grader that is interrupted or killed leaves nothing that runs and nothing half-written, and goes on where it was."""

import os
import select
import shutil
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pytest

from labkit.classroom.grade import STOPPING
from labkit.classroom.kept import FOLDER
from labkit.classroom.release import command as release
from tests.checkout import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")]
MARK = "LABKIT_TEST_GRADER"
# subtle: what a shell starts in the background is deaf to Ctrl-C, and so would the grader be if that is how these tests were started
LABKIT = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from labkit.cli import main; sys.exit(main())"
# where an answer never ends: the condition under which it says so and goes on for ever
ENDLESS = {"judged": "True", "notebook": "'get_ipython' in globals()", "postgres": "engine.dialect.name == 'postgresql'"}


class Started:
    """A grader of bob, whose answer never ends at `place` while the file `endless` is there, and of others, who are right. It has come that far."""

    process = None

    def __init__(self, folder, cache):
        self.folder = folder
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache), MARK: str(folder)}

    def start(self, place, *others):
        self.exercise, self.databases = ("claim", []) if place == "postgres" else ("backoff", ["--database", "sqlite"])
        self._hand_in(ENDLESS[place], others)
        os.mkfifo(self.folder / "told")
        (self.folder / "endless").touch()
        told = os.open(self.folder / "told", os.O_RDWR)  # subtle: for writing too, so that nobody waits for a reader
        self.process = subprocess.Popen(self.command("report"), env=self.environment, stdout=-1, stderr=-1, text=True, start_new_session=True)
        ended = os.pidfd_open(self.process.pid)
        assert select.select([told, ended], [], [], 120)[0] == [told]
        os.close(ended)
        os.close(told)

    def _hand_in(self, condition, others):
        (master,) = (ROOT / "solutions").glob(f"*/{self.exercise}.ipynb")
        (self.folder / "course/solutions").mkdir(parents=True)
        shutil.copy(master, self.folder / "course/solutions")
        release(self.folder / "course/solutions")
        right = sorted((ROOT / "tests/answers" / self.exercise / "right").glob("*.py"))[0].read_text()
        loop = f"if {condition} and __import__('os').path.exists({str(self.folder / 'endless')!r}):\n"
        loop += f"    open({str(self.folder / 'told')!r}, 'w').write('x')\n    while True: pass\n"
        start = right.index("\n", right.index("def claim(")) + 1 if "engine" in condition else len(right)
        endless = right[:start] + textwrap.indent(loop, "    " * ("engine" in condition)) + right[start:]
        for learner, answer in (*((other, right) for other in others), ("bob", endless)):
            (self.folder / "returned" / learner).mkdir(parents=True)
            (self.folder / "returned" / learner / f"{self.exercise}.py").write_text(answer)

    def command(self, out):
        paths = [str(self.folder / name) for name in ("returned", out, "course/solutions")]
        options = ["--out", paths[1], "--masters", paths[2], "--jobs", "1", "--isolation", "process", *self.databases]
        return [sys.executable, "-c", LABKIT, "grade", paths[0], *options]

    def files(self, out):
        report = self.folder / out
        return {str(path.relative_to(report)): path.read_bytes() for path in report.rglob("*") if path.is_file() and path.name != "timing.json"}


def all_have_ended(mark):
    """Wait until nobody is there any more who was started with this mark in the environment."""
    while left := _left(mark):
        for pid in left:
            with suppress(ProcessLookupError):
                ended = os.pidfd_open(pid)
                assert select.select([ended], [], [], 60)[0], Path(f"/proc/{pid}/cmdline").read_bytes()
                os.close(ended)
    return True


def _left(mark):
    wanted, found = f"{MARK}={mark}\0".encode(), []
    for place in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in place.read_bytes() + b"\0":
                found.append(int(place.parent.name))
    return found


@pytest.fixture
def started(tmp_path, short_path):
    """Start a grader; whatever becomes of the test, it does not outlive it."""
    made = []

    def start(place, *others):
        made.append(Started(tmp_path, short_path))
        made[0].start(place, *others)
        return made[0]

    yield start
    for grader in made:
        if grader.process and grader.process.returncode is None:
            grader.process.kill()
            grader.process.communicate()


def interrupted(grader):
    """Press Ctrl-C, and once more as soon as that is answered. What a terminal does: all that it has started is told."""
    os.killpg(grader.process.pid, signal.SIGINT)
    first = grader.process.stderr.readline()
    os.killpg(grader.process.pid, signal.SIGINT)
    out, rest = grader.process.communicate(timeout=60)
    return out, first, rest


def test_interrupted_in_an_endless_answer(started, tmp_path):
    """One line says that it stops and what to do, all that it has started ends, and of the answer that was being judged nothing is written."""
    grader = started("judged", "ann")
    assert interrupted(grader) == ("", f"{STOPPING}\n", "")
    assert grader.process.returncode in (130, -signal.SIGINT)  # a shell says 130 to both: the second may come when Python itself is gone
    assert all_have_ended(grader.folder)
    rows = [name for name in grader.files("report") if name.startswith(FOLDER)]
    assert len(rows) == 1
    assert b'"learner": "ann"' in (tmp_path / "report" / rows[0]).read_bytes()
    assert [name for name in grader.files("report") if "bob" in name or name.endswith(".new")] == []


def test_interrupted_and_started_again(started, tmp_path):
    """The same command gives the report of a grader that nobody interrupted: nothing is kept of a run of notebooks that was broken off."""
    grader = started("notebook")
    assert interrupted(grader) == ("", f"{STOPPING}\n", "")
    (tmp_path / "endless").unlink()
    for out in ("report", "other"):
        subprocess.run(grader.command(out), env=grader.environment, check=True, capture_output=True, timeout=120)
    again, other = ({name: data for name, data in grader.files(out).items() if not name.startswith(FOLDER)} for out in ("report", "other"))
    assert again == other
    assert "learners/bob.html" in again


@pytest.mark.postgres
@pytest.mark.skipif(bool(os.environ.get("LABKIT_DATABASE_URL")), reason="a server that is named is nobody's to stop")
def test_killed_in_an_endless_answer(started):
    """Whatever it has started ends by itself: the answer, the warm parents, and the box's server."""
    grader = started("postgres")
    grader.process.kill()
    grader.process.communicate(timeout=60)
    assert all_have_ended(grader.folder)


RUNS = """
import sys
from pathlib import Path
from labkit.classroom.public import run_public
from tests.classroom.test_public import small
endless = "print(open(sys.argv[1], 'w').write('x'))\\nwhile True: pass".replace("sys.argv[1]", repr(sys.argv[1]))
run_public({"one": small(endless)}, Path(sys.argv[2]), timeout=1e4)
"""


def test_killed_while_a_notebook_runs(tmp_path):
    """Who runs it hears of that and ends, though the cell would have hours, and the kernel with it."""
    os.mkfifo(tmp_path / "told")
    told = os.open(tmp_path / "told", os.O_RDWR)
    (tmp_path / "kernels").mkdir()
    program = [sys.executable, "-c", RUNS, str(tmp_path / "told"), str(tmp_path / "kernels")]
    with subprocess.Popen(program, env={**os.environ, "PYTHONPATH": str(ROOT), MARK: str(tmp_path)}) as runner:
        came = select.select([told], [], [], 120)[0]
        runner.kill()
    os.close(told)
    assert came
    assert all_have_ended(tmp_path)
