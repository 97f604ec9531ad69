"""What goes wrong: stories that any of the systems can be put through, each as a scenario of the simulator.

One client submits tasks and may cancel some; workers take them, each in a process of its own. The fault of a story sits right behind something that
happened, such as the first effect of the first worker. Whoever died is started again under its name.

Not handled here: where in the run that is (see `runs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from labkit.database import reading
from labkit.faults.process import Process
from labkit.faults.scenario import Body, Scenario
from labkit.ids import counted_ids
from labkit.invariants.systems import Queue, System
from labkit.invariants.watch import Watch, tell
from labkit.invariants.work import Hands
from labkit.queue import Worker
from labkit.queue.change import ENDED
from labkit.tables import tasks

POLL, PATIENCE = 25.0, 400.0  # seconds from one look for work to the next, and until a worker goes home
FIRST_WORKER = 2  # p1 is the client


@dataclass(frozen=True)
class Mishap:
    """`fault` strikes the first worker right behind its `nth` event of this kind (with this `name`, if there is one)."""

    fault: str
    kind: str
    name: str = ""
    nth: int = 1


@dataclass(frozen=True)
class Story:
    """`says` is one sentence, `tasks` what is submitted at once, `cancelled` (after so many seconds, the number of a task from 1)."""

    name: str
    says: str
    tasks: tuple[str, ...]
    workers: tuple[str, ...] = ("w1", "w2")
    mishap: Mishap | None = None
    cancelled: tuple[tuple[float, int], ...] = ()

    def scenario(self, system: System) -> Scenario:
        """This story in this system, watched."""
        watch = Watch()
        bodies = [watch.over(self._client(system)), *(watch.over(_worker(system, name)) for name in self.workers)]
        return Scenario(f"{system.name}.{self.name}", bodies, recover=watch.over(_worker(system, self.workers[0])))

    def _client(self, system: System) -> Body:
        def client(process: Process) -> None:
            queue = _queue(system, process)
            for task in self.tasks:
                queue.submit(task)
            for at, number in self.cancelled:
                process.clock.sleep(at - process.world.clock.elapsed)
                queue.cancel(f"t-{number}", "not needed any more")

        return client

    def __repr__(self) -> str:
        return f"<Story {self.name}: {self.says}>"


def _queue(system: System, process: Process) -> Queue:
    queue = system.queue(process.engine, lease_seconds=system.lease_seconds, clock=process.clock, new_id=counted_ids("t"))
    queue.told = lambda event: tell(process, event)
    return queue


def _worker(system: System, name: str) -> Body:
    def worker(process: Process) -> None:
        process.clock.sleep(1.0)
        queue, hands = _queue(system, process), Hands(process, system.run_saga, system.key)
        worker = Worker(queue, hands.work, name, every=lambda seconds, beat: lambda: None)  # each call is shorter than a lease
        while process.world.clock.elapsed < PATIENCE:
            worker.run_until_idle()
            if _all_ended(queue):
                return
            process.clock.sleep(POLL)

    return worker


def _all_ended(queue: Queue) -> bool:
    going: Any = select(tasks.c.id).where(tasks.c.state.not_in([state.value for state in ENDED]))
    with reading(queue.engine) as connection:
        return connection.execute(going).first() is None


CHARGE, DEPLOY, TAKEN_BACK = "charge ann", "deploy shop", "deploy shop no-alert"
LATE = "delay(150)"
STORIES = (
    Story("nothing", "nobody submits anything", ()),
    Story("calm", "nothing goes wrong", (CHARGE, DEPLOY, "charge bob")),
    Story("crash", "a worker dies right after it has charged", (CHARGE,), mishap=Mishap("crash", "effect")),
    Story("crash_in_saga", "a worker dies between two steps", (DEPLOY,), mishap=Mishap("crash", "done", nth=2)),
    Story("crash_in_undo", "a worker dies while it undoes", (TAKEN_BACK,), mishap=Mishap("crash", "effect", "delete_namespace")),
    Story("crash_then_back", "a worker dies between two steps, and another one undoes what both did", (TAKEN_BACK,), mishap=Mishap("crash", "done", nth=2)),
    Story("crash_at_end", "a worker dies when it has written that the task is done", (CHARGE,), mishap=Mishap("crash", "written")),
    Story("crash_at_news", "a worker dies when it has told that the task is done", (CHARGE,), mishap=Mishap("crash", "progress", "completed")),
    Story("restart", "a worker dies and is started again under its name", (CHARGE, DEPLOY), ("w1",), Mishap("crash", "effect")),
    Story("late", "a worker sleeps past its lease, and wakes when another one has done the task", (CHARGE,), mishap=Mishap(LATE, "effect", "send_mail")),
    Story("awake", "a worker wakes while another one is at its task", (CHARGE,), mishap=Mishap("delay(75)", "effect", "send_mail")),
    Story("late_in_saga", "a worker sleeps past its lease between two steps", (DEPLOY,), mishap=Mishap(LATE, "effect", "create_dns_record")),
    Story("namesakes", "two workers have one name, and one of them sleeps past its lease", (CHARGE,), ("w1", "w1"), Mishap(LATE, "effect", "send_mail")),
    Story("cancelled", "a task is cancelled while a worker is at it", (CHARGE, "charge bob"), cancelled=((8.0, 1),)),
    Story("withdrawn", "tasks are cancelled before anybody has begun", (CHARGE, DEPLOY, "charge bob"), ("w1",), cancelled=((0.5, 1), (0.6, 3))),
    Story("refused", "a card is refused", ("charge ann refused", CHARGE)),
    Story("shaky", "a first attempt fails in the middle", ("charge ann shaky", "charge bob")),
    Story("shaky_twice", "two attempts fail in the middle, and the third one does not", ("charge ann shaky shaky",)),
    Story("taken_back", "the last step fails, and the others are undone", (TAKEN_BACK,)),
    Story("taken_back_early", "the third step fails, and two are undone", ("deploy shop no-payment",)),
    Story("stuck_first", "the first step cannot be undone", (f"{TAKEN_BACK} stuck-certificate",)),
    Story("stuck_middle", "two of four steps cannot be undone", (f"{TAKEN_BACK} stuck-dns_record stuck-payment",)),
    Story("stuck_last", "the fourth of four steps cannot be undone", (f"{TAKEN_BACK} stuck-namespace",)),
    Story("two_sagas", "two deployments go on at once, and one is taken back", (TAKEN_BACK, "deploy blog")),
    Story("two_taken_back", "two deployments are taken back at once", (TAKEN_BACK, "deploy blog no-namespace")),
    Story(
        "crowd", "six tasks, three workers, a crash, a cancel, and a deployment that is taken back",
        (CHARGE, TAKEN_BACK, "charge bob refused", "charge dan", "charge cleo shaky", "deploy blog"), ("w1", "w2", "w3"),
        Mishap("crash", "effect"), ((8.0, 4),),
    ),
)  # fmt: skip
