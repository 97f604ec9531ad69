"""The authors' gate: what is handed out is what the masters say, and what judges it has been proved.

Every master holds and is in normal form, every release is current and fails untouched, hints and an explanation are there, the corpus of right and
wrong answers is large enough and each wrong one says what it is, no file lies where it does not belong. All findings are told, not the first alone.

Not handled here: whether the corpus is judged rightly (the tests run it), and how a text reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from labkit.checks import registry
from labkit.checks.cells import from_notebook
from labkit.checks.exercise import Exercise
from labkit.checks.judge import HOLDS, NOT_ATTEMPTED
from labkit.checks.run import run_check
from labkit.classroom import assignments
from labkit.classroom.assignments import Assignment
from labkit.classroom.normalise import normalise
from labkit.classroom.notebook import Notebook, dump, load, text
from labkit.classroom.release import MANIFEST, MASTERS, RELEASE, release_all
from labkit.errors import UsageError
from labkit.plural import counted

CORPUS = ("tests/answers", "answers")
LEAST = {"right": 3, "wrong": 6}
DIAGNOSED = "# diagnosed:"
HINTS = 3
HARD_CODED = "hard_coded"  # beside the exercises' folders: answers that know the fixed examples by heart


def lint(course: Path, told: Callable[[object], object] = lambda said: None) -> list[str]:
    """Everything that an author should mend in a course's folder, one line each. Raises `UsageError` where there is no course."""
    masters = course / MASTERS
    if not masters.is_dir():
        raise UsageError(f"{course} holds no folder `{MASTERS}`: name the folder of a course, that is the one with the masters' folder in it")
    found = [*_masters(masters)]
    try:
        given = assignments.read(masters)
        found += _released(course, masters)
    except UsageError as error:  # without masters that can be read there is nothing to hold against anything
        return [*found, *([str(error)] if str(error) not in found else [])]
    for assignment in given:
        for exercise in assignment.points:
            told(f"lint: {exercise}")
            asked = registry.find(exercise)
            found += [*_explained(asked, assignment), *_proved(asked, assignment, masters), *_corpus(asked, course)]
    return [*found, *_strangers(course, [one for assignment in given for one in assignment.points])]


def _masters(masters: Path) -> Iterator[str]:
    for path in sorted(path for path in masters.rglob("*") if path.is_file() and ".ipynb_checkpoints" not in path.parts):
        if path.suffix != ".ipynb":
            yield f"{path}: a stray file; only notebooks belong here"
            continue
        try:
            if path.read_bytes() != dump(normalise(load(path))):
                yield f"{path}: not in normal form: python -m labkit.classroom.normalise {path}"
        except UsageError as error:
            yield str(error)


def _released(course: Path, masters: Path) -> Iterator[str]:
    """What differs between the release and what the masters would release now."""
    target, files = course / RELEASE, release_all(masters)
    for name, data in files.items():
        there = target / name
        if not there.is_file() or there.read_bytes() != data:
            yield f"{there}: not what the masters release now: labkit release {masters}"
    known = {target / name for name in (*files, MANIFEST)}
    for path in sorted(target.rglob("*")):
        if path.is_file() and path not in known and ".ipynb_checkpoints" not in path.parts:
            yield f"{path}: a stray file; no master releases it"


def _explained(asked: Exercise, assignment: Assignment) -> Iterator[str]:
    """Hints, and after the check the wrong turns that one can unfold."""
    if len(asked.hints) < HINTS:
        yield f"{asked.id}: {counted(len(asked.hints), 'hint')}, and a learner should find {HINTS}"
    sources = [(cell["cell_type"], text(cell["source"])) for cell in assignment.book["cells"]]
    checks = [place for place, (kind, source) in enumerate(sources) if kind == "code" and f'check("{asked.id}"' in source]
    if not checks:
        yield f'{assignment.name}: no cell calls check("{asked.id}")'
    elif not any(kind == "markdown" and "<details>" in source for kind, source in sources[checks[0] :]):
        yield f"{assignment.name}: nothing behind the check explains wrong turns (a text cell with <details>)"


def _proved(asked: Exercise, assignment: Assignment, masters: Path) -> Iterator[str]:
    """The master holds; what is handed out is not attempted."""
    wanted = ((load(masters / assignment.name), HOLDS, "the master"), (assignment.book, NOT_ATTEMPTED, "the untouched release"))
    for book, verdict, what in wanted:
        report = run_check(asked.id, _answer(book, asked.id, assignment.name))
        if report.verdict != verdict:
            first = report.first_broken
            why = report.message or (f"{first.name}: {first.message}" if first else report.certificate)
            yield f"{assignment.name}: {what} of {asked.id} is {report.verdict}, not {verdict}: {why}"


def _answer(book: Notebook, exercise: str, name: str) -> str:
    return from_notebook(dump(book).decode(), exercise, name)


def _corpus(asked: Exercise, course: Path) -> Iterator[str]:
    if asked.id in registry.IDS and corpus(course) != course / CORPUS[0]:  # ours are proved in the checkout, and not by each course that hands them out
        return
    folder = corpus(course) / asked.id
    for kind, least in LEAST.items():
        files = sorted(path for path in folder.glob(f"{kind}/*") if path.name != "__pycache__")
        if len(files) < least:
            yield f"{folder / kind}: {counted(len(files), 'answer')}, and a check is proved by at least {least}"
        for path in files:
            if path.suffix != ".py":
                yield f"{path}: a stray file; only .py answers belong here"
            elif kind == "wrong" and DIAGNOSED not in "\n".join(path.read_text(encoding="utf-8").split("\n")[:3]):
                yield f"{path}: does not say what it is: `{DIAGNOSED} ...` on its second line"


def _strangers(course: Path, exercises: list[str]) -> Iterator[str]:
    """Folders of answers to what no master asks for; chapter 0 is asked for in a lesson."""
    known = {*exercises, HARD_CODED, *(one.id for one in registry.every() if one.chapter == 0)}
    for path in sorted(corpus(course).glob("*")):
        if path.is_dir() and path.name not in known and not path.name.startswith((".", "__")):
            yield f"{path}: answers to an exercise that no master asks for"


def corpus(course: Path) -> Path:
    """Where the right and wrong answers of a course lie."""
    return next((course / name for name in CORPUS if (course / name).is_dir()), course / CORPUS[-1])


def command(course: Path, told: Callable[[object], object]) -> int:
    """`labkit lint`: 0 with nothing to mend, else a line for each finding and 1."""
    found = lint(course, told)
    for line in found:
        print(line)
    print(f"lint: {counted(len(found), 'finding')}" if found else "lint: nothing to mend")
    return 1 if found else 0
