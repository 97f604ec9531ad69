"""An agent's run at some moments, side by side: the conversation that the model will be sent, and the ledger of what has happened.

A row is a moment: what was made durable last, the messages in their order, the effects and the recorded results, and what becomes of the run. A call without
its answer stands in a dashed box, and an effect of which no message tells is marked. `talk_of` and `ledger_of` make the lines of any messages and effects.

Not handled here: making the moments (see `talk_crashes`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from labkit.cloud import Effect
from labkit.faults.chart_table import STYLE as TABLE_STYLE
from labkit.faults.chart_table import Mark
from labkit.faults.paint import cells, clean, crop, element, escape, rule, scroll
from labkit.plural import counted

HEADS = ("durable last", "the conversation", "the ledger", "who goes on")
WIDE = (20, 38, 20, 18)  # cells of the columns in the text
OPEN, UNTOLD = "open", "untold"
EFFECT = "effect"
SIGNS = {OPEN: "?", UNTOLD: "!"}
WORDS = {OPEN: "a call without its answer", UNTOLD: "an effect of which no message tells"}

STYLE = TABLE_STYLE + "".join(
    [
        rule(".lk table.lk-table.lk-talk td", "max-width:none"),
        rule(".lk table.lk-table.lk-talk td.lk-long", "max-width:15em"),
        rule(
            ".lk table.lk-table.lk-talk td>div",
            "padding:2px 8px;margin:0 0 3px;border-radius:7px;border:1px solid transparent;"
            "width:max-content;max-width:27em;white-space:normal",
        ),
        rule(".lk table.lk-table.lk-talk .lk-user", "background:rgba(128,128,128,.14)"),
        rule(".lk table.lk-table.lk-talk .lk-assistant", "background:rgba(63,124,191,.17);margin-left:1.6em"),
        rule(".lk table.lk-table.lk-talk .lk-tool", "background:rgba(47,149,143,.17);margin-left:3.2em"),
        rule(".lk table.lk-table.lk-talk .lk-effect", "background:rgba(47,149,143,.17)"),
        rule(".lk table.lk-table.lk-talk .lk-record", "border:1px solid rgba(128,128,128,.5)"),
        rule(".lk table.lk-table.lk-talk .lk-open", "border:1px dashed;border-color@red;margin-left:3.2em"),
        rule(".lk table.lk-table.lk-talk .lk-untold", "border:1px solid;border-color@red;font-weight:600"),
        rule(".lk table.lk-table.lk-talk div b", "color@red"),
    ]
)


@dataclass(frozen=True)
class Said:
    """One line: by whom (user, assistant, tool, record, effect), and `sign` is open or untold where something is amiss."""

    who: str
    text: str
    sign: str = ""

    def __str__(self) -> str:
        mark = f"{SIGNS[self.sign]} " if self.sign else ""
        return clean(f"{mark}{'' if self.who == EFFECT else f'{self.who}: '}{self.text}")


@dataclass(frozen=True)
class Moment:
    """What there is, and how the run ends when somebody goes on; `places` says at how many places a crash leaves just this."""

    last: str
    talk: tuple[Said, ...]
    ledger: tuple[Said, ...]
    end: Mark | None = None
    places: int = 0


@dataclass(frozen=True)
class SideBySide:
    """Moments under each other."""

    moments: tuple[Moment, ...]
    heads: tuple[str, ...] = HEADS

    def __repr__(self) -> str:
        lines = [_row(self.heads), _row(tuple("\N{BOX DRAWINGS LIGHT HORIZONTAL}" * wide for wide in WIDE))]
        for moment in self.moments:
            lines += [*_printed(moment), ""]
        return "\n".join(lines[:-1])

    def _repr_html_(self) -> str:
        head = element("tr", "".join(element("th", escape(name), scope="col") for name in self.heads))
        body = "".join(map(_drawn, self.moments))
        drawn = element("table", f"<thead>{head}</thead><tbody>{body}</tbody>", cls="lk-table lk-talk")
        legend = "; ".join(f"{element('b', SIGNS[sign])} {word}" for sign, word in WORDS.items())
        below = element("div", legend, cls="lk-below")
        return element(
            "div", f"<style>{STYLE}</style>{scroll(drawn, 'Conversation and ledger')}{below}", cls="lk lk-chart"
        )


def talk_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Said, ...]:
    """The messages as lines, and after them the calls that have no answer."""
    lines, waiting = list[Said](), dict[str, str]()
    for message in messages:
        calls = message.get("tool_calls") or ()
        if message["role"] == "tool":
            waiting.pop(message["tool_call_id"], None)
        waiting |= {call["id"]: call["function"]["name"] for call in calls}
        texts = [
            f"{call['function']['name']} {_values(call['function']['arguments'])} ({call['id']})" for call in calls
        ]
        if message["role"] == "tool":
            texts = [f"{message['content']} ({message['tool_call_id']})"]
        lines += [Said(message["role"], text) for text in texts or [message.get("content") or ""]]
    return (*lines, *(Said("tool", f"nothing ({call})", OPEN) for call in waiting))


def ledger_of(effects: Iterable[Effect], told: str = "", recorded: Iterable[str] = ()) -> tuple[Said, ...]:
    """The effects as lines, and then the calls with a recorded result; an effect whose answer is not in `told` is marked."""
    happened = [Said(EFFECT, f"{e.name} {e.target}", "" if e.answer in told else UNTOLD) for e in effects if e.changed]
    return (*happened, *(Said("record", call) for call in recorded))


def _values(arguments: str) -> str:
    """What a model wrote as arguments, without names and braces where it can be read."""
    try:
        return " ".join(map(str, json.loads(arguments).values()))
    except (ValueError, AttributeError):
        return arguments


def _drawn(moment: Moment) -> str:
    places = element("div", counted(moment.places, "place"), cls="lk-below") if moment.places else ""
    talk = "".join(map(_line, moment.talk)) or element("i", "nothing")
    ledger = "".join(map(_line, moment.ledger)) or element("i", "nothing")
    end = moment.end
    sign, _, text = str(end).partition(" ") if end else ("", "", "")
    ends = (
        element("td", f"{element('b', sign)}{escape(text)}", cls=f"lk-long lk-{end.verdict}") if end else element("td")
    )
    first = element("th", f"{escape(moment.last)}{places}", scope="row")
    return element("tr", f"{first}{element('td', talk)}{element('td', ledger)}{ends}")


def _line(said: Said) -> str:
    mark = element("b", SIGNS[said.sign], title=WORDS[said.sign]) + " " if said.sign else ""
    return element("div", f"{mark}{escape(replace(said, sign=''))}", cls=f"lk-{said.sign or said.who}")


def _printed(moment: Moment) -> Iterator[str]:
    first = [moment.last, *([f"({counted(moment.places, 'place')})"] if moment.places else [])]
    columns = [first, list(map(str, moment.talk)) or ["nothing"], list(map(str, moment.ledger)) or ["nothing"]]
    columns.append(list(_wrapped(str(moment.end or ""), WIDE[3])))
    wrapped = [
        [piece for line in column for piece in _wrapped(line, wide)] for column, wide in zip(columns, WIDE, strict=True)
    ]
    for line in zip_longest(*wrapped, fillvalue=""):
        yield _row(line)


def _wrapped(text: str, wide: int) -> Iterator[str]:
    """A text in lines; what goes on hangs a little."""
    line = ""
    for word in text.split():
        if line.strip() and cells(f"{line} {word}") > wide:
            yield line
            line = " "
        line = f"{line} {word}" if line else word
    yield line


def _row(columns: Sequence[str]) -> str:
    shown = [crop(text, wide) if cells(text) > wide else text for text, wide in zip(columns, WIDE, strict=True)]
    return "  ".join(text + " " * (wide - cells(text)) for text, wide in zip(shown, WIDE, strict=True)).rstrip()
