"""Draws a trace: a lane per process, time from left to right, each call with its two sides, faults, deaths, the cloud.

`svg` gives a fragment of HTML for a notebook and `text` the same story for a terminal. Equal traces give equal bytes;
every word of the trace is escaped; nothing is said by colour alone; any number of pictures can stand on one page.

Not handled here: many runs at a time (see `strip`) and the states between them (see `graph`).
"""

from __future__ import annotations

from labkit.faults import picture_parts as parts
from labkit.faults.paint import clean, crop, element, escape, scaled, scroll, words
from labkit.faults.picture_fold import Fold
from labkit.faults.picture_frame import banners, legend, remarks
from labkit.faults.picture_layout import AXIS, GATE, LEAD, NUMBER, Lane, Layout, Spot, lay_out, tag_x
from labkit.faults.picture_life import life, span
from labkit.faults.picture_pack import pack
from labkit.faults.picture_story import Call, Column, Story, read, side_of
from labkit.faults.picture_text import summary, text
from labkit.faults.picture_words import Word, above, hover, ledger, tags
from labkit.faults.trace import Trace

__all__ = ["svg", "text"]


UNDER = 14  # pixels below the lanes for the word at a deadline
OVER = parts.HALF + NUMBER + 7  # from the line of a lane up to the words above its marks


def svg(trace: Trace, *, title: str = "") -> str:
    """The picture of a trace as a fragment of HTML."""
    story = pack(read(trace))
    layout = lay_out(story)
    token = element("div", escape(trace.token), cls="lk-token") if trace.token else ""
    head = (element("div", escape(title), cls="lk-title") if title else "") + token
    drawing = scroll(_drawing(story, layout, title or trace.token), f"The run {title or trace.token}".strip())
    body = f"<style>{parts.STYLE}</style>{head}{remarks(story)}{drawing}{banners(story)}{legend(story)}"
    return element("div", body, cls="lk lk-trace")


def _drawing(story: Story, layout: Layout, name: str) -> str:
    wide, high = round(layout.width), round(layout.height) + (0 if _due_x(story, layout) is None else UNDER)
    names = element("title", escape(f"Trace {name}".strip())) + element("desc", escape(summary(story)))
    marks = [_bands(layout), *_due(story, layout), _axis(layout), *_lives(story, layout)]
    marks += _calls(layout) + [_column(spot, layout) for spot in layout.spots]
    body = names + "".join(marks)
    return element("svg", body, viewBox=f"0 0 {wide} {high}", width=wide, height=high, role="img", style=scaled(wide))


def _bands(layout: Layout) -> str:
    """The ground of each lane, with its name; a red one under each fault."""
    found = []
    for lane in [*layout.lanes.values(), *([layout.cloud] if layout.cloud else [])]:
        found.append(parts.box(0, lane.top, layout.width, lane.bottom - lane.top, "lk-band"))
        found.append(words(12, lane.y + 4.5, crop(clean(lane.name), 16), "lk-name"))
    for spot in layout.spots:
        if isinstance(spot.item, Column) and spot.item.faults and spot.item.process in layout.lanes:
            lane = layout.lanes[spot.item.process]
            wide = spot.right - spot.left - 2
            found.append(parts.box(spot.left + 1, lane.top, wide, lane.bottom - lane.top, "lk-hit"))
    if layout.cloud:
        found.append(parts.line(layout.head, layout.cloud.y, layout.width - 10, layout.cloud.y, "lk-b-cloud lk-line"))
    return "".join(found)


def _axis(layout: Layout) -> str:
    ticks = [parts.line(x, 8, x, layout.height - 4, "lk-time") for x, _ in layout.ticks]
    ticks += [words(x + 4, AXIS - 12, label, "lk-small") for x, label in layout.ticks]
    return "".join(ticks)


def _due_x(story: Story, layout: Layout) -> float | None:
    """Where the deadline stands: between what was in time and what was not, inside of a call that began before it."""
    for spot in layout.spots if story.due is not None else []:
        columns = spot.item.columns if isinstance(spot.item, Fold) else (spot.item,)
        past = [line.time - story.due for column in columns for line in column.lines() if story.due is not None]
        if max(past, default=0.0) > 0:
            return spot.x if min(past) < 0 else spot.left
    return None


def _due(story: Story, layout: Layout) -> list[str]:
    """The deadline, as a line through all lanes with its name below them."""
    x = _due_x(story, layout)
    if x is None:
        return []
    aside = min(max(x, 30.0), layout.width - 30)
    line = parts.line(x, 8, x, layout.height, "lk-due")
    return [line, words(aside, layout.height + UNDER - 4, "deadline", "lk-duename", "middle")]


def _lives(story: Story, layout: Layout) -> list[str]:
    starting = {line.process for column in story.columns for line in column.starts}
    return [life(lane, layout, begins=lane.name in starting) for lane in layout.lanes.values()]


def _calls(layout: Layout) -> list[str]:
    drawn: list[str] = []
    seen: set[Call] = set()
    for spot in layout.spots:
        call = spot.item.call if isinstance(spot.item, Column) else None
        if call is None or call in seen or call.process not in layout.lanes:
            continue
        seen.add(call)
        x1, x2 = span(call, layout)
        drawn.append(parts.call(call, x1, x2, layout.lanes[call.process].y))
    return drawn


def _column(spot: Spot, layout: Layout) -> str:
    """Marks and words of one column."""
    item = spot.item
    marks = [_stack(above(item, lane.name), spot.x, lane.y - OVER, up=True) for lane in layout.lanes.values()]
    if layout.cloud:
        marks.append(_stack(ledger(item), spot.x, layout.cloud.y + 24))
    if isinstance(item, Fold):
        return element("g", "".join(marks))
    marks += [parts.dot(spot.x, layout.lanes[line.process].y, 5, "lk-dot") for line in item.starts]
    lane = layout.lanes.get(item.process)
    if item.effect and layout.cloud:
        top = layout.cloud.top if lane is None else lane.y + (parts.HALF if item.call else 0)
        marks.append(parts.drop(item.effect, spot.x, top, layout.cloud.y))
    if lane is not None:
        marks += _trouble(item, spot, lane)
    return element("g", element("title", escape(hover(item))) + "".join(marks))


def _trouble(item: Column, spot: Spot, lane: Lane) -> list[str]:
    """Faults, deaths and ends of a column."""
    marks: list[str] = []
    for line in item.faults:
        x = spot.x + {"before": -GATE - parts.ASIDE, "after": GATE + parts.ASIDE}.get(side_of(line), 0.0)
        marks.append(parts.death(x, lane.y) if line is item.death else parts.fault(x, lane.y))
    if item.end is not None and item.death is item.end:
        marks.append(parts.death(spot.x, lane.y))
    elif item.end is not None and item.death is None:
        marks.append(parts.end(item.end.label, spot.x, lane.y))
    if item.note is not None and not item.note.fault:
        marks.append(parts.dot(spot.x, lane.y, 3, "lk-dot"))
    for tag in tags(item):
        anchor = "end" if tag.place == "left" else "start"
        marks.append(_stack(tag.words, tag_x(spot.x, tag.place), lane.y + parts.HALF + 18, anchor=anchor))
    return marks


def _stack(rows: list[Word], x: float, y: float, *, up: bool = False, anchor: str = "middle") -> str:
    """Lines of words, the last one (or, going down, the first one) standing at y."""
    first = y - (len(rows) - 1) * LEAD if up else y
    return "".join(words(x, first + index * LEAD, row.text, row.cls, anchor) for index, row in enumerate(rows))
