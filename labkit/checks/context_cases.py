"""The cases of `context`, as data: a state, a step, a number of bytes and the slice that a right answer gives.

The slice is written down by the numbers of its items, and the budget is how many bytes that slice has as it is sent, and a few more or one less. So no row
says how to choose; each says which bug it is there to show. The rows of one case show one property.

Not handled here: running them (see `context`), and judging (see `context_rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.agent.state import AgentState, Artifact, ContextSlice, Fact

STEP = "clean"


@dataclass(frozen=True)
class Row:
    """`wanted` is None where the budget is too small. `more` and `less` are the likely mistakes of an answer that takes more, or leaves out some."""

    says: str
    state: AgentState
    step: str
    max_bytes: int
    wanted: ContextSlice | None
    more: str
    less: str


def sent(chosen: ContextSlice) -> int:
    return len(chosen.model_dump_json().encode())


Numbers = tuple[Sequence[int], Sequence[int], Sequence[int]]  # of artifacts, facts and questions
TAKES_MORE, TAKES_LESS = (
    "takes more bytes than it may: not all that is sent is counted",
    "leaves out what would have fitted",
)


def chosen(state: AgentState, step: str, numbers: Numbers) -> ContextSlice:
    """The slice with the items of these numbers."""
    artifacts, facts, questions = numbers
    return ContextSlice(
        goal=state.goal,
        current_step=step,
        artifacts=[state.artifacts[n] for n in artifacts],
        facts=[state.known_facts[n] for n in facts],
        open_questions=[state.open_questions[n] for n in questions],
    )


def row(
    says: str,
    state: AgentState,
    artifacts: Sequence[int] = (),
    facts: Sequence[int] = (),
    questions: Sequence[int] = (),
    *,
    room: Numbers | None = None,
    spare: int = 0,
    step: str = STEP,
    more: str = TAKES_MORE,
    less: str = TAKES_LESS,
) -> Row:
    """The budget holds the items of the numbers in `room` (default: those that are wanted) and `spare` bytes more."""
    wanted = chosen(state, step, (artifacts, facts, questions))
    budget = wanted if room is None else chosen(state, step, room)
    return Row(says, state, step, sent(budget) + spare, wanted, more, less)


def fact(key: str, value: str, source: str = "") -> Fact:
    return Fact(key=key, value=value, source=source)


def made(name: str, summary: str = "lines", *, step: str = STEP, size: int = 81, kind: str = "logs") -> Artifact:
    return Artifact(artifact_id=name, type=kind, summary=summary, bytes=size, step=step)


def state(goal: str = "free the disk", **fields: Any) -> AgentState:
    return AgentState(goal=goal, **fields)


LONG = "x" * 400
FULL = state(
    known_facts=[fact("logs", "60 GB"), fact("disk", "97 %"), fact("host", "web1")],
    open_questions=["which logs?", "until when?"],
    artifacts=[made("log_1"), made("log_2", step="look"), made("log_3")],
)
THREE = state(known_facts=FULL.known_facts)
NAMELESS = state("", known_facts=[fact("", "")], open_questions=[""], artifacts=[made("", "", step="", kind="")])
EQUAL = state(known_facts=[fact("disk", "97 %"), fact("host", "web1"), fact("disk", "97 %")])
AGAIN = state(open_questions=["who?", "why?", "who?"], artifacts=[made("log_1"), made("log_1", "other lines")])
SOURCES = state(
    known_facts=[fact("disk", "97 %", "df -h"), fact("disk", "97 %"), fact("host", "web1"), fact("logs", "60 GB", "du"), fact("host", "web1", "ask")]
)
PLANNED = state(plan=["look", "report"], known_facts=[fact("disk", "97 %")], open_questions=["who?"], artifacts=[made("log_1")])
ROOMY = (
    row("room for everything", FULL, [0, 2], [0, 1, 2], [0, 1], spare=5_000),
    row("a state with nothing but a goal", state(), spare=5_000),
    row("facts alone", THREE, [], [0, 1, 2], spare=5_000),
    row(
        "empty texts", NAMELESS, [0], [0], [0], step="", spare=500, less="drops what is empty: an empty text is a text"
    ),
    row("one fact twice", EQUAL, [], [0, 1, 2], spare=500, less="takes two equal facts for one"),
    row("one question twice", AGAIN, [0, 1], [], [0, 1, 2], spare=500, less="leaves out what is there twice"),
    row("a step that is not in the plan", PLANNED, [0], [0], [0], spare=500, less="asks the plan, which says nothing of the step"),
)
OFF = "an exact fit does not fit: something is counted that is not sent, or it is compared with < and not <="
OVER, COMMA = "takes a byte more than it may", "forgets the commas between items"
ONE_EACH = state(known_facts=FULL.known_facts[:1], open_questions=["which logs?"], artifacts=[made("log_1")])
ASK = state(open_questions=["which logs?"])
EXACT = (
    row("exactly one artifact", state(artifacts=[made("log_1")]), [0], less=OFF),
    row("exactly one fact", state(known_facts=[fact("disk", "97 %")]), [], [0], less=OFF),
    row("exactly one question", ASK, [], [], [0], less=OFF),
    row("exactly one of each", ONE_EACH, [0], [0], [0], less=OFF),
    row("exactly three facts", THREE, [], [0, 1, 2], less=OFF),
    row("exactly the bytes of everything", FULL, [0, 2], [0, 1, 2], [0, 1], less=OFF),
    row("a byte less than one question", ASK, room=([], [], [0]), spare=-1, more=OVER),
    row("a byte less than three facts", THREE, [], [1, 2], room=([], [0, 1, 2], []), spare=-1, more=COMMA),
    row(
        "a byte less than everything",
        FULL,
        [0, 2],
        [0, 1, 2],
        [0],
        room=([0, 2], [0, 1, 2], [0, 1]),
        spare=-1,
        more=COMMA,
    ),
)
STOPS = "stops at the first item that does not fit"
DUMP, CORE = fact("dump", LONG), made("log_1", LONG, size=500)


def _skips(says: str, whole: AgentState, *numbers: Sequence[int]) -> Row:
    return row(says, whole, *numbers, spare=300, less=STOPS)


SKIPS = (
    _skips("a long newest fact", state(known_facts=[*THREE.known_facts, DUMP]), [], [0, 1, 2]),
    _skips("a long fact in the middle", state(known_facts=[fact("a", "1"), DUMP, fact("b", "2")]), [], [0, 2]),
    _skips(
        "two long facts between short ones", state(known_facts=[fact("a", "1"), DUMP, DUMP, fact("b", "2")]), [], [0, 3]
    ),
    _skips("a long first artifact", state(artifacts=[CORE, made("log_2")]), [1]),
    _skips("a long first question", state(open_questions=[LONG, "who?", "why?"]), [], [], [1, 2]),
    _skips("a long artifact before facts", state(artifacts=[CORE], known_facts=THREE.known_facts), [], [0, 1, 2]),
    _skips("a long fact before questions", state(known_facts=[DUMP], open_questions=["who?"]), [], [], [0]),
    _skips(
        "five long facts in a row", state(known_facts=[fact("a", "1"), *[DUMP] * 5, fact("b", "2")]), [], [0, 6]
    ),
    _skips("a long artifact before questions", state(artifacts=[CORE], open_questions=["who?"]), [], [], [0]),
)
OLDEST, SHORT = "takes the oldest facts first", "takes short facts first"
SIZED = state(known_facts=[fact("a", "1"), fact("b", "y" * 60), fact("c", "z" * 30)])
DIGITS = state(known_facts=[fact(f"fact {n}", "yes") for n in range(5)])
LETTERS = state(known_facts=[fact("z", "1"), fact("y", "1"), fact("a", "1")])
VALUES = state(known_facts=[fact("disk", "97 %"), fact("disk", "41 %")])
SOURCED = state(known_facts=[fact("disk", "97 %", "check_disk"), fact("host", "web1, in the first rack")])
NEWEST = (
    row("room for two facts of five", DIGITS, [], [3, 4], spare=38, less=OLDEST),
    row("room for one fact of five", DIGITS, [], [4], spare=38, less=OLDEST),
    row("a short old fact and a longer new one", SIZED, [], [2], spare=20, less=SHORT),
    row("a long fact that leaves no room", SIZED, [], [1, 2], spare=20, less=SHORT),
    row("keys against the alphabet", LETTERS, [], [1, 2], spare=20, less="sorts facts by their key"),
    row("two values of one key", VALUES, [], [0, 1], spare=20, less="keeps one value for each key"),
    row("an older fact with a source", SOURCED, [], [1], spare=20, less="takes facts that name a source first"),
)
NEED = "takes in another order: artifacts come first, then facts, then questions"
BUSY = state(artifacts=[made("log_1")], known_facts=[fact("d", "y" * 40)], open_questions=["?" * 40])
EARLY = state(known_facts=[fact("d", "yes")], open_questions=["?" * 30, "!" * 30])
EAGER = state(known_facts=[fact("d", "y" * 40)], open_questions=["a" * 20, "b" * 20, "c" * 20, "d" * 20])
HEAVY = state(artifacts=[made("log_1", "s" * 200, size=290)], known_facts=[fact("a", "1"), fact("b", "2")])
HEAPS = state(artifacts=[made("log_1", size=100), made("log_2", size=5_000), made("log_3", size=300)])
FIRST = (
    row("room for one artifact of three", HEAPS, [0], spare=20, less="artifacts are not taken in the state's order"),
    row("room for the artifact", BUSY, [0], spare=35, less=NEED),
    row("room for artifact and fact", BUSY, [0], [0], spare=35, less=NEED),
    row("room for a fact that a question would fill", EARLY, [], [0], spare=20, less=NEED),
    row("room for a fact that short questions would fill", EAGER, [], [0], spare=16, less=NEED),
    row("an artifact longer than all facts", HEAVY, [0], spare=20, less=NEED),
)
NAMES = ("clean", "Clean", "clean ", "cleanup", "", "clean\n", "\U0001f642", 'the "last" one', "lean")
STEPS = state(artifacts=[made(f"log_{n}", step=name) for n, name in enumerate(NAMES)])
OTHERS = "takes artifacts of other steps"
STEPPED = (
    *(
        row(
            f"the step {name!r}",
            STEPS,
            [n],
            step=name,
            spare=2_000,
            more=OTHERS,
            less="leaves out artifacts of the current step",
        )
        for n, name in enumerate(NAMES)
    ),
    row("a step without artifacts", STEPS, step="report", spare=2_000, more=OTHERS),
)
MIXED = state(
    artifacts=[made("log_9"), made("log_1", "many lines"), made("log_5")],
    known_facts=[fact("z", "1"), fact("a", "22"), fact("m", "333")],
    open_questions=["who?", "by when is it due?", "a?", "Which?"],
)
ORDERED = (
    row("items in no order of their own", MIXED, [0, 1, 2], [0, 1, 2], [0, 1, 2, 3], spare=1_000),
    row("facts with a source and without", SOURCES, [], range(5), spare=500, less="takes two facts that differ in their source for one"),
)
COUNTED = state(known_facts=[fact(f"file {n:03}", f"{n:03} kB") for n in range(200)])
TWINS = tuple(
    row("states that differ in a value", state(known_facts=[fact("disk", v)]), [], [0], spare=9)
    for v in ("97 %", "41 %")
)
MANY = (
    row(
        "200 facts, and room for all", COUNTED, [], range(200), spare=50, less="does not look at a long list to its end"
    ),
    row("room for 60 facts of 200", COUNTED, [], range(140, 200), less="does not look at a long list to its end"),
    row("200 questions", state(open_questions=[f"{n}?" for n in range(200)]), [], [], range(200), less=OFF),
)
