"""The matrix *systems x invariants*, filled by recorded runs: whom an invariant catches, whom it misses, and when it cries wolf.

An invariant catches a system in a story when it speaks of its run and says nothing of the sound system's run of the same story. What it says of the sound
system is a false alarm; a story in which it cries wolf anyway shows nothing about the others.

Not handled here: invariants (see `green_tests`), and the pictures of single runs (see `story_drawn`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from labkit.faults.chart_table import Mark, Table, bad, good, table, unknown
from labkit.faults.strip import Strip, strip
from labkit.invariants import BROKEN, SOUND, STORIES, Story, Trace, recorded, systems
from labkit.invariants.rules import RULES, broken

Invariant = Callable[[Trace], "str | None"]
Twin = Callable[[Trace], bool]
Stories = Sequence[Story]
DASH = "\N{EN DASH}"  # the sign of what is missed

FAIR = tuple(story for story in STORIES if story.mishap is None)  # nobody dies, and nobody is late
SUITES: dict[str, Stories] = {"fair weather": FAIR, "all stories": STORIES}


def said_of(invariant: Invariant, system: str, stories: Stories) -> set[str]:
    """The stories of whose run the invariant says something. Each run is a copy of its own."""
    return {story.name for story in stories if invariant(recorded(system, story.name)) is not None}


def breaks_in(system: str, stories: Stories) -> set[str]:
    """The stories in which the system does what it must not."""
    return {story.name for story in stories if broken(recorded(system, story.name))}


def judged(invariant: Invariant, system: str, stories: Stories) -> Mark | str:
    """A cell: how many of the broken runs are caught, or how often it cries wolf of the sound system."""
    alarms, all_of_them = said_of(invariant, SOUND.name, stories), len(stories)
    if system == SOUND.name:
        return bad(f"false alarm {len(alarms)}/{all_of_them}") if alarms else good(f"quiet {all_of_them}/{all_of_them}")
    there = breaks_in(system, stories)
    caught = there & said_of(invariant, system, stories) - alarms
    if not there:
        return unknown("nothing to catch")
    return good(f"caught {len(caught)}/{len(there)}") if caught else f"{DASH} missed {len(there)}/{len(there)}"


@dataclass
class Matrix:
    """A row for each system. `run` adds columns, or fills one again whose invariant has the same name."""

    stories: Stories = STORIES
    columns: dict[str, Invariant] = field(default_factory=dict)

    def run(self, *invariants: Invariant) -> Matrix:
        """Show each of these invariants every run."""
        self.columns.update({invariant.__name__.replace("_", " "): invariant for invariant in invariants})
        return self

    def _table(self) -> Table:
        rows = [
            [
                system.name,
                self._breaks(system.name),
                *(judged(one, system.name, self.stories) for one in self.columns.values()),
            ]
            for system in systems()
        ]
        return table(["", "breaks in", *self.columns], rows)

    def _breaks(self, system: str) -> str:
        return f"{len(breaks_in(system, self.stories))} of {len(self.stories)}"

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def six() -> Table:
    """One rule for each system, side by side, with the counts alone: what the exercise asks for."""
    rows = [
        [system.name, *(_in_short(judged(rule, system.name, STORIES)) for rule in RULES.values())]
        for system in systems()
    ]
    return table(["", *RULES], rows, "Broken runs that each rule catches")


def _in_short(cell: Mark | str) -> Mark | str:
    """How many are caught, without the word; a dash for what is missed."""
    if isinstance(cell, str):
        return DASH
    word, _, count = cell.text.rpartition(" ")
    return Mark(cell.verdict, count if word == "caught" else word)


def cast() -> Table:
    """The systems, and what was taken away from each."""
    return table(["system", "it lacks"], [[system.name, system.lacks or "nothing"] for system in systems()])


def by_story() -> Strip:
    """A strip for each broken system: a cell for each story, broken where the run is."""
    return strip(
        ((system.name, [_cell(system.name, story) for story in STORIES]) for system in BROKEN), each="a cell is a story"
    )


def _cell(system: str, story: Story) -> tuple[str, str, str]:
    kind = next(iter(broken(recorded(system, story.name))), "")
    return f"{system}.{story.name}", "broken" if kind else "holds", f"{kind}: {story.says}" if kind else story.says


def put_to_the_test(twins: Mapping[Invariant, Twin], system: str = SOUND.name) -> Table:
    """What a suite says of a system, with the twins asked as well: holds, broken, or not exercised."""
    rows = [
        [one.__name__.replace("_", " "), *(verdict(one, twin, system, suite) for suite in SUITES.values())]
        for one, twin in twins.items()
    ]
    return table(["", *(f"{name}, {len(suite)}" for name, suite in SUITES.items())], rows)


def verdict(invariant: Invariant, twin: Twin, system: str, stories: Stories) -> Mark:
    """Broken by any run; holds only if one of them could have broken it."""
    if said := said_of(invariant, system, stories):
        return bad(f"broken {len(said)}/{len(stories)}")
    reached = sum(twin(recorded(system, story.name)) for story in stories)
    return (good if reached else unknown)(f"{'holds' if reached else 'not exercised'}, twin {reached}/{len(stories)}")
