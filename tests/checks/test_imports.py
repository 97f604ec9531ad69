"""What an answer may import: each name that is allowed can be had."""

from importlib import import_module

import pytest

from labkit.checks.imports import HOMES, NAMES
from labkit.checks.judge import HOLDS
from labkit.checks.run import run_check

GOOD = "def effect_key(task_id, step):\n    return f'{task_id}:{step}'\n"


def there():
    """The names that a module of labkit which answers may use really has."""
    return {name for home in HOMES for name in NAMES if hasattr(import_module(home), name)}


def test_each_allowed_name_is_there():
    """An answer never meets an allowed name that cannot be imported."""
    assert NAMES == there()


@pytest.mark.parametrize(
    ("line", "diagnosis"),
    [
        ("import numpy", "imports a module that answers may not use"),
        ("import no_such_module", "imports a module that answers may not use"),
        ("__import__('num' + 'py')", "imports a module that answers may not use"),
        ("from labkit.execution import resume_task", "imports the solution instead of writing it"),
    ],
)
def test_refusal_is_named(line, diagnosis):
    """A foreign module is not taken for the solution."""
    assert diagnosis == run_check("warmup", f"{line}\n{GOOD}").first_broken.diagnosis


FOR_READERS = [
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import openai",
    "import typing\nif typing.TYPE_CHECKING:\n    from labkit.agent.loop import Agent\nelse:\n    Agent = object",
]


@pytest.mark.parametrize("lines", FOR_READERS)
def test_import_that_never_runs(lines):
    """What is imported for who reads types, and by no run, is nobody's business."""
    assert HOLDS == run_check("warmup", f"{lines}\n{GOOD}").verdict


@pytest.mark.parametrize(
    "lines",
    [
        "TYPE_CHECKING = True\nif TYPE_CHECKING:\n    import numpy",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    import numpy",
        "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    import numpy",
    ],
)
def test_import_that_only_looks_as_if(lines):
    """An import that runs is refused, whatever stands above it."""
    assert "imports a module that answers may not use" == run_check("warmup", f"{lines}\n{GOOD}").first_broken.diagnosis
