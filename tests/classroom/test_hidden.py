"""The hidden pass: every animal of the zoo gets the row that it deserves, and a host that lies is caught by the world."""

import random

import pytest

from labkit.checks import registry
from labkit.checks.listening import Patience
from labkit.classroom.box import Box, strongest
from labkit.classroom.hidden import judge_hidden
from labkit.classroom.witness import Witness, effects_of
from tests.checkout import ROOT
from tests.classroom.zoo_box import ERROR, FAILED, PASSED, SLOW, TAMPERED, ZOO

SOON = Patience(stall=1.5, total=30.0)
STATES = {"holds": PASSED, "broken": FAILED, "not_exercised": FAILED, "unusable": ERROR}
RESUME = (ROOT / "tests/answers/resume/right/by_keyword.py").read_text()


@pytest.fixture(scope="module")
def box():
    with Box() as made:
        yield made


def judge(animal, box):
    return judge_hidden(animal.exercise, animal.source, seed=3, box=box, databases=("sqlite",), patience=SOON)


def state(result):
    return TAMPERED if result.tampered else STATES[result.report.verdict]


@pytest.mark.sampled
@pytest.mark.parametrize("animal", ZOO, ids=str)
def test_animal_gets_its_row(animal, box):
    """Whatever an answer does, its row says what it is, and the level of isolation that was in force."""
    result = judge(animal, box)
    assert (animal.state, strongest()) == (state(result), result.isolation)
    assert "\n" not in result.tampered


@pytest.mark.slow
@pytest.mark.parametrize("animal", SLOW, ids=str)
def test_animal_that_never_ends_is_stopped(animal, box):
    """An answer that waits for ever costs the seconds of our patience and no more."""
    assert animal.state == state(judge(animal, box))


def test_next_answer_finds_nothing_of_the_one_before(box):
    """Files that an answer left are gone when the next one comes."""
    leave = "def effect_key(task_id, step):\n    open('left', 'w').close()\n    return f'{task_id}:{step}'\n"
    look = leave.replace("open('left', 'w').close()", "import os; assert not any('left' in files for _, _, files in os.walk('../..'))")
    for source in (leave, look):
        assert "holds" == judge_hidden("warmup", source, seed=3, box=box).report.verdict


def witness(source, box, tested):
    asked = registry.find("resume")
    return Witness(asked, source, box.walls, "sqlite", tested, random.Random(5), SOON).look()


def test_right_answer_is_believed(box):
    """What a right answer's host says is seen again in a world of the grader's own."""
    asked = registry.find("resume")
    found = witness(RESUME, box, {case.name: frozenset() for case in asked.cases})
    assert ("", "", 6) == (found.lie, found.missing, found.runs)


def test_host_that_claims_for_an_idle_answer_is_a_liar(box):
    """A host that says that an answer showed this or that is not believed when in our world it never did."""
    asked = registry.find("resume")
    claims = {case.name: frozenset(prop.name for prop in asked.properties if prop.looks_at(case.name)) for case in asked.cases}
    found = witness("def resume_task(store, task_id, work):\n    return store.get(task_id)\n", box, claims)
    assert "in a world of the grader's own" in found.lie


def test_host_that_hides_a_broken_property_is_a_liar(box):
    """A wrong answer whose host says that all is well is caught by what it does in our world."""
    forgets_the_key = RESUME.replace("idempotency_key=task.id", "idempotency_key=None")
    assert forgets_the_key != RESUME
    found = [
        Witness(registry.find("resume"), forgets_the_key, box.walls, "sqlite", {}, random.Random(seed), SOON).look().lie for seed in range(2)
    ]
    assert all("the host said that all is well" in lie for lie in found)


def test_killed_the_moment_an_effect_has_happened(box):
    """A kill at an effect strikes from outside: the ledger has the effect, and no process of the answer comes to hear of it."""
    asked = registry.find("resume")
    look = Witness(asked, RESUME, box.walls, "sqlite", {}, random.Random(1), SOON)
    case = next(case for case in asked.cases_on("sqlite") if case.engine == "sweep")
    with look._killer(case) as killer:
        base = killer.generation(1)
        (at,) = [one for one in base.injections(1, ("crash",)) if one.side == "after" and one.number == effects_of(base)[0]]
    with look._killer(case) as killer:
        killer.kill_at = 1
        killed = killer.generation(1, (at,))
        assert ("crashed", 1) == (killed.outcomes[0].how, killer.effects())
        assert [at] == killed.struck
        assert not [line for line in killed.record if line[0] == "effect"]


def test_silence_in_our_world_is_no_way_out(box):
    """An answer that falls silent wherever its host cannot speak for it is not believed; heard once it may be the machine, so it is heard twice."""
    silent = RESUME.replace("    task = store.get(id=task_id)", "    import threading\n    threading.Event().wait()\n    task = store.get(id=task_id)")
    found = Witness(registry.find("resume"), silent, box.walls, "sqlite", {}, random.Random(5), Patience(stall=0.5, total=30.0)).look()
    assert found.lie.endswith("it never ended")
