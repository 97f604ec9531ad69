"""The source of a function or a class as a notebook shows it, so that a lesson shows what it runs and never a copy.

A long line scrolls and is never broken. Colours are those of the page's own editor, where it says which.

Not handled here: listings of other languages.
"""

from __future__ import annotations

import inspect
import io
import keyword
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

STYLE = (
    # JupyterLab breaks the lines of an output, inside of words too, unless one insists
    ".lk-listing pre{white-space:pre!important;word-break:normal!important;overflow-wrap:normal!important;"
    "overflow-x:auto;margin:0;padding:2px 0 4px;color:inherit;background:none;"
    "font:13px/1.45 var(--jp-code-font-family,ui-monospace,Menlo,monospace)}"
    ".lk-listing b{color:var(--jp-mirror-editor-keyword-color,inherit)}"
    ".lk-listing q{quotes:none;color:var(--jp-mirror-editor-string-color,inherit)}"
    ".lk-listing i{color:var(--jp-mirror-editor-comment-color,inherit)}"
)
NAMES = {tokenize.STRING: "q", tokenize.COMMENT: "i"}


@dataclass(frozen=True)
class Listing:
    """Python source, coloured where the page can do it."""

    source: str

    def _repr_html_(self) -> str:
        body = f'<pre tabindex="0">{"".join(_coloured(self.source))}</pre>'
        return f'<div class="lk-listing"><style>{STYLE}</style>{body}</div>'

    def __repr__(self) -> str:
        return self.source


def _coloured(source: str) -> Iterator[str]:
    """The source as markup, keywords, texts and comments in elements of their own; f-strings stay plain."""
    lines, row, column, inside = source.splitlines(keepends=True), 1, 0, 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        yield escape(_between(lines, (row, column), token.start))
        kind = tokenize.tok_name[token.type]
        # subtle: newer Pythons cut an f-string into tokens, older ones do not, and a lesson looks the same on all
        inside += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        name = "" if inside else _element_of(token)
        shown = escape(_between(lines, token.start, token.end))
        yield f"<{name}>{shown}</{name}>" if name else shown
        row, column = token.end


def _element_of(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return "b" if keyword.iskeyword(token.string) else ""
    is_f = token.type == tokenize.STRING and "f" in token.string[:2].lower()
    return "" if is_f else NAMES.get(token.type, "")


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one place to another."""
    rows = lines[start[0] - 1 : end[0]] or [""]
    rows[-1] = rows[-1][: end[1]] if end[0] - 1 < len(lines) else rows[-1]
    rows[0] = rows[0][start[1] :]
    return "".join(rows)


def listing(*parts: Callable[..., Any] | type) -> Listing:
    """The source of these functions and classes, one after the other."""
    sources = [textwrap.dedent(inspect.getsource(part)).strip() for part in parts]
    return Listing("\n\n".join(sources))
