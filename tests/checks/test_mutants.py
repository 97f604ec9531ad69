"""Every mechanical mutant of a right answer is rejected by its check, but for those that are listed with a reason."""

import ast

import pytest

from labkit.checks import registry
from labkit.checks.exercise import SQL
from labkit.checks.judge import HOLDS
from labkit.checks.listening import Patience
from labkit.checks.run import run_check
from tests.checkout import ROOT
from tests.checks.equivalents import EQUIVALENT
from tests.checks.mutants import mutants

PARENTS = (
    "warmup f_string",
    "retry plain_loop",
    "backoff clamps_the_exponent",
    "idempotency plain_function",
    "deadline budget_object",
    "resume plain_function",
    "patch joins_by_key",
    "context adds_up_the_parts",
    "checkpoint plain_class",
    "claim core_one_statement",
    "lease core_fence",
    "backpressure write_lock_first",
    "saga plain_function",
    "deploy_saga lambdas",
    "endpoint plain_function",
    "sse closing_generator",
    "agent short_loop",
    "invariant plain_rules",
)
BOTH = ("claim", "lease", "backpressure")  # what SQLite forgives, PostgreSQL does not
QUICKLY = Patience(stall=3.0, for_more=False)  # the first property that breaks is enough


def source(parent):
    exercise, _, name = parent.partition(" ")
    return (ROOT / f"tests/answers/{exercise}/right/{name}.py").read_text()


MUTANTS = {
    f"{parent} {says}": (parent, says, text) for parent in PARENTS for says, text in mutants(source(parent)).items()
}


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize(("parent", "says", "text"), MUTANTS.values(), ids=MUTANTS)
def test_mutant_is_rejected(parent, says, text):
    """A mutant does not hold, unless it is listed as still right; one that is listed holds."""
    exercise, equivalent = parent.split()[0], says in EQUIVALENT.get(parent, {})
    databases = SQL if exercise in BOTH and not equivalent else ("sqlite",)
    report = run_check(exercise, text, databases=databases, patience=QUICKLY)
    assert equivalent == (report.verdict == HOLDS), report.first_broken


def test_every_exercise_has_mutants():
    """Each exercise has a right answer whose mutants are tried."""
    assert set(registry.IDS) == {parent.split()[0] for parent in PARENTS}


def test_no_reason_without_a_mutant():
    """Each listed mutant exists."""
    listed = {f"{parent} {says}" for parent, reasons in EQUIVALENT.items() for says in reasons}
    assert set() == listed - set(MUTANTS)


EXAMPLE = '''
def f(a, b):
    """Explains."""
    if a < 1:
        raise ValueError(f"not {a}")
    try:
        first = g(a, key=b)
        return first
    except Exception:
        return None
'''

CHANGES = [
    "2: drops if a < 1:",
    "2: swaps if a < 1: with the next",
    "2: drops try:",
    "4: drops raise ValueError(f'not {a}')",
    "4: negates a < 1",
    "4: a < 1: Lt -> LtE",
    "4: 1 -> 2",
    "6: drops first = g(a, key=b)",
    "6: swaps first = g(a, key=b) with the next",
    "6: drops return first",
    "6: except Exception -> BaseException",
    "6: removes except Exception",
    "7: g without key",
    "9: drops return None",
    "10: None -> 'mutant'",
]


def test_the_set_of_mutants():
    """Every kind of change is made once, in the order of the source, each time the same, and each gives Python."""
    made = mutants(EXAMPLE)
    assert sorted(CHANGES) == sorted(made)
    assert list(made.items()) == list(mutants(EXAMPLE).items())
    assert len(made) == len(set(made.values()))
    assert all(ast.parse(text) for text in made.values())
