"""A long text shown in part: its first line, or its beginning and the id of the artifact that holds the whole.

The id follows from the text, so what is shown is the same whoever shows it and however often. Whoever shows a part sees to it that the artifact is there.

Not handled here: putting it there (see `known`).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from labkit.agent.artifacts import artifact_id_of
from labkit.agent.context import size
from labkit.store.contract import storable_text

SUMMARY = 120  # characters of a first line
LONGEST_PART = 700  # bytes of a goal or a step where it is shown, as JSON


@dataclass(frozen=True)
class Whole:
    """A text that is shown in part, and what it will be called as an artifact."""

    text: str = field(repr=False)
    type: str

    @property
    def artifact_id(self) -> str:
        return artifact_id_of(self.text)

    @property
    def summary(self) -> str:
        return first_line(self.text)


def first_line(text: str) -> str:
    """The beginning of a text, for a summary."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= SUMMARY else f"{line[:SUMMARY]} ..."


def in_part(text: str, type: str) -> tuple[str, list[Whole]]:
    """The text if it is not too long, else its beginning, and in the list the whole."""
    text = storable_text(text)
    if size(text) <= LONGEST_PART:
        return text, []
    whole = Whole(text, type)
    end = f" [cut: artifact {whole.artifact_id}]"
    start = text[:LONGEST_PART]  # subtle: no text is longer in characters than in bytes
    lengths = range(len(start) + 1)
    fits = bisect_right(lengths, LONGEST_PART - len(end), key=lambda length: size(start[:length])) - 1
    return start[:fits] + end, [whole]
