"""One commit on the driver's own connection: what it leaves the connection as, and what it makes of errors."""

import pytest
from sqlalchemy import Engine, text

from labkit.commit import one_commit
from labkit.database import open_engine
from labkit.errors import StoreFull

INSERT = "INSERT INTO tasks (id, user_input) VALUES ('{}', '')"


def ids(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT id FROM tasks ORDER BY id")).scalars())


def test_a_statement_that_returns_nothing(engine: Engine) -> None:
    """It is committed, and its rows are none."""
    with one_commit(engine) as execute:
        assert execute(INSERT.format("a"), {}) == []
    assert ids(engine) == ["a"]


@pytest.mark.postgres
@pytest.mark.parametrize("level", ["AUTOCOMMIT", "READ COMMITTED"])
def test_the_connection_is_given_back_as_it_was(postgres: Engine, level: str) -> None:
    """Whatever its isolation level: what others write on it afterwards is kept or rolled back as before."""
    engine = open_engine(postgres.url, isolation_level=level, pool_size=1, max_overflow=0)
    with one_commit(engine) as execute:
        execute(INSERT.format("ours"), {})
    with engine.connect() as connection:
        connection.execute(text(INSERT.format("theirs")))
    assert ids(postgres) == (["ours", "theirs"] if level == "AUTOCOMMIT" else ["ours"])
    engine.dispose()


def test_a_full_disk_is_store_full(sqlite: Engine) -> None:
    """And nothing is written; when there is room again, writing goes on."""
    small = open_engine(sqlite.url, pool_size=1, max_overflow=0)
    with small.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreFull), one_commit(small) as execute:
        execute("INSERT INTO tasks (id, user_input) VALUES ('large', :text)", {"text": "x" * 100_000})
    assert ids(sqlite) == []
    with one_commit(small) as execute:
        execute(INSERT.format("a"), {})
    assert ids(sqlite) == ["a"]
    small.dispose()
