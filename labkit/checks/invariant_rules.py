"""What must hold of `invariant`, read off what the answer said of each run.

Not handled here: the runs (see `invariant_rows`), and asking (see `invariant`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from labkit.checks.exercise import Finding, Seen
from labkit.checks.invariant_row import Row
from labkit.faults.outcome import cut

NO_SENTENCE = "answers with something else than None or a sentence"


def off(row: Row, ended: dict[str, Any]) -> Finding | None:
    """Why this is not what is to be said of the run, or None. What is no answer at all is another matter (see `in_words`)."""
    if "error" in ended:
        error = ended["error"]
        said = f"{error['type']}: {error['message']}" if error["message"] else error["type"]
        return Finding(f"{_shows(row)}, and the call raised {said}", "fails where it should say what is wrong, or that nothing is")
    said = ended["value"]
    if row.breaks and said is None:
        return Finding(f"{_shows(row)}, and your invariant finds nothing wrong", row.why)
    if not row.breaks and _is_sentence(said):
        return Finding(f"{_shows(row)}, and all is as it should be; your invariant says {_short(said)}", row.why)
    return None


def _shows(row: Row) -> str:
    return f"in the run {row.run}, {row.says}"


def _is_sentence(said: Any) -> bool:
    return isinstance(said, str) and bool(said)


def told(seen: Seen, facts: dict[str, Any]) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Each run of a case with what came of it."""
    return zip(facts["rows"], seen.end.last.value or (), strict=False)


def right(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """For a property's `find`: the first run of which the wrong thing is said."""
    if seen.end.last.how != "returned":
        return Finding(f"the run {seen.end.last}", "an answer never comes")
    found = (off(row, came["ended"]) for row, came in told(seen, facts))
    return next((one for one in found if one), None)


def each_afresh(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The same of calls in one process, one after the other."""
    found = right(seen, facts)
    return found and Finding(f"asked of several runs in one process: {found.message}", "keeps something from one call to the next")


def in_words(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Whatever is said is None or a sentence."""
    for row, came in told(seen, facts):
        said = came["ended"].get("value")
        if said is not None and not _is_sentence(said):
            wanted = "one sentence" if row.breaks else "None"
            return Finding(f"{_shows(row)}, and your invariant returns {_short(said)}, not {wanted}", NO_SENTENCE)
    return None


def unchanged(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The run is what it was before."""
    for row, came in told(seen, facts):
        if came["changed"]:
            return Finding(f"in the run {row.run} the {came['changed']} are others after the call", "changes the run that it looks at")
    return None


def flagged(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether a sentence was said of some broken run."""
    return any(row.breaks and _is_sentence(came["ended"].get("value")) for row, came in told(seen, facts))


def passed(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether some run was looked at to the end."""
    return any("value" in came["ended"] for _, came in told(seen, facts))


def in_short(ended: dict[str, Any]) -> str:
    """What the answer said, for whoever looks at the run."""
    return str(ended["error"]["type"]) if "error" in ended else _short(ended["value"])


def _short(said: Any) -> str:
    return cut(repr(said), 160)
