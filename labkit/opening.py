"""A database that a person named on the command line, opened with its tables; or one line that says what to do.

A file or a server that cannot be reached, a folder that is missing, rights that are missing, a table of somebody else's under a name of ours, an option
that the driver would not understand: each is a `UsageError`, and a foreign database is left as it was. No message holds a password, and none repeats what it
does not know, since behind a sign that is not escaped anything may be a piece of one.

Not handled here: a database that goes away later (see `database`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.util import asbool

from labkit.database import in_one_line, is_busy, open_engine
from labkit.errors import UsageError
from labkit.tables import create_tables, lacking

CONNECT_SECONDS = 10  # until a server that does not answer counts as unreachable
_SQLITE: dict[str, Callable[[str], object]] = {
    "uri": asbool,
    "timeout": float,
    "isolation_level": str,
    "detect_types": int,
    "check_same_thread": asbool,
    "cached_statements": int,
}
_SQLITE_URI = ("cache", "immutable", "mode", "modeof", "nolock", "psow", "vfs")  # of SQLite itself, which passes over what it does not know
_SEVERAL = ("host", "port")  # of PostgreSQL, where one name may stand several times


def open_named(database_url: str, *, pool_size: int) -> Engine:
    """An engine on `--database-url`, its tables made; `UsageError` says what cannot be used."""
    url = _url(database_url)
    try:
        engine = open_engine(url, pool_size=pool_size, connect_args=_driver_options(url))
        _refuse_foreign(url, engine)
        create_tables(engine)
    except DBAPIError as error:
        raise UsageError(f"--database-url: {_shown(url)}: {in_one_line(error)}; {_what_to_do(url, error)}") from error
    except (ValueError, OverflowError, ImportError) as error:
        raise UsageError(f"--database-url: {in_one_line(error)}") from error
    return engine


def _url(database_url: str) -> URL:
    """subtle: where a sign is not escaped, a piece of the password may be taken for the port or for the name of a database."""
    try:
        url = make_url(database_url)
    except ArgumentError:
        raise UsageError("--database-url is no database URL, such as sqlite:///tasks.db") from None
    except ValueError:
        url = None
    if url is None or (url.get_backend_name() != "sqlite" and "@" in (url.database or "")):
        form = "postgresql://user:password@host:port/name, where / : @ in user or password are %2F %3A %40"
        raise UsageError(f"--database-url cannot be read; it is {form}")
    return url


def _refuse_foreign(url: URL, engine: Engine) -> None:
    """Raise `UsageError` for a database that is somebody else's. subtle: by a plain connection, since ours sets a new file up."""
    looking = create_engine(url) if url.get_backend_name() == "sqlite" else engine
    try:
        found = lacking(looking)
    finally:
        looking.dispose()
    for table, columns in found.items():
        few = ", ".join(columns[:3]) + (" ..." if columns[3:] else "")
        raise UsageError(
            f"--database-url: {_shown(url)} has another table called {table}, without {few}: "
            "name a database of labkit's own (nothing was changed in this one)"
        )


def _shown(url: URL) -> str:
    """What a URL names: the file, or the server without the password. subtle: the options may hold one too."""
    return str(_file(url)) if url.get_backend_name() == "sqlite" else url.set(query={}).render_as_string()


def _file(url: URL) -> Path:
    return Path(os.path.abspath((url.database or "").removeprefix("file:")))


def _what_to_do(url: URL, error: DBAPIError) -> str:
    """How a database can be had where this one could not be opened or written to."""
    if is_busy(error):
        return "another process holds it: try again"
    if url.get_backend_name() != "sqlite":
        return "look whether the server runs, and whether this user may create tables there"
    file = _file(url)
    if not file.parent.is_dir():
        return f"make the folder {file.parent} first"
    if file.is_dir():
        return "that is a folder: name a file in it"
    if file.exists() and not os.access(file, os.R_OK | os.W_OK):
        return "you may not write to this file: change that, or name another one"
    if not os.access(file.parent, os.W_OK):
        return f"you may not write into the folder {file.parent}: change that, or name another one"
    return "name another file, or a new one, which is made"


def _driver_options(url: URL) -> dict[str, Any]:
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql", "postgres"):
        raise UsageError(f"--database-url names {backend}; it must be sqlite:///file or postgresql://...")
    _check_options(url, backend == "sqlite")
    if backend != "sqlite":
        return {"connect_timeout": CONNECT_SECONDS}
    if url.database in (None, "", ":memory:"):
        raise UsageError("--database-url names no file that several processes could share")
    return {}


def _check_options(url: URL, sqlite: bool) -> None:
    """Raise `UsageError` for what is behind the question mark and would be ignored, or understood in another way than it is meant."""
    for name, value in url.query.items():
        if sqlite and name in _SQLITE_URI and not _is_true(url.query.get("uri")):
            raise UsageError(f"--database-url: {name} behind the ? goes with uri=true alone, as in sqlite:///file:tasks.db?{name}=...&uri=true")
        if name not in (*_SQLITE, *_SQLITE_URI) if sqlite else name not in _postgres_options():
            whose = "SQLite" if sqlite else "PostgreSQL"
            raise UsageError(f"--database-url: behind the ? there is an option that {whose} does not know (a ? in a name or a password is %3F)")
        if not isinstance(value, str) and (sqlite or name not in _SEVERAL):
            raise UsageError(f"--database-url: {name} is given twice")
        try:
            _SQLITE.get(name, str)(str(value)) if sqlite else None
        except ValueError:
            raise UsageError(f"--database-url: {name} is {'neither true nor false' if _SQLITE[name] is asbool else 'no number'}") from None


def _is_true(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in ("true", "yes", "on", "y", "t", "1")


def _postgres_options() -> set[str]:
    from psycopg import pq  # only where somebody names a PostgreSQL

    return {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
