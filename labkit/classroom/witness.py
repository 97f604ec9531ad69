"""The witness: what a host says of an answer, held again against a world that is the grader's own.

A host shares its process with the answer, so its word can be forged. Here each process of a swept case runs for real in the box, on a database that
the grader opened first, while the ledger, the clock and the verdict stay on this side, and the grader kills: at the drawn crossing, and where that is
an effect the very moment it has happened. The seed draws the cases and the kills: each has its undisturbed run and one with a kill. A right answer
does the same in both worlds, and so nobody who is honest is called a liar for being slow: what cannot be heard to its end is said to be unwitnessed.

Not handled here: cases that are not swept, and what a drawn crossing does not show.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.checks import wire
from labkit.checks.exercise import Answer, Case, Exercise, Seen, like, seed_of
from labkit.checks.judge import Jury
from labkit.checks.kill import Hurry, Said
from labkit.checks.listening import FORGED, PATIENCE, Patience, last_line
from labkit.classroom.held_killer import ODD, HeldKiller
from labkit.classroom.walls import Walls
from labkit.clock import SystemClock
from labkit.faults.child import Overtime
from labkit.faults.held import Holder
from labkit.faults.runner import MOST_RESTARTS, Generation, Runner
from labkit.faults.schedule import Injection, Schedule, Token
from labkit.faults.world import World

ELSEWHERE = "in a world of the grader's own"
UNDISTURBED = "none"
MOST_CASES = 2  # of those of one database: more would cost as much as the check itself


class RememberingJury(Jury):
    """A jury that remembers which properties the undisturbed runs put to the test."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tested: dict[str, frozenset[str]] = {}  # case -> names

    def hear(self, seen: Seen) -> None:
        super().hear(seen)
        if seen.kind == "end" and str(Token.parse(seen.end.token).schedule) == UNDISTURBED:
            self.tested.setdefault(seen.case, exercised(self.exercise, seen))


def exercised(asked: Exercise, seen: Seen) -> frozenset[str]:
    """The properties that a run puts to the test."""
    facts = asked.case(seen.case).facts
    return frozenset(prop.name for prop in asked.properties if prop.looks_at(seen.case) and _is_exercised(prop.exercised, seen, facts))


def _is_exercised(asks: Any, seen: Seen, facts: dict[str, Any]) -> bool:
    try:
        return bool(asks(seen, facts))
    except ODD:
        return False


@dataclass
class Witnessed:
    """What the witness saw: `lie` is one sentence on where the host's word and the world differ, `missing` why some of it was not seen."""

    lie: str = ""
    missing: str = ""
    runs: int = 0


@dataclass
class Witness:
    """Looks at one answer on one database. `tested` is what the host's undisturbed runs put to the test, by case."""

    asked: Exercise
    source: str
    walls: Walls
    database: str
    tested: dict[str, frozenset[str]]
    rng: random.Random
    patience: Patience = PATIENCE
    jury: Jury = field(init=False)

    def __post_init__(self) -> None:
        self.jury = Jury(self.asked)

    def look(self) -> Witnessed:
        """Run the swept cases, one after the other, up to the first lie."""
        found = Witnessed()
        for case in self._cases():
            try:
                self._look_at(case, found)
            except Overtime:
                found.missing = f"case {case.name}: not at its end after {self.patience.total:g} s"
            except TimeoutError:
                found.lie = f"{ELSEWHERE} (case {case.name}) it never ended"
            except ODD:
                found.lie = f"{ELSEWHERE} (case {case.name}) {FORGED}"
            except (sqlite3.DatabaseError, OverflowError) as error:
                found.lie = f"{ELSEWHERE} (case {case.name}) it left what cannot be read: {error}"
            if found.lie:
                break
        return found

    def _look_at(self, case: Case, found: Witnessed, *, again: bool = True) -> None:
        """One case. Silence counts when it was heard twice: a machine can be busy once."""
        try:
            for seen in self._runs(case):
                found.runs += 1
                found.lie = found.lie or self._hear(case, seen)
        except Said as said:
            kind, why = next(iter(said.word.items()))
            if kind == "failed":
                found.missing = f"case {case.name}: {last_line(why)}"
            else:
                found.lie = f"{ELSEWHERE} (case {case.name}) it ended otherwise: {why}"
        except Overtime:
            raise
        except TimeoutError:
            if not again:
                raise
            self._look_at(case, found, again=False)

    def _cases(self) -> list[Case]:
        """Some of the swept cases, that nobody knew before; where one was drawn from a seed, that one alone of those that are like it."""
        swept = [case for case in self.asked.cases_on(self.database) if case.engine == "sweep"]
        drawn = {like(case.name) for case in swept if seed_of(case.name) is not None}
        left = [case for case in swept if case.name not in drawn]
        return self.rng.sample(left, min(MOST_CASES, len(left)))

    def _hear(self, case: Case, seen: Seen) -> str:
        """Why this run shows that the host did not tell the truth; "" where it does not."""
        self.jury.hear(seen)
        if self.jury.broken:
            _, finding, token = next(iter(self.jury.worst.values()))
            return f"the host said that all is well; {ELSEWHERE} ({token}) {finding.message}"
        if seen.kind == "end" and str(Token.parse(seen.end.token).schedule) == UNDISTURBED:
            never = self.tested.get(case.name, frozenset()) - exercised(self.asked, seen)
            if never:
                return f"the host said that it showed {', '.join(sorted(never))}; {ELSEWHERE} (case {case.name}) it never did"
        return ""

    def _runs(self, case: Case) -> Iterator[Seen]:
        """The undisturbed run, then one with a kill."""
        with self._killer(case) as killer:
            base = killer.generation(1)
            self._look_at_effects(base, killer)
            yield self._seen(case, "end", killer, Schedule(), [base])
        injection, kill_at = self._draw(case, base)
        if injection is None:
            return
        with self._killer(case) as killer:
            killer.kill_at = kill_at
            made = [killer.generation(1, (injection,))]
            if made[0].outcomes[0].how != "crashed":
                raise Said(word={"broke": f"it was not to be killed at {injection}"})
            yield self._seen(case, "left", killer, Schedule((injection,)), made)
            while made[-1].needs_restart and len(made) <= MOST_RESTARTS:
                made.append(killer.generation(len(made) + 1, body=None))
            yield self._seen(case, "end", killer, Schedule((injection,)), made)

    def _seen(self, case: Case, kind: str, killer: HeldKiller, schedule: Schedule, made: list[Generation]) -> Seen:
        return wire.seen(self.asked, case.name, kind, killer.runner.end(schedule, made).to_data())

    def _look_at_effects(self, base: Generation, killer: HeldKiller) -> None:
        """A process that keeps an effect from its record would not be killed there."""
        if len(effects_of(base)) != killer.effects() - killer.of_the_scene:
            raise Said(word={"broke": "its record and the ledger differ"})

    def _draw(self, case: Case, base: Generation) -> tuple[Injection | None, int | None]:
        """A crossing to be killed at, effects before others; and the number of the effect, if it is one."""
        crashes = list(base.injections(1, [fault for fault in case.faults if fault == "crash"]))
        numbers = {crossing: number for number, crossing in enumerate(effects_of(base), 1)}
        done = [one for one in crashes if one.side == "after" and one.number in numbers]
        if not crashes:
            return None, None
        drawn = self.rng.choice(done if done and self.rng.random() < 0.5 else crashes)
        return drawn, numbers.get(drawn.number) if drawn.side == "after" else None

    @contextmanager
    def _killer(self, case: Case) -> Iterator[HeldKiller]:
        """A new world for each run: what an answer has laid hands on is never put back."""
        kind = self.database or "sqlite"
        with self.walls.room(self.database) as (url, room), self.walls.stage() as stage:
            job = {"exercise": self.asked.id, "source": self.source, "home": str(room), "case": case.name}
            hurry = Hurry(self.patience.stall, SystemClock().monotonic() + self.patience.total)
            with World(kind, folder=stage, url=url) as world, _holder(world, stage / "held") as holder:
                if self.database:
                    _ = world.database  # opens it
                self.walls.own(holder.path)
                runner = Runner(case.scenario(self.asked.id, Answer(_nothing)), world)
                killer = HeldKiller(runner, self.walls, holder, hurry, **job)
                killer.with_database = bool(self.database)
                killer.of_the_scene = killer.effects()
                yield killer


def effects_of(generation: Generation) -> list[int]:
    """The crossings at which something happened for the first time, in order."""
    return [record[3] for record in generation.record if record[0] == "effect" and not str(record[8]).endswith(" again")]


@contextmanager
def _holder(world: World, path: Path) -> Iterator[Holder]:
    holder = Holder(world, path)
    try:
        yield holder
    finally:
        holder.close()


def _nothing() -> dict[str, Any]:
    raise AssertionError("an answer is run in the box only")
