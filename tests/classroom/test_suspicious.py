"""A flag for what a person should look at, none for a right answer, and never a run of the source."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.checks.cells import OWN_CELL, read
from labkit.classroom.suspicious import WHY, look
from tests.checkout import ROOT

RIGHT = sorted((ROOT / "tests/answers").glob("*/right/*.py"))
LOOKED_AT = {
    "notebook": [
        "get_ipython().run_line_magic('time', '')",
        "from IPython import get_ipython as shell",
        "import IPython.core.interactiveshell",
        "self.showtraceback = None",
        "kernel.do_execute = print",
    ],
    "checks": [
        "from labkit.checks import judge",
        "import labkit.faults.ledger as l",
        "import importlib\nm = 'labkit.checks.run'",
        "from labkit import check",
        "import pytest",
        "import hypothesis.strategies",
    ],
    "process": [
        "import os\nos._exit(0)",
        "import os as o\no.kill(o.getppid(), 9)",
        "from os import _exit as bye\nbye(0)",
        "import os\ngetattr(os, '_exit')(0)",
        "import os\nf = getattr(getattr(os, '_exit'), '__call__')",
        "raise SystemExit",
        "exit()",
        "import signal\nsignal.alarm(1)",
        "from subprocess import run",
    ],
    "frames": [
        "import sys\nsys._getframe(1)",
        "import sys as s\ns.settrace(print)",
        "e.__traceback__.tb_frame",
        "work.__globals__['check']",
        "().__class__.__base__.__subclasses__()",
        "import gc\ngc.get_objects()",
        "from inspect import currentframe",
        "import ctypes",
    ],
    "modules": [
        "import sys\nsys.modules['json'] = None",
        "import json\njson.dumps = str",
        "import json.encoder\njson.encoder.JSONEncoder.default = str",
        "import time\nsetattr(time, 'sleep', print)",
        "from datetime import datetime\ndel datetime.now",
        "from unittest.mock import ANY",
        "__builtins__['print'] = None",
    ],
    "files": ["open('x')", "from pathlib import Path\nPath('/etc').read_text()", "import os\nos.environ['HOME']", "import shutil"],
    "network": ["import socket", "from urllib.request import urlopen"],
    "text as code": ["eval('1')", "exec(code)", "__import__('os')", "import pickle", "import builtins as b\nx = compile"],
    "always equal": [
        "class A:\n    def __eq__(self, other):\n        return True",
        "class A:\n    def __eq__(self, other):\n        'all'\n        return bool(self)",
        "class A:\n    __eq__ = lambda self, other: True",
        "class A:\n    def __lt__(self, *all):\n        return 1",
    ],
}
HARMLESS = [
    "",
    "def (",
    "x = code.exit, requests.get(signal), socket",
    "def check(task): return task\ncheck(1)",
    "class A:\n    def __eq__(self, other):\n        return self.x == other.x",
    "class A:\n    def __eq__(self, other):\n        return NotImplemented",
    "class A:\n    def __eq__(self, *others):\n        return others[0] is self",
    "import re\nre.compile('x')",
    "import json\njson.dumps({})",
    "store.kill(1), cloud.system, self.modules",
    "raise ValueError('labkit says no')",
]


@pytest.mark.parametrize(("kind", "source"), [(kind, source) for kind, sources in LOOKED_AT.items() for source in sources])
def test_what_to_look_at(kind, source):
    """Each way to reach for something is seen under its own word, through imports, `as` and getattr."""
    assert kind in [flag.kind for flag in look(source)]


@pytest.mark.parametrize("kind", LOOKED_AT)
def test_why_one_should_look(kind):
    """Each flag ends with a few words on what the thing may be for, those of its kind."""
    (flag,) = (flag for flag in look(LOOKED_AT[kind][0]) if flag.kind == kind)
    assert flag.text.endswith(f": {WHY[kind]}")
    assert WHY[kind].startswith("may ")
    assert list(WHY.values()).count(WHY[kind]) == 1


@pytest.mark.parametrize("source", HARMLESS)
def test_what_is_harmless(source):
    """Names that only sound alike are not flagged."""
    assert look(source) == ()


def test_right_answers_are_not_flagged():
    """No right answer of the corpus, in whatever style, is worth a look."""
    assert len(RIGHT) > 50
    assert [path for path in RIGHT if look(path.read_text(encoding="utf-8"))] == []


def test_masters_are_not_flagged():
    """Neither is any master."""
    masters = sorted((ROOT / "solutions").rglob("*.ipynb"))
    assert masters
    assert [path.stem for path in masters if look(read(str(path), path.stem))] == []


def test_places_as_the_learner_counts():
    """A flag says where: lines of the answer's own cell, the words of another cell; three places are told and the others counted."""
    front = f"import os\n{OWN_CELL}\n"
    (flag,) = look(f"{front}# labkit: retry\nos.fork()\nos.fork()\nos.abort()\nos.popen('')\nos.system('')\n")
    assert flag.text == (
        "os.fork (line 2 of the answer), os.abort (line 4 of the answer), os.popen (line 5 of the answer) and 1 more: may end, start or signal a process"
    )
    (flag,) = look(f"import sys; sys.exit()\n{OWN_CELL}\n# labkit: retry\n")
    assert flag.text == "sys.exit (another cell, at `import sys; sys.exit()`): may end, start or signal a process"


def test_deep_and_long_sources():
    """A chain of thousands of attributes and a nest of a thousand calls are looked through like any other."""
    assert look("x" + ".a" * 20_000) == ()
    assert [flag.kind for flag in look("import os\n" + "f(" * 80 + "os._exit" + ")" * 80)] == ["process"]


@settings(max_examples=50)
@given(st.text(alphabet="get_ipython os.exit()\n'=:\ud800\0\u202e", max_size=60))
def test_any_text(source):
    """Whatever the text, each flag is one printable line, in a fixed order."""
    flags = look(source)
    assert all(flag.text.isprintable() for flag in flags)
    assert list(flags) == sorted(flags, key=lambda flag: flag.kind)


def test_the_source_is_never_run(monkeypatch):
    """Looking compiles nothing but a syntax tree."""
    real = compile

    def only_parse(source, name, mode, flags=0, *rest, **more):
        assert flags & ast.PyCF_ONLY_AST
        return real(source, name, mode, flags, *rest, **more)

    monkeypatch.setattr("builtins.compile", only_parse)
    assert [flag.kind for flag in look("import os\nos._exit(3)")] == ["process"]
