"""What does not have the shape of a host's word is no word, whatever JSON it is."""

import json

import pytest

from labkit.checks import registry, wire
from labkit.checks.judge import BROKEN, Jury
from labkit.checks.listening import Heard, Patience, hear
from labkit.checks.page import page
from labkit.checks.replay import run_replay
from labkit.checks.run import _conclude, run_check
from labkit.checks.words import whole
from labkit.errors import UsageError
from labkit.faults.outcome import Outcome
from labkit.faults.scenario import End

WARMUP = registry.find("warmup")
END = json.loads(json.dumps(End("warmup.keys/memory:none", (Outcome("p1", "returned", [[], []]),)).to_data()))
RAISED = {"process": "p1", "how": "raised", "value": None}
TRACE = json.dumps({"token": "warmup.keys/memory:none"})


def run(**changed):
    return {"seen": "end", "case": "keys", "end": {**END, **changed}}


ODD = {
    "nothing": None,
    "a number": 5,
    "a list": ["seen"],
    "no word at all": {"said": "hello"},
    "a case without a name": {"case": ["keys"], "database": ""},
    "a count that is a text": {"covered": "keys", "runs": "many"},
    "a count below zero": {"covered": "keys", "runs": -1},
    "a reason that is none": {"forbidden": ["os"]},
    "output that is none": {"finished": "", "output": 5},
    "a case that does not exist": {"seen": "end", "case": "x", "end": END},
    "a case that is no text": {"seen": "end", "case": ["keys"], "end": END},
    "a kind that does not exist": {"seen": "middle", "case": "keys", "end": END},
    "an end that is none": {"seen": "end", "case": "keys", "end": []},
    "an end without a token": {"seen": "end", "case": "keys", "end": {"outcomes": []}},
    "no outcome": run(outcomes=[]),
    "an outcome with a field too many": run(outcomes=[{**RAISED, "mood": "good"}]),
    "an error without a message": run(outcomes=[{**RAISED, "error": {}}]),
    "a token that is none": run(token="x"),
    "a token that is a number": run(token=5),
}


def take(said):
    found = wire.word(said)
    if "seen" in found:
        wire.seen(WARMUP, found["case"], found["seen"], found["end"])


@pytest.mark.parametrize("said", ODD.values(), ids=ODD)
def test_odd_word_is_refused(said):
    """Each is a `ValueError`, and no other error."""
    with pytest.raises(ValueError, match="no "):
        take(said)


def test_word_of_a_host_is_taken():
    """What a host says goes through as it is."""
    for said in (run(), {"covered": "keys", "runs": 1}, {"finished": "", "output": "hello"}, {"trace": "", "ends": []}):
        take(said)


def shapes(word):
    """The word, and the same with each of its parts replaced by something of another shape, at every depth."""
    yield word
    inside = word.items() if isinstance(word, dict) else enumerate(word) if isinstance(word, list) else ()
    for key, part in list(inside):
        for other in (*shapes(part), *OTHERS):
            made = dict(word) if isinstance(word, dict) else list(word)
            made[key] = other
            yield made


OTHERS = [None, "", "\ud800\x1b", -1, 10**30, 1e400, True, [], {}, [[]], {"type": [], "bases": [], "message": 5, "cause": {}}]
ERROR = {"type": "TypeError", "bases": ["TypeError"], "message": "no", "data": {}, "cause": None, "line": 1}
CALL = {"process": "p1", "boundary": "cloud", "label": "x", "time": 0.0, "fault": ""}
WORDS = [
    run(outcomes=[{**RAISED, "error": ERROR}], calls=[CALL], notes=[CALL]),
    run(outcomes=[{"process": "p1", "how": "returned", "value": [ERROR, []], "error": {}}]),
    {"case": "keys", "database": "", "output": ""},
    {"covered": "keys", "runs": 1, "orders": 1, "actors": 2, "alike": True, "closed": True, "capped": ""},
    {"finished": "", "output": ""},
    *({name: "why"} for name in ("loaded", "forbidden", "unusable", "broke", "failed")),
    {"trace": TRACE, "ends": [["end", END]]},
]


@pytest.mark.parametrize("word", WORDS, ids=lambda word: next(iter(word)))
def test_words_of_every_wrong_shape_give_a_report(word):
    """Whatever is said in whatever shape, there is a report that can be printed, and never another error."""
    patience = Patience()
    for said in shapes(word):
        heard = Heard(WARMUP, Jury(WARMUP, lambda line: f"line {line}"), loaded=True)
        hear(heard, patience, iter([said, {"covered": "keys", "runs": 1}]))
        report = _conclude(heard, [], "", {prop.name for prop in heard.exercise.properties}).printable()
        assert whole(report).encode()
        assert page(report).encode()
        assert "\x1b" not in json.dumps(report.to_data(), ensure_ascii=False)


SPEAKS = """
import os
def effect_key(task_id, step):
    for pipe in range(3, 30):
        try:
            os.write(pipe, {line!r} + b'\\n')
        except OSError:
            pass
    return task_id + step
"""


LINES = {
    "nothing": b"null",
    "a case that is no text": json.dumps(ODD["a case that is no text"]).encode(),
    "no outcome": json.dumps(ODD["no outcome"]).encode(),
    "no JSON": b"[1, 2",
    "no text": b"\xff",
    "brackets": b"[" * 60_000,
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_odd_line_on_the_pipe_is_the_answers_doing(line):
    """An answer that writes on the host's pipe is told so."""
    source = SPEAKS.format(line=line)
    report = run_check("warmup", source, patience=Patience(stall=2.0, total=20.0))
    assert BROKEN == report.verdict
    assert "it spoke for the host" in report.first_broken.message


@pytest.mark.parametrize(
    "said", [5, {"trace": "", "ends": []}, {"trace": TRACE, "ends": [5]}, {"trace": TRACE, "ends": [["end", {}]]}], ids=repr
)
def test_odd_line_in_a_replay_is_the_answers_doing(said):
    """A replay says the same."""
    source = SPEAKS.format(line=json.dumps(said).encode())
    with pytest.raises(UsageError, match="the answer spoke for the host"):
        run_replay("warmup.keys/memory:none", source)
