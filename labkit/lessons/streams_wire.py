"""What stands on the wire beside what a reader makes of it, and a progress bar that is fed by the same log.

The bar is a widget where somebody runs the notebook, and markup and text where it is only read: the widget's state is never stored.

Not handled here: how the bytes come to the reader (see `labkit.server.sse`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.faults.paint import BASE_STYLE, clean, element, escape, rule
from labkit.progress.update import ProgressUpdate
from labkit.server.sse import Decoder, encode

STYLE = BASE_STYLE + "".join(
    [
        rule(
            ".lk .lk-wire",
            "display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:4px 18px;max-width:900px",
        ),
        rule(
            # JupyterLab has a style of its own for every pre of an output
            ".lk .lk-wire pre",
            "margin:0;padding:4px 8px;white-space:pre-wrap;overflow-wrap:anywhere;color:inherit;"
            "background:rgba(128,128,128,.1);border-radius:4px;"
            "font:12px/1.45 var(--jp-code-font-family,ui-monospace,Menlo,monospace)",
        ),
        rule(".lk .lk-wire span", "padding:4px 0"),
        rule(
            ".lk .lk-bar", "height:16px;max-width:420px;border-radius:4px;background:rgba(128,128,128,.22);margin:4px 0"
        ),
        rule(".lk .lk-bar i", "display:block;height:16px;border-radius:4px;background@green"),
        rule(".lk .lk-bar.lk-red i", "background@red"),
    ]
)


@dataclass(frozen=True)
class Wire:
    """Pieces of a stream, and for each what a reader had when it came."""

    rows: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        lines = []
        for raw, told in self.rows:
            lines += [f"| {line}".rstrip() for line in raw.removesuffix("\n").split("\n")] + [f"    -> {told}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cells = "".join(element("pre", _kept(raw)) + element("span", escape(told)) for raw, told in self.rows)
        heads = element("b", "on the wire") + element("b", "what a reader has")
        return element("div", f"<style>{STYLE}</style>{element('div', heads + cells, cls='lk-wire')}", cls="lk")


def _kept(raw: str) -> str:
    """Bytes as text whose lines stay lines, the empty one that ends an event among them."""
    lines = [escape(line) for line in raw.removesuffix("\n").split("\n")]
    return "\n".join([*lines[:-1], lines[-1] or "&#9166; (an empty line)"])


def wire(*parts: bytes) -> Wire:
    """These pieces, read one after the other."""
    reader, rows = Decoder(), []
    for part in parts:
        events = list(reader.feed(part))
        told = [f"event {event.id or '(no id)'}: {ProgressUpdate.model_validate_json(event.data)}" for event in events]
        rows.append((part.decode(), "; ".join(told) or "nothing yet"))
    return Wire(tuple(rows))


def frames(entries: list[tuple[int, ProgressUpdate]]) -> Wire:
    """Entries of a log, as they are sent."""
    return wire(*(encode(*entry) for entry in entries))


@dataclass
class Bar:
    """Shows the newest update that it was fed."""

    value: int = 0
    most: int = 0
    words: str = "nothing yet"
    ended: str = ""
    widget: Any = None  # where there is a notebook

    def feed(self, update: ProgressUpdate) -> None:
        """What a page does with an event."""
        self.value, self.most = update.step, update.total_step
        self.words = clean(f"{update.status} {update.tool} {update.message}")
        self.ended = update.status if update.terminal else ""
        if self.widget is not None:
            self.widget.max, self.widget.value, self.widget.description = self.most, self.value, self._count
            self.widget.bar_style = {"completed": "success", "error": "danger"}.get(self.ended, "")

    def show(self) -> dict[str, Any]:
        """This bar for `display(..., raw=True)`: as a widget, as markup and as text."""
        import ipywidgets  # only where there is a notebook

        if self.widget is None:
            self.widget = ipywidgets.IntProgress(value=self.value, max=max(1, self.most), description=self._count)
        live: dict[str, Any] = self.widget._repr_mimebundle_()
        return live | {"text/plain": repr(self), "text/html": self._repr_html_()}

    @property
    def _count(self) -> str:
        return f"{self.value} of {self.most}"

    @property
    def _share(self) -> float:
        return self.value / self.most if self.most else 0.0

    def __repr__(self) -> str:
        full = round(24 * self._share)
        return f"[{'#' * full}{'.' * (24 - full)}] {self._count}: {self.words}"

    def _repr_html_(self) -> str:
        inside = element("i", style=f"width:{round(100 * self._share)}%")
        bar = element("div", inside, cls=f"lk-bar{' lk-red' * (self.ended == 'error')}")
        told = element("div", escape(f"{self._count}: {self.words}"))
        return element("div", f"<style>{STYLE}</style>{bar}{told}", cls="lk")
