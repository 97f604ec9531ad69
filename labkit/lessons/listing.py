"""The source of a function or a class as a notebook shows it, so that a lesson shows what it runs and never a copy.

Not handled here: listings of other languages.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Listing:
    """Python source, coloured where the page can do it."""

    source: str

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.source}\n```"

    def __repr__(self) -> str:
        return self.source


def listing(*parts: Callable[..., Any] | type) -> Listing:
    """The source of these functions and classes, one after the other."""
    sources = [textwrap.dedent(inspect.getsource(part)).strip() for part in parts]
    return Listing("\n\n".join(sources))
