"""A piece of a text in at most so many bytes, cut in six ways: what counts is what is sent, and that is JSON in UTF-8.

A sign may take four bytes, a line end is sent as two, a colour of a terminal as six. Each broken way names in its docstring what breaks it;
`every_cut` tries each way with each number of bytes.

Not handled here: tokens, which are the model's own count.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.context import size
from labkit.database import open_engine
from labkit.faults.chart_table import Table, bad, good, table
from labkit.tables import create_tables

ODD = 'web-1 \N{FIRE} "no space left"\n\x1b[31mweb-2\x1b[0m: диск полон\nC:\\logs \N{FIRE}\N{FIRE}\n'
Cut = Callable[[str, int], str]


def by_characters(text: str, most: int) -> str:
    """So many characters. Breaks on all that is not English: a letter has two bytes, an emoji four."""
    return text[:most]


def by_bytes(text: str, most: int) -> str:
    """So many bytes. Breaks in the middle of a sign: it cannot be decoded, and the step dies of it."""
    return text.encode()[:most].decode()


def by_bytes_replaced(text: str, most: int) -> str:
    """The same, and what is cut in half is replaced. Breaks too: a sign stands there that nobody wrote, and it takes three bytes."""
    return text.encode()[:most].decode(errors="replace")


def by_whole_signs(text: str, most: int) -> str:
    """Half a sign is left out. Breaks on what JSON writes longer: quotes, line ends, colours."""
    return text.encode()[:most].decode(errors="ignore")


def by_the_json(text: str, most: int) -> str:
    """Cuts the JSON. Breaks inside an escape: an emoji is two of them there, and half of it is no text that one can send."""
    return str(json.loads(json.dumps(text)[: most + 1] + '"'))


def as_sent(text: str, most: int, start: int = 0) -> str:
    """As much as can be sent in so many bytes, cut between two signs. A start below 0 counts from the end."""
    raw = text.encode()[start:]
    begin = next((place for place in range(min(4, len(raw))) if raw[place] & 0xC0 != 0x80), 0)
    kept = raw[begin : begin + most].decode(errors="ignore")
    while (over := sent(kept) - most) > 0:
        kept = kept[: -max(1, over // 6)]  # no sign is sent in more than six bytes
    return kept


def sent(text: str) -> int:
    """How many bytes a text takes between the quotes."""
    return size(text) - 2


CUTS: tuple[Cut, ...] = (by_characters, by_bytes, by_bytes_replaced, by_whole_signs, by_the_json, as_sent)


TROUBLES = ("no text", "too long", "not what was there")


def wrong(cut: Cut, text: str, most: int) -> set[str]:
    """All that is wrong with one piece."""
    try:
        piece = cut(text, most)
        piece.encode()
    except ValueError:
        return {"no text"}
    found = {"too long"} if sent(piece) > most else set()
    return found | ({"not what was there"} if not text.startswith(piece) else set())


def every_cut(text: str = ODD) -> Table:
    """Each way with each number of bytes up to all of it: how often it went wrong, and how."""
    rows: list[list[object]] = []
    for cut in CUTS:
        found = [wrong(cut, text, most) for most in range(1, sent(text) + 1)]
        rows.append([cut.__name__, len(found), *(_counted(sum(kind in one for one in found)) for kind in TROUBLES)])
    return table(["cut", "budgets tried", *TROUBLES], rows)


def _counted(count: int) -> object:
    return bad(count) if count else good(0)


def wrong_excerpts(text: str = ODD) -> list[int]:
    """The numbers of bytes for which the library's excerpt is longer, or is no text; those that it refuses are left out."""
    engine = open_engine("sqlite://")
    create_tables(engine)
    artifacts = ArtifactStore(engine)
    kept = artifacts.put(text, type="log", summary="odd")
    least = len(artifacts.excerpt(kept.artifact_id, top_k=0).encode())
    long = [
        len(artifacts.excerpt(kept.artifact_id, max_bytes=most).encode()) > most for most in range(least, 3 * least)
    ]
    engine.dispose()
    return [least + place for place, wrong_one in enumerate(long) if wrong_one]
