"""What a notebook calls: `check`, `show` and `hint`.

`check("retry")` finds the answer in the notebook: the cell last run whose first line is `# labkit: retry`, with the cells before
it that define what it uses. It runs in a child process, so an endless answer cannot hang the notebook. What is shown holds no
seconds and nothing of the machine: the same answer gives the same output.

Not handled here: judging (see `checks`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from labkit.checks import registry, words
from labkit.checks.attempt import attempt
from labkit.checks.cells import anchor_of, redefined, with_what_it_uses
from labkit.checks.host import kind_of
from labkit.checks.judge import CheckReport
from labkit.checks.page import note, page
from labkit.checks.replay import run_replay
from labkit.errors import UsageError
from labkit.faults.picture import svg, text
from labkit.faults.runner import UNREACHED
from labkit.faults.schedule import Token
from labkit.faults.trace import Trace


@dataclass
class Checked:
    """A check's report, and the trace of its simplest counterexample."""

    report: CheckReport
    trace: Trace | None = None

    def __repr__(self) -> str:
        drawn = f"\n\n{text(self.trace)}" if self.trace else ""
        told = [words.whole(self.report, stuck=f'hint("{self.report.exercise}")')]
        told += [self.report.unrecorded] if self.report.unrecorded else []
        return "\n".join(told) + drawn

    def _repr_html_(self) -> str:
        # The page tells how to replay the run, so the picture need not say its token.
        drawing = svg(replace(self.trace, token=""), title="The simplest run that breaks it") if self.trace else ""
        return page(self.report, drawing)


@dataclass
class Shown:
    """A few runs of an answer, drawn; `why` says why there are none."""

    traces: list[Trace] = field(default_factory=list)
    why: str = ""

    def __repr__(self) -> str:
        return "\n\n".join(f"{_title(trace)}\n{text(trace)}" for trace in self.traces) or self.why

    def _repr_html_(self) -> str:
        return "".join(svg(trace, title=_title(trace)) for trace in self.traces) or note(self.why)


@dataclass
class Hint:
    """One hint; folded in a notebook, so that running all cells gives nothing away."""

    text: str
    level: int
    of: int

    @property
    def name(self) -> str:
        more = {1: ", a nudge", self.of: ", nearly there"}.get(self.level, "")
        return f"Hint {self.level} of {self.of}{more}"

    def __repr__(self) -> str:
        return f"{self.name}: {self.text}"

    def _repr_markdown_(self) -> str:
        return f"<details><summary>{self.name}</summary>\n\n{self.text}\n\n</details>"


def check(exercise: str, answer: str | None = None) -> Checked:
    """Prove the answer to an exercise against every crash point; `answer` is its source where it stands in no notebook cell."""
    report = attempt(exercise, lambda: _source(exercise, answer))
    first = report.first_broken
    if first is None or not first.token:
        return Checked(report)
    return Checked(report, _trace(first.token, _source(exercise, answer)))


def show(exercise: str, answer: str | None = None) -> Shown:
    """Draw a few runs of the answer, before anything is judged."""
    asked = registry.find(exercise)
    tokens = [
        f"{exercise}.{case}/{kind_of(asked.case(case), 'sqlite')}:{schedule}" for case, schedule in asked.to_show()
    ]
    try:
        source = _source(exercise, answer)
        return Shown([run_replay(token, source, judged=False) for token in tokens])
    except UsageError as error:
        return Shown(why=f"nothing to draw: {error}")


def hint(exercise: str, level: int = 1) -> Hint:
    """A hint: 1 is a nudge, the last one is nearly there."""
    asked = registry.find(exercise)
    return Hint(asked.hint(level), level, len(asked.hints))


def source_of(exercise: str) -> str:
    """The learner's answer in this notebook. Raises `UsageError` when no cell with the anchor was run, or one without it has redefined the answer."""
    asked, cells = registry.find(exercise), list(_CELLS_RUN)
    marked = [index for index, cell in enumerate(cells) if anchor_of(cell) == exercise]
    if not marked:
        raise UsageError(f"run the cell that begins with `# labkit: {exercise}` first")
    name = redefined(asked.signatures, cells[marked[-1] + 1 :])
    if name:
        raise UsageError(
            f"a later cell defines {name} again, without `# labkit: {exercise}` as its first line: put that line there and run it, "
            "or run the answer's cell once more"
        )
    return with_what_it_uses(cells[marked[-1]], cells[: marked[-1]])


def _source(exercise: str, answer: str | None) -> str:
    """The answer that was given, else the one in this notebook."""
    if not isinstance(answer, str | None):
        raise UsageError("the answer is given as its source, a text; without one the notebook's own cell is taken")
    return source_of(exercise) if answer is None else answer


def _listen() -> list[str]:
    """The sources of the cells that this kernel runs, oldest first; the list grows as it goes on."""
    try:
        from IPython import get_ipython
    except ImportError:
        return []
    shell: Any = get_ipython()
    if shell is None:
        return []
    cells = [str(cell) for cell in shell.user_ns.get("In", [])]
    # subtle: a cell that is run without history (nbval does that) is never in `In`, so we listen from here on.
    shell.events.register("pre_run_cell", lambda info: cells.append(shell.transform_cell(info.raw_cell)))
    return cells


_CELLS_RUN = _listen()


def _title(trace: Trace) -> str:
    """What happens in a run, for whoever does not read tokens yet; a fault that never struck is not claimed."""
    token = Token.parse(trace.token)
    never = {line.text for line in trace.lines if line.label == UNREACHED}
    faults = [
        f"{i.fault} {i.side} {i.boundary or 'any'} call {i.number}{' (never made)' if str(i) in never else ''}"
        for i in token.schedule.injections
    ]
    return f"{token.scenario.partition('.')[2].replace('_', ' ')}: {', '.join(faults) or 'no fault'}"


def _trace(token: str, source: str) -> Trace | None:
    try:
        return run_replay(token, source, judged=False)
    except UsageError:  # what never ends cannot be drawn
        return None
