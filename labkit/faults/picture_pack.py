"""Draws a whole transaction as one mark where the calls are many: BEGIN, one statement and COMMIT become the statement.

A transaction in which anything happened (a fault, an effect, a death, a call of somebody else) stays as it is, call by
call, so that no trouble is ever hidden. A transaction that only read may end without a call; it counts as whole when
its process begins the next one right away.

Not handled here: transactions of several statements, and leaving calls out (see `picture_fold`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.faults.picture_story import WRITES, Call, Column, Story

ROOM = 12  # calls in a run that is still shown call by call
CONTROL = ("begin", "commit", "rollback", "savepoint", "release")


def pack(story: Story) -> Story:
    """The story with one column for each quiet transaction; a short story as it is."""
    if story.calls <= ROOM:
        return story
    columns: list[Column] = []
    at = 0
    while at < len(story.columns):
        size = _size(story.columns, at)
        columns.append(_packed(story.columns[at : at + size]) if size else story.columns[at])
        at += size or 1
    return replace(story, columns=columns)


def _size(columns: Sequence[Column], at: int) -> int:
    """How many columns the quiet transaction takes that begins here; 0 if none does."""
    begin, *rest = columns[at : at + 3]
    if len(rest) < 2 or not _verb(begin).startswith("begin") or _verb(rest[0]).startswith(CONTROL):
        return 0
    if not all(_quiet(column, begin) for column in (begin, rest[0])) or rest[1].process != begin.process:
        return 0
    if _verb(rest[1]).startswith(("commit", "rollback")):
        return 3 if _quiet(rest[1], begin) else 0
    return 2 if _verb(rest[1]).startswith("begin") and not WRITES.match(_verb(rest[0])) else 0


def _verb(column: Column) -> str:
    """What a column asks of the database, or nothing."""
    return column.call.label.lower() if column.call is not None and column.call.boundary == "sql" else ""


def _quiet(column: Column, begin: Column) -> bool:
    """Whether it is a call with both its sides, nothing else, of the process that began, at the same instant."""
    lines = list(column.lines())
    whole = len(lines) == 2 and column.before is not None and column.after is not None
    same = bool(_verb(column)) and column.process == begin.process
    return whole and same and not column.faults and {line.time for line in lines} == {next(begin.lines()).time}


def _packed(columns: Sequence[Column]) -> Column:
    """One column for all of them, named after the statement."""
    calls = [column.call for column in columns if column.call is not None]
    before, *inside, after = [line for column in columns for line in column.lines()]
    first = calls[0]
    call = Call(first.process, first.number, "sql", calls[1].label, before, after, last=calls[-1].number)
    return Column(first.process, call=call, before=before, inside=inside, after=after)
