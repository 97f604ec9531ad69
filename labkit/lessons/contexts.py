"""Chapter 11, dynamic context: a log of 48 kB comes with an alarm, and the agent asks its model twenty times why the shop is down.

What a question costs is what the endpoint's `usage` says, here that of a scripted model behind the official client. `whole_log` sends the log each
time, `excerpt_only` an excerpt of it, and `excerpt_and_slice` lets the model ask for a piece. The cause is in the last lines, as it is in most logs.

Not handled here: how a piece is cut (see `contexts_cut`), and which facts are sent (see `contexts_select`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.conversation import Message
from labkit.agent.model import open_client
from labkit.agent.script import calls, says
from labkit.agent.state import Budget
from labkit.database import open_engine
from labkit.faults.chart_table import Table, bad, good, table
from labkit.faults.paint import element
from labkit.lessons.contexts_cut import as_sent
from labkit.lessons.evening_charts import Bars
from labkit.tables import create_tables

STEPS = 20
LOG_BYTES = 48_231  # the chapter's nginx log
GOAL = "Find out why shop is down."
CAUSE = "web-1 nginx: no space left on device\n"
LINE = "web-1 nginx: GET /cart 200, 31 ms, upstream 10.0.0.{:03}\n"
PIECE = 2_000  # bytes of an excerpt, and of a slice as it is sent
TAIL = -1_500  # where the model wants to read on: so many bytes before the end
Opening = Callable[[ArtifactStore, str], str]


@dataclass(frozen=True)
class Run:
    """One conversation: the tokens of each question, as the endpoint counted them, and what the model found."""

    name: str
    tokens: tuple[int, ...]
    answer: str

    @property
    def total(self) -> int:
        return sum(self.tokens)

    def over(self, budget: int) -> int | None:
        """The step with which the budget is overdrawn, counted from 1; None if it never is."""
        return next((step for step in range(1, len(self.tokens) + 1) if sum(self.tokens[:step]) > budget), None)

    def __repr__(self) -> str:
        return f"<Run {self.name}: {len(self.tokens)} questions, {self.total} tokens, {self.answer!r}>"


def log() -> str:
    """48 kB of good news, and the cause at the end."""
    room = LOG_BYTES - len(CAUSE)
    lines = "".join(LINE.format(number % 250) for number in range(room // len(LINE.format(0))))
    return lines.rjust(room, "-") + CAUSE


def whole_log(artifacts: ArtifactStore, text: str) -> str:
    """All of it, in the first message; so it is in every question after that. Breaks on its price."""
    return f"{GOAL}\n{text}"


def excerpt_only(artifacts: ArtifactStore, text: str) -> str:
    """Its first lines, and a line that says what is left out. Breaks where the news is not at the beginning."""
    kept = artifacts.put(text, type="log", summary="nginx error log")
    return f"{GOAL}\n{artifacts.excerpt(kept.artifact_id, top_k=20, max_bytes=PIECE)}"


def excerpt_and_slice(artifacts: ArtifactStore, text: str) -> str:
    """The same, and a tool that gives any piece of it."""
    return f"{excerpt_only(artifacts, text)}\nread_slice gives you any piece of it."


def model(messages: list[Message]) -> Message:
    """The scripted model: a piece of the log if it may ask for one, then server after server; it knows what it was shown."""
    asked = sum(message["role"] == "assistant" for message in messages)
    if asked == STEPS - 1:
        shown = any(CAUSE.strip() in str(message.get("content")) for message in messages)
        return says(CAUSE.strip() if shown else "I do not know")
    if asked == 0 and "read_slice" in messages[0]["content"]:
        return calls(("read_slice", {"start": TAIL}))
    return calls(("check_disk", {"host": f"web-{asked}"}))


def converse(opening: Opening) -> Run:
    """Twenty questions to the model, the conversation so far in each."""
    engine = open_engine("sqlite://")
    create_tables(engine)
    messages: list[Message] = [{"role": "user", "content": opening(ArtifactStore(engine), log())}]
    # with no environment: a lesson never spends somebody's money
    client, tokens = open_client(model, environ={}), []
    for _ in range(STEPS):
        sent: list = list(messages)  # type: ignore[type-arg]
        said = client.chat.completions.create(model="scripted", messages=sent)
        tokens.append(said.usage.prompt_tokens if said.usage else 0)
        messages.append(said.choices[0].message.model_dump(exclude_none=True))
        for call in messages[-1].get("tool_calls", ()):
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": _tool(call["function"])})
    engine.dispose()
    return Run(opening.__name__.replace("_", " "), tuple(tokens), str(messages[-1]["content"]))


def _tool(function: Message) -> str:
    given = json.loads(function["arguments"])
    return as_sent(log(), PIECE, start=given["start"]) if function["name"] == "read_slice" else "45%"


@cache
def runs() -> tuple[Run, ...]:
    """The three ways, each run once."""
    return tuple(map(converse, (whole_log, excerpt_only, excerpt_and_slice)))


def prices(some: tuple[Run, ...] = ()) -> Table:
    """What each way cost, and what came of it."""
    budget = Budget().max_llm_tokens
    rows = []
    for run in some or runs():
        over = run.over(budget)
        spent = f"{run.total:,} tokens"
        told = bad if CAUSE.strip() not in run.answer else good
        marked = bad(f"{spent}, over the budget in step {over}") if over else good(spent)
        rows.append([run.name, f"{run.tokens[0]:,} tokens", marked, told(run.answer)])
    return table(["in the first message", "first question", f"{STEPS} questions", "the answer"], rows)


@dataclass(frozen=True, repr=False)
class PerStep(Bars):
    """Thousands of tokens for each question, all ways on one scale."""

    def at(self, index: int) -> str:
        return f"step {index + 1}" if index < len(self.series[0][1]) else "the end"

    def hint(self, index: int, count: float) -> str:
        return f"{self.at(index)}: {count:g} {self.bar}"

    def _repr_html_(self) -> str:
        drawn, _, end = super()._repr_html_().rpartition('<div class="lk-below">')
        below = "a bar is a question; its height is on the scale at the right, in thousands of tokens"
        return drawn + element("div", below, cls="lk-below") + end.partition("</div>")[2]


def per_step(some: tuple[Run, ...] = (), title: str = "How many tokens each question costs") -> PerStep:
    """The runs under each other."""
    some = some or runs()
    series = tuple((run.name, tuple(round(tokens / 1000, 1) for tokens in run.tokens)) for run in some)
    said = tuple(f"{run.tokens[0]:,} to {run.tokens[-1]:,}, {run.total:,} in all" for run in some)
    return PerStep(series, 1.0, 1.0, title, "", None, "thousand tokens", said)
