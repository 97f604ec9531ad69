"""DBOS: a workflow of n steps; on SQLite its file is put into WAL mode first, which it keeps."""

from __future__ import annotations

import sqlite3

from dbos import DBOS, DBOSConfig, SetWorkflowID
from runner import play


@DBOS.step(name="nothing")
def nothing(number: int) -> None:
    pass


@DBOS.workflow(name="steps")
def steps_in_turn(steps: int) -> None:
    for number in range(steps):
        nothing(number)


def prepare(url: str):  # type: ignore[no-untyped-def]
    if url.startswith("sqlite"):
        sqlite3.connect(url.removeprefix("sqlite:///")).execute("PRAGMA journal_mode=WAL").close()
    DBOS(config=DBOSConfig(name="bench", system_database_url=url, run_admin_server=False, log_level="ERROR"))
    DBOS.launch()

    def run(name: str, steps: int) -> None:
        with SetWorkflowID(name):
            steps_in_turn(steps)

    return run


play(prepare)
DBOS.destroy()
