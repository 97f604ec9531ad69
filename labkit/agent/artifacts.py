"""Large results, each kept once under a name that its content gives: put again after a crash, it is the same artifact.

A checkpoint or a state keeps the id and a summary, so what a run writes grows with its results and not with their number
squared; a model is shown an excerpt that fits its budget and says what it leaves out. Content may be any bytes. What is read
is held against its name: damaged content is `StoreCorrupt`, and putting the right content again mends it.

Not handled here: when an artifact may go; nothing here deletes one, so whatever refers to one finds it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sqlalchemy import Engine, text

from labkit.commit import one_commit
from labkit.database import reading, shown
from labkit.errors import ArtifactNotFound, BudgetTooSmall, StoreCorrupt, UnstorableValue, ValueTooLarge
from labkit.statement import for_both
from labkit.store.contract import plain_text, storable_text

LARGEST_CONTENT = 256 * 1024 * 1024  # bytes; a value of PostgreSQL ends at 1 GiB, and is doubled on some ways to it
ID_DIGITS = 32  # of the SHA-256 in hex: two contents with one name do not happen
CUT = " [cut]"
_PUT = for_both("""INSERT INTO artifacts (artifact_id, type, summary, bytes, content)
VALUES (:id, :type, :summary, :bytes, :content)
ON CONFLICT (artifact_id) DO UPDATE SET content = excluded.content, bytes = excluded.bytes
WHERE artifacts.content <> excluded.content OR artifacts.bytes <> excluded.bytes RETURNING artifact_id""")
_GET = text("SELECT type, summary, content FROM artifacts WHERE artifact_id = :id")


@dataclass(frozen=True)
class StoredArtifact:
    """What a state keeps of an artifact: its id, type, summary and how many bytes it has."""

    artifact_id: str
    type: str
    summary: str
    bytes: int

    def __str__(self) -> str:
        return f"<{type(self).__name__} {self.artifact_id} {self.type} {self.bytes} bytes>"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class LoadedArtifact(StoredArtifact):
    """The same with its content."""

    content: bytes

    @property
    def text(self) -> str:
        """The content as text; bytes that are no UTF-8 are replaced."""
        return self.content.decode(errors="replace")


class ArtifactStore:
    """Artifacts in the table `labkit.tables.artifacts`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, content: str | bytes, *, type: str, summary: str) -> StoredArtifact:
        """Keep the content, once, and say what to keep of it. The words are yours; the store keeps those of the first put.

        `UnstorableValue` for text without an encoding, `ValueTooLarge` for more than 256 MiB; nothing is kept then.
        """
        raw = _raw(content)
        made = StoredArtifact(_id_of(raw), plain_text("type", type), plain_text("summary", summary), len(raw))
        values = {
            "id": made.artifact_id,
            "type": made.type,
            "summary": made.summary,
            "bytes": made.bytes,
            "content": raw,
        }
        with one_commit(self._engine) as execute:
            execute(_PUT[self._engine.dialect.name], values)
        return made

    def get(self, artifact_id: str) -> LoadedArtifact:
        """The artifact with its content. `ArtifactNotFound`, or `StoreCorrupt` when the content is not what was put."""
        artifact_id = plain_text("artifact_id", artifact_id)
        with reading(self._engine) as connection:
            row = connection.execute(_GET, {"id": artifact_id}).first()
        if row is None:
            raise ArtifactNotFound(f"there is no artifact {artifact_id!r}")
        content = row.content.encode() if isinstance(row.content, str) else bytes(row.content)
        if _id_of(content) != artifact_id:
            raise StoreCorrupt(f"the content of artifact {artifact_id} is damaged; put it again to mend it")
        return LoadedArtifact(artifact_id, row.type, row.summary, len(content), content)

    def excerpt(self, artifact_id: str, top_k: int = 20, max_bytes: int = 2_000) -> str:
        """The first `top_k` lines, as many as fit, and a last line that says how many are left out, in at most `max_bytes`.

        A first line that does not fit is cut between two characters. What no store could hold is written as an escape.
        `BudgetTooSmall` when not even the last line fits.
        """
        if top_k < 0:
            raise ValueError(f"top_k must not be negative, not {top_k}")
        found = self.get(artifact_id)
        total = found.content.count(b"\n") + (found.content[-1:] not in (b"", b"\n"))
        room = max_bytes - len(_left_out(found, total, total).encode())
        if room < 0:
            raise BudgetTooSmall(
                f"an excerpt of artifact {artifact_id} needs {max_bytes - room} bytes, not {max_bytes}"
            )
        # subtle: no longer in bytes than as text, so what these bytes cut in the middle does not fit anyway
        head = storable_text(found.content[: max_bytes + 8].decode(errors="replace"))
        shown = _fitting(head.split("\n")[: min(top_k, total)], room)
        return "\n".join([*shown, _left_out(found, total - len(shown), total)])

    def __repr__(self) -> str:
        return f"<ArtifactStore {shown(self._engine)}>"


def artifact_id_of(content: str | bytes) -> str:
    """The id under which this content is kept, or would be. Errors as for `put`."""
    return _id_of(_raw(content))


def _raw(content: str | bytes) -> bytes:
    if not isinstance(content, str | bytes):
        raise UnstorableValue(f"content must be text or bytes, not {type(content).__name__}", path="content")
    try:
        raw = content.encode() if isinstance(content, str) else bytes(content)
    except UnicodeEncodeError as error:
        raise UnstorableValue(f"content holds a lone surrogate at position {error.start}", path="content") from None
    if len(raw) > LARGEST_CONTENT:
        raise ValueTooLarge(f"content has {len(raw)} bytes, more than {LARGEST_CONTENT}", path="content")
    return raw


def _id_of(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:ID_DIGITS]


def _left_out(found: StoredArtifact, lines: int, total: int) -> str:
    return f"[artifact {found.artifact_id}: {lines} of {total} lines left out, {found.bytes} bytes in all]"


def _fitting(lines: list[str], room: int) -> list[str]:
    """The first lines that fit, each with its line end; of a first one that does not, as much as does."""
    shown: list[str] = []
    for line in lines:
        room -= len(line.encode()) + 1
        if room < 0:
            break
        shown.append(line)
    if lines and not shown:
        part = lines[0].encode()[: max(0, room + len(lines[0].encode()) - len(CUT))].decode(errors="ignore")
        return [part + CUT] if part else []
    return shown
