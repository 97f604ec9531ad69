"""What a statement is called in a trace, and whether it leaves something behind in its connection.

Not handled here: SQL. A statement is read no further than its first words and its first table.
"""

from __future__ import annotations

import re
from functools import lru_cache

TABLE = re.compile(
    r"\b(?:FROM|INTO|UPDATE|JOIN|TABLE)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?:ONLY\s+)?\"?([A-Za-z_][\w.]*)", re.IGNORECASE
)
# what a statement leaves in its connection rather than in the database: such a connection is of no use to another process
SESSION = ("PRAGMA", "ATTACH", "DETACH", "CREATE TEMP")


@lru_cache(maxsize=1024)
def label_of(statement: str) -> str:
    """What a statement is, in two or three words: UPDATE tasks, BEGIN IMMEDIATE."""
    words = statement.split(None, 2)
    verb = words[0].upper().rstrip(";") if words else ""
    if verb in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "PRAGMA", "SET"):
        return " ".join(word.upper() for word in words[:2])
    if verb == "CREATE" and words[1].upper().startswith("TEMP"):
        return "CREATE TEMP"
    table = TABLE.search(statement)
    return f"{verb} {table.group(1).lower()}" if table else verb
