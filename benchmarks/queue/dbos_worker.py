"""DBOS: a workflow without steps for each job, as many at once as it likes, its queue asked a hundred times a second."""

from __future__ import annotations

from time import sleep

from dbos import DBOS, DBOSClient, DBOSConfig
from worker import play

VERSION = "1"


@DBOS.workflow(name="nothing")
def nothing(number: int) -> str:
    return "done"


def launch(url: str) -> None:
    DBOS(config=DBOSConfig(name="bench", system_database_url=url, application_version=VERSION, run_admin_server=False, log_level="ERROR"))
    DBOS.launch()


def fill(url: str, count: int) -> None:
    launch(url)  # makes the tables
    DBOS.destroy()
    client = DBOSClient(system_database_url=url)
    for number in range(count):
        client.enqueue({"queue_name": "jobs", "workflow_name": "nothing", "app_version": VERSION}, number)
    client.destroy()


def work(url: str, name: str, most: int) -> None:
    DBOS.register_queue("jobs", polling_interval_sec=0.01)
    while DBOS.list_workflows(status=["ENQUEUED", "PENDING"], limit=1, load_input=False, load_output=False):
        sleep(0.05)


play(fill, work, launch)
