"""The library's own solutions are out of an answer's sight, by whatever ordinary way it looks for them."""

import pytest

from labkit.checks.hidden import SOLUTIONS, is_hidden
from labkit.checks.imports import VALUES
from labkit.checks.judge import BROKEN, HOLDS
from labkit.checks.run import run_check

GOOD = "def effect_key(task_id, step):\n    return f'{task_id}:{step}'\n"
FRAMES = "import sys\nf = sys._getframe()\nwhile f.f_back: f = f.f_back\n"
WAYS = {
    "sys.modules": "import sys\nsys.modules['labkit' + '.retry'].retry",
    "the import of builtins": "import builtins\nbuiltins.__import__('labkit' + '.retry', None, None, ['x']).retry",
    "pkgutil": "import pkgutil\npkgutil.resolve_name('labkit' + '.retry:retry')",
    "pydoc": "import pydoc\npydoc.locate('labkit' + '.retry.retry')",
    "importlib's inside": "import importlib\nimportlib._bootstrap._gcd_import('labkit' + '.retry').retry",
    "a spec": "import importlib.util as u\ns = u.find_spec('labkit' + '.retry')\nm = u.module_from_spec(s)\ns.loader.exec_module(m)",
    "runpy": "import runpy\nrunpy.run_module('labkit' + '.retry')",
    "pickle": "import pickle\npickle.loads(b'clabkit.retry\\nretry\\n.')",
    "frames": FRAMES + "exec('import labkit.retry as r; g = r.retry', f.f_globals)",
    "its file": "import sys, pathlib\npathlib.Path(sys.modules['labkit'].__file__).with_name('retry.py').read_text()",
    "its module anew": "import builtins, sys\ndel sys.modules['labkit' + '.retry']\nbuiltins.__import__('labkit' + '.retry')",
    "a refusal that is caught": "import sys\ntry:\n    sys.modules['labkit' + '.retry'].retry\nexcept Exception:\n    pass",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_solution_is_not_found(way):
    """Each way is refused and told as what it is."""
    report = run_check("warmup", f"{way}\n{GOOD}")
    assert (BROKEN, "imports the solution instead of writing it") == (report.verdict, report.first_broken.diagnosis)
    assert "not the library's own solution" in report.first_broken.message


def test_what_stands_behind_a_name_is_found():
    """A function of the solutions is found behind partials, closures, methods and containers."""
    hidden = "import types, functools\ndef stolen(task_id, step): return f'{task_id}:{step}'\nstolen.__module__ = 'labkit' + '.execution'\n"
    for wrapped in (
        "effect_key = stolen",
        "effect_key = functools.partial(stolen)",
        "def wrap(f):\n    return lambda task_id, step: f(task_id, step)\neffect_key = wrap(stolen)\ndel stolen",
        "class Own:\n    def __init__(self, f): self.f = f\n    def key(self, task_id, step): return self.f(task_id, step)\n"
        "effect_key = Own([stolen][0]).key\ndel stolen",
    ):
        report = run_check("warmup", hidden + wrapped)
        assert (BROKEN, "imports the solution instead of writing it") == (report.verdict, report.first_broken.diagnosis), wrapped


def test_what_answers_may_use_is_there():
    """Names that live in a hidden module can be imported, copied and looked at, and the standard library finds its way."""
    use = "import copy, inspect, json, logging, traceback\nfrom labkit import *\nfrom labkit import Lease, TaskQueue, Task\n"
    use += "copy.deepcopy(Lease('t', 'w', 1, None)); inspect.stack(); inspect.getmodule(Task); logging.getLogger('x').info('y')\n"
    assert HOLDS == run_check("warmup", use + GOOD).verdict


def test_names_of_modules():
    """A module is hidden with all that lies below it, and none that only begins with the same letters."""
    assert all(is_hidden(name) for name in ({*SOLUTIONS, "labkit.queue.claim"} - VALUES))
    assert not any(is_hidden(name) for name in ("labkit", "labkit.retrying", "labkit.checks.retry", "labkit.store", None))
