"""Where the texts of a drawing stand, so that a test can see that no two of them overlap."""

from __future__ import annotations

from xml.etree import ElementTree

from labkit.faults.paint import width

SIZES = {"lk-name": 13.0, "lk-fault": 12.0, "lk-small": 10.0, "lk-key": 10.0, "lk-on": 10.0, "lk-edge": 10.0}
BOLD = {"lk-name", "lk-fault", "lk-lost", "lk-strong", "lk-head", "lk-headbad"}


def boxes(root: ElementTree.Element) -> list[tuple[str, float, float, float, float]]:
    """Each text with its box, estimated from above."""
    found = []
    for node in root.iter("text"):
        said, cls = node.text or "", node.get("class", "")
        size = SIZES.get(cls, 11.0)
        wide = width(said, size, bold=cls in BOLD)
        x, y = float(node.get("x", "0")), float(node.get("y", "0"))
        left = x - {"middle": wide / 2, "end": wide}.get(node.get("text-anchor", ""), 0.0)
        found.append((said, left, y - 0.75 * size, left + wide, y + 0.2 * size))
    return found


def overlaps(root: ElementTree.Element) -> list[tuple[str, str]]:
    placed = boxes(root)
    return [
        (a[0], b[0])
        for i, a in enumerate(placed)
        for b in placed[i + 1 :]
        if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]
    ]
