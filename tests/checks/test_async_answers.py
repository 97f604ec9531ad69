"""Answers that are `async def`: found, loaded, and kept away from the library's own server."""

import pytest

from labkit.checks import registry
from labkit.checks.answer import Forbidden, NotAttempted, load, look
from labkit.checks.judge import BROKEN, HOLDS
from labkit.checks.run import run_check
from labkit.errors import UsageError
from tests.checkout import ROOT

ENDPOINT = registry.find("endpoint")
LOADED = {
    "async def": "async def submit_task(request):\n    return 1\n",
    "a function that returns a coroutine": "async def go(request):\n    return 1\ndef submit_task(request):\n    return go(request)\n",
    "an object": "class Go:\n    async def __call__(self, request):\n        return 1\nsubmit_task = Go()\n",
}
SERVERS = (
    "from labkit.server.tasks import submit as submit_task\n",
    "from labkit.progress.live import LiveLog\nasync def submit_task(request):\n    return LiveLog\n",
    "import importlib\nasync def submit_task(request):\n    importlib.import_module('labkit.' + 'server.tasks')\n",
    "import sys\nasync def submit_task(request):\n    return await sys.modules['labkit.server.' + 'tasks'].submit(request)\n",
)


@pytest.mark.parametrize("source", LOADED.values(), ids=LOADED)
def test_what_can_be_awaited_is_loaded(source):
    """Whatever its kind."""
    assert callable(load(source, ENDPOINT).fresh()["submit_task"])


def test_other_parameters_are_refused():
    """With the signature that is asked for."""
    with pytest.raises(UsageError, match=r"another signature than the exercise's async submit_task\(request\)"):
        load("async def submit_task(queue, request):\n    return 1\n", ENDPOINT)


def test_the_stub_is_not_attempted():
    """An `async def` of a docstring and `...` is the stub."""
    with pytest.raises(NotAttempted, match="submit_task is still the stub"):
        look('async def submit_task(request):\n    """Queue it."""\n    ...\n', ENDPOINT)


@pytest.mark.parametrize("source", SERVERS[:2])
def test_the_librarys_own_server_is_forbidden(source):
    """It is the solution."""
    with pytest.raises(Forbidden, match="not the library's own solution"):
        look(source, ENDPOINT)


@pytest.mark.parametrize("source", SERVERS[2:])
def test_the_librarys_own_server_is_not_reached(source):
    """Not while the answer runs either, and the report says so."""
    report = run_check("endpoint", source)
    assert (BROKEN, "imports the solution instead of writing it") == (report.verdict, report.first_broken.diagnosis)


@pytest.mark.parametrize(("asked", "name"), [("endpoint", "submit_task"), ("sse", "sse_progress")])
def test_an_answer_that_turns_for_ever_is_broken(asked, name):
    """One that never ends, and swallows what tells it to, is told by the turns of its loop."""
    source = f"""
import asyncio
async def {name}(request):
    while True:
        try:
            await asyncio.sleep(0)
        except BaseException:
            pass
"""
    report = run_check(asked, source)
    assert BROKEN == report.verdict
    assert set() == {one.name for one in report.properties if one.verdict == HOLDS}


def test_a_submit_in_the_loop_is_told_as_that_and_nothing_else():
    """The answer waits for it there, in its own way: nobody gave up on anything."""
    source = (ROOT / "tests/answers/endpoint/wrong/submit_in_the_loop.py").read_text()
    report = run_check("endpoint", source)
    assert ["calls the blocking submit in the event loop"] == [one.diagnosis for one in report.properties if one.verdict == BROKEN]
