"""procrastinate: its own worker, one job at a time, stopping when nothing is left."""

from __future__ import annotations

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector
from worker import play


def app_on(connector: object) -> tuple[App, object]:
    app = App(connector=connector)  # type: ignore[arg-type]
    return app, app.task(name="nothing")(lambda number: None)


def fill(url: str, count: int) -> None:
    app, task = app_on(SyncPsycopgConnector(conninfo=url))
    with app.open():
        app.schema_manager.apply_schema()
        task.batch_defer(*({"number": n} for n in range(count)))  # type: ignore[attr-defined]


def work(url: str, name: str, most: int) -> None:
    app, _ = app_on(PsycopgConnector(conninfo=url))
    app.run_worker(wait=False, concurrency=1, listen_notify=False, name=name, install_signal_handlers=False)


play(fill, work)
