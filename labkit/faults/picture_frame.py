"""What stands around the drawing: that a fault never struck, the invariants that broke, and the signs in words.

Not handled here: the drawing (see `picture`).
"""

from __future__ import annotations

from labkit.faults import picture_parts as parts
from labkit.faults.paint import element, escape, seconds
from labkit.faults.picture_story import Story
from labkit.faults.runner import UNREACHED

NOT_REACHED = f"{UNREACHED}, nothing struck"


def banners(story: Story) -> str:
    """The invariants that broke, each with its sentence."""
    found = []
    for line in story.broken:
        name = element("b", f"\N{MULTIPLICATION X} broken: {escape(line.label)}")
        found.append(element("div", f"{name}<br/>{escape(line.text)}" if line.text else name, cls="lk-banner"))
    return "".join(found)


def remarks(story: Story) -> str:
    """What the run itself is said of, above the drawing: that a fault never struck, or met another call."""
    return "".join(element("div", escape(one), cls="lk-remark") for one in said(story))


def said(story: Story) -> list[str]:
    """The same in words."""
    told = [f"{NOT_REACHED if line.label == UNREACHED else line.label}: {line.text}" for line in story.remarks]
    return [f"\N{WARNING SIGN} {one}" for one in told] + deadline(story)


def deadline(story: Story) -> list[str]:
    """When the deadline is, and whether the run was over by then."""
    if story.due is None:
        return []
    last = max((line.time for column in story.columns for line in column.lines()), default=0.0)
    when = f"at {seconds(story.due)}" if story.due >= 0 else f"{seconds(-story.due)} before the run begins"
    return [f"deadline: {when}; the run {'goes on after it' if last > story.due else 'is over by then'}"]


def legend(story: Story) -> str:
    """The signs that this picture uses, in words."""
    used = dict.fromkeys(column.call.boundary for column in story.columns if column.call)
    entries = [(parts.icon(name, 8, 8), name) for name in used]
    if any(column.call and column.call.last for column in story.columns):
        read = "; a read ends without a COMMIT" if any(c.call and c.call.ended for c in story.columns) else ""
        entries.append((parts.transaction(8, 8), f"a transaction from BEGIN to its end{read}"))
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
