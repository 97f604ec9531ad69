"""The story of `labkit demo` as plain text: what happened minute by minute, the ledger, the verdict.

Plain ASCII under 100 columns, and nothing is said by colour alone.

Not handled here: what is told (see `demo`), and whether this is a terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from labkit.clock import STORY_BEGINS
from labkit.cloud import Effect
from labkit.deployment import STEPS

if TYPE_CHECKING:
    from labkit.demo import Life, Story

WIDTH = 96
RED, GREEN, BOLD = 31, 32, 1


def tell(story: Story, *, colour: bool) -> str:
    """The whole story."""

    def paint(text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if colour and text else text

    how = "naively, without keys and records" if story.naive else "with a key and a record for each step"
    minutes = sum(step.minutes for step in STEPS)
    lines = [paint(f"Deploying shop {how}: {len(STEPS)} steps, {minutes} virtual minutes.", BOLD), ""]
    lines += [paint(text, RED) if killed else text for killed, text in _happened(story)]
    lines += ["", paint("What the cloud's ledger shows", BOLD), "", f"  minute  by  {'effect':<24} key"]
    for effect, note, bad in _ledger(story):
        row = f"{_minute(effect):>8g}  {effect.by}  {f'{effect.name} {effect.target}':<24} {effect.key or 'none':<24} "
        lines.append((row + paint(note, RED if bad else GREEN)).rstrip())
    verdict, hints = _wrapped(_verdict(story)), _wrapped(_hints(story))
    lines += ["", *(paint(line, RED if story.wrong else GREEN) for line in verdict), "", *hints]
    return "\n".join(lines)


def _happened(story: Story) -> Iterator[tuple[bool, str]]:
    """(is it a kill, line) for each thing that happened to a process."""

    def at(seconds: float, text: str) -> str:
        return f"  minute {seconds / 60:>2g}   {text}"

    before: Life | None = None
    for life in story.lives:
        who = life.outcome.process
        yield False, at(life.began, f"{who}, a new process, {_finds(before)}" if before else f"{who} begins")
        if life.place is not None and life.outcome.how == "crashed":
            yield True, at(life.ended, f"{who} gets SIGKILL at place {life.killed_at} of {life.places}")
            yield True, f"{'':14}{_stood(life.place.boundary, life.place.side, life.place.label)}"
            yield False, f"{'':14}left: {_left(life, naive=story.naive)}"
        else:
            said = f"says: {life.outcome.value}" if life.outcome.how == "returned" else str(life.outcome)
            yield False, at(life.ended, f"{who} {said}")
        before = life


def _finds(before: Life) -> str:
    if before.state == "completed":
        return "finds the task completed: nothing to do"
    return f"finds the task {before.state} and takes over"


def _stood(boundary: str, side: str, label: str) -> str:
    """Where it died, and what that means."""
    if boundary == "clock":
        minutes = float(label.split()[1]) / 60
        return f"{side} a wait of {minutes:g} minute{'s' if minutes != 1 else ''}"
    fate = "it has not happened yet" if side == "before" else "it has happened, but no answer came"
    return f"{side} {label}: {fate}"


def _left(life: Life, *, naive: bool) -> str:
    steps = "" if naive else f", {len(life.recorded)} recorded as done"
    return f"{life.effects} effect{'s' if life.effects != 1 else ''} in the cloud{steps}, the task {life.state}"


def _minute(effect: Effect) -> float:
    return (datetime.fromisoformat(effect.time) - STORY_BEGINS).total_seconds() / 60


def _ledger(story: Story) -> Iterator[tuple[Effect, str, bool]]:
    """(effect, note, is it one too many) for each line of the ledger."""
    started = [row["step"] for row in story.end.rows.get("step_log", []) if row["event"] == "started"]
    times = {step.effect: started.count(step.name) for step in STEPS}
    seen: set[tuple[str, str]] = set()
    for effect in story.end.effects:
        again = (effect.name, effect.target) in seen
        seen.add((effect.name, effect.target))
        tries = times.get(effect.name, 0)
        yield effect, "doubled" if again else f"started {tries} times, done once" if tries > 1 else "", again


def _verdict(story: Story) -> str:
    if story.wrong:
        return "\n".join(f"{text[0].upper()}{text[1:]}." for text in story.wrong)
    effects = f"{len(STEPS)} steps, {len(story.end.effects)} effects, the task is completed."
    return f"Nothing lost, nothing doubled: {effects}" + (
        "\nThat was luck: it depends on where it died." if story.naive else ""
    )


def _hints(story: Story) -> str:
    flag, other = (
        (" --naive", "With keys and records: labkit demo")
        if story.naive
        else ("", "Without keys and records: labkit demo --naive")
    )
    here = ",".join(str(life.killed_at) for life in story.lives if life.killed_at)
    most = story.lives[0].places
    more = f"any place up to {most}; {here},3 kills p{len(story.lives)} too"
    return f"Again: labkit demo{flag} --kill-at {here} ({more})\n{other}"


def _wrapped(text: str) -> list[str]:
    return [part for line in text.split("\n") for part in textwrap.wrap(line, WIDTH, subsequent_indent="  ")]
