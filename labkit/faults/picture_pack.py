"""Draws a whole transaction as one mark: BEGIN, one statement and COMMIT become the statement, in short runs and in long.

A transaction in which anything happened (a fault, an effect, a death, a call of somebody else) stays as it is, call by
call, so that no trouble is ever hidden. A transaction that only read ends without a call; it counts as whole when
its process later began another one, or came to its end.

Not handled here: transactions of several statements, and leaving calls out (see `picture_fold`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.faults.picture_story import WRITES, Call, Column, Story

CONTROL = ("begin", "commit", "rollback", "savepoint", "release")


def pack(story: Story) -> Story:
    """The story with one column for each quiet transaction."""
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
    if not rest or not _verb(begin).startswith("begin") or not _verb(rest[0]) or _verb(rest[0]).startswith(CONTROL):
        return 0
    if not all(_quiet(column, begin) for column in (begin, rest[0])):
        return 0
    if rest[0].call is not None and rest[0].call.ended:
        return 0 if WRITES.match(_verb(rest[0])) else 2
    ends = len(rest) > 1 and _verb(rest[1]).startswith(("commit", "rollback"))
    return 3 if ends and _quiet(rest[1], begin) else 0


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
    call = Call(first.process, first.number, "sql", calls[1].label, before, after, last=calls[-1].number, ended=calls[-1].ended)
    return Column(first.process, call=call, before=before, inside=inside, after=after)
