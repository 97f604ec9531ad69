"""Texts that an answer had a hand in, made fit to be shown.

Half of a character (a lone surrogate) cannot be encoded, and a control character may move the cursor or turn the writing round. Both are shown as their
escapes. Line ends and tabs stay. Where in memory something was is no news to anybody, and another place each time: it is left out.

Not handled here: escaping for HTML (see `page`), and length.
"""

from __future__ import annotations

import re

from labkit.faults.outcome import ADDRESS

UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with an escape for each character that cannot, or should not, be printed, and without places in memory."""
    return UNFIT.sub(lambda found: found.group().encode("unicode_escape").decode(), ADDRESS.sub("", text))
