"""Ids as an input: whoever makes ids is handed a source of them.

`random_ids()` never repeats in practice. `counted_ids("task")` gives task-1, task-2, ... and the same ones in every run, which is
what a reproducible failure needs.

Not handled here: ids that must be unique over processes *and* readable. A database's unique key is the judge of that.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable

IdSource = Callable[[], str]


def random_ids() -> IdSource:
    """A source of ids that no other source gives out: random UUIDs as text."""
    return lambda: str(uuid.uuid4())


def counted_ids(prefix: str) -> IdSource:
    """A source of `prefix-1`, `prefix-2`, ...: unique within this one source only."""
    numbers = itertools.count(1)
    return lambda: f"{prefix}-{next(numbers)}"
