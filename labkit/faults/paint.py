"""Clean text and calm colours for everything labkit draws: what goes in as data never comes out as markup.

Labels come from learners' code, so every word passes `clean` or `escape`. Colours are mixed with the colour of the
surrounding text, so one picture serves light and dark pages, and nothing is said by colour alone. No scripts, no ids:
any number of pictures can stand on one page.

Not handled here: what is drawn where (see `picture`, `strip`, `graph`, `chart`).
"""

from __future__ import annotations

import html
import re
import unicodedata

# control characters, line separators, direction overrides, lone surrogates: not drawable, or harmful
UNDRAWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
BREAKS = re.compile(r"(?<=[_./,:(=-])")
A_LITTLE = 1.2  # wider than a line a single word may be
# advance widths of DejaVu Sans, the widest of the usual fonts: (em, characters)
WIDTHS = {0.28: "ijl'", 0.34: "IJ ,./:;\\|", 0.4: "-f()[]!t", 0.46: 'r"', 0.54: "*_`s?z", 0.62: "cLFkvxyPTYaeo"}
WIDTHS |= {0.64: "$0123456789ESbdghnpqu{}", 0.7: "KABVXZCR", 0.79: "UNHD&GOQ", 0.85: "w#+<=>^~", 1.0: "M%mW@"}
EM = {char: em for em, chars in WIDTHS.items() for char in chars}

BLUE, VIOLET, OCHRE, GREEN, TEAL, RED = "#3f7cbf", "#8a6fc0", "#b5822f", "#4f9a5d", "#2f958f", "#d0414f"
DEEP_RED, DEEP_TEAL = "#c23b4a", "#23807a"  # dark enough for white letters on light and dark pages
HUES = {"sql": BLUE, "clock": VIOLET, "http": OCHRE, "file": GREEN, "cloud": TEAL, "red": RED, "green": GREEN}

# verdict -> the sign that says it without colour, on a page and in plain text
GLYPHS = {"holds": ("\N{MIDDLE DOT}", "."), "broken": ("\N{MULTIPLICATION X}", "X"), "not_exercised": ("?", "?")}


def clean(text: object) -> str:
    """One line of drawable characters."""
    return " ".join(UNDRAWABLE.sub(" ", str(text)).split())


def escape(text: object) -> str:
    """Text for an element or an attribute."""
    return html.escape(clean(text))


def cells(text: str) -> int:
    """How many terminal cells the text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def crop(text: str, limit: int) -> str:
    """The text in at most `limit` terminal cells, an ellipsis where something is missing."""
    if cells(text) <= limit:
        return text
    while text and cells(text) > limit - 1:
        text = text[:-1]
    return text.rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def width(text: str, size: float = 11, *, bold: bool = False) -> float:
    """Pixels that the text takes, rounded up to the widest of the usual sans-serif fonts."""
    return sum(_em(c) for c in text) * size * (1.16 if bold else 1.02)


def _em(char: str) -> float:
    if char in EM:
        return EM[char]
    return 1.3 if unicodedata.east_asian_width(char) in "WF" else 0.0 if unicodedata.combining(char) else 0.9


def wrap(text: object, limit: float, lines: int, size: float = 11) -> list[str]:
    """The text in at most `lines` lines of at most `limit` pixels; an ellipsis ends what does not fit.

    A single word may be a little wider, rather than be cut before its last letter.
    """
    rows = [""]
    for word in clean(text).split():
        whole = width(word, size) <= (limit if BREAKS.search(word) else limit * A_LITTLE)
        if rows[-1] and width(f"{rows[-1]} {word}", size) > limit:
            rows.append("")
        rows[-1] += " " if rows[-1] else ""
        for piece in [word] if whole else _pieces(word, limit, size):
            if width(rows[-1] + piece, size) > limit:
                rows.append("")
            rows[-1] += piece
    kept = [row.strip() for row in rows if row.strip()]
    return kept if len(kept) <= lines else [*kept[: lines - 1], _shortened(kept[lines - 1], limit, size)]


def _shortened(row: str, limit: float, size: float) -> str:
    while row and width(row + "\N{HORIZONTAL ELLIPSIS}", size) > limit:
        row = row[:-1].rstrip()
    return row + "\N{HORIZONTAL ELLIPSIS}"


def _pieces(word: str, limit: float, size: float) -> list[str]:
    """A word that is too long for a line, cut behind its signs, or where it must be."""
    pieces: list[str] = []
    for part in BREAKS.split(word):
        pieces.append("")
        for char in part:
            if width(pieces[-1] + char, size) > limit:
                pieces.append("")
            pieces[-1] += char
    return pieces


def seconds(time: float) -> str:
    """Virtual seconds for people: 2.5 s, 8 min, 1 h 5 min."""
    time = round(time, 3)
    if time < 60:
        return f"{time:g} s"
    hours, rest = divmod(time, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [(hours, "h"), (minutes, "min"), (round(rest, 3), "s")]
    return " ".join(f"{value:g} {unit}" for value, unit in parts if value)


def mixed(name: str, share: int = 80) -> str:
    """CSS values for a hue that gets darker on light pages and lighter on dark ones; the first is for old browsers."""
    return f"{HUES[name]};~:color-mix(in srgb,{HUES[name]} {share}%,currentColor)"


def rule(selector: str, declarations: str) -> str:
    """One CSS rule; `fill@red` stands for the mixed hue with its fallback."""
    parts = []
    for part in declarations.split(";"):
        match = re.fullmatch(r"(\w[\w-]*)@(\w+)", part)
        parts.append(f"{match[1]}:{mixed(match[2]).replace('~', match[1])}" if match else part)
    return f"{selector}{{{';'.join(parts)}}}"


def element(name: str, body: str = "", /, **attributes: object) -> str:
    """An SVG or HTML element; `body` is markup already, attribute values are escaped here; `cls` is class."""
    written = []
    for key, value in attributes.items():
        if value not in (None, ""):
            shown = f"{round(value, 1):g}" if isinstance(value, float) else escape(value)
            written.append(f' {"class" if key == "cls" else key.replace("_", "-")}="{shown}"')
    return f"<{name}{''.join(written)}>{body}</{name}>"


def words(x: float, y: float, text: str, cls: str = "", anchor: str = "") -> str:
    """One line of text in an SVG; an anchor is middle or end."""
    return element("text", escape(text), x=float(x), y=float(y), cls=cls, text_anchor=anchor)


SMALLEST = 0.95  # of its size; on a page that is narrower than that, a drawing scrolls

BASE_STYLE = "".join(
    [
        rule(
            ".lk",
            "color:var(--jp-ui-font-color1,inherit);margin:.5em 0 .8em;max-width:100%;line-height:1.45;font-size:13px;"
            "font-family:var(--jp-ui-font-family,system-ui,'Segoe UI',Helvetica,Arial,sans-serif)",
        ),
        rule(".lk .lk-title", "font-weight:600;font-size:14px"),
        rule(
            ".lk .lk-token",
            "font-family:var(--jp-code-font-family,ui-monospace,Menlo,monospace);font-size:12px;opacity:.72;overflow-wrap:anywhere",
        ),
        # subtle: where scrollbars hide until one scrolls, only a styled one says that something is cut off
        rule(".lk .lk-scroll", "overflow-x:auto;overflow-y:hidden;padding-bottom:2px"),
        rule(".lk .lk-scroll::-webkit-scrollbar", "height:11px"),
        rule(".lk .lk-scroll::-webkit-scrollbar-track", "background:rgba(128,128,128,.18);border-radius:5px"),
        rule(".lk .lk-scroll::-webkit-scrollbar-thumb", "background:rgba(128,128,128,.7);border-radius:5px"),
        rule(".lk .lk-scroll:focus-visible", "outline:2px solid;outline-color@sql;outline-offset:2px"),
        rule(".lk .lk-below", "font-size:11px;opacity:.8;margin-top:7px"),
        rule(".lk svg", "font-family:inherit;font-size:11px;fill:currentColor"),
    ]
)


def scroll(body: str, name: object) -> str:
    """What may be wider than the page: it scrolls, by mouse and by the arrow keys, and nothing covers it."""
    return element("div", body, cls="lk-scroll", tabindex="0", role="region", aria_label=clean(name))


def scaled(wide: float) -> str:
    """CSS for a drawing of this width: never larger, and so small at most that its words can be read."""
    return f"display:block;width:100%;max-width:{round(wide)}px;min-width:{round(wide * SMALLEST)}px;height:auto"
