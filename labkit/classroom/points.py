"""What a judged answer earns, so that whoever reads its page can work it out.

A right answer earns all points. Of any other the properties that hold earn theirs: half of the points are for what the exercise is about (its `essential`
properties), in equal shares, and half for all the others. An exercise that names nothing as essential shares all its points alike. What was not tested earns
nothing. To come to an end earns nothing, since an answer without a single statement does; not to come to one costs a share. What cannot be told while
something else is broken does not count: that is lost already.

Not handled here: what holds (see `checks.judge`), and answers that reached for their judge (see `gradebook`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.checks import registry
from labkit.checks.judge import FOLLOWS, HOLDS, CheckReport, Judged

FREE = "ends"  # the one property that holds for an answer that does nothing
ABOUT, OTHERS, ALL = "what it is about", "the others", "all"


@dataclass(frozen=True)
class Share:
    """A part of an exercise's points and the properties that earn it, each as much as the next."""

    name: str
    most: float
    properties: tuple[str, ...]
    held: tuple[str, ...]

    @property
    def points(self) -> float:
        return round(self.most * len(self.held) / len(self.properties), 2)


def shares(report: CheckReport, most: int) -> list[Share]:
    """How the points of an answer that is not right come about, the essential part first; empty where there is nothing to share."""
    if report.verdict == HOLDS:
        return []
    essential = registry.find(report.exercise).essential
    worth = [one for one in report.properties if (one.name != FREE or one.verdict != HOLDS) and not one.message.startswith(FOLLOWS)]
    about, others = [one for one in worth if one.name in essential], [one for one in worth if one.name not in essential]
    if not (about and others):
        return [_share(ALL, most, worth)] if worth else []
    return [_share(ABOUT, most / 2, about), _share(OTHERS, most / 2, others)]


def _share(name: str, most: float, judged: Sequence[Judged]) -> Share:
    return Share(name, most, tuple(one.name for one in judged), tuple(one.name for one in judged if one.verdict == HOLDS))


def earned(report: CheckReport, most: int) -> float:
    """The points of `most`, between 0 and all of them; all exactly when everything holds."""
    if report.verdict == HOLDS:
        return float(most)
    return round(sum(share.points for share in shares(report, most)), 2)
