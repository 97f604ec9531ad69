"""Which file in a folder is whose: one list of files per learner, and the files that fit nobody.

Two layouts, also mixed: a folder per learner with anything below it, and files `<learner>__<exercise>.ipynb` (or .py). Only notebooks and Python files
count; what else may have been meant as an answer (an archive, what is called like an exercise, all that came from somebody) is the learner's too, so that
its reader says why it was not read. What is neither is a stray. The order is that of the names and depends on no disk: where two files answer one
exercise the last counts, so a second download stands behind the first, and what lies deeper (`old/`) in front. No link is followed.

Not handled here: what is in the files (see `submission`).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labkit.checks.texts import printable
from labkit.classroom.submission import SUFFIXES
from labkit.plural import counted

SEPARATOR = "__"
LEFT_OUT = ("__pycache__", "__MACOSX", "node_modules", "site-packages", "Thumbs.db", "desktop.ini")  # what programs leave behind
ENVIRONMENT = "pyvenv.cfg"  # in the folder of a virtual environment
ARCHIVES = (".zip", ".gz", ".tar", ".tgz", ".7z", ".rar")
# what programs call a second one
COPY = re.compile(r"(?:\s*\((\d+)\)|-Copy(\d+)|\s+-\s+(?:Copy|Kopie|Copie|copia|копия)|\s+copy(?:\s+(\d+))?)$", re.IGNORECASE)
HIDDEN = re.compile(r"\.(?!\.)")  # a name that begins with two dots is odd, but nobody's habit
MOST_FILES = 200  # of one learner: the others are strays
MOST_TOLD = 10  # of a learner's other files
DEEPEST = 40  # folders within folders


@dataclass
class Collected:
    """The files of each learner in a fixed order, and one line for each file that fits nobody."""

    learners: dict[str, list[Path]] = field(default_factory=dict)
    strays: list[str] = field(default_factory=list)


def collect(folder: Path, assignments: Mapping[str, Iterable[str]]) -> Collected:
    """Share out the files below `folder`; `assignments` maps the name of each released notebook to its exercises, since a file at the top ends in one."""
    known = {exercise.lower() for ids in assignments.values() for exercise in ids} | {Path(name).stem.lower() for name in assignments}
    found: dict[str, list[Path]] = {}
    at_the_top: defaultdict[str, list[Path]] = defaultdict(list)
    strays: list[str] = []
    for entry in _entries(folder):
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            files, others = _below(path)
            told = [other for other in others if not _is_file(other)]
            unread = [other for other in others if _is_file(other) and (not files or _telling(other, known))][:MOST_TOLD]
            found.setdefault(_name(entry.name), []).extend([*unread, *files[:MOST_FILES]])
            strays += [_shown(other, folder) for other in told]
            strays += [f"{_shown(path, folder)}: {counted(len(files) - MOST_FILES, 'file')} too many"] if len(files) > MOST_FILES else []
        elif learner := _learner(path) if entry.is_file(follow_symlinks=False) else "":
            at_the_top[_name(learner)].append(path)
        else:
            strays.append(_shown(path, folder))
    for learner, files in at_the_top.items():
        found.setdefault(learner, []).extend(sorted(files, key=_order))
    return Collected({learner: found[learner] for learner in sorted(found)}, strays)


def _name(learner: str) -> str:
    """One spelling of a name: a letter with an accent is one character on some disks and two on others."""
    return unicodedata.normalize("NFC", learner)


def namesakes(learners: Iterable[str]) -> dict[str, list[str]]:
    """Of each learner those whose name differs in capitals and blanks alone: it may be one person, and that is for a person to say."""
    alike: dict[str, list[str]] = {}
    for learner in sorted(learners):
        alike.setdefault("".join(learner.casefold().split()), []).append(learner)
    return {learner: [other for other in names if other != learner] for names in alike.values() if len(names) > 1 for learner in names}


def called(path: Path) -> str:
    """After what a file is called, in lower case: `ann__Retry (1).ipynb` after `retry`."""
    return COPY.sub("", path.stem.rpartition(SEPARATOR)[2]).strip().lower()


def asked_for(path: Path, learner: str) -> str:
    """The exercise that a name `<learner>__<exercise>` of this learner's asks for, "" where the name is another one."""
    name = Path(path.stem) if path.suffix.lower() not in SUFFIXES and Path(path.stem).suffix.lower() in SUFFIXES else path  # `retry.ipynb.txt`
    return called(name) if _name(_learner(name)) == learner else ""


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, sorted by name, without what programs leave behind."""
    with os.scandir(folder) as entries:
        return sorted((one for one in entries if not HIDDEN.match(one.name) and one.name not in LEFT_OUT), key=lambda one: one.name)


def _below(folder: Path) -> tuple[list[Path], list[Path]]:
    """(the notebooks and Python files below a learner's folder, what else is there); no link is followed."""
    files, others = list[Path](), list[Path]()
    waiting = [(folder, 1)]
    while waiting:  # subtle: a loop, since folders can be nested more deeply than Python calls
        place, depth = waiting.pop()
        try:
            entries = _entries(place)
        except OSError:
            others.append(place)
            continue
        if any(entry.name == ENVIRONMENT for entry in entries):
            continue
        for entry in entries:
            path = Path(entry.path)
            if not entry.is_dir(follow_symlinks=False):
                (files if _counts(path) else others).append(path)
            elif depth < DEEPEST:
                waiting.append((path, depth + 1))
            else:
                others.append(path)
    return sorted(files, key=_order), sorted(others)


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _telling(path: Path, known: set[str]) -> bool:
    """Whether what cannot be read may have been meant as an answer."""
    return path.suffix.lower() in ARCHIVES or path.name.partition(".")[0].lower() in known or called(path) in known


def _order(path: Path) -> tuple[int, tuple[str, ...], str, int, str]:
    """The deepest first, then by name, a second download (`retry (1)`) behind the first."""
    copy = COPY.search(path.stem)
    number = int(next((group for group in copy.groups() if group), "1")[:9]) if copy else 0
    return -len(path.parts), path.parent.parts, COPY.sub("", path.stem), number, path.name


def _counts(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def _learner(path: Path) -> str:
    """Whose a file at the top is, by its name; "" for nobody's."""
    learner, _, rest = path.stem.rpartition(SEPARATOR)
    return learner if learner.strip() and rest.strip() else ""


def _shown(path: Path, folder: Path) -> str:
    """The place of a file as one line that can be printed anywhere."""
    return printable(str(path.relative_to(folder))).replace("\n", "\\n").replace("\t", "\\t")
