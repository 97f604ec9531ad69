"""The doctor: a line for each part of the machine, and what to do where something is missing."""

import pytest

from labkit.classroom import doctor
from labkit.errors import PostgresUnavailable

PARTS = {"python", "sqlite", *doctor.EXTRAS, "postgres", "processes", "isolation", "folder", "exercises", "environment"}


def by_part():
    return {one.part: one for one in doctor.look()}


def test_every_part_is_looked_at():
    """Each part has one line, and none is without words."""
    found = list(doctor.look())
    assert [one.part for one in found if not one.text or "\n" in one.text] == []
    assert sorted(one.part for one in found) == sorted(PARTS)


def test_what_is_set_is_named_and_never_told(monkeypatch):
    """The name of a variable is shown, its value is not."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    found = by_part()["environment"].text
    assert "OPENAI_API_KEY" in found
    assert "sk-secret" not in found


def test_a_package_that_is_not_there(monkeypatch):
    """An extra that is not installed is no failure: the line says what is missed and how to get it."""
    monkeypatch.setattr(doctor, "find_spec", lambda module: None)
    found = by_part()["mcp"]
    assert found.sign == doctor.LIMITED
    assert "pip install" in found.text


@pytest.mark.parametrize(("named", "sign"), [(True, doctor.MISSING), (False, doctor.LIMITED)])
def test_no_postgres(monkeypatch, named, sign):
    """A server that was asked for must be there; one that nobody named is only missed."""

    def refuse():
        raise PostgresUnavailable("nobody listens", named=named)

    monkeypatch.setattr("labkit.postgres.fresh_database", refuse)
    assert (by_part()["postgres"].sign, by_part()["postgres"].text) == (sign, "nobody listens")


def test_exit_code(monkeypatch):
    """1 when something is missing that everybody needs, else 0."""
    said = []
    monkeypatch.setattr(doctor, "look", lambda: [doctor.Finding(doctor.OK, "a", "x"), doctor.Finding(doctor.LIMITED, "b", "y")])
    assert doctor.command(said.append) == 0
    assert said == ["ok a            x", "-- b            y"]
    monkeypatch.setattr(doctor, "look", lambda: [doctor.Finding(doctor.MISSING, "a", "x")])
    assert doctor.command(said.append) == 1


@pytest.mark.parametrize(
    ("check", "sign", "said"),
    [
        (None, doctor.LIMITED, "none in"),
        ("import sys\nsys.exit(0)\n", doctor.MISSING, "announce.py cannot be used: SystemExit: 0"),
        ("def\n", doctor.MISSING, "announce.py cannot be used: SyntaxError"),
        ("from labkit.checks.retry import EXERCISE\n", doctor.MISSING, "must hold an EXERCISE whose id is 'announce'"),
    ],
    ids=["no check", "leaves", "does not parse", "another's id"],
)
def test_a_courses_own_exercises(monkeypatch, tmp_path, check, sign, said):
    """The folder that is named is looked into: what cannot be used there is told, and that nothing is there."""
    if check is not None:
        (tmp_path / "announce.py").write_text(check)
    monkeypatch.setenv("LABKIT_EXERCISES", str(tmp_path))
    found = by_part()["exercises"]
    assert (found.sign, said in found.text) == (sign, True), found
    monkeypatch.setenv("LABKIT_EXERCISES", str(tmp_path / "nowhere"))
    assert "which is no folder" in by_part()["exercises"].text
