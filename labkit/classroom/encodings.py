"""The text in a learner's file, also where an editor did not write UTF-8.

UTF-16 and UTF-32 are known by their mark, and a Python file may name its encoding in its first two lines, as Python itself takes it; of those only what
editors write is decoded.

Not handled here: guessing, which would turn a name into another one without a word.
"""

from __future__ import annotations

import codecs
import io
import tokenize

MARKS = {codecs.BOM_UTF32_LE: "UTF-32", codecs.BOM_UTF32_BE: "UTF-32", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}  # the longer first
FAMILIES = ("iso8859", "cp", "koi8", "mac", "gb", "big5", "shift_jis", "euc_")  # how the names of encodings begin that cost no time


def decoded(data: bytes, *, python: bool) -> tuple[str | None, str]:
    """(the text, the encoding where it is not UTF-8); without a text where there is none."""
    named = next((name for mark, name in MARKS.items() if data.startswith(mark)), "")
    for name in ("utf-8-sig", named, _cookie(data) if python else ""):
        try:
            if name:
                return data.decode(name), "" if name == "utf-8-sig" else name
        except (UnicodeError, LookupError):
            continue
    return None, ""


def _cookie(data: bytes) -> str:
    """The encoding that a Python file names, "" for none that is decoded here."""
    try:
        name = codecs.lookup(tokenize.detect_encoding(io.BytesIO(data).readline)[0]).name
    except (SyntaxError, LookupError):
        return ""
    return name if name.startswith(FAMILIES) else ""
