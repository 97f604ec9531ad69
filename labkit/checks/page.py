"""A check's report as a learner sees it in a notebook: what broke first and alone, with its picture, then all the rest.

Equal reports give equal bytes; every word of a report is escaped; nothing is said by colour alone. No seconds and nothing of the machine.

Not handled here: the same in plain text (see `words`), and the drawing (see `faults.picture`).
"""

from __future__ import annotations

import re
from html import escape

from labkit.checks import words
from labkit.checks.judge import BROKEN, HOLDS, NOT_ATTEMPTED, NOT_EXERCISED, CheckReport, Judged
from labkit.faults.paint import BASE_STYLE, element, rule

SIGNS = {HOLDS: ("\N{CHECK MARK}", "lk-good"), BROKEN: ("\N{MULTIPLICATION X}", "lk-bad")}
CODE = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,monospace);font-size:12px"
RAIL = "border-left:4px solid rgba(128,128,128,.5);padding:2px 12px"

STYLE = BASE_STYLE + "".join(
    [
        rule(".lk.lk-check", f"{RAIL};font-size:14px"),
        rule(".lk.lk-check.lk-good", "border-color@green"),
        rule(".lk.lk-check.lk-bad", "border-color@red"),
        rule(".lk .lk-verdict", "font-size:15px;font-weight:600;margin-bottom:4px"),
        rule(".lk b.lk-good", "color@green"),
        rule(".lk b.lk-bad", "color@red"),
        rule(".lk .lk-one", "margin:6px 0 6px 1.4em;text-indent:-1.4em"),
        rule(".lk .lk-one > *", "text-indent:0"),
        rule(".lk .lk-one b:first-child", "display:inline-block;width:1.4em;text-indent:0"),
        rule(".lk .lk-next", "margin-top:8px"),
        rule(".lk .lk-aside", "opacity:.75;font-size:13px"),
        rule(".lk .lk-say", f"{CODE};overflow-wrap:anywhere"),
        rule(".lk pre.lk-say", "white-space:pre-wrap;margin:4px 0"),
        rule(".lk details", "margin:6px 0"),
        rule(".lk summary", "cursor:pointer"),
    ]
)

GOOD_TO_KNOW = "A crash point is a place where the process was killed; a state is what was then stored and what the cloud had done."


AGAIN = "Changed the answer? Run its cell, then this one."


def page(report: CheckReport, drawing: str = "", again: str = AGAIN, file: str = "") -> str:
    """The report as a fragment of HTML; `drawing` is the picture of the first broken property, as markup; `again` is how one checks anew from here, `file` is
    what a replay must be told."""
    sign, cls = SIGNS.get(report.verdict, ("?", ""))
    head = element("div", f"{element('b', sign, cls=cls)} {escape(words.headline(report))}", cls="lk-verdict")
    broken = [_broken(one, file, drawing) for one in [report.first_broken] if one is not None]
    out = [element("div", escape(report.message))] if report.properties and report.message else []
    parts = [f"<style>{STYLE}</style>", head, *out, *broken, *_next(report, again), *_rest(report, file), *_printed(report)]
    return element("div", "".join(parts), cls=f"lk lk-check {cls}".strip())


def note(said: str) -> str:
    """One line for a person, where there is nothing to draw."""
    return element("div", f"<style>{STYLE}</style>{escape(said)}", cls="lk lk-check")


def _rest(report: CheckReport, file: str) -> list[str]:
    """The properties behind the first broken one, folded where something is to be mended; and what was covered."""
    found = {
        verdict: [one for one in report.properties if one.verdict == verdict]
        for verdict in (BROKEN, NOT_EXERCISED, HOLDS)
    }
    more = "".join(_broken(one, file) for one in found[BROKEN][1:])
    asleep = "".join(_line(one, "?", "", one.message) for one in found[NOT_EXERCISED])
    held = "".join(_line(one, *SIGNS[HOLDS], one.claim) for one in found[HOLDS])
    if held and report.verdict != HOLDS:
        held = _folded(f"{len(found[HOLDS])} hold already", held)
    if more:
        names = "; ".join(one.name for one in found[BROKEN][1:])
        more = _folded(f"{len(found[BROKEN]) - 1} more broken, perhaps for the same reason: {names}", more)
    return [more, asleep, held, *(_aside(said) for said in _covered(report))]


def _folded(name: str, body: str) -> str:
    return element("details", element("summary", escape(name)) + body)


def _broken(one: Judged, file: str, drawing: str = "") -> str:
    """What was asked, what happened, why that usually happens, its picture, and how to see it again."""
    told = [("asked", one.claim), ("what happened", one.message), ("likely cause", words.likely_cause(one))]
    rows = "".join(
        element("div", f"{element('span', f'{name}:', cls='lk-aside')} {prose(text)}") for name, text in told if text
    )
    how = element("span", "again in a terminal: ", cls="lk-aside") + escape(words.replay(one.token, file))
    again = element("div", how, cls="lk-say") if one.token else ""
    name = element("b", escape(one.name))
    return element("div", f"{_sign(*SIGNS[BROKEN])}{name}{rows}{drawing}{again}", cls="lk-one")


def _line(one: Judged, sign: str, cls: str, said: str) -> str:
    return element("div", f"{_sign(sign, cls)}{element('b', escape(one.name))}: {prose(said)}", cls="lk-one")


def prose(text: str) -> str:
    """Escaped, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _sign(sign: str, cls: str) -> str:
    return element("b", sign, cls=cls)


def _aside(said: str) -> str:
    return element("div", escape(said), cls="lk-aside")


def _covered(report: CheckReport) -> list[str]:
    """The certificate, in its own words and then explained; and why a pass is not remembered."""
    told = [report.certificate] if report.certificate else []
    told += [GOOD_TO_KNOW] if "crash points" in report.certificate else []
    return told + ([report.unrecorded] if report.unrecorded else [])


def _printed(report: CheckReport) -> list[str]:
    if not report.output:
        return []
    text = "\n".join(words.printed(report))
    return [_folded("what your answer printed", f'<pre class="lk-say">{escape(text)}</pre>')]


def _next(report: CheckReport, again: str) -> list[str]:
    """What to do now, where something is missing or wrong."""
    if report.verdict == HOLDS:
        return []
    first = {
        BROKEN: f"Mend this one first: others often go with it. {again}" if report.many_broken else again,
        NOT_ATTEMPTED: "Replace the ... in the answer, run its cell, then this one.",
    }.get(report.verdict, again)
    stuck = element("code", escape(f'hint("{report.exercise}", 1)'))
    return [element("div", f"{first} Stuck? {stuck}", cls="lk-next")]
