"""What an answer does that it may not do in any exercise is named as that, and not as what comes of it."""

import pytest

from labkit.checks import registry
from labkit.checks.common import an_exit, ends
from labkit.checks.exercise import Case, Exercise, Property, Seen
from labkit.checks.judge import BROKEN, HOLDS, Jury
from labkit.checks.run import run_check
from labkit.faults.outcome import ANSWER, Outcome, describe_error
from labkit.faults.scenario import End

pytestmark = pytest.mark.sampled

ENDS, RECURSES = "ends the process it runs in", "calls itself without an end"
BODIES = {
    "raise SystemExit(0)": ENDS,
    "import sys\n    sys.exit('x')": ENDS,
    "exit()": ENDS,
    "try:\n        1 / 0\n    except Exception:\n        raise SystemExit(1)": ENDS,
    "raise KeyboardInterrupt": ENDS,
    "raise GeneratorExit": ENDS,
    "raise type('Stop', (BaseException,), {{}})('x')": ENDS,
    "return {name}({given})": RECURSES,
}


def answer(exercise, body):
    """An answer in which each of the functions that are asked for has this body."""
    parts = []
    for name, parameters in registry.find(exercise).signatures.items():
        given = ", ".join(f"{p[1:]}={p[1:]}" if p.startswith("*") else p for p in parameters)
        taken = ", ".join(f"{p[1:]}=None" if p.startswith("*") else p for p in parameters)
        parts.append(f"def {name}({taken}):\n    {body.format(name=name, given=given)}\n")
    return "".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", registry.IDS)
def test_named_in_every_exercise(exercise):
    """An answer that ends its process, or calls itself without an end, is told just that, first and with its line."""
    for body, diagnosis in BODIES.items():
        report = run_check(exercise, answer(exercise, body), databases=("sqlite",))
        first = report.first_broken
        assert first is not None, (body, report)
        assert (BROKEN, diagnosis) == (report.verdict, first.diagnosis), (body, first)
        assert " of the answer)" in first.message


def raised_by(source, **names):
    try:
        exec(compile(source, f"{ANSWER}x>", "exec"), names)
    except BaseException as error:
        return describe_error(error)
    raise AssertionError("nothing was raised")


def leave(*_):
    raise SystemExit(3)


def _raise(error):
    raise error


@pytest.mark.parametrize(
    ("source", "own"),
    [
        ("raise SystemExit", True),
        ("quit()", True),
        ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise SystemExit", True),
        ("leave()", False),
        ("try:\n    leave()\nexcept SystemExit as error:\n    raise error", False),
        ("try:\n    leave()\nexcept BaseException:\n    raise SystemExit", False),
        ("raise ValueError", False),
        ("raise GeneratorExit", True),
        ("class Stop(BaseException): pass\nraise Stop", True),
        ("def steps():\n    yield\nwalk = steps()\nnext(walk)\nwalk.throw(GeneratorExit)", False),
    ],
)
def test_whose_exit_it_is(source, own):
    """An exit is the answer's own when it began there; one that came through it, or became another one, did not."""
    assert own is raised_by(source, leave=leave).get("own", False)


def test_an_exit_that_nobody_asked_for():
    """A process that leaves by an exit without being asked to breaks `ends`, wherever that exit began; one that somebody interrupted does not."""
    left = Outcome("p1", "raised", error=raised_by("leave()", leave=leave))
    for token, broken in (("x.a/memory:none", True), ("x.a/memory:p1@sql1.before+crash", True), ("x.a/memory:p1@sql1.before+interrupt", False)):
        found = ends().find(Seen("a", "end", End(token, (left,))), {})
        assert broken == (found is not None and found.diagnosis == ENDS), token
    told = Outcome("p1", "raised", error=raised_by("leave()", leave=lambda: _raise(an_exit(SystemExit))))
    assert ends().find(Seen("a", "end", End("x.a/memory:none", (told,))), {}) is None  # the workload told it to leave


def test_a_run_that_no_property_minds():
    """An answer that ends its process breaks `ends` where nothing else is broken by it."""
    asked = Exercise("x", "t", 11, "C", 1, 1, 1, {}, (Case("a", lambda answer: []),), (Property("ends", "", lambda seen, facts: None),), ())
    jury, error = Jury(asked), raised_by("raise SystemExit(0)")
    jury.hear(Seen("a", "end", End("x.a/memory:none", (Outcome("p1", "raised", error=error),))))
    assert [("ends", BROKEN, ENDS)] == [(one.name, one.verdict, one.diagnosis) for one in jury.verdicts()]


def misspelt():
    """What a run ends with in which an answer has misspelt something."""
    outcome = Outcome("p1", "raised", None, raised_by("misspelt"))
    return Seen("a", "end", End("x.a/memory:none", (outcome,)))


def test_an_error_of_its_own_is_no_silence():
    """Where an error was asked for, and the answer's own came out, the property is broken by it; where another run shows more, that is told."""
    properties = (Property("raises", "an error comes out", lambda seen, facts: None), ends())
    asked = Exercise("x", "t", 11, "C", 1, 1, 1, {}, (Case("a", lambda answer: []), Case("b", lambda answer: [])), properties, ())
    jury = Jury(asked)
    jury.hear(misspelt())
    assert (BROKEN, "your code raised NameError: name 'misspelt' is not defined") == (jury.verdicts()[0].verdict, jury.verdicts()[0].message)
    jury.hear(Seen("b", "end", End("x.b/memory:none", (Outcome("p1", "returned", 1),))))
    assert HOLDS == jury.verdicts()[0].verdict
