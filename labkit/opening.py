"""A database that a person named on the command line, opened with its tables; or one line that says what to do.

A file or a server that cannot be reached, a folder that is missing, rights that are missing, a table of somebody else's under a name of
ours: each is a `UsageError`, and a foreign database is left as it was. No message holds a password.

Not handled here: a database that goes away later (see `database`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from labkit.database import in_one_line, is_busy, open_engine
from labkit.errors import UsageError
from labkit.tables import create_tables, lacking

CONNECT_SECONDS = 10  # until a server that does not answer counts as unreachable


def open_named(database_url: str, *, pool_size: int) -> Engine:
    """An engine on `--database-url`, its tables made; `UsageError` says what cannot be used."""
    url = _url(database_url)
    try:
        engine = open_engine(url, pool_size=pool_size, connect_args=_driver_options(url))
        _refuse_foreign(url, engine)
        create_tables(engine)
    except DBAPIError as error:
        raise UsageError(f"--database-url: {_shown(url)}: {in_one_line(error)}; {_what_to_do(url, error)}") from error
    except (ValueError, ImportError) as error:
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
    if backend != "sqlite":
        return {"connect_timeout": CONNECT_SECONDS}
    if url.database in (None, "", ":memory:"):
        raise UsageError("--database-url names no file that several processes could share")
    return {}
