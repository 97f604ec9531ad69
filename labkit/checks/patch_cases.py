"""The cases of `patch`, as data: a state, a patch, and what a right answer makes of them, each with the bug that it is there to show.

What comes out is written down, not worked out: a row names only the fields that differ from the old state. The rows of one case show one property.

Not handled here: running them (see `patch`), and judging (see `patch_rules`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.agent.state import AgentState, Artifact, Budget, Constraints, Fact, HumanInTheLoop, RiskLevel, StatePatch

DISK, HOST, FREED = (
    Fact(key="disk", value="97 %", source="check_disk"),
    Fact(key="host", value="web1"),
    Fact(key="disk", value="41 %"),
)
LOG = Artifact(artifact_id="log_1", type="logs", summary="nginx errors", bytes=4_231, step="look")
OLD: dict[str, Any] = {
    "goal": "free the disk",
    "plan": ["look", "clean"],
    "known_facts": [DISK, HOST],
    "open_questions": ["which logs?", "until when?"],
    "artifacts": [LOG],
    "risk_flags": ["budget_pressure"],
}


OPEN = OLD["open_questions"]
TAIL = Artifact(artifact_id="log_2", type="logs", summary="the last lines", bytes=120, step="clean")


@dataclass(frozen=True)
class Row:
    """`why` is the likely mistake of an answer that gets this row wrong."""

    says: str
    state: AgentState
    patch: StatePatch
    wanted: AgentState
    why: str


def row(says: str, why: str, patch: dict[str, Any], wanted: dict[str, Any], **old: Any) -> Row:
    """`old` are fields in which the state differs from `OLD`, `wanted` those in which the new state differs from the old one."""
    state = AgentState(**(OLD | old))
    return Row(says, state, StatePatch(**patch), AgentState(**(dict(state) | wanted)), why)


def pair(key: str, value: str) -> Fact:
    return Fact(key=key, value=value, source="user")


def _apart(says: str, why: str, *facts: Fact) -> Row:
    """The first fact is known, the others come; each is another one."""
    return row(says, why, {"facts": list(facts[1:])}, {"known_facts": list(facts)}, known_facts=[facts[0]])


NEW = [pair("service", "nginx"), pair("zone", "b"), pair("app", "shop")]
ODD = [
    "",
    " ",
    "which logs? ",
    "Which logs?",
    "e\u0301?",
    "\u00e9?",
    "\U0001f642",
    'quote " and \\',
    "two\nlines",
    "\x00",
]
IN_ORDER = "not appended at the end, in the order of the patch"
APPENDED = f"facts are {IN_ORDER}"
NONE_IS_A_PLAN = "None is taken for a plan"
EMPTY_TEXT = "drops what is empty: an empty text is a text"
JOINED = "compares key and value joined into one text"
EXACT = "compares texts after changing them"
FACTS = (
    row("three new facts", APPENDED, {"facts": NEW}, {"known_facts": [DISK, HOST, *NEW]}),
    row("a state that knows nothing", APPENDED, {"facts": NEW[:2]}, {"known_facts": NEW[:2]}, known_facts=[]),
    row(
        "a fact with an empty value",
        EMPTY_TEXT,
        {"facts": [pair("note", "")]},
        {"known_facts": [DISK, HOST, pair("note", "")]},
    ),
    row(
        "a fact with an empty key", EMPTY_TEXT, {"facts": [pair("", "x")]}, {"known_facts": [DISK, HOST, pair("", "x")]}
    ),
)
SAME = "a fact that is known is added again"
RARER = (
    "/",
    ",",
    ", ",
    ": ",
    "-",
    "_",
    "\n",
    "\t",
    "::",
    "\x1f",
    "->",
    "=>",
    "==",
    "||",
    "--",
    "__",
    "//",
    ":=",
    " = ",
    " -> ",
    " => ",
    " - ",
    " | ",
    " : ",
    "; ",
    *";#@+~&$%*.!?^<>\\'\"\r\x01\x1e",
)
KNOWN = (
    row("a fact that is known", SAME, {"facts": [DISK]}, {}),
    row(
        "a known fact from another source",
        "compares the source too",
        {"facts": [DISK.model_copy(update={"source": "user"})]},
        {},
    ),
    row(
        "a known fact that named no source",
        "a known fact is given the source of the new one",
        {"facts": [pair("disk", "97 %")]},
        {},
        known_facts=[Fact(key="disk", value="97 %"), HOST],
    ),
    row(
        "a value that was known before the last one",
        "compares with the newest value of a key only",
        {"facts": [DISK]},
        {},
        known_facts=[DISK, FREED, HOST],
    ),
    row("a known fact that is not the last", "compares with the last fact only", {"facts": [HOST, DISK]}, {}),
    row(
        "one fact twice in the patch",
        "compares with the old facts only: doubles inside the patch stay",
        {"facts": [pair("a", "1"), pair("a", "1"), Fact(key="a", value="1", source="other")]},
        {"known_facts": [DISK, HOST, pair("a", "1")]},
    ),
)
FIRST_STAYS = "a key keeps its first value: a new one is dropped"
VALUES = (
    row("a new value of a known key", FIRST_STAYS, {"facts": [FREED]}, {"known_facts": [DISK, HOST, FREED]}),
    row(
        "two new values of one key",
        "keeps one new value for each key",
        {"facts": [FREED, pair("disk", "12 %")]},
        {"known_facts": [DISK, HOST, FREED, pair("disk", "12 %")]},
    ),
    _apart("one value under two keys", "compares values only", pair("from", "web1"), pair("to", "web1")),
    _apart("key and value the other way round", "compares key and value in any order", pair("a", "b"), pair("b", "a")),
)
APART = (
    *(
        _apart(f"keys and values with {sep!r} inside", JOINED, pair(f"a{sep}b", "c"), pair("a", f"b{sep}c"))
        for sep in ("", ":", "=", " ", "|", "\x00")
    ),
    _apart("upper and lower case", EXACT, pair("disk", "full"), pair("Disk", "full"), pair("disk", "Full")),
    _apart("numbers that are equal", EXACT, pair("load", "1"), pair("load", "1.0"), pair("load", "01")),
    _apart("spaces around", EXACT, pair("disk", "full"), pair("disk", "full "), pair(" disk", "full")),
    _apart("two ways to write an accent", EXACT, pair("name", "\u00e9"), pair("name", "e\u0301")),
    row(
        "keys and values with rarer signs inside",
        JOINED,
        {"facts": [pair("a", f"b{sep}c") for sep in RARER]},
        {"known_facts": [*(pair(f"a{sep}b", "c") for sep in RARER), *(pair("a", f"b{sep}c") for sep in RARER)]},
        known_facts=[pair(f"a{sep}b", "c") for sep in RARER],
    ),
)
TRUTH = "takes an empty plan for no plan"
LENGTHY = [f"step {n}" for n in range(30)]
PLANS = (
    row("no plan", NONE_IS_A_PLAN, {}, {}),
    row("another plan", "the plan is not replaced", {"plan": ["rotate", "look"]}, {"plan": ["rotate", "look"]}),
    row("an empty plan", TRUTH, {"plan": []}, {"plan": []}),
    row("a plan of thirty steps", "the plan is cut to a length", {"plan": LENGTHY}, {"plan": LENGTHY}),
    row(
        "a plan with a step twice",
        "changes the plan that it is given",
        {"plan": ["look", "clean", "look"]},
        {"plan": ["look", "clean", "look"]},
    ),
    row(
        "a plan for a state that has none",
        "the plan is not replaced",
        {"plan": ["", "look"]},
        {"plan": ["", "look"]},
        plan=[],
    ),
    row("a plan in odd texts", "changes the plan that it is given", {"plan": ODD}, {"plan": ODD}),
)
OWN_RULES = Constraints(human_in_the_loop=HumanInTheLoop(required_for_risk_levels=[RiskLevel.READ_ONLY]))
OWN_BUDGET = Budget(max_steps=3, max_wall_time_ms=4, max_llm_tokens=5, max_artifact_bytes_in_context=6)
ALL: dict[str, Any] = {
    "facts": [FREED, DISK],
    "plan": ["rotate"],
    "open_questions": ["who?", "why?"],
    "answered": ["who?", "which logs?"],
    "artifacts": [TAIL],
    "risk_flags": ["writes"],
}
AFTER_ALL: dict[str, Any] = {
    "known_facts": [DISK, HOST, FREED],
    "plan": ["rotate"],
    "open_questions": ["until when?", "why?"],
    "artifacts": [LOG, TAIL],
    "risk_flags": ["budget_pressure", "writes"],
}
NOTHING: dict[str, Any] = {name: [] for name in OLD if name != "goal"}
AFTER_NOTHING: dict[str, Any] = {
    "known_facts": [FREED, DISK],
    "plan": ["rotate"],
    "open_questions": ["why?"],
    "artifacts": [TAIL],
    "risk_flags": ["writes"],
}
WHOLE = (
    row("an empty patch", "an empty patch changes something", {}, {}),
    row("a patch of everything", "one part of the patch gets in the way of another", ALL, AFTER_ALL),
    row("a state with nothing but a goal", "goes another way where a list of the old state is empty", ALL, AFTER_NOTHING, **NOTHING),
    row(
        "limits of its own",
        "goes another way under other limits",
        ALL,
        AFTER_ALL,
        constraints=OWN_RULES,
        budget=OWN_BUDGET,
        goal=" A goal\n\U0001f642",
    ),
)


def numbered(start: int, end: int) -> list[Fact]:
    return [pair(f"file {n}", f"{n} kB") for n in range(start, end)]


LONG = "counts on short lists"
SOME = [f"flag {n}" for n in range(50)]
HEAP = [Artifact(artifact_id=f"log {n}") for n in range(50)]
MANY = (
    row(
        "200 facts come to 200",
        LONG,
        {"facts": numbered(100, 300)},
        {"known_facts": numbered(0, 300)},
        known_facts=numbered(0, 200),
    ),
    row(
        "200 questions, and answers to half of them",
        LONG,
        {"open_questions": [f"{n}?" for n in range(200)], "answered": [f"{n}?" for n in range(0, 200, 2)]},
        {"open_questions": [*OPEN, *(f"{n}?" for n in range(1, 200, 2))]},
    ),
    row(
        "50 flags and 50 artifacts",
        LONG,
        {"risk_flags": SOME, "artifacts": HEAP},
        {"risk_flags": ["budget_pressure", *SOME], "artifacts": [LOG, *HEAP]},
    ),
)
