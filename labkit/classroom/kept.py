"""What an interrupted grader has done already: one file per learner, put in place whole, and used again only for the very same input.

The key of a row is the digest of all that decides about it: the learner's files, what was handed out, how it is graded, labkit itself and the checks of
a course's own exercises. So a grader that was killed goes on where it was, and one that is started on changed files or checks, or after an update,
grades anew.

Not handled here: two graders that write into one folder at the same time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from labkit.classroom.assignments import Assignment
from labkit.classroom.gradebook import Row
from labkit.classroom.notebook import write
from labkit.material import own_exercises

FOLDER = ".kept"
PACKAGE = Path(__file__).resolve().parents[1]
MOST_READ = 64 << 20  # bytes of one file that count for the key; no submission that is read is larger


class Kept:
    """The rows of earlier graders, below the folder of the report."""

    def __init__(self, out: Path, how: Mapping[str, str], assignments: Iterable[Assignment]) -> None:
        self._folder = out / FOLDER
        self._basis = json.dumps([dict(how), [(one.name, one.digest) for one in assignments], of_labkit(), *map(of_sources, own_exercises().values())])

    def key(self, learner: str, files: Iterable[Path]) -> str:
        """The digest of all that decides about a learner's row."""
        found = hashlib.sha256(f"{self._basis}\n{learner!r}\n".encode(errors="surrogatepass"))
        for file in files:
            found.update(f"\n{str(file)!r}\n".encode(errors="surrogatepass") + _digest(file))
        return found.hexdigest()

    def get(self, learner: str, key: str) -> Row | None:
        """The row that was kept under this key, or None."""
        try:
            data = json.loads(self._place(learner).read_bytes())
            return Row.from_data(data["row"]) if data["key"] == key else None
        except (OSError, ValueError, LookupError, TypeError):  # never there, or of another labkit
            return None

    def put(self, row: Row, key: str) -> None:
        data = json.dumps({"key": key, "row": row.to_data()})
        write(self._place(row.learner), data.encode())

    def _place(self, learner: str) -> Path:
        return self._folder / f"{hashlib.sha256(learner.encode(errors='surrogatepass')).hexdigest()[:24]}.json"


def _digest(file: Path) -> bytes:
    """Of a file's bytes; of one that cannot be read, or is too large for anybody to read, of its size."""
    try:
        size = file.stat().st_size
        return hashlib.sha256(file.read_bytes()).digest() if size <= MOST_READ and file.is_file() else str(size).encode()
    except OSError as error:
        return str(error.errno).encode()


@cache
def of_labkit() -> str:
    """The digest of labkit's own sources."""
    return of_sources(PACKAGE)


def of_sources(folder: Path | str) -> str:
    """The digest of all Python files in a folder."""
    found = hashlib.sha256()
    for path in sorted(Path(folder).rglob("*.py")):
        found.update(str(path.relative_to(folder)).encode(errors="surrogatepass") + _digest(path))
    return found.hexdigest()
