"""The simulator against bare loops that send the same statements, in one run.

Run: python benchmarks/bench_simulator.py [memory] [sqlite] [postgres]
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sqlalchemy import Engine, text
from table import seconds, show, side_by_side

from labkit.cloud import Cloud, MemoryLedger
from labkit.database import open_engine
from labkit.faults import Process, Scenario, Schedule, at_most_once, open_world
from labkit.faults.interleave import Orders, interleave_runs
from labkit.faults.kill import NURSERY, crash_points, kill_runs
from labkit.faults.runner import Runner
from labkit.faults.schedule import Injection
from labkit.faults.sweep import sweep_runs
from labkit.faults.world import World

STEPS = ("create_dns_record", "create_namespace", "deploy_container", "configure_route")
READ, WRITE = text("SELECT step FROM steps_done"), text("INSERT INTO steps_done (step) VALUES (:step)")
SELECT = text("SELECT id FROM tasks WHERE state = 'pending' ORDER BY id LIMIT 1")
TAKE = text("UPDATE tasks SET state = 'running' WHERE id = :id")

BUDGETS = {("schedules", "memory"): "800", ("schedules", "postgres"): "150", ("closure", "memory"): "0.2 s"}
BUDGETS |= {("orders", "sqlite"): "800", ("orders", "postgres"): "100", ("kills", "sqlite"): "40"}


def tables(process: Process) -> None:
    with process.engine.begin() as connection:
        connection.execute(text("CREATE TABLE steps_done (step TEXT PRIMARY KEY)"))


def run_steps(engine: Engine, cloud: Cloud, most: int = len(STEPS)) -> None:
    """Four steps, each with a line in a log after it; `most` stops early, as a crash does."""
    with engine.connect() as connection:
        done = {row.step for row in connection.execute(READ)}
    for step in STEPS[:most]:
        if step not in done:
            getattr(cloud, step)("shop", key=step)
            with engine.begin() as connection:
                connection.execute(WRITE, {"step": step})


def saga(process: Process) -> None:
    run_steps(process.engine, process.cloud)


def claim(process: Process) -> None:
    with process.engine.begin() as connection:
        row = connection.execute(SELECT).first()
    if row is not None:
        with process.engine.begin() as connection:
            connection.execute(TAKE, {"id": row.id})


def one_task(process: Process) -> None:
    with process.engine.begin() as connection:
        connection.execute(text("INSERT INTO tasks (id, user_input) VALUES ('t1', 'x')"))


SAGA = Scenario("saga", saga, [at_most_once(step) for step in STEPS], setup=tables)
CLAIMS = Scenario("claims", (claim, claim), setup=one_task)


def bare_saga(runner: Runner, engine: Engine, points: list[Injection]) -> Callable[[], object]:
    """The statements of each schedule, and nothing of the simulator but the world's reset."""
    per_step = (len(points) // 2 - 1) // len(STEPS)

    def act() -> None:
        for point in points:
            runner.world.put_back(runner.start)
            ledger = MemoryLedger()
            run_steps(engine, Cloud(ledger, runner.world.clock), most=max(0, point.number - 2) // per_step)
            run_steps(engine, Cloud(ledger, runner.world.clock))

    return act


def bare_engine(world: World) -> Engine:
    """An engine on the world's database that knows nothing of the simulator."""
    if world.kind != "postgres":
        return open_engine(world.database.url)
    return open_engine(world.database.url, connect_args={"options": "-c synchronous_commit=off"})


def rate(count: int, took: float) -> str:
    return f"{count / took:.0f}/s"


def crashes(database: str) -> list[tuple[str, ...]]:
    with open_world(database) as world:
        runner, engine = Runner(SAGA, world), bare_engine(world)
        points = crash_points(runner)
        bare = bare_saga(runner, engine, points)
        times = side_by_side(
            {
                "bare": bare,
                "ours": lambda: [runner.run(Schedule((point,))) for point in points],
                "closure": lambda: list(sweep_runs(runner)),
            }
        )
        engine.dispose()
    count = len(points)
    return [
        (f"crash + recovery, {database}", rate(count, times["ours"]), rate(count, times["bare"]), f"{times['ours'] / times['bare']:.2f}",
         BUDGETS.get(("schedules", database), "")),
        (f"the whole closure, {database}", f"{times['closure']:.2f} s", "", "", BUDGETS.get(("closure", database), "")),
    ]  # fmt: skip


def bare_claims(runner: Runner, engine: Engine, times: int) -> Callable[[], object]:
    def act() -> None:
        for _ in range(times):
            runner.world.put_back(runner.start)
            for _ in range(2):
                with engine.begin() as connection:
                    row = connection.execute(SELECT).first()
                if row is not None:
                    with engine.begin() as connection:
                        connection.execute(TAKE, {"id": row.id})

    return act


def orders(database: str) -> list[tuple[str, ...]]:
    with open_world(database) as world:
        runner, engine, done = Runner(CLAIMS, world), bare_engine(world), Orders()
        list(interleave_runs(runner, orders=done))
        times = side_by_side(
            {"bare": bare_claims(runner, engine, done.runs), "ours": lambda: list(interleave_runs(runner))}, 3
        )
        engine.dispose()
    return [
        (f"orders of two claims, {database}", rate(done.runs, times["ours"]), rate(done.runs, times["bare"]),
         f"{times['ours'] / times['bare']:.2f}", BUDGETS.get(("orders", database), ""))
    ]  # fmt: skip


def bare_kills(times: int) -> None:
    """Fork, kill, wait, twice for each schedule as there are two processes; nothing is done in the child."""
    for _ in range(2 * times):
        child = os.fork()
        if child == 0:
            signal.pause()
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def kills(database: str) -> list[tuple[str, ...]]:
    NURSERY.warm()
    with open_world(database, durable=True) as world:
        runner = Runner(SAGA, world)
        count = len(crash_points(runner))
        next(kill_runs(runner))
        ours = seconds(lambda: list(kill_runs(runner)))
        bare = seconds(lambda: bare_kills(count)) if hasattr(os, "fork") else ours
    return [
        (
            f"real kills and restarts, {database}",
            rate(count, ours),
            rate(count, bare),
            f"{ours / bare:.1f}",
            BUDGETS.get(("kills", database), ""),
        )
    ]


def main(databases: list[str]) -> None:
    rows: list[tuple[str, ...]] = []
    for database in databases:
        rows += crashes(database)
        if database != "memory":
            rows += orders(database) + kills(database)
    show("The failure simulator", rows, ("what", "simulated", "bare", "ratio", "budget"))


if __name__ == "__main__":
    main(sys.argv[1:] or ["memory", "sqlite", "postgres"])
