"""Where an answer stands, and what of the learner's other cells belongs to it."""

import json
import os
import warnings
from dataclasses import replace

import pytest

from labkit.checks import registry
from labkit.checks.answer import NotAttempted, load, look
from labkit.checks.cells import anchor_of, from_notebook, read, with_what_it_uses, without_magics
from labkit.checks.exercise import Exercise
from labkit.errors import UsageError

WARMUP = registry.find("warmup")
ANSWER = "# labkit: warmup\ndef effect_key(task_id, step):\n    return glue(task_id, step)"


def notebook(*cells, kind="code"):
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": kind, "source": cell} for cell in cells]})


def keys(source):
    """The key that an answer makes, once it has been looked at and loaded."""
    look(source, WARMUP)
    return load(source, WARMUP).fresh()["effect_key"]("t1", "route")


def test_cell_with_the_anchor():
    """The answer is the cell with the anchor, wherever it stands; the last one, where there are two."""
    first, last = ANSWER.replace("glue(task_id, step)", "'old'"), ANSWER.replace("glue(task_id, step)", "'new'")
    source = from_notebook(notebook("1 / 0", first, "check('warmup')", last, "2 / 0"), "warmup", "a.ipynb")
    assert "new" == keys(source)


def test_anchor_in_its_first_line_only():
    """The anchor is the first line of a cell that is not empty; spaces do not matter, another id is another answer's."""
    assert "warmup" == anchor_of("\n  #labkit:warmup  \nx = 1") == anchor_of("# labkit: warmup")
    assert [None] * 4 == [
        anchor_of(it) for it in ("", "x = 1\n# labkit: warmup", "# labkit warmup", "# labkit: two words")
    ]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": 5}', '{"cells": [5]}', '{"cells": [{"cell_type": "code"}]}', "nonsense"]
)
def test_no_notebook(text):
    """What is no notebook is said to be none."""
    with pytest.raises(UsageError, match=r"a\.ipynb is not a notebook"):
        from_notebook(text, "warmup", "a.ipynb")


def test_notebook_without_the_anchor():
    """A notebook without the anchor has no answer; text cells do not count."""
    for book in (notebook("x = 1"), notebook(ANSWER, kind="markdown"), notebook(ANSWER.replace("warmup", "retry"))):
        with pytest.raises(UsageError, match="no cell that begins with `# labkit: warmup`"):
            from_notebook(book, "warmup", "a.ipynb")


HELPERS = {
    "a function": ["def glue(a, b):\n    return a + b"],
    "a lambda": ["glue = lambda a, b: a + b"],
    "through another": ["def join(*parts):\n    return ''.join(parts)", "def glue(a, b):\n    return join(a, b)"],
    "through a later one": ["def glue(a, b):\n    return a + BETWEEN + b", "BETWEEN = ''"],
    "an import": ["from operator import add as glue"],
    "a star import": ["from operator import *", "glue = add"],
    "in a condition": ["if True:\n    def glue(a, b):\n        return a + b\nelse:\n    glue = None"],
    "in a try": ["try:\n    glue = nonsense\nexcept NameError:\n    def glue(a, b):\n        return a + b"],
    "in a match": ["match 1:\n    case 1:\n        glue = lambda a, b: a + b"],
    "in a loop": ["for _ in range(2):\n    glue = lambda a, b: a + b"],
    "changed later": [
        "glue = {}",
        "glue['x'] = 1",
        "table, glue = glue, lambda a, b: a + b if table == {'x': 1} else ''",
    ],
    "the last definition": ["def glue(a, b):\n    return 1 / 0", "def glue(a, b):\n    return a + b"],
    "beside a check": [
        "def glue(a, b):\n    return a + b\n\ncheck('warmup')\nshow('warmup')\nreport = check('warmup')"
    ],
    "beside labkit's helpers": ["from labkit import Task, check, show\n\ndef glue(a, b):\n    return a + b"],
    "beside magics": ["%matplotlib inline", "!ls", "def glue(a, b):\n    return a + b"],
    "beside a broken cell": ["def glue(a, b", "def glue(a, b):\n    return a + b"],
    "in another answer": ["# labkit: retry\ndef glue(a, b):\n    return a + b"],
}


@pytest.mark.parametrize("cells", HELPERS.values(), ids=HELPERS)
def test_helper_cells_come_along(cells):
    """What the answer uses of earlier cells comes along, and what those show or check stays behind."""
    assert "t1route" == keys(from_notebook(notebook(*cells, ANSWER), "warmup", "a.ipynb"))


def test_cells_that_are_not_used_stay_behind():
    """A cell that defines nothing the answer uses is not run, and neither is one after it."""
    source = from_notebook(
        notebook("other = 1 / 0", "def glue(a, b): return a + b\nboom = 1 / 0", ANSWER, "glue = 5"), "warmup", "a.ipynb"
    )
    assert "t1route" == keys(source)


def test_future_import_stays_first():
    """`from __future__` in the answer's own cell still comes first when other cells' statements go before it."""
    cell = ANSWER.replace("def", "from __future__ import annotations\ndef", 1)
    source = with_what_it_uses(
        cell, ["from __future__ import annotations\ndef glue(a: Nonsense, b):\n    return a + b"]
    )
    assert "t1route" == keys(source)


def test_answer_that_does_not_parse_is_kept():
    """An answer that does not parse comes out as it is, so that the error names the learner's own line."""
    assert "def (" == with_what_it_uses("def (", ["x = 1"])


def test_source_in_lines():
    """A cell's source may be a list of lines, as it is in files."""
    book = json.dumps(
        {"cells": [{"cell_type": "code", "source": ANSWER.replace("glue", "str").splitlines(keepends=True)}]}
    )
    assert ANSWER.replace("glue", "str") == from_notebook(book, "warmup", "a.ipynb")


def test_read_files(tmp_path):
    """A .py file is read as it is, with a byte order mark or without; a notebook is searched."""
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbf" + ANSWER.encode())
    (tmp_path / "a.ipynb").write_text(notebook(ANSWER))
    assert ANSWER == read(str(tmp_path / "a.py"), "warmup") == read(str(tmp_path / "a.ipynb"), "warmup")


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("missing.py", None, "there is no file"),
        ("noise.py", b"\xff\xfe\x00\x81", "is not text in UTF-8"),
        ("large.py", b"#" * 1_000_001, "is too large"),
        ("noise.ipynb", bytes(range(256)), "is not text in UTF-8"),
        ("deep.ipynb", b"[" * 200_000, "is not a notebook"),
        ("", None, "is a folder"),
        ("/dev/zero", None, "no ordinary file"),
        ("a\0b.py", None, "cannot be read"),
    ],
)
def test_unreadable_file(tmp_path, name, data, why):
    """What cannot be read is named with the reason, in one line."""
    path = name if name.startswith("/") else f"{tmp_path}/{name}"
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=why):
        read(path, "warmup")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    """A named pipe that nobody writes to is refused at once."""
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(UsageError, match="no ordinary file"):
        read(str(tmp_path / "pipe.py"), "warmup")


def test_what_only_a_notebook_understands():
    """A %magic, a !command or a name? leaves the rest of its cell alone, in the answer's own cell too."""
    earlier = "%matplotlib inline\nfiles = !ls\ndef glue(a, b):\n    %time\n    return a + b\nglue?"
    assert "t1route" == keys(from_notebook(notebook(earlier, ANSWER + "\n!date\n"), "warmup", "a.ipynb"))
    assert "a = 7 \\\n% 4" == without_magics("a = 7 \\\n% 4")


def test_a_name_bound_in_an_expression():
    """A cell that is `(n := 2)` defines n."""
    assert "n := 2" in with_what_it_uses("def f():\n    return n", ["(n := 2)", "print(n)"])


CLASS = Exercise("c", "t", 11, "C", 1, 1, 1, {"Manager": ("store", "*age")}, (), (), ())


def test_class_as_an_answer():
    """A class whose methods are all stubs was not attempted; keyword parameters are bound by name."""
    stub = "class Manager:\n    def __init__(self, store, *, age):\n        ...\n    def save(self):\n        ...\n"
    with pytest.raises(NotAttempted):
        look(stub, CLASS)
    begun = stub.replace("...", "self.age = age", 1)
    look(begun, CLASS)
    assert load(begun, CLASS).fresh()["Manager"]
    with pytest.raises(UsageError, match="another signature"):
        load(begun.replace("age", "years").replace("Manyearsr", "Manager"), CLASS)


METHODS = replace(CLASS, methods={"Manager.save": ("task",)})
MADE = "class Manager:\n    def __init__(self, store, *, age):\n        self.age = age\n"


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("    def save(self):\n        return 1\n", "another signature"),
        ("    async def save(self, task):\n        return 1\n", "async def"),
        ("    def store(self, task):\n        return 1\n", "does not define Manager.save"),
    ],
)
def test_methods_are_looked_at(method, why):
    """A class that lacks a method, or has it with other parameters, cannot be used."""
    with pytest.raises(UsageError, match=why):
        load(MADE + method, METHODS)


@pytest.mark.parametrize(
    "method",
    [
        "    def save(self, task, *others, level=1):\n        return 1\n",
        "    @staticmethod\n    def save(task):\n        return 1\n",
        "        self.save = lambda task: 1\n",
        "    def __getattr__(self, name):\n        return {'save': len}[name]\n",
    ],
)
def test_methods_of_any_style(method):
    """A method may come into being in any way."""
    assert load(MADE + method, METHODS).fresh()["Manager"]("store", age=1).save


def test_warnings_are_not_ours():
    """A learner's odd escape is nobody's warning."""
    source = "def effect_key(a, b):\n    return '\\d'\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        look(source, WARMUP)
        assert "\\d" == keys(source)


def test_stubs_are_counted():
    """One is still the stub, several are."""
    asked = Exercise("c", "t", 11, "C", 1, 1, 1, {"f": (), "g": ()}, (), (), ())
    for source, said in (("def f(): ...\ndef g(): return 1\n", "f is still the stub"), ("def f(): ...\ndef g(): ...\n", "f, g are still stubs")):
        with pytest.raises(NotAttempted, match=f"^{said}$"):
            look(source, asked)


OTHER_CELLS = {  # what a learner writes beside the answer, and runs
    "filled in a loop": ["WAITS = []\nfor n in range(3):\n    WAITS.append(2**n)"],
    "filled in another cell": ["WAITS = []", "WAITS.extend([1, 2, 4])"],
    "an item set": ["WAITS = [1, 2, 0]", "WAITS[2] = 4"],
    "bound by a loop": ["for WAITS in ([1], [1, 2, 4]):\n    pass"],
    "given to a function": ["WAITS = []", "def fill(table):\n    for n in range(3):\n        table.append(2**n)", "fill(WAITS)"],
    "given to a function for its result": ["WAITS = []", "def fill(table):\n    table += [1, 2, 4]\n    table.sort()\n    return 3", "count = fill(WAITS)"],
    "given to a function by a name": ["WAITS = []", "def fill(*, table):\n    table.extend([1, 2, 4])", "fill(table=WAITS)"],
    "given to a module's function": ["import heapq\nWAITS = []", "for n in range(3):\n    heapq.heappush(WAITS, 2**n)"],
    "given as a method": ["WAITS = []", "list(map(WAITS.append, [1, 2, 4]))"],
    "changed under another name": ["WAITS = [1, 2, 0]", "same = WAITS", "same[2] = 4"],
    "set by a function": ["def configure():\n    global WAITS\n    WAITS = [1, 2, 4]", "configure()"],
    "set by what a function calls": ["WAITS = []\ndef add(n):\n    WAITS.append(n)", "def fill():\n    for n in (1, 2, 4):\n        add(n)", "fill()"],
    "filled by a decorator": [
        "WAITS = []\ndef wait(n):\n    def keep(made):\n        WAITS.append(n)\n    return keep",
        "@wait(1)\n@wait(2)\ndef a(): 0",
        "WAITS[:] = [*sorted(WAITS), 4]",
    ],
    "bound by with": ["from contextlib import nullcontext\nwith nullcontext([1, 2, 4]) as WAITS:\n    pass"],
}


@pytest.mark.parametrize("cells", OTHER_CELLS)
def test_cells_that_change_what_is_used_come_along(cells):
    """A name that is bound or changed by any statement of other cells is what the learner's kernel has."""
    names = {}
    exec(with_what_it_uses("# labkit: x\ndef f():\n    return WAITS", OTHER_CELLS[cells]), names)
    assert names["f"]() == [1, 2, 4]


OF_A_CLASS = {  # what adds to a class that stands in a cell before
    "setattr": ["class Plan:\n    pass", "setattr(Plan, 'of', lambda self, n: 2**n)"],
    "a method beside it": ["class Plan:\n    pass", "def of(self, n):\n    return 2**n\nPlan.of = of"],
    "a decorator of the object": [
        "class Kept:\n    def add(self, f):\n        self.of = f\n        return f\nkept = Kept()\ndef Plan():\n    return kept",
        "@kept.add\ndef wait(n):\n    return 2**n",
    ],
    "a subclass": [
        "class Plan:\n    def __init_subclass__(cls):\n        Plan.of = cls.power",
        "class Two(Plan):\n    def power(self, n):\n        return 2**n",
    ],
    "a generic function": [
        "from functools import singledispatch\n@singledispatch\ndef power(n):\n    raise TypeError\nclass Plan:\n    def of(self, n):\n        return power(n)",
        "@power.register\ndef _of_int(n: int):\n    return 2**n",
    ],
}


@pytest.mark.parametrize("cells", OF_A_CLASS)
def test_cells_that_add_to_what_is_used_come_along(cells):
    """What a cell hangs on a class, an object or a function that the answer uses is there."""
    names = {}
    exec(with_what_it_uses("# labkit: x\ndef f():\n    return Plan().of(3)", OF_A_CLASS[cells]), names)
    assert names["f"]() == 8


TRIALS = {  # what only shows something, or tries the answer out
    "prints": "print(WAITS, shown)",
    "shows": "display(WAITS)",
    "works something out": "total = shown(WAITS)",
    "calls the answer": "f(WAITS)\nseen = f(WAITS)",
    "calls what calls the answer": "def demo(table):\n    table.append(f())\ndemo(WAITS)",
    "draws": "import matplotlib.pyplot as plt\nplt.plot(WAITS)\ndrawn = plt.bar(WAITS, WAITS)",
    "looks at the source": "import inspect\ninspect.getsource(WAITS)",
    "asks a person": "WAITS.append(int(input()))",
    "asks for another": "def ask(table):\n    table.append(input())\nask(WAITS)",
    "awaits": "import asyncio\nawait asyncio.sleep(WAITS[0])\nseen = await shown(WAITS)\n[n async for n in WAITS]",
    "does it with a magic": "%timeit shown(WAITS)\nget_ipython().run_line_magic('time', WAITS)",
}


@pytest.mark.parametrize("trial", TRIALS)
def test_trials_stay_behind(trial):
    """A cell that shows what the answer uses, tries the answer out or needs a notebook brings nothing along."""
    cells = ["WAITS = [1, 2, 4]", "def shown(table):\n    return sum(table)"]
    answer = "# labkit: x\ndef f():\n    return WAITS"
    assert with_what_it_uses(answer, [*cells, TRIALS[trial]]) == with_what_it_uses(answer, cells)


def test_many_functions_take_no_long_time():
    """That a thousand functions call one another costs no more than their text."""
    many = "\n".join(f"def g{n}(t):\n    hub(t)" for n in range(1_000)) + "\ndef hub(t):\n" + "".join(f"    g{n}(t)\n" for n in range(1_000))
    assert with_what_it_uses("# labkit: x\ndef f():\n    return WAITS", ["WAITS = []", many, "g0(WAITS)"]).count("def ") == 1_002


def test_what_only_a_later_cell_defines_comes_along():
    """A helper that stands below was run before the answer was checked; one that is defined above too is the one above."""
    names = {}
    exec(with_what_it_uses("# labkit: x\ndef f():\n    return a() + b", ["b = 1"], ["b = 10", "def a():\n    return c", "c = 5"]), names)
    assert names["f"]() == 6


def test_trials_with_the_names_of_parameters_stay_behind():
    """What a learner calls like a parameter to try the answer out is not used by it."""
    source = with_what_it_uses("# labkit: x\ndef f(clock):\n    last = clock.now()\n    return last", ["clock = Broken()", "last = clock.now()"])
    assert "Broken" not in source


def test_a_check_of_its_own_file(tmp_path):
    """What runs only as a program is not run here, and what it imports is not used by the answer."""
    own = "if __name__ == \"__main__\":\n    from labkit import check\n    check(\"retry\")\n"
    look(f"def execute_with_retry(fn, max_attempts, clock):\n    return fn()\n{own}", registry.find("retry"))


def test_a_notebook_of_thousands_of_statements():
    """Nobody writes by hand what would take minutes to look through; it is refused in one line."""
    with pytest.raises(UsageError, match="more than 5,000 statements"):
        with_what_it_uses("wait(a)", ["a = 1\n" * 5_001])
