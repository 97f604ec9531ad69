"""What a notebook calls: `check`, `show` and `hint`.

`check("retry")` finds the answer in the notebook: the cell last run whose first line is `# labkit: retry`, with the cells before
it that define what it uses. It runs in a child process, so an endless answer cannot hang the notebook. What is shown holds no
seconds and nothing of the machine: the same answer gives the same output.

Not handled here: judging (see `checks`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from labkit import workfolder
from labkit.checks import registry, words
from labkit.checks.answer import anchor_of, with_what_it_uses
from labkit.checks.command import hint_text
from labkit.checks.exercise import SQL
from labkit.checks.host import kind_of
from labkit.checks.judge import BROKEN, HOLDS, CheckReport
from labkit.checks.run import run_check, run_replay
from labkit.errors import UsageError
from labkit.faults.picture import svg, text
from labkit.faults.trace import Trace

COLOURS = {HOLDS: "#1a7f37", BROKEN: "#cf222e"}


@dataclass
class Checked:
    """A check's report, and the trace of its simplest counterexample."""

    report: CheckReport
    trace: Trace | None = None

    def __repr__(self) -> str:
        drawn = f"\n\n{text(self.trace)}" if self.trace else ""
        return words.whole(self.report) + drawn

    def _repr_html_(self) -> str:
        colour = COLOURS.get(self.report.verdict, "#9a6700")
        head, *rest = words.whole(self.report).split("\n")
        lines = "\n".join(map(escape, rest))
        drawn = svg(self.trace, title="the simplest run that breaks it") if self.trace else ""
        return (
            f'<div style="border-left:4px solid {colour};padding:.2em .8em;margin:.4em 0">'
            f'<b>{escape(head)}</b><pre style="white-space:pre-wrap;margin:.4em 0 0">{lines}</pre></div>{drawn}'
        )


@dataclass
class Shown:
    """A few runs of an answer, drawn."""

    traces: list[Trace] = field(default_factory=list)

    def __repr__(self) -> str:
        return "\n\n".join(text(trace) for trace in self.traces)

    def _repr_html_(self) -> str:
        return "".join(svg(trace) for trace in self.traces)


@dataclass
class Hint:
    """One hint."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return "> " + self.text.replace("\n", "\n>\n> ")


def check(exercise: str, answer: str | None = None) -> Checked:
    """Prove the answer to an exercise against every crash point; `answer` is its source where it stands in no notebook cell."""
    report = run_check(exercise, answer or source_of(exercise), databases=SQL)
    if report.verdict == HOLDS:
        workfolder.passed([exercise])
    first = report.first_broken
    trace = _trace(first.token, answer or source_of(exercise)) if first is not None and first.token else None
    return Checked(report, trace)


def show(exercise: str, answer: str | None = None) -> Shown:
    """Draw a few runs of the answer, before anything is judged."""
    asked = registry.find(exercise)
    source = answer or source_of(exercise)
    tokens = [f"{exercise}.{case}/{kind_of(asked.case(case), 'sqlite')}:{schedule}" for case, schedule in asked.to_show()]
    return Shown([run_replay(token, source, judged=False) for token in tokens])


def hint(exercise: str, level: int = 1) -> Hint:
    """A hint: 1 is a nudge, the last one is nearly there."""
    return Hint(hint_text(exercise, level))


def source_of(exercise: str) -> str:
    """The learner's answer in this notebook. Raises `UsageError` when no cell with the anchor was run."""
    registry.find(exercise)
    cells = _cells_run()
    marked = [index for index, cell in enumerate(cells) if anchor_of(cell) == exercise]
    if not marked:
        raise UsageError(f"run the cell that begins with `# labkit: {exercise}` first, then check again")
    return with_what_it_uses(cells[marked[-1]], cells[: marked[-1]])


def _cells_run() -> list[str]:
    """The sources of the cells that were run in this kernel, oldest first."""
    try:
        from IPython import get_ipython
    except ImportError:
        return []
    shell: Any = get_ipython()
    return [str(cell) for cell in shell.user_ns.get("In", [])] if shell is not None else []


def _trace(token: str, source: str) -> Trace | None:
    try:
        return run_replay(token, source)
    except UsageError:  # what never ends cannot be drawn
        return None
