"""Cases that are drawn from a seed: a right answer holds on all of them, and one that has learnt the fixed inputs by heart on none."""

from dataclasses import replace
from random import Random

import pytest

from labkit import cli
from labkit.checks import host, registry
from labkit.checks.exercise import MOST_SEED, SQL, Seen, like, seed_of
from labkit.checks.judge import BROKEN, HOLDS, Jury
from labkit.checks.replay import run_replay
from labkit.checks.run import room, run_check
from labkit.errors import UsageError
from labkit.faults.scenario import End
from labkit.faults.schedule import Schedule
from tests.corpus import ANSWERS, RIGHT, exercise, name

SEEDS = (1, 2026, 987_654_321)
BY_HEART = sorted((ANSWERS / "hard_coded").glob("*.py"))
HARD_CODED = {path.stem: path for path in BY_HEART}


def only_drawn(asked, *seeds):
    """The exercise with the cases of these seeds alone."""
    fixed = registry.find(asked)
    return replace(fixed, cases=tuple(case for seed in seeds for case in registry.find(asked, seed).cases[len(fixed.cases) :]))


def databases_of(asked):
    """Those that its cases need, "" for none, as a check goes through them."""
    return sorted({database for case in asked.cases for database in (case.databases or ("",))}, key=["", *SQL].index)


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """A function that runs an answer through an exercise in the test's own process, for what is drawn takes no time beside a child's."""
    for limit in ("limit_resources", "hide"):
        monkeypatch.setattr(host, limit, lambda: None)
    monkeypatch.chdir(tmp_path)

    def judge(asked, source, databases):
        jury, failed = Jury(asked), []

        def report(word):
            if "seen" in word:
                jury.hear(Seen(word["case"], word["seen"], End.from_data(word["end"])))
            failed.extend(word.keys() & {"failed", "broke", "unusable", "forbidden"})

        with monkeypatch.context() as for_now:
            for_now.setattr(host.registry, "find", lambda *_: asked)
            for database in databases:
                with room(database) as (url, folder):
                    host.serve(report, exercise=asked.id, source=source, database=database, url=url, engine="", folder=str(folder))
        assert failed == []
        return jury

    return judge


@pytest.mark.parametrize("asked", registry.IDS)
def test_every_drawn_case_is_like_a_fixed_one(asked):
    """A drawn case has a name of its own, which says like which fixed one it is and from which seed, and it is a single run on databases that this one has."""
    fixed = {case.name: case for case in registry.find(asked).cases}
    for seed in range(20):
        cases = only_drawn(asked, seed).cases
        assert {seed} == {seed_of(case.name) for case in cases}
        assert len({case.name for case in cases}) == len(cases)
        for case in cases:
            assert set(case.databases) <= set(registry.find(asked).databases)
            assert case.facts.keys() == fixed[like(case.name)].facts.keys()
            assert ("once", False) == (case.engine, case.costly)
            assert [str(Schedule.parse(text)) for text in case.schedules] == list(case.schedules)


@pytest.mark.parametrize("asked", registry.IDS)
def test_a_seed_draws_the_same_again(asked):
    """Host and judge draw for themselves: from one seed the same, from another seed something else."""
    found = [[(case.facts, case.schedules) for case in registry.find(asked).seeded(seed).cases] for seed in (5, 5, 6)]
    assert found[0] == found[1] != found[2]


@pytest.mark.sampled
@pytest.mark.postgres
@pytest.mark.parametrize("path", RIGHT, ids=name)
def test_right_answer_holds_on_what_is_drawn(path, judged):
    """A right answer holds with three seeds, whatever its style, and each drawn case is run."""
    asked = only_drawn(exercise(path), *SEEDS)
    jury = judged(asked, path.read_text(), databases_of(asked))
    assert {} == jury.worst
    assert {case.name for case in asked.cases} == jury.cases


def learnt(path):
    """The exercise whose fixed inputs this answer knows by heart: `<exercise>.py`, or `<exercise>-<what it knows>.py`."""
    return path.stem.partition("-")[0]


def test_every_exercise_has_been_learnt():
    """None is left out of the tests below."""
    assert {learnt(path) for path in BY_HEART} == {*registry.IDS}


@pytest.mark.parametrize("path", BY_HEART, ids=lambda path: path.stem)
def test_learnt_by_heart_breaks_with_any_seed(path, judged):
    """An answer that is right for the fixed inputs alone is broken with each of three seeds."""
    source = path.read_text()
    for seed in SEEDS:
        drawn = only_drawn(learnt(path), seed)
        assert judged(drawn, source, databases_of(drawn)[:1]).broken


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("path", BY_HEART, ids=lambda path: path.stem)
def test_learnt_by_heart_holds_without_a_seed(path):
    """Nothing but a seed shows it: on the fixed cases such an answer holds."""
    report = run_check(learnt(path), path.read_text())
    assert [] == [(one.name, one.message, one.token) for one in report.properties if one.verdict != HOLDS]


@pytest.mark.parametrize("asked", ["warmup", "retry"])
def test_a_check_with_a_seed(asked):
    """A whole check with a seed: the right answer holds, the other one is broken in a case that carries the seed, and its token shows that again."""
    right = next(path for path in RIGHT if exercise(path) == asked)
    assert HOLDS == run_check(asked, right.read_text(), seed=7).verdict
    source = HARD_CODED[asked].read_text()
    report = run_check(asked, source, seed=7)
    one = report.first_broken
    assert (BROKEN, HOLDS) == (report.verdict, run_check(asked, source).verdict)
    assert "-drawn-7/" in one.token
    assert one.name in [line.label for line in run_replay(one.token, source).lines if line.kind == "broken"]


def test_replay_of_a_drawn_case(capsys):
    """The command line replays such a token with either answer: 1 where it breaks, 0 where it holds."""
    token = "warmup.keys-drawn-7/memory:none"
    right = next(path for path in RIGHT if exercise(path) == "warmup")
    assert [1, 0] == [cli.main(["replay", token, str(path)]) for path in (HARD_CODED["warmup"], right)]
    assert "keys-drawn-7" in capsys.readouterr().out


@pytest.mark.parametrize("case", ["nothing-drawn-7", "keys-drawn-", "keys-drawn--7", "keys-drawn-7-drawn-7", f"keys-drawn-{MOST_SEED + 1}"])
def test_case_that_nobody_draws(case):
    """A token of a case that no seed gives is refused, with the cases that there are."""
    with pytest.raises(UsageError, match=f"warmup has no case '{case}'; it has keys"):
        run_replay(f"warmup.{case}/memory:none", HARD_CODED["warmup"].read_text())


@pytest.mark.parametrize("seed", [-1, 1.0, True, "7", MOST_SEED + 1])
def test_no_seed(seed):
    """A seed is a whole number that has room in the name of a case."""
    with pytest.raises(UsageError, match="a seed is a whole number from 0 to"):
        run_check("warmup", "", seed=seed)


def test_fixed_counterexample_before_a_drawn_one():
    """Where a fixed case and a drawn one break a property, the fixed one is told: everybody can look it up."""
    wrong = (ANSWERS / "retry/wrong/attempts_left_out.py").read_text()
    with_seed, without = (run_check("retry", wrong, seed=seed).first_broken for seed in (7, None))
    assert without == with_seed


def test_exercise_of_a_course_is_drawn_too(tmp_path, monkeypatch):
    """An exercise of a course's own may draw cases as well; one that does not is the same with any seed."""
    own = "from dataclasses import replace\nfrom labkit.checks.warmup import EXERCISE as ours\n"
    (tmp_path / "mine.py").write_text(f"{own}EXERCISE = replace(ours, id='mine')\n")
    (tmp_path / "plain.py").write_text(f"{own}EXERCISE = replace(ours, id='plain', drawn=lambda rng: ())\n")
    monkeypatch.setenv(registry.FOLDER, str(tmp_path))
    assert ["keys", "many", "keys-drawn-3"] == [case.name for case in registry.find("mine", 3).cases]
    assert ["keys", "many"] == [case.name for case in registry.find("plain", 3).cases]


def test_draws_of_two_exercises_differ():
    """One seed gives two exercises different draws, so that none tells anything of another."""
    ids = [case.facts["id"] for asked in ("idempotency", "resume") for case in only_drawn(asked, 7).cases]
    assert len(ids) == len(set(ids))
    assert registry.find("warmup").drawn(Random("7/warmup"))[0].facts == only_drawn("warmup", 7).cases[0].facts
