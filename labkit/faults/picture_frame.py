"""What stands around the drawing: the invariants that broke, and the signs in words.

Not handled here: the drawing (see `picture`).
"""

from __future__ import annotations

from labkit.faults import picture_parts as parts
from labkit.faults.paint import element, escape
from labkit.faults.picture_story import Story


def banners(story: Story) -> str:
    """The invariants that broke, each with its sentence."""
    found = []
    for line in story.broken:
        name = element("b", f"\N{MULTIPLICATION X} broken: {escape(line.label)}")
        found.append(element("div", f"{name}<br/>{escape(line.text)}" if line.text else name, cls="lk-banner"))
    return "".join(found)


def legend(story: Story) -> str:
    """The signs that this picture uses, in words."""
    used = dict.fromkeys(column.call.boundary for column in story.columns if column.call)
    entries = [(parts.icon(name, 8, 8), name) for name in used]
    if any(column.call and column.call.last for column in story.columns):
        entries.append((parts.transaction(8, 8), "a transaction from BEGIN to its end"))
    entries += _call_signs() if entries else []
    if any(column.death for column in story.columns):
        entries.append((parts.path(parts.CROSS, "lk-dead", 8, 8), "died here"))
    if any(line is not column.death for column in story.columns for line in column.faults):
        entries.append((parts.fault(8, 8), "trouble"))
    effects = [column.effect for column in story.columns if column.effect]
    if any(not effect.again for effect in effects):
        entries.append((parts.dot(8, 8, 6, "lk-done"), "effect, and how many times by now"))
    if any(effect.again for effect in effects):
        entries.append((parts.dot(8, 8, 6, "lk-ring"), "answered from the ledger"))
    shown = "".join(element("span", _small(sign) + escape(name)) for sign, name in entries)
    return element("div", shown, cls="lk-legend")


def _call_signs() -> list[tuple[str, str]]:
    gates = parts.line(2, 3, 2, 13, "lk-b- lk-gate") + parts.line(14, 3, 14, 13, "lk-b- lk-gate")
    return [(gates, "before and after a call")]


def _small(drawing: str) -> str:
    wide = 24 if parts.TRANSACTION in drawing else 16
    box = f"{8 - wide // 2} 0 {wide} 16"
    return element("svg", drawing, viewBox=box, width=wide, height=16, aria_hidden="true")
