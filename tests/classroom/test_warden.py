"""The box's server runs as long as somebody holds it, and is stopped by the last one, however that one ends."""

from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from labkit.classroom.warden import Warden
from labkit.errors import PostgresUnavailable

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def runs(url):
    """Whether a server listens there: one that is stopped takes its socket away."""
    return (Path(make_url(url).query["host"]) / ".s.PGSQL.5432").exists()


def test_the_last_one_stops_the_server(short_path, monkeypatch):
    """Two hold the same server; a warden that is killed is replaced; when the last one lets go it does not run any more."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(short_path))
    one, other = Warden("box"), Warden("box")
    try:
        url = one.address()
        assert url == other.address() == one.address()
        psycopg.connect(make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)).close()
        other._program.kill()
        other._program.wait()
        with other._program.stdin, other._program.stdout:
            assert url == Warden.address(other)
        one.close()
        assert runs(url)
    finally:
        one.close()
        other.close()
    assert not runs(url)


def test_a_server_that_cannot_be_started(tmp_path, monkeypatch):
    """The reason comes from the other side; what was mended is tried anew."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    warden = Warden("box")
    for _ in range(2):
        with pytest.raises(PostgresUnavailable, match="PostgreSQL could not be started"):
            warden.address()
    warden.close()
