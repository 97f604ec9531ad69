"""What the lesson on engines shows: strips, ledgers side by side, and tables, each read from runs that are made for it or were made before.

The verdict in a cell is computed: from the ledger, from PostgreSQL's own tables, or from what a process has called. The source of a way is read from its file,
since the kernel does not load DBOS.

Not handled here: the runs (see `engines_runs`).
"""

from __future__ import annotations

import ast
import base64
import binascii
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.faults.strip import Strip, strip
from labkit.lessons.engines import COUNTED, SECRET
from labkit.lessons.engines_runs import ENGINES, LOST, MANY, MOST, OVER, UNDOING, Run, Yard
from labkit.lessons.listing import Listing

EACH = "a cell is a kill: before the effect, after it, after its record"
RECORDS = {  # where an engine writes its steps down: table, column of the run
    "labkit": ("saga_log", "saga_id"),
    "DBOS": ("dbos.operation_outputs", "workflow_uuid"),
}
SCHEMAS = {"labkit": "public", "DBOS": "dbos"}
UNDO: dict[str, Any] = {"way": "deploy_or_undo"}
FORTY: dict[str, dict[str, Any]] = {"labkit": {"steps": "FORTY"}, "DBOS": {"way": "forty"}}
RETRIED: dict[str, dict[str, Any]] = {"labkit": {"way": "saga_retried"}, "DBOS": {"way": "retried"}}


def source(name: str, module: str = "engines_ways") -> Listing:
    """The source of a function, also one inside of another (`outer.inner`), without loading its module."""
    spec = find_spec(f"labkit.lessons.{module}")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    text = Path(spec.origin).read_text(encoding="utf-8")
    found: Any = ast.parse(text)
    for part in name.split("."):
        found = next(node for node in found.body if getattr(node, "name", "") == part)
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    return Listing(textwrap.dedent("\n".join(text.splitlines()[first - 1 : found.end_lineno])))


def listing(*names: str) -> Listing:
    """Several of them, one after the other."""
    return Listing("\n\n".join(source(name).source for name in names))


def lines(*names: str) -> int:
    """How many lines of code these are, without texts and what is empty."""
    tree = ast.parse(listing(*names).source)
    code = {child.lineno for node in ast.walk(tree) for child in ast.walk(node) if isinstance(child, ast.stmt | ast.expr | ast.arg | ast.excepthandler)}
    texts = {node.body[0].lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)}
    return len(code - texts)


def sweep(yard: Yard, *, keys: bool) -> Strip:
    """A strip for each engine: a kill at each crossing, one run each. Broken where an effect happened twice, or something is missing."""
    made = yard.everywhere(keys=keys)
    return strip(((engine, [(at, *_verdict(run)) for at, run in runs.items()]) for engine, runs in made.items()), each=EACH)


def _verdict(run: Run) -> tuple[str, str]:
    if run.twice:
        return "broken", f"{', '.join(run.twice)} happened twice"
    return ("broken", f"{run.end}, and there is: {run.there}") if run.wrong() else ("holds", "")


def ledgers(yard: Yard, crossing: str = LOST, *, keys: bool) -> Table:
    """The ledgers of both engines, killed at the same place."""
    runs = [yard.run(engine, crossing, keys=keys) for engine in ENGINES]
    rows = zip_longest(*(list(_lines(run)) for run in runs), fillvalue="")
    return table(["", *ENGINES], [[number, *row] for number, row in enumerate(rows, 1)], f"The ledger, killed at {crossing}")


def _lines(run: Run) -> Iterator[str | Mark]:
    seen = set[str]()
    last = [effect for effect in run.effects if effect.by == "process 1"][-1:]
    for effect in run.effects:
        line = f"{effect.by}: {effect.name}{', killed' if effect in last else ''}"
        yield bad(f"{line} again") if effect.name in seen else line
        seen.add(effect.name)


def changed(yard: Yard, *ways: str) -> Table:
    """What these changes do to the deployment that was under way."""
    rows = [
        [change.engine, change.what, change.how, run.end, (good if change.ends_well(run) else bad)(change.left(run))]
        for change, run in yard.changes(*ways)
    ]
    return table(["", "the change", "deployed", "the run ends", "there is"], rows, "Killed when container and route were recorded")


def refused(yard: Yard) -> Table:
    """Step 3 is refused for good: what stays of the other two, also when the process dies while it takes them back."""
    ways = [("DBOS", "as it is", "", None), ("DBOS", "undo by hand", "", UNDO), ("DBOS", "undo by hand, killed in it", UNDOING, UNDO)]
    ways += [("labkit", "as it is", "", None), ("labkit", "killed in the undo", UNDOING, None)]
    runs = yard.together(*({"engine": engine, "crossing": crossing, "first": way, "second": way, "far_side": "FullZone"} for engine, _, crossing, way in ways))
    rows = [[engine, says, run.end, (bad if run.wrong() else good)(run.there)] for (engine, says, _, _), run in zip(ways, runs, strict=True)]
    return table(["", "written", "the run ends", "there is"], rows)


def tried(yard: Yard) -> Table:
    """How often the DNS record is asked for, where it works the second time, and where it never will."""
    ways: list[tuple[str, str, Any]] = [(engine, "as it is", None) for engine in ENGINES]
    ways += [(engine, "retries allowed", RETRIED[engine]) for engine in ENGINES] + [("DBOS", "and told which", {"way": "choosy"})]
    runs = yard.together(*({"engine": engine, "second": way, "far_side": far} for engine, _, way in ways for far in ("ShyZone", "FullZone")))
    calls = [run.calls.count("create_dns_record") for run in runs]
    rows = [
        [engine, says, (good if shy > 1 else bad)(shy), (good if full == 1 else bad)(full)]
        for (engine, says, _), shy, full in zip(ways, calls[::2], calls[1::2], strict=True)
    ]
    return table(["", "written", "it would work the second time", "it will never work"], rows, "Calls for the DNS record")


def found_in(yard: Yard, engine: str) -> list[str]:
    """In which columns of the engine's tables the secret stands that the far side mentioned in its refusal."""
    yard.run(engine, far_side="FullZone")
    texts = "table_schema = %s AND data_type IN ('text', 'character varying') ORDER BY table_name, column_name"
    columns = _ask(yard, f"SELECT table_name, column_name FROM information_schema.columns WHERE {texts}", SCHEMAS[engine])
    return [f"{of}.{name}" for of, name in columns if any(SECRET in _read(row[0]) for row in _ask(yard, f'SELECT {name} FROM {SCHEMAS[engine]}."{of}"'))]


def _read(text: str | None) -> str:
    """What a column says, also where it is a pickle in base64, which DBOS makes of an error."""
    try:
        return base64.b64decode(text or "", validate=True).decode("latin-1")
    except (binascii.Error, ValueError):
        return text or ""


def _ask(yard: Yard, query: Any, *values: str) -> list[Any]:
    import psycopg

    with psycopg.connect(yard.url.replace("+psycopg", "")) as connection:
        return connection.execute(query, values or None).fetchall()


def taken(yard: Yard, engine: str) -> int:
    """How many deployments are taken of those that are handed in tonight."""
    bound: dict[str, Any] = {"most": MOST} if engine == "labkit" else {}
    return int(yard.process(engine, "flood", many=MANY, **bound)["taken"])


def costs(yard: Yard) -> Table:
    """Forty steps on each engine: what is written and sent for one of them, counted in PostgreSQL and at the driver."""
    rows = [["lines of code, all or nothing", lines("saga"), lines("deploy_or_undo.deploy", "act")]]
    counted = {engine: _counted(yard, engine) for engine in ENGINES}
    rows += [[says, *(counted[engine][says] for engine in ENGINES)] for says in counted["DBOS"]]
    return table(["", *ENGINES], rows)


def _counted(yard: Yard, engine: str) -> dict[str, int]:
    run = yard.run(engine, second=FORTY[engine], count=True)
    of, key = RECORDS[engine]
    (written,) = _ask(yard, f"SELECT count(*), count(DISTINCT xmin::text) FROM {of} WHERE {key} = %s", run.name)
    sent = Counter(run.sent)
    return {
        "rows written, a step": written[0] // len(run.calls),
        "commits that write, a step": written[1] // len(run.calls),
        "commits, a step": sent["COMMIT"] // COUNTED,
        "statements, a step": (sent.total() - sent["COMMIT"] - sent["PING"]) // COUNTED,
    }


def duties(yard: Yard) -> Table:
    """Seven duties, and who has them: taken from runs."""
    rows = [[says, *(of(yard, engine) for engine in ("DBOS", "labkit"))] for says, of in DUTIES.items()]
    return table(["duty", "DBOS", "labkit"], rows)


def _goes_on(yard: Yard, engine: str) -> Mark:
    runs = yard.everywhere(keys=True)[engine].values()
    over = sum(run.end in OVER for run in runs)
    return (good if over == len(runs) else bad)(f"{over} of {len(runs)} kills: done")


def _once(yard: Yard, engine: str) -> Mark:
    runs = yard.everywhere(keys=False)[engine].values()
    twice = sum(bool(run.twice) for run in runs)
    return (bad if twice else good)(f"{twice} of {len(runs)} kills: twice, without keys")


def _new_code(yard: Yard, engine: str) -> Mark:
    well = [change.ends_well(run) for change, run in yard.changes() if change.engine == engine]
    return (good if all(well) else bad)(f"{well.count(False)} of {len(well)} ways hurt")


def _undo(yard: Yard, engine: str) -> Mark:
    run = yard.run(engine, far_side="FullZone")
    return (bad if run.wrong() else good)(f"{run.there} left")


def _errors(yard: Yard, engine: str) -> Mark:
    calls = yard.run(engine, second=RETRIED[engine], far_side="FullZone").calls.count("create_dns_record")
    return (bad if calls > 1 else good)(f"a refusal is asked {'once' if calls == 1 else f'{calls} times'}")


def _secrets(yard: Yard, engine: str) -> Mark:
    found = found_in(yard, engine)
    return (bad if found else good)(f"in {', '.join(found)}" if found else "nowhere")


def _bound(yard: Yard, engine: str) -> Mark:
    count = taken(yard, engine)
    return (bad if count == MANY else good)(f"{count} of {MANY} taken")


DUTIES = {
    "go on after a kill": _goes_on,
    "no effect twice": _once,
    "new code, old runs": _new_code,
    "take back what was done": _undo,
    "tell errors apart": _errors,
    "keep secrets out of the record": _secrets,
    "a bound on what waits": _bound,
}
