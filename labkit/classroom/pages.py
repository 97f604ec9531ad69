"""The gradebook as pages for people: one for each learner, and one for the class.

Plain HTML without scripts, links to other hosts or the checks' source; every word from outside is escaped; light and dark. A learner sees what broke
first, in words and drawn, and the token that shows it again. The class page says which misconception how often, since that is what the next lecture
is about.

Not handled here: how a single report looks (see `checks.page`), and files for programs (see `tables`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from labkit.checks import registry
from labkit.checks.exercise import SQL
from labkit.checks.judge import BROKEN, NOT_ATTEMPTED
from labkit.checks.page import page, prose
from labkit.classroom.gradebook import MISSING, STATES, Entry, Gradebook, Row
from labkit.classroom.nbval_run import FAILED, PASSED, TAMPERED
from labkit.classroom.points import ABOUT, Share
from labkit.classroom.submission import Flag
from labkit.classroom.tables import ODD, number
from labkit.faults.paint import element, escape
from labkit.plural import counted

MOST_MISCONCEPTIONS = 30
TOLD = ("unreadable", "not used", "unknown exercise", "several answers", "other Python", "encoding", "misnamed")  # flags that a learner reads, too
SHARED = (
    "What was not tested earns nothing yet, and that every call ends earns nothing by itself. "
    "What cannot be told while something else is broken is not counted."
)
AGAIN = "Changed the answer? Run its cell and the check in your notebook."

STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.2rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;text-align:left;border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top}
th{white-space:nowrap}td{overflow-wrap:anywhere;min-width:2.5rem}td:first-child{min-width:7rem}td.n,th.n{text-align:right;white-space:nowrap;min-width:0}
.wide{overflow-x:auto}.wide td:nth-child(2){overflow-wrap:normal}
.aside{opacity:.75;font-size:.9rem}
tbody tr:hover{background:rgba(128,128,128,.12)}
a:focus-visible{outline:2px solid currentColor}
"""
SIGN = {PASSED: "\N{CHECK MARK}", FAILED: "\N{MULTIPLICATION X}", NOT_ATTEMPTED: "\N{MIDDLE DOT}", MISSING: "\N{EN DASH}"}


def learner(row: Row, book: Gradebook) -> bytes:
    """What one learner gets back."""
    head = element("h1", f"{escape(row.learner)}: {number(row.points)} of {row.most} points")
    parts = [_exercise(entry) for entry in row.entries.values()]
    about = element("p", escape(_graded_on(book, [row], but=("seed", "promises"))), cls="aside")  # who hands in again must not know the seed
    return _document(f"{row.learner}: labkit", head + _overview(row) + _told(row.flags) + "".join(parts) + about)


def _told(flags: Sequence[Flag]) -> str:
    """What became of the files, for whoever handed them in; a suspicion is for a person alone."""
    return "".join(element("p", prose(flag.text)) for flag in flags if flag.kind in TOLD)


def _overview(row: Row) -> str:
    rows = "".join(
        element("tr", _td(_link(f"#{one.exercise}", one.exercise)) + _td(_state(one.state)) + _td(_points(one), cls="n"))
        for one in row.entries.values()
    )
    head = element("tr", element("th", "exercise") + element("th", "state") + element("th", "points", cls="n"))
    return element("table", element("thead", head) + element("tbody", rows))


def _exercise(entry: Entry) -> str:
    title = registry.find(entry.exercise).title
    head = element("h2", f"{escape(entry.exercise)}: {escape(title)} ({_points(entry)})", id=entry.exercise)
    alone = entry.file if entry.file.endswith(".py") else ""  # a notebook is found in the work folder
    body = page(entry.report, entry.picture, again=AGAIN, file=alone) if entry.report else element("p", escape(f"{_words(entry.state)}: {entry.reason}"))
    if entry.report and entry.state == TAMPERED:
        body = element("p", escape(f"tampered: {entry.reason}")) + body
    body += _shares(entry)
    if entry.public not in ("", PASSED):
        body += element("p", prose(f"Run from top to bottom, the notebook with your answer {_words(entry.public)}: {entry.public_reason}"), cls="aside")
    found = element("p", escape(f"The answer in {entry.file}."), cls="aside") if entry.file else ""
    return head + found + _told(entry.flags) + body


def _shares(entry: Entry) -> str:
    """How the points come about, so that they can be worked out."""
    if not entry.shares:
        return ""
    heads = element("th", "points for") + element("th", "hold") + element("th", "points", cls="n")
    rows = "".join(
        element("tr", _td(escape(_share(one))) + _td(f"{len(one.held)} of {len(one.properties)}") + _td(f"{number(one.points)} of {number(one.most)}", cls="n"))
        for one in entry.shares
    )
    return element("table", element("thead", element("tr", heads)) + element("tbody", rows)) + element("p", SHARED, cls="aside")


def _share(share: Share) -> str:
    return f"{share.name}: {'; '.join(share.properties)}" if share.name == ABOUT else share.name


def of_class(book: Gradebook, links: Mapping[str, str]) -> bytes:
    """The overview of a class; `links` leads from a learner to the learner's page."""
    head = element("h1", f"{counted(len(book.rows), 'learner')}, {counted(len(book.exercises), 'exercise')}")
    # what is as long as the class is stands last
    parts = [head, element("h2", "How far"), _states_table(book), element("h2", "Misconceptions"), _misconceptions(book, links)]
    parts += [element("h2", "To be looked at by a person"), _flags(book, links)] if any(_flags_of(book)) or book.strays else []
    parts += [element("h2", "Points"), _points_table(book, links)]
    return _document("labkit: the class", "".join(parts) + element("p", escape(_graded_on(book, book.rows)), cls="aside"))


def _points_table(book: Gradebook, links: Mapping[str, str]) -> str:
    names = "".join(element("th", escape(one), cls="n") for one in book.exercises)
    head = element("tr", element("th", "learner") + names + element("th", "total", cls="n"))
    rows = [_summary(book)] if book.rows else []
    for row in book.rows:
        cells = "".join(_td(f"{SIGN.get(one.state, '!')} {number(one.points)}", cls="n") for one in row.entries.values())
        rows.append(element("tr", _td(_link(links[row.learner], row.learner)) + cells + _td(number(row.points), cls="n")))
    table = element("table", element("thead", head) + element("tbody", "".join(rows)))
    signs = ", ".join([*(f"{sign} {_words(state)}" for state, sign in SIGN.items()), "! anything else"])
    return element("div", table, cls="wide") + element("p", escape(signs), cls="aside")


def _summary(book: Gradebook) -> str:
    """What can be had for each exercise, and what the class has on average."""
    entries = [[row.entries[exercise] for row in book.rows] for exercise in book.exercises]
    told = [(fmean(one.points for one in column), column[0].most) for column in entries]
    told.append((fmean(row.points for row in book.rows), book.rows[0].most))
    return element("tr", _td("on average") + "".join(_td(f"{number(round(mean, 2))} of {most}", cls="n") for mean, most in told), cls="aside")


def _states_table(book: Gradebook) -> str:
    used = [state for state in STATES if any(one.state == state for row in book.rows for one in row.entries.values())]
    head = element("tr", element("th", "exercise") + "".join(element("th", escape(_words(s)), cls="n") for s in used))
    rows = []
    for exercise in book.exercises:
        count = Counter(row.entries[exercise].state for row in book.rows)
        cells = "".join(_td(str(count[state] or ""), cls="n") for state in used)
        rows.append(element("tr", _td(escape(exercise)) + cells))
    return element("div", element("table", element("thead", head) + element("tbody", "".join(rows))), cls="wide")


def misconceptions(book: Gradebook) -> list[tuple[int, str, str, list[str]]]:
    """(how many learners, exercise, diagnosis, who), the most frequent first; of each answer what broke first."""
    who: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in book.rows:
        for entry in row.entries.values():
            first = entry.report.first_broken if entry.report and entry.report.verdict == BROKEN else None
            if first is not None:
                who[entry.exercise, first.diagnosis or first.name].append(row.learner)
    found = [(len(names), exercise, diagnosis, names) for (exercise, diagnosis), names in who.items()]
    return sorted(found, key=lambda one: (-one[0], book.exercises.index(one[1]), one[2]))


def _misconceptions(book: Gradebook, links: Mapping[str, str]) -> str:
    found = misconceptions(book)
    if not found:
        return element("p", "None: no answer is broken.")
    rows = "".join(
        element("tr", _td(str(count), cls="n") + _td(escape(exercise)) + _td(prose(diagnosis)) + _td(_some(names, links)))
        for count, exercise, diagnosis, names in found[:MOST_MISCONCEPTIONS]
    )
    head = "".join(element("th", one) for one in ("how often", "exercise", "what breaks first", "whose"))
    return element("div", element("table", element("thead", element("tr", head)) + element("tbody", rows)), cls="wide")


def _some(names: list[str], links: Mapping[str, str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(_link(links[name], name) for name in names[:5]) + more


def _flags_of(book: Gradebook) -> list[tuple[str, str, str]]:
    """(learner, what it concerns, what was seen)."""
    of_rows = [(row.learner, "", flag.text) for row in book.rows for flag in row.flags]
    entries = [(row.learner, entry) for row in book.rows for entry in row.entries.values()]
    return of_rows + [(name, entry.exercise, said) for name, entry in entries for said in _odd(entry)]


def _odd(entry: Entry) -> list[str]:
    """What a person should look at in one entry: the same that `tables.flags_of` counts."""
    state = [f"{_words(entry.state)}: {entry.reason}"] if entry.state in ODD else []
    public = [f"the notebook, run from top to bottom, {_words(entry.public)}: {entry.public_reason}"] if entry.public not in ("", PASSED) else []
    return [*state, *public, *(flag.text for flag in entry.flags)]


def _flags(book: Gradebook, links: Mapping[str, str]) -> str:
    together: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name, exercise, said in _flags_of(book):
        together[name, said].append(exercise)
    rows = [(_link(links[name], name), escape(", ".join(exercises)), prose(said)) for (name, said), exercises in together.items()]
    rows += [("", "", escape(f"fits nobody: {stray}")) for stray in book.strays]
    body = "".join(element("tr", "".join(map(_td, one))) for one in rows)
    head = element("tr", "".join(element("th", one) for one in ("learner", "exercise", "what was seen")))
    return element("div", element("table", element("thead", head) + element("tbody", body)), cls="wide")


def _graded_on(book: Gradebook, rows: Iterable[Row], but: Sequence[str] = ()) -> str:
    how = {name: said for name, said in book.how.items() if name not in but}
    promises = how.pop("promises", "")
    if "databases" in how:
        how["databases"] = _ran_on([(entry.exercise, entry.report.databases) for row in rows for entry in row.entries.values() if entry.report])
    return f"{'; '.join(f'{name}: {said}' for name, said in how.items())}. {promises}".rstrip()


def _ran_on(ran: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The databases on which answers were run, and what was run on fewer of them: what breaks on one is not run on the next."""
    used = [database for database in SQL if any(database in there for _, there in ran)]
    fewer = dict.fromkeys(exercise for exercise, there in ran if 0 < len(there) < len(used))
    return (", ".join(used) or "none") + (f" ({', '.join(fewer)} not on all of them)" if fewer else "")


def _points(entry: Entry) -> str:
    return f"{number(entry.points)} of {entry.most}"


def _state(state: str) -> str:
    return escape(f"{SIGN.get(state, '!')} {_words(state)}")


def _words(state: str) -> str:
    return state.replace("_", " ")


def _td(body: str, cls: str = "") -> str:
    return element("td", body, cls=cls) if cls else element("td", body)


def _link(target: str, name: str) -> str:
    return element("a", escape(name), href=target)


def _document(title: str, body: str) -> bytes:
    head = f'<meta charset="utf-8"/><meta name="viewport" content="width=device-width"/><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'.encode(errors="replace")
