"""What tries an answer out goes from its cell, line for line, and what a learner wrote stays."""

import pytest

from labkit.classroom.cleaning import clean

DEFINED = "# labkit: retry\ndef f(n):\n    return n\n"
TRIALS = {  # behind the answer: (what is left of it, the kinds of flags)
    'check("retry")': ("", []),
    'from labkit import check as c\nc("retry")': ("\n", []),
    'from labkit.lab import Hint, check as c, show\nprint(c("retry"))': ("from labkit.lab import Hint\n", []),
    'import labkit as lab\nlab.check("retry")': ("import labkit as lab\n", []),
    'show = show("retry")\nshow': ("\n", []),
    "display(f(1))": ("", []),
    "for n in (1, 2):\n    k = f(n)\n    display(k)": ("for n in (1, 2):\n    k = f(n)\n    pass", []),
    "if f(1):\n    display(\n        f(2)\n    )\nelse:\n    k = 1": ("if f(1):\n    pass\n\n\nelse:\n    k = 1", []),
    "k = f(1); display(k); j = 2": ("k = f(1); pass; j = 2", []),
    'k = "é"; check("retry")  # now': ('k = "é"; pass  # now', []),
    "import sys\nsys.stdout.reconfigure(encoding='utf-8')": ("import sys\n", []),
    'get_ipython().run_line_magic("time", "1")': ("", ["magics"]),
    'get_ipython().ast_node_interactivity("all")': ("", ["magics"]),
    "async def demo():\n    await g()\nawait demo()": ("async def demo():\n    await g()\n", ["awaits"]),
    "seen = await demo()\nprint(seen)\nassert seen": ("\n\n", ["awaits"]),
    "async with g() as seen:\n    print(seen)": ("\n", ["awaits"]),
    "seen = [n async for n in g()]": ("", ["awaits"]),
}
OWN = [
    "import math\nshow = math.exp2\nTABLE = [show(k) for k in range(3)]",
    "from math import exp2 as check\nTABLE = check(1)",
    "def display(n):\n    return n\ndisplay(f(1))",
    "class hint:\n    pass\nmine = hint()",
    "async def later():\n    async with f(1):\n        await f(2)\n    return [n async for n in f(3)]",
    "def g(sys):\n    sys.stdout.write(1)",
    "for show in (f, f):\n    show(1)",
    "f(1)\nprint(f(2))",
]


@pytest.mark.parametrize("trial", TRIALS)
def test_trials_go(trial):
    """What only tries the answer out leaves an empty line, or `pass` where something must stand."""
    left, flags = TRIALS[trial]
    source, told = clean(DEFINED + trial, "retry")
    assert (source, [flag.kind for flag in told]) == (DEFINED + left, flags)


@pytest.mark.parametrize("own", OWN)
def test_a_learners_own_names_stay(own):
    """What is called like a check of ours or like a notebook's function, and is the learner's own, stays as it is."""
    assert clean(DEFINED + own, "retry") == (DEFINED + own, ())


def test_a_name_in_a_comprehension_is_no_function():
    """What a comprehension calls `hint` hides no check."""
    assert clean(DEFINED + '[hint for hint in (1, 2)]\nhint("retry", 1)', "retry")[0] == DEFINED + "[hint for hint in (1, 2)]\n"
