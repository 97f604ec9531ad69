"""Tables of the lesson on durable agents: what models write as arguments, how often a model is asked, the library's agent under a crash, and every error.

Each cell is a run, or a call, made now.

Not handled here: the loops (see `agents`), and how a run ends for those who watch it (see `agents_ends`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

from labkit.agent.arguments import parse_arguments
from labkit.agent.cloud_tools import Host, disk_tools
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.errors import BadArguments
from labkit.faults import Report, Scenario, open_world, run_once
from labkit.faults.chart_table import Mark, Table, bad, good, judged, table
from labkit.faults.report import judge
from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from labkit.faults.strip import Strip, strip
from labkit.faults.sweep import Closure, sweep_runs
from labkit.lessons.agents import BROKEN, DIES_AGAIN, durable, endless, journalled
from labkit.lessons.agents_world import BUDGET

WRITTEN = (
    '{"host": "web-1"}',
    '{"host": "web-1"',
    "",
    "null",
    '["web-1"]',
    '{"host": "web-1", "host": "web-2"}',
    '{"host": "web-1", "dry_run": true}',
)  # fmt: skip


def arguments() -> Table:
    """What a model may write, what comes of `json.loads`, and what the library tells the model."""
    heads = ["the model writes", "json.loads, and the tool runs", "read strictly, the model is told"]
    return table(heads, [[text or "(nothing)", _loaded(text), _read(text)] for text in WRITTEN])


def _loaded(text: str) -> Mark:
    cloud = Cloud(MemoryLedger(), VirtualClock())
    try:
        told = disk_tools(cloud)["clean_logs"].run(json.loads(text), "key")
    except Exception as error:
        return bad(type(error).__name__)
    return good(told) if text == WRITTEN[0] else bad(told)


def _read(text: str) -> Mark:
    try:
        return good(f"runs on {parse_arguments(text, Host)['host']}")
    except BadArguments as error:
        return good(str(error))


def questions() -> Table:
    """How often a model that never comes to an answer is asked: by number of crashes."""
    heads = ["", *(f"{n} crash{'es' * (n != 1)}" for n in range(3))]
    ways = (journalled, durable)
    return table(
        heads, [[way.__name__.replace("_", " "), *(_asked(endless(way), n) for n in range(3))] for way in ways]
    )


def _asked(scenario: Scenario, crashes: int) -> Mark:
    trace = run_once(scenario, ",".join(DIES_AGAIN.split(",")[:crashes]) or "none")
    count = sum(line.boundary == "http" and line.side == "after" for line in trace.lines)
    return (good if count <= BUDGET.max_steps else bad)(count)


def crashes(*scenarios: Scenario, brief: bool = False) -> Strip:
    """A strip for each scenario: one crash at each place; `brief` shows those at a commit, and at a call that leaves the machine.

    Who goes on from a state does so once for all places that leave it.
    """
    each = f"a cell is one crash of p1, on one side of {'a commit, or of a call outside' if brief else 'a call'}"
    return strip(((one.name.replace("_", " ").replace(".", ": "), _places(one, brief)) for one in scenarios), each=each)


def _places(scenario: Scenario, brief: bool) -> list[tuple[str, str, str]]:
    closure = Closure()
    with open_world("memory") as world:
        runner = Runner(scenario, world)
        calm = runner.once(runner.start, 1, scenario.bodies)
        count = len(list(calm.injections(1, ("crash",))))
        _, _, verdicts = judge(scenario, sweep_runs(runner, ("crash",), closure, most_runs=1 + count))
    rows = Report(scenario, "", "", closure=closure, verdicts=verdicts).strip()
    outside = [line for line in calm.places() if line.boundary != "sql" or line.label == "COMMIT"]
    shown = {f"p1@{line.number}.{line.side}" for line in outside}
    return [row for row in rows if not brief or row[0].rpartition(":")[2].partition("+")[0] in shown]


def why(scenario: Scenario, schedule: str) -> str | None:
    """What breaks in one run."""
    return run_once(scenario, schedule).broken


def outcome(scenario: Scenario, schedule: str) -> str:
    """What the last process of one run returns."""
    with open_world("memory") as world:
        return str(Runner(scenario, world).run(Schedule.parse(schedule))[0].last.value)


def errors() -> Table:
    """Every error of the lesson, and the library's loop under the same trouble."""
    rows = [
        [name, *(judged(why(one, schedule)) for one in (scenario, sound_for(scenario)))]
        for name, (scenario, schedule) in BROKEN.items()
    ]
    return table(["", "as one writes it first", "durable"], rows)


def sound_for(scenario: Scenario) -> Scenario:
    """The same trouble for the library's loop."""
    run = scenario.run
    assert isinstance(run, partial)
    return replace(scenario, run=partial(run, way=durable), name=f"durable.{scenario.name}")
