"""PostgreSQL for foreign code: a database of one's own, and no way to anything else on the server."""

import os

import psycopg
import pytest
from sqlalchemy import make_url

from labkit.classroom import box_server
from labkit.classroom.box import Box, IsolationUnavailable, why_not
from labkit.classroom.box_server import BoxServer, NotReached

REFUSED = ["COPY (SELECT 1) TO PROGRAM 'true'", "SELECT pg_read_file('PG_VERSION')", "CREATE DATABASE another", "SET ROLE postgres"]
NAMED = bool(os.environ.get("LABKIT_DATABASE_URL"))


def plain(url, **parts):
    return make_url(url).set(drivername="postgresql", **parts).render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def url():
    with Box("process") as box, box.walls.room("postgres") as (made, _):
        yield made


def test_a_database_of_ones_own(url):
    """The role of a box may do in its database what a check needs."""
    with psycopg.connect(plain(url)) as own:
        own.execute("CREATE TABLE mine (n int)")
        assert (False, False, False) == own.execute(
            "SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
        ).fetchone()


@pytest.mark.parametrize("statement", REFUSED)
def test_nothing_else_on_the_server(url, statement):
    """It runs no program, reads no file, makes no database and is nobody else."""
    with psycopg.connect(plain(url), autocommit=True) as own, pytest.raises(psycopg.errors.InsufficientPrivilege):
        own.execute(statement)


@pytest.mark.skipif(NAMED, reason="a server that is named lets people in as it likes")
@pytest.mark.parametrize("word", ["", "guessed"])
def test_nobody_gets_in_as_the_superuser(url, word):
    """Our own server asks everybody for a password, its superuser too."""
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(plain(url, username="postgres", password=word, database="postgres"))


def test_role_and_database_are_gone_afterwards():
    """A box that is closed leaves no role and no database on the server."""
    with Box("process") as box:
        with box.walls.room("postgres") as (url, _):
            made = make_url(url)
        server = box.walls.server._server
    with box_server._entered(server) as keeper:
        left = keeper.execute(
            "SELECT (SELECT count(*) FROM pg_roles WHERE rolname = %s), (SELECT count(*) FROM pg_database WHERE datname = %s)", (made.username, made.database)
        ).fetchone()
    assert (0, 0) == left


def test_server_on_the_network_is_out_of_reach_of_a_namespace(monkeypatch, tmp_path):
    """Where there is no network a server on it is an error that says what to do, not a way out."""
    monkeypatch.setattr(box_server, "_server", lambda: make_url("postgresql+psycopg://someone@192.0.2.1/x"))
    with pytest.raises(NotReached, match="there is no network: let LABKIT_DATABASE_URL name the server's socket"):
        BoxServer(None, closed=True).reach(tmp_path)
    if not why_not("namespace"):
        with Box("namespace") as box, pytest.raises(IsolationUnavailable, match="with isolation namespace there is no network"), box.walls.room("postgres"):
            pass
