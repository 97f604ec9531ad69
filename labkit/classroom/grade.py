"""`labkit grade`: from a folder of what came back to a gradebook, the same on every run, stopped by no file.

Every learner has a row and every row every exercise. Each row is written down when it is done, so a grader that was interrupted goes on where it was: Ctrl-C
ends at once the answers that are being judged, and of their learners nothing is written. All outputs are put in place whole; two runs over the same input
differ in `timing.json` alone.

Not handled here: one learner (see `grader`), which folders can be used (see `places`), the form of the outputs (see `tables`, `pages`), two graders with
one OUT at the same time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import labkit
from labkit.checks.exercise import SQL
from labkit.classroom import assignments, pages, places, tables
from labkit.classroom.assignments import Assignment
from labkit.classroom.box import Box, promises
from labkit.classroom.box_server import look_at_server
from labkit.classroom.collect import namesakes
from labkit.classroom.gradebook import STATES, Gradebook, Row
from labkit.classroom.grader import How, failed_to_grade, grade_learner
from labkit.classroom.kept import FOLDER, Kept
from labkit.classroom.notebook import write
from labkit.classroom.submission import Flag
from labkit.clock import SystemClock
from labkit.errors import PostgresUnavailable, UsageError
from labkit.plural import counted

STOPPING = "labkit: stopping; start the same command again and it goes on where it was"
WRITTEN = "written.json"  # in the kept folder: the names of all outputs, so that those of learners who left can go


@dataclass
class Grading:
    """A class being graded. `str()` says how far it is."""

    of: int
    seconds: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        done = len(self.seconds)
        bar = "#" * round(20 * done / self.of) if self.of else ""
        return f"grading [{bar:<20}] {done} of {counted(self.of, 'learner')}"


def grade(
    folder: Path,
    out: Path,
    masters: Path,
    *,
    seed: int = 1,
    isolation: str = "",
    jobs: int = 1,
    databases: tuple[str, ...] = SQL,
    told: Callable[[object], object] = lambda said: None,
) -> Gradebook:
    """Grade a folder of submissions into `out`. Raises `UsageError` for what makes grading impossible before anything is graded or written."""
    places.look(folder, out, masters)
    given = assignments.read(masters)
    found = places.returned(folder, masters, given)
    _look(databases)
    with Box(isolation, private=[folder, out, masters]) as box:
        places.ready(out)
        how = How(seed, databases, box)
        said = {"labkit": labkit.__version__, "databases": ", ".join(databases), "seed": str(seed), "isolation": box.level, "promises": promises(box.level)}
        names = page_names(found.learners)
        grading = Grading(len(found.learners))
        book = Gradebook([], [exercise for one in given for exercise in one.points], found.strays, said)
        written: set[str] = set()
        alike = namesakes(found.learners)
        with closing(_rows(found.learners, given, how, Kept(out, said, given), jobs, grading)) as rows:
            for row in rows:
                told(grading)
                row.flags += [Flag("namesakes", f"another row is called {name!r}: one learner, or two?") for name in alike.get(row.learner, ())]
                _write_learner(row, book, out, names, written)
                book.rows.append(row)
    book.rows.sort(key=lambda row: row.learner)
    _write_class(book, out, names, grading, written)
    return book


def _look(databases: Sequence[str]) -> None:
    """Raises `UsageError` where this machine cannot grade."""
    if find_spec("nbval") is None:
        raise UsageError("nbval is not installed, which runs the notebooks; in the checkout: python -m pip install '.[grade]'")
    if "postgres" in databases:
        try:
            look_at_server()
        except (PostgresUnavailable, ModuleNotFoundError) as error:
            raise UsageError(f"no PostgreSQL to grade on ({error}); mend that, or grade on SQLite alone with --database sqlite") from None


def _rows(
    learners: Mapping[str, Sequence[Path]], given: Sequence[Assignment], how: How, kept: Kept, jobs: int, grading: Grading
) -> Generator[Row]:
    """Each learner's row, in the order in which they are done. Whoever asks for no further one ends all that is being judged."""
    clock = SystemClock()

    def one(learner: str) -> Row:
        began, files = clock.monotonic(), learners[learner]
        key = kept.key(learner, files)
        row = kept.get(learner, key)
        if row is None:
            try:
                row = grade_learner(learner, files, given, how)
                if not how.box.stopped:  # subtle: what was ended under an answer is not the answer's doing
                    kept.put(row, key)
            except UsageError:
                raise
            except Exception as error:  # one learner's row is not worth the others'
                row = failed_to_grade(learner, given, error)
        grading.seconds[learner] = round(clock.monotonic() - began, 3)
        return row

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            waiting = [pool.submit(one, learner) for learner in learners]
            for done in as_completed(waiting):
                yield done.result()
                waiting.remove(done)
        except BaseException:
            how.box.stop()
            pool.shutdown(cancel_futures=True)
            raise


def _write_learner(row: Row, book: Gradebook, out: Path, names: Mapping[str, str], written: set[str]) -> None:
    """A learner's page and results; after that the pictures are not needed any more."""
    name = names[row.learner]
    for suffix, data in ((".html", pages.learner(row, book)), (".json", tables.gradescope(row))):
        path = f"{places.LEARNERS}/{name}{suffix}"
        write(out / path, data)
        written.add(path)
    for entry in row.entries.values():
        entry.picture = ""


def _write_class(book: Gradebook, out: Path, names: Mapping[str, str], grading: Grading, written: set[str]) -> None:
    links = {learner: f"{places.LEARNERS}/{name}.html" for learner, name in names.items()}
    times = (json.dumps(dict(sorted(grading.seconds.items())), indent=1) + "\n").encode()
    made = (pages.of_class(book, links), tables.grades(book), tables.details(book), tables.junit(book), times)
    files = dict(zip(places.FILES, made, strict=True))
    for name, data in files.items():
        write(out / name, data)
    _forget(out, {*written, *files})


def _forget(out: Path, written: set[str]) -> None:
    """Remove the pages of learners who are not there any more; nothing that an earlier grader did not write is touched."""
    memory = out / FOLDER / WRITTEN
    with suppress(OSError, ValueError):
        for name in set(json.loads(memory.read_bytes())) - written:
            if re.fullmatch(rf"{places.LEARNERS}/[\w.-]+", name):
                (out / name).unlink(missing_ok=True)
    write(memory, (json.dumps(sorted(written)) + "\n").encode())


def page_names(learners: Mapping[str, object]) -> dict[str, str]:
    """A file name for each learner: the name itself where every file system takes it and no other learner's is alike, else with a digest."""
    alike = Counter(_plain(learner).casefold() for learner in learners)
    return {one: _plain(one) if alike[_plain(one).casefold()] == 1 and _plain(one) == one else _with_digest(one) for one in learners}


def _plain(learner: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", learner).strip("-.")[:60]
    return plain or "learner"


def _with_digest(learner: str) -> str:
    return f"{_plain(learner)}-{hashlib.sha256(learner.encode(errors='surrogatepass')).hexdigest()[:8]}"


def summary(book: Gradebook, out: Path) -> list[str]:
    """What a person reads when it is done."""
    states = Counter(entry.state for row in book.rows for entry in row.entries.values())
    told = ", ".join(f"{states[state]} {state.replace('_', ' ')}" for state in STATES if states[state])
    odd = sum(bool(tables.flags_of(row)) for row in book.rows)
    lines = [f"{counted(len(book.rows), 'learner')}, {counted(len(book.exercises), 'exercise')}: {told or 'nothing'}"]
    lines += [f"to be looked at: {counted(odd, 'learner')} with flags"] if odd else []
    lines += [f"fits nobody: {stray}" for stray in book.strays]
    return [*lines, f"isolation: {book.how['isolation']}; {book.how['promises']}", f"see {out / 'index.html'} and {out / 'grades.csv'}"]


def failures(book: Gradebook) -> int:
    """How many rows the grader itself broke on."""
    return sum(any(flag.kind == "grader failed" for flag in row.flags) for row in book.rows)


def default_jobs() -> int:
    """One for each processor that we may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def _interrupted_once() -> Iterator[None]:
    """The first Ctrl-C is answered at once and raised; until the process has ended all others are in vain."""

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, lambda number, frame: None)
        with suppress(OSError, RuntimeError):  # it may come while something is written there
            print("\n" * sys.stderr.isatty() + STOPPING, file=sys.stderr, flush=True)  # below the line of progress
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # who was started in the background is not to hear of it
        signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is stop:
            signal.signal(signal.SIGINT, before)


def command(
    folder: Path, out: Path, masters: Path, *, seed: int, isolation: str, jobs: int | None, databases: tuple[str, ...], told: Callable[[object], object]
) -> int:
    """`labkit grade`: 0 when every learner was graded, 1 when the grader failed on some."""
    with _interrupted_once():
        book = grade(folder, out, masters, seed=seed, isolation=isolation, jobs=jobs or default_jobs(), databases=databases, told=told)
    print("\n".join(summary(book, out)))
    return 1 if failures(book) else 0
