"""The listings of the lesson on stores: each store of the chapter breaks where the lesson says, the library's do not."""

import pytest

from labkit.faults import interleave, run_once, sweep
from labkit.lessons import store_grid
from labkit.lessons.cut_log import cut_everywhere
from labkit.lessons.store_grid import TROUBLES, Grid, odd_values
from labkit.lessons.stores import CHAPTER, LABKIT, accepts, end_of_user, held, keeps, torn_runs, two_agents

BROKEN = {  # store -> troubles under which the chapter's way breaks
    "memory": {"crash", "torn write", "two writers"},
    "JSON, in place": {"torn write", "two writers", "odd value", "lock held"},
    "JSON, replaced": {"two writers", "odd value", "lock held"},
    "SQLite": {"two writers", "odd value", "lock held"},
    "PostgreSQL": {"two writers", "odd value", "lock held"},
}
EVERYWHERE = [
    pytest.param(shelf, marks=pytest.mark.postgres if shelf.database == "postgres" else (), id=shelf.slug)
    for shelf in CHAPTER
]
LIBRARY = [
    pytest.param(shelf, marks=pytest.mark.postgres if shelf.database == "postgres" else (), id=shelf.slug)
    for shelf in LABKIT
]
FORGETFUL, IN_PLACE, REPLACED, SQLITE, POSTGRES = CHAPTER


@pytest.mark.parametrize("shelf", EVERYWHERE)
def test_the_chapters_store_breaks_where_the_lesson_says(shelf):
    """The first table: which of the five troubles break this store."""
    found = {name for name, trouble in TROUBLES.items() if trouble(shelf).verdict == "broken"}
    assert found == BROKEN[shelf.name]


@pytest.mark.parametrize("shelf", LIBRARY)
def test_the_library_breaks_only_where_memory_must(shelf):
    """The second table: only a crash of the memory store loses anything."""
    found = {name for name, trouble in TROUBLES.items() if trouble(shelf).verdict == "broken"}
    assert found == ({"crash"} if shelf.name == "memory" else set())


def test_a_file_that_is_never_read_saves_nothing():
    """Step 5 to the letter: the task stands in the file, and a restarted process finds none."""
    report = sweep(accepts(FORGETFUL))
    assert report.broken[0].why == "the user was told, and the task is gone"


def test_a_torn_write_in_place_leaves_half_a_file():
    """Half a JSON file cannot be read; a file that is replaced is always whole."""
    assert {trace.broken for trace in torn_runs(IN_PLACE)} >= {"unreadable: JSONDecodeError"}
    assert {trace.broken for trace in torn_runs(REPLACED)} == {None}


@pytest.mark.parametrize("shelf", [SQLITE, pytest.param(POSTGRES, marks=pytest.mark.postgres)], ids=lambda s: s.slug)
def test_an_upsert_forgets_what_another_wrote(shelf):
    """In some order of two agents a note that was acknowledged is gone."""
    report = interleave(two_agents(shelf), shelf.database)
    assert report.broken[0].why.endswith("was told that its note is saved, and it is gone")


def test_compare_and_set_loses_no_note():
    """The same two agents on the library's store, in every order."""
    assert interleave(two_agents(LABKIT[2]), "sqlite").verdict == "holds"


@pytest.mark.postgres
def test_a_row_lock_held_through_a_model_call_makes_others_wait():
    """On PostgreSQL the user's Cancel waits for the model; without the lock it does not."""
    assert end_of_user(run_once(held(POSTGRES), database="postgres")).time == 60
    assert end_of_user(run_once(held(LABKIT[3]), database="postgres")).time == 0


def test_a_write_lock_held_through_a_model_call_refuses_others():
    """On SQLite the user's Cancel fails after five seconds."""
    ended = end_of_user(run_once(held(SQLITE), database="sqlite"))
    assert (ended.label, ended.time) == ("raised", 5)


@pytest.mark.postgres
def test_each_database_refuses_another_value():
    """What SQLite keeps, PostgreSQL refuses; the library refuses it everywhere, by name."""
    assert keeps(SQLITE)["a NUL"] == "kept"
    assert keeps(POSTGRES)["a NUL"] == "DataError"
    assert {what for shelf in LABKIT for what in keeps(shelf).values()} == {"refused: result"}


def test_a_cut_log_gives_an_older_state():
    """SQLite's log cut anywhere: every state that was committed turns up, and nothing else."""
    assert set(cut_everywhere()) == {"no task yet", "pending", "running", "completed"}


def test_the_table_says_where_there_is_no_postgres(monkeypatch):
    """Without a PostgreSQL its row says so, and the others are filled."""
    monkeypatch.setattr(store_grid, "postgres_is_here", lambda: False)
    grid = Grid(CHAPTER).run("two writers")
    assert "no PostgreSQL here" in repr(grid)
    assert grid.cells["SQLite", "two writers"].verdict == "broken"
    assert [row[0] for row in odd_values(CHAPTER).rows] == [shelf.name for shelf in CHAPTER[:-1]]


def test_the_table_begins_empty():
    """Nothing is claimed before it was run."""
    assert repr(Grid(CHAPTER)).count("not tried") == len(CHAPTER) * len(TROUBLES)
