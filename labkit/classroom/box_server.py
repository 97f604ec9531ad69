"""PostgreSQL for foreign code: a database of one's own, a role that can do nothing else, and no way to become another one.

The usual server of a user trusts whoever reaches it, and its superuser may run programs. So a box is given another one, that lets nobody in without a
password and runs while a grader is there (see `warden`). Where `LABKIT_DATABASE_URL` names a server that one is used, with a role of the box's own if the
named role may make some.

Not handled here: how a server that is named lets people in, and what it lends to every role.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.classroom.warden import Warden
from labkit.errors import LabkitError
from labkit.ids import random_ids

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy.engine import URL

NAME = "box"  # of the server, and how the names of roles begin
WARDEN = Warden(NAME)
ONLY_WITH_PASSWORD = "local all all scram-sha-256\n"
_new_word = random_ids()


class NotReached(LabkitError):
    """A server cannot be reached from inside, and why."""


class BoxServer:
    """The server as a box with this `user` reaches it: `closed` boxes have no network, and see what is in `sockets`."""

    def __init__(self, user: int | None, *, closed: bool) -> None:
        self.user, self.closed = user, closed
        self.sockets: list[str] = []
        self.reached = False
        self._folder = ""  # where a second name of the socket is
        self._role, self._word = "", ""

    def reach(self, base: Path) -> None:
        """Find the way to the server. Raises `NotReached`, or `PostgresUnavailable` where there is none at all."""
        self._server = _server()
        self._inside = self._server
        where = _socket(self._server)
        if where is None and self.closed:
            raise NotReached("there is no network: let LABKIT_DATABASE_URL name the server's socket (postgresql://user@/database?host=/folder)")
        if where is not None and self.closed:
            self.sockets = [str(where)]
        elif where is not None and self.user is not None:
            self._folder = _second_name(where)
            self._inside = self._server.update_query_dict({"host": self._folder})
        self._role, self._word = _make_role(self._server)
        self.reached = True

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new database that belongs to the box's role, dropped afterwards."""
        from labkit.postgres import fresh_database

        with fresh_database(self._server) as made:
            url = self._inside.set(database=made.name)
            if self._role:
                with _entered(self._server) as keeper:
                    keeper.execute(f'ALTER DATABASE "{made.name}" OWNER TO "{self._role}"'.encode())
                    keeper.execute(f'REVOKE ALL ON DATABASE "{made.name}" FROM PUBLIC'.encode())
                url = url.set(username=self._role, password=self._word)
            yield url.render_as_string(hide_password=False)

    def close(self) -> None:
        """Take back what was made."""
        if self._role:
            with suppress(Exception), _entered(self._server) as keeper:  # a server that is gone has no role either
                keeper.execute(f'DROP ROLE IF EXISTS "{self._role}"'.encode())
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def look_at_server() -> None:
    """Raise `PostgresUnavailable` where there is no server to grade on."""
    from labkit.postgres import fresh_database

    with fresh_database(_server()):
        pass


def _server() -> URL:
    from sqlalchemy import make_url

    from labkit.postgres import ENVIRONMENT, server_url

    if os.environ.get(ENVIRONMENT, ""):
        return server_url()
    return _with_password(make_url(WARDEN.address()))


def _socket(server: URL) -> Path | None:
    """The file by which this server is reached, None for one on the network."""
    host = server.query.get("host", server.host) or ""
    return Path(str(host)) / f".s.PGSQL.{server.port or 5432}" if str(host).startswith("/") else None


def _second_name(socket: Path) -> str:
    """A folder that everybody may enter with the socket in it."""
    folder = tempfile.mkdtemp(prefix="labkit-server-")
    os.chmod(folder, 0o711)
    try:
        os.link(socket, Path(folder) / socket.name)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise NotReached(f"the server's socket is out of reach ({error.strerror}): let LABKIT_DATABASE_URL name a server on the network") from None
    return folder


@contextmanager
def _entered(server: URL) -> Iterator[psycopg.Connection[Any]]:
    import psycopg

    plain = server.set(drivername="postgresql", database=server.database or "postgres")
    with psycopg.connect(plain.render_as_string(hide_password=False), autocommit=True, connect_timeout=10) as keeper:
        yield keeper


def _with_password(server: URL) -> URL:
    """Our own server, which from its first start on asks everybody for a password; its superuser's lies beside it."""
    data = _socket(server)
    assert data is not None
    kept = data.parent.parent / "password"
    if kept.exists():
        return server.set(password=kept.read_text())
    word = _new_word()
    with _entered(server) as keeper:
        keeper.execute(f"ALTER ROLE CURRENT_USER PASSWORD '{word}'".encode())
        kept.touch(mode=0o600)
        kept.write_text(word)
        # crash here: the password is set and not asked for; the next start of a box finds it and asks for it then
        (data.parent / "pg_hba.conf").write_text(ONLY_WITH_PASSWORD)
        keeper.execute("SELECT pg_reload_conf()")
    return server.set(password=word)


def _make_role(server: URL) -> tuple[str, str]:
    """A role that may do nothing, and its password; ("", "") where the server does not let us make one."""
    with _entered(server) as keeper:
        may = keeper.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone()
        if not may or not may[0]:
            return "", ""
        role, word = f"labkit_{NAME}_{_new_word()}", _new_word()
        keeper.execute(f"CREATE ROLE \"{role}\" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '{word}'".encode())
        keeper.execute(f'GRANT "{role}" TO CURRENT_USER'.encode())  # subtle: only a member may give a database away
        return role, word
