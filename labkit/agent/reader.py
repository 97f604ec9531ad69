"""The tool by which a model reads what it was shown in part: an artifact, piece by piece.

A piece is text of a bounded number of bytes and never cut inside of a character; behind it stands where the next one begins, so that whoever follows that
reads all of it, each character once. Reading changes nothing, and needs no person's word.

Not handled here: who may read. Whoever knows an id may, and an id cannot be guessed (see `artifacts`).
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.calls import LONGEST_RESULT
from labkit.agent.state import RiskLevel
from labkit.agent.tools import Arguments, Tool
from labkit.store.contract import storable_text

READ_ARTIFACT = "read_artifact"  # the name of the tool
LONGEST_PIECE = LONGEST_RESULT - 100  # bytes; the rest is for the line behind it


class Piece(Arguments):
    """Which artifact, and from which character on."""

    id: str
    start: int = Field(default=0, ge=0)


def reading_tool(artifacts: ArtifactStore) -> Tool:
    """The tool; of an artifact that is not there the model is told so."""

    def run(given: dict[str, Any], key: str) -> str:
        return piece_of(artifacts.get(given["id"]).text, given["start"])

    return Tool(READ_ARTIFACT, "Read an artifact, a piece of it from character `start` on.", run, Piece, RiskLevel.READ_ONLY)


def piece_of(content: str, start: int) -> str:
    """The piece that begins there, and a line that says what is left."""
    whole = storable_text(content)  # subtle: before it is cut, since an escape is longer than what it stands for
    piece = whole[start : start + LONGEST_PIECE].encode()[:LONGEST_PIECE].decode(errors="ignore")
    end = min(start + len(piece), len(whole))
    more = f"go on with start={end}" if end < len(whole) else "this is the end"
    return f"{piece}\n[{end} of {len(whole)} characters read: {more}]"
