"""Chapter 21, step 1 and common error 1: ways to take a deployment on, and what the proxy and the reboot make of them.

A user clicks once more when her browser shows an error, which is what people do. `in_the_handler`, `without_a_key` and
`in_memory` are broken on purpose; `on_the_queue` and `in_a_table` are the same over the library's queue. A mail stands
for "202 Accepted": from then on somebody relies on it, and no crash takes that back.

Not handled here: how long everybody waits (see `evening`), and whoever waits for the result (see `channels`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from labkit.cloud import Cloud
from labkit.errors import CallTimeout
from labkit.faults import End, Process, Scenario
from labkit.lessons.evening import WORK
from labkit.lessons.queues import LEASE, no_heartbeats, open_queue
from labkit.lessons.story import APP, one_container
from labkit.queue import Job, TaskQueue, Worker

PROXY = 60.0  # seconds after which a proxy hangs up
KEY = "click-1"  # made by the page when it is opened, and the same for each click on it
APPS = ("shop", "blog")


def request(process: Process, handle: Callable[[], str], takes: float) -> str:
    """One request through the proxy. When the handler takes longer, `CallTimeout`; the handler goes on all the same."""

    def answer() -> str:
        if takes <= PROXY:
            return handle()
        process.gate.later(takes, handle, "the handler goes on")
        process.gate.stage.sleep(PROXY)
        raise CallTimeout(f"504: no answer within {PROXY:g} s")

    return process.gate.cross("http", "POST /deploy", answer, driver="cloud")


def twice(ask: Callable[[], str]) -> str:
    """What a user does: she clicks, and clicks once more when there was no answer."""
    for _ in range(2):
        try:
            return ask()
        except CallTimeout:
            continue
    return "no answer"


def in_the_handler(process: Process) -> str:
    """Common error 1, the BAD listing: the work is done inside the request. Breaks always: the work takes ten minutes."""
    heard = twice(lambda: request(process, lambda: deployed(process), WORK))
    process.clock.sleep(WORK - 2 * PROXY)  # she gets herself a coffee
    process.clock.sleep(PROXY)  # and drinks it
    return heard


def deployed(process: Process) -> str:
    """What the handler has done after ten minutes, whoever still listens."""
    answer = Cloud(process.world.ledger, process.world.clock, by="handler").deploy_container(APP)
    process.gate.tell("effect", f"deploy_container {APP}", "key=None")
    return answer


def on_the_queue(process: Process) -> str:
    """The GOOD listing, with the key of the click: stored, and answered with an id."""
    queue = queue_of(process)
    return twice(lambda: request(process, lambda: queue.submit(f"deploy {APP}", idempotency_key=KEY), 0.0))


def without_a_key(process: Process) -> str:
    """The GOOD listing to the letter. Breaks when the answer is lost: the second click is a second task."""
    queue = queue_of(process)
    return twice(lambda: request(process, lambda: queue.submit(f"deploy {APP}"), 0.0))


def queue_of(process: Process) -> TaskQueue:
    return open_queue(process.clock, engine=process.engine, ids=process.name)


def deploy(process: Process) -> Callable[[Job], str]:
    """The handler of the worker: ten minutes of work, the effect under the key of the task."""

    def handler(job: Job) -> str:
        process.clock.sleep(WORK)
        return process.cloud.deploy_container(job.user_input.split()[-1], key=job.key)

    return handler


def work(process: Process) -> int:
    """A worker that looks once, a second later, and takes all there is."""
    process.clock.sleep(1.0)
    return Worker(queue_of(process), deploy(process), process.name, every=no_heartbeats).run_until_idle()


clicked = Scenario("in_the_handler", in_the_handler, [one_container])
queued = Scenario("on_the_queue", [on_the_queue, work], [one_container])
queued_without_a_key = Scenario("without_a_key", [without_a_key, work], [one_container])


def accepted(process: Process, app: str) -> None:
    """Tell the customer that it is accepted."""
    process.cloud.send_mail(app, key=f"accepted {app}")


def in_memory(process: Process) -> None:
    """Step 1: the queue is a channel, that is, a list in the server. Breaks on any crash after the first acceptance."""
    waiting: deque[str] = deque()
    for app in APPS:
        waiting.append(app)
        accepted(process, app)
    while waiting:
        app = waiting.popleft()
        process.clock.sleep(WORK)
        process.cloud.deploy_container(app, key=app)


def empty_again(process: Process) -> str:
    """The server after a reboot: it starts with an empty list."""
    return "nothing to do"


def in_a_table(process: Process) -> int:
    """The same with the library's queue."""
    queue = queue_of(process)
    for app in APPS:
        queue.submit(f"deploy {app}")
        accepted(process, app)
    return work(process)


def looks_into_the_table(process: Process) -> int:
    """The server after a reboot: what was running is claimed again when its lease is over."""
    process.clock.sleep(LEASE)
    return work(process)


def kept_its_word(end: End) -> str | None:
    """An invariant: what was accepted is deployed, once."""
    told = [app for app in APPS if end.count("send_mail", app)]
    wrong = [app for app in told if end.count("deploy_container", app) != 1]
    return f"{wrong[0]} was accepted and deployed {end.count('deploy_container', wrong[0])} times" if wrong else None


def keeps_a_word(end: End) -> bool:
    """A goal: something was accepted at all."""
    return any(end.count("send_mail", app) for app in APPS)


reboot_in_memory = Scenario("in_memory", in_memory, [kept_its_word], recover=empty_again, goal=keeps_a_word)
reboot_in_a_table = Scenario("in_a_table", in_a_table, [kept_its_word], recover=looks_into_the_table, goal=keeps_a_word)
