"""Artifacts: one content is one artifact, what is read is what was put, and an excerpt fits and says what it leaves out."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select, text

from labkit.agent.artifacts import CUT, LARGEST_CONTENT, ArtifactStore, StoredArtifact
from labkit.errors import ArtifactNotFound, BudgetTooSmall, StoreCorrupt, StoreFull, UnstorableValue, ValueTooLarge
from labkit.faults import End, Scenario, sweep
from labkit.faults.process import Process
from labkit.store.contract import plain_text
from labkit.tables import artifacts


@pytest.fixture
def store(engine: Engine) -> ArtifactStore:
    return ArtifactStore(engine)


def put(store: ArtifactStore, content: str | bytes) -> str:
    return store.put(content, type="log", summary="a log").artifact_id


@pytest.mark.parametrize("content", ["", "zwei\nZeilen \U0001f680", "a\x00b", b"\x00\xff\xfe", bytes(range(256)) * 40])
def test_put_and_get(store: ArtifactStore, content: str | bytes) -> None:
    """Text and any bytes come back as the bytes they are, with type, summary and size."""
    raw = content.encode() if isinstance(content, str) else content
    made = store.put(content, type="tool_result.logs", summary="nginx error log \U0001f680")
    found = store.get(made.artifact_id)
    assert (raw, raw.decode(errors="replace")) == (found.content, found.text)
    assert (made.artifact_id, "tool_result.logs", "nginx error log \U0001f680", len(raw)) == (
        found.artifact_id, found.type, found.summary, found.bytes,
    )  # fmt: skip
    assert hashlib.sha256(raw).hexdigest().startswith(made.artifact_id)


def test_one_content_is_one_artifact(store: ArtifactStore, engine: Engine) -> None:
    """Put again it is the same artifact, as text or as bytes; each caller gets the words it gave, the first ones are kept."""
    first = store.put("x", type="log", summary="first")
    again = store.put(b"x", type="report", summary="again")
    assert first.artifact_id == again.artifact_id != put(store, "y")
    assert (StoredArtifact(first.artifact_id, "report", "again", 1), "first") == (
        again,
        store.get(first.artifact_id).summary,
    )
    with engine.connect() as connection:
        assert 2 == connection.scalar(select(func.count()).select_from(artifacts))


def test_missing(store: ArtifactStore) -> None:
    """An unknown id is an error of its own, for an excerpt too."""
    for look in (store.get, store.excerpt):
        with pytest.raises(ArtifactNotFound):
            look("nothing")


@pytest.mark.parametrize(("wrong", "path"), [
    ({"content": "\ud800"}, "content"), ({"content": 7}, "content"), ({"type": "a\x00"}, "type"),
    ({"summary": "\ud800"}, "summary"), ({"summary": None}, "summary"),
])  # fmt: skip
def test_unstorable(store: ArtifactStore, wrong: dict[str, Any], path: str) -> None:
    """Text without an encoding, and words that no store can hold, are refused with their path."""
    with pytest.raises(UnstorableValue) as caught:
        store.put(**{"content": "x", "type": "log", "summary": "s", **wrong})
    assert path == caught.value.path


def test_too_large(store: ArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Content over the cap is a terminal error; exactly the cap fits. (The cap itself is lowered here.)"""
    assert LARGEST_CONTENT > 100_000_000
    monkeypatch.setattr("labkit.agent.artifacts.LARGEST_CONTENT", 10)
    put(store, "x" * 10)
    with pytest.raises(ValueTooLarge):
        put(store, "x" * 11)


def test_ten_megabytes(store: ArtifactStore) -> None:
    """10 MB with NUL bytes go in and come out."""
    content = b"0123456789abcde\x00" * 655_360
    assert content == store.get(put(store, content)).content


def test_damage_is_seen_and_mended(store: ArtifactStore, engine: Engine) -> None:
    """Changed content is StoreCorrupt, never handed out; putting the right content again mends it."""
    name = put(store, "the log")
    with engine.begin() as connection:
        connection.execute(artifacts.update().values(content=b"the l0g"))
    for look in (store.get, store.excerpt):
        with pytest.raises(StoreCorrupt):
            look(name)
    assert name == put(store, "the log")
    assert "the log" == store.get(name).text


def test_content_that_is_text_in_sqlite(sqlite: Engine) -> None:
    """A content that somebody stored as text is read as its bytes."""
    store = ArtifactStore(sqlite)
    name = put(store, "é")
    with sqlite.begin() as connection:
        connection.execute(text("UPDATE artifacts SET content = 'é'"))
    assert "é".encode() == store.get(name).content


def test_full_disk(sqlite: Engine) -> None:
    """No room for the content is StoreFull, and nothing is kept."""
    with sqlite.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1").scalar()  # not below what is there
    with pytest.raises(StoreFull):
        put(ArtifactStore(sqlite), "x" * 500_000)
    with pytest.raises(ArtifactNotFound):
        ArtifactStore(sqlite).get(hashlib.sha256(b"x" * 500_000).hexdigest()[:32])


def last_line(store: ArtifactStore, name: str, left: int, total: int) -> str:
    return f"[artifact {name}: {left} of {total} lines left out, {store.get(name).bytes} bytes in all]"


@pytest.mark.parametrize(("content", "shown", "left", "total"), [
    ("a\nb\nc\n", ["a", "b"], 1, 3), ("a\nb\nc", ["a", "b"], 1, 3), ("a\nb\n", ["a", "b"], 0, 2), ("a", ["a"], 0, 1),
    ("", [], 0, 0), ("\n", [""], 0, 1), ("\n\nx", ["", ""], 1, 3), ("a\u2028b\nc\x00\n", ["a\u2028b", "c\\u0000"], 0, 2),
])  # fmt: skip
def test_excerpt(store: ArtifactStore, content: str, shown: list[str], left: int, total: int) -> None:
    """The first lines, and one that says how many of how many are left out; a last line end begins no further line."""
    name = put(store, content)
    assert [*shown, last_line(store, name, left, total)] == store.excerpt(name, 2, 500).split("\n")


def test_excerpt_fits_exactly(store: ArtifactStore) -> None:
    """A line that fits to the byte is shown, with one byte less it is not; lines behind one that does not fit are left out."""
    name = put(store, "first\nsecond \U0001f680\nx\n")
    end = len(last_line(store, name, 3, 3))
    room = end + len("first\nsecond \U0001f680\n".encode())
    assert ["first", "second \U0001f680", last_line(store, name, 1, 3)] == store.excerpt(name, 9, room).split("\n")
    assert ["first", last_line(store, name, 2, 3)] == store.excerpt(name, 9, room - 1).split("\n")


def test_a_long_first_line_is_cut(store: ArtifactStore) -> None:
    """A first line that is too long alone is cut between two characters, and says so."""
    name = put(store, "\U0001f680" * 1_000 + "\nx")
    for more in range(20, 28):
        limit = len(last_line(store, name, 2, 2)) + more
        first, end = store.excerpt(name, 5, limit).split("\n")
        assert "\U0001f680" * ((more - 1 - len(CUT)) // 4) + CUT == first
        assert last_line(store, name, 1, 2) == end
    assert last_line(store, name, 2, 2) == store.excerpt(name, 5, len(last_line(store, name, 2, 2)))


def test_excerpt_of_nothing(store: ArtifactStore) -> None:
    """No lines asked for, none shown; a budget under the last line is BudgetTooSmall, fewer than no lines a ValueError."""
    name = put(store, "a\nb")
    assert last_line(store, name, 2, 2) == store.excerpt(name, 0)
    with pytest.raises(BudgetTooSmall):
        store.excerpt(name, 1, len(last_line(store, name, 2, 2)) - 1)
    with pytest.raises(ValueError):
        store.excerpt(name, -1)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=60) | st.text("a\n\x00é\U0001f680", max_size=30),
    top_k=st.integers(0, 4),
    more=st.integers(0, 60),
)
def test_any_excerpt(sqlite: Engine, content: str | bytes, top_k: int, more: int) -> None:
    """Whatever is in it, an excerpt fits, can be stored, and what it shows and leaves out are all lines."""
    store = ArtifactStore(sqlite)
    name = put(store, content)
    total = len(lines) - (lines[-1] == b"") if (lines := store.get(name).content.split(b"\n")) else 0
    limit = len(last_line(store, name, total, total)) + more
    *shown, end = plain_text("excerpt", store.excerpt(name, top_k, limit)).split("\n")
    assert len("\n".join([*shown, end]).encode()) <= limit
    assert (len(shown) <= top_k, last_line(store, name, total - len(shown), total)) == (True, end)


@pytest.mark.parametrize("database", ["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_crash_and_put_again(database: str) -> None:
    """A crash anywhere in a put leaves the artifact whole or not there; put again it is one."""

    def run(process: Process) -> str:
        store = ArtifactStore(process.engine)
        return store.get(put(store, "result")).text

    def one_whole(end: End) -> str | None:
        sizes = [row["bytes"] for row in end.rows["artifacts"]]
        return None if (sizes, end.last.value) == ([6], "result") else f"{sizes}, {end.last}"

    report = sweep(Scenario("artifact", run, [one_whole], goal=lambda end: end.last.how == "returned"), database)
    assert "holds" == report.verdict, report


def test_one_line(store: ArtifactStore) -> None:
    """A store and what it gives show themselves in one line; a content is not poured out."""
    name = put(store, "x" * 10_000)
    assert f"<StoredArtifact {name} log 10000 bytes>" == repr(store.put("x" * 10_000, type="log", summary=""))
    assert f"<LoadedArtifact {name} log 10000 bytes>" == repr(store.get(name)) == str(store.get(name))
    assert repr(store).startswith("<ArtifactStore ")
