"""The answer is found in one cell or in several, and what was handed out, said elsewhere or drafted is not taken for it."""

import ast
import copy
import json
from itertools import pairwise

import pytest

from labkit.checks.cells import read as source_of
from labkit.classroom.collect import collect
from labkit.classroom.joining import is_python
from labkit.classroom.notebook import about, dump, load, text
from labkit.classroom.release import release
from labkit.classroom.splice import splice
from labkit.classroom.submission import read
from tests.checkout import ROOT

RETRY = """# labkit: retry
from labkit import RetriesExhausted, TerminalError


def execute_with_retry(fn, max_attempts, clock):
    last = None
    # tries
    return (fn, max_attempts, clock, RetriesExhausted, TerminalError)"""
DRAFT = "# labkit: retry\ndef execute_with_retry(fn, max_attempts, clock):\n    return fn()"
BARE = RETRY.partition("\n")[2]
LEASE = [
    "# labkit: lease\nfrom functools import partial",
    "def helper(number):\n    return partial(int, number)()",
    "def claim(engine, worker_id, now, lease_seconds):\n    return helper(1)",
    "def heartbeat(engine, lease, now, lease_seconds):\n    return helper(2)",
    "def complete(engine, lease, result, now):\n    return helper(3)",
]


@pytest.fixture(scope="module")
def books():
    paths = {"retry": ROOT / "solutions/11-state-management/retry.ipynb", "lease": ROOT / "solutions/21-workflow-in-production/lease.ipynb"}
    return {name: release(load(path), path.name) for name, path in paths.items()}


@pytest.fixture
def found(books, tmp_path):
    """(what is placed, its flags' kinds) for files name -> notebook or Python source, for the exercise. What the rebuilt notebook runs is the same."""

    def find(exercise, files):
        for name, content in files.items():
            path = tmp_path / "ann" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        collected = collect(tmp_path, {f"{exercise}.ipynb": [exercise]}).learners["ann"]
        spliced = splice(books[exercise], [read(path) for path in collected])
        placed = spliced.answers[exercise]
        if placed.source is not None and is_python(placed.source):
            path = tmp_path / "rebuilt.ipynb"
            path.write_bytes(dump(spliced.book))
            assert set(map(ast.dump, ast.parse(source_of(str(path), exercise)).body)) == set(map(ast.dump, ast.parse(placed.source).body))
        return placed, [flag.kind for flag in placed.flags]

    return find


def code(source, **metadata):
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], "execution_count": None}


def at(cells, role="solution"):
    return next(number for number, cell in enumerate(cells) if about(cell).get("role") == role)


def edited(book, answer, edit=lambda cells, place: None):
    """The released notebook with an answer in its cell, after one edit of its cells."""
    made = copy.deepcopy(book)
    place = at(made["cells"])
    made["cells"][place]["source"] = answer
    edit(made["cells"], place)
    return made


def cut(*parts, metadata=True):
    """The answer's cell cut into these; JupyterLab gives each piece the metadata of the whole."""

    def edit(cells, place):
        whole = cells[place]["metadata"]
        cells[place : place + 1] = [code(part, **(whole if metadata or not number else {})) for number, part in enumerate(parts)]

    return edit


def lines(source, *numbers):
    """A source cut behind these lines."""
    all_lines, ends = source.split("\n"), [0, *numbers, None]
    return ["\n".join(all_lines[start:end]) for start, end in pairwise(ends)]


def runs(placed, exercise):
    names = {}
    exec(placed.source, names)
    if exercise == "retry":
        return len(names["execute_with_retry"](1, 2, 3)) == 5
    return [names[name](1, 2, 3, 4) for name in ("claim", "heartbeat", "complete")] == [1, 2, 3]


@pytest.mark.parametrize("metadata", [True, False])
@pytest.mark.parametrize("ends", [(4,), (5,), (6,), (5, 7), (2, 5, 6)])
def test_cut_anywhere(books, found, ends, metadata):
    """Wherever one cuts the answer, between its functions or within, the whole is found: also where the first piece alone is Python."""
    placed, flags = found("retry", {"retry.ipynb": edited(books["retry"], RETRY, cut(*lines(RETRY, *ends), metadata=metadata))})
    assert runs(placed, "retry")
    assert flags in ([], ["split"])  # imports alone are a cell of the learner's own


@pytest.mark.parametrize("metadata", [True, False])
def test_a_cell_for_each_function(books, found, metadata):
    """Functions in cells of their own, a helper among them, are one answer."""
    placed, flags = found("lease", {"lease.ipynb": edited(books["lease"], "", cut(*LEASE, metadata=metadata))})
    assert runs(placed, "lease")
    assert flags == ["split"]


def test_something_between_the_pieces(books, found):
    """A text, an empty cell or what was handed out between two pieces hides none."""

    def edit(cells, place):
        cells[place]["source"] = "\n\n".join(LEASE[:3])
        behind = next(number for number, cell in enumerate(cells) if 'show("lease")' in text(cell["source"]))
        cells.insert(behind + 1, code(LEASE[4]))
        cells[place + 1 : place + 1] = [{"cell_type": "markdown", "metadata": {}, "source": "And now"}, code(""), code(LEASE[3])]

    placed, _ = found("lease", {"lease.ipynb": edited(books["lease"], "", edit)})
    assert runs(placed, "lease")


def test_half_an_answer(books, found):
    """Where a function is nowhere the rest is taken as it is."""
    placed, flags = found("lease", {"lease.ipynb": edited(books["lease"], "\n\n".join(LEASE[:4]))})
    assert (placed.state, flags) == ("answered", [])
    assert "def heartbeat" in placed.source


def into_the_check(cells, place):
    cells[at(cells, "check")]["source"] = f'{BARE}\n\ncheck("retry")'


def the_function_below(cells, place):
    """The stub's cell, from which the function below it takes its imports, stays."""
    cells[place]["source"] = "# labkit: retry\nfrom labkit import RetriesExhausted, TerminalError\n\ndef execute_with_retry(fn, max_attempts, clock):\n    ..."
    cells.insert(place + 1, code(BARE.partition("\n")[2]))


def to_the_end(cells, place):
    cells[place]["source"] = "# labkit: retry\n# see below"
    cells.append(code(BARE))


def fenced(cells, place):
    cells[place] = {"cell_type": "markdown", "metadata": {}, "source": f"```python\n{RETRY}\n```"}


def helper_in_the_setup(cells, place):
    cells[at(cells, "setup")]["source"] = "from labkit import check, hint, show, RetriesExhausted, TerminalError"
    cells[place]["source"] = RETRY.replace("from labkit import RetriesExhausted, TerminalError", "")


def then_a_stub(cells, place):
    cells.insert(place + 1, code("# labkit: retry\ndef execute_with_retry(fn, max_attempts, clock):\n    ...", **cells[place]["metadata"]))


def then_broken(cells, place):
    cells.insert(place + 1, code(f"{RETRY}\n  (", **cells[place]["metadata"]))


def then_a_draft(cells, place):
    cells.append(code("def execute_with_retry(fn, max_attempts, clock):\n    return fn()"))


def a_draft_before(cells, place):
    """The draft keeps the cell that was handed out, with its metadata; the answer has the visible line alone, and a notebook's own check takes it."""
    cells[place]["source"] = DRAFT
    cells.append(code(RETRY))


def of_another(cells, place):
    cells[place]["metadata"] = {"labkit": {"id": "backoff", "role": "solution", "schema": 1}}


def odd_metadata(cells, place):
    cells[place]["metadata"] = {"labkit": {"id": ["retry"], "role": {}}}


def checks_itself(cells, place):
    source = RETRY.replace("import RetriesExhausted", "import check, RetriesExhausted")
    cells[place]["source"] = f'{source}\nprint(check("retry"))\nresult = check("retry")'


def notes_around(cells, place):
    """What somebody wrote down beside the answer is no answer, whatever language it is in."""
    notes = ("%%bash\necho hi there", "%%html\n<b>hi</b>", "TODO: ask about jitter", "this is not python")
    cells[place + 1 : place + 1] = [code(note) for note in notes[:2]]
    cells[place:place] = [code(note) for note in notes[2:]]


def begun_before(cells, place):
    """A try that never became Python was meant as an answer."""
    cells[place:place] = [code("def execute_with_retry(fn, max_attempts, clock)\n    pass")]


MOVED = {
    notes_around: ("metadata", []),
    begun_before: ("metadata", ["several answers"]),
    into_the_check: ("name", []),
    the_function_below: ("name", []),
    to_the_end: ("name", []),
    fenced: ("anchor", ["not code"]),
    helper_in_the_setup: ("metadata", []),
    then_a_stub: ("metadata", []),
    then_broken: ("metadata", ["several answers"]),
    then_a_draft: ("metadata", ["several answers"]),
    a_draft_before: ("anchor", ["several answers"]),
    of_another: ("anchor", []),
    odd_metadata: ("anchor", []),
    checks_itself: ("metadata", []),
}


@pytest.mark.parametrize("edit", MOVED, ids=lambda edit: edit.__name__)
def test_moved_and_mistaken(books, found, edit):
    """Whatever became of the answer's own cell, the answer is found by the rule that still holds, and what is odd is told."""
    answer = text(books["retry"]["cells"][at(books["retry"]["cells"])]["source"]) if edit is into_the_check else RETRY
    placed, flags = found("retry", {"retry.ipynb": edited(books["retry"], answer, edit)})
    assert (placed.state, placed.rule, flags) == ("answered", *MOVED[edit])
    assert runs(placed, "retry")


def stripped(cells, place):
    """Nothing but the place is left: metadata, ids, the anchor and the function's name are gone, and there is a cell more at the top."""
    for cell in cells:
        cell["metadata"] = {}
        del cell["id"]
    cells[place]["source"] = BARE.replace("execute_with_retry", "my_retry")
    cells.insert(0, {"cell_type": "markdown", "metadata": {}, "source": "Ann"})


@pytest.mark.parametrize("name", ["retry.ipynb", "retry-Copy1.ipynb", "Retry (2).ipynb"])
def test_by_its_place(books, found, name):
    """The last resort is the place between what was handed out."""
    made = edited(books["retry"], RETRY, stripped) | {"metadata": {}}
    placed, _ = found("retry", {name: made})
    assert (placed.state, placed.rule) == ("answered", "position")
    assert "def my_retry" in placed.source


def test_the_second_download(books, found):
    """Of two downloads the second one counts, and that there are two is told; an unchanged one never hides a changed one."""
    older, newer = (edited(books["retry"], RETRY.replace("tries", word)) for word in ("older", "newer"))
    placed, flags = found("retry", {"retry.ipynb": older, "retry (1).ipynb": newer, "retry (2).ipynb": books["retry"]})
    assert "newer" in placed.source
    assert flags == ["several answers"]


@pytest.mark.parametrize(("name", "metadata"), [("retry.py", False), ("retry_final.py", False), ("retry_v2.ipynb", False), ("retry_v2.ipynb", True)])
def test_a_draft_in_another_file(books, found, name, metadata):
    """Of two files the last with an answer counts, whether a cell's metadata says so or its visible line alone; the flag names both files."""
    final = edited(books["retry"], RETRY, (lambda cells, place: None) if metadata else stripped_of_metadata)
    placed, flags = found("retry", {"retry.ipynb": edited(books["retry"], DRAFT), name: RETRY if name.endswith(".py") else final})
    assert runs(placed, "retry")
    assert (placed.file, placed.others, flags) == (name, {"retry.ipynb"}, ["several answers"])
    assert placed.flags[0].text.endswith(f"of {name} was taken, not that in retry.ipynb")


def stripped_of_metadata(cells, place):
    for cell in cells:
        cell["metadata"] = {}


def test_a_draft_that_nothing_says(books, found):
    """A file that defines the function without saying which exercise it answers is no rival of one that says it, but it is told."""
    placed, flags = found("retry", {"retry.ipynb": edited(books["retry"], RETRY), "zz.py": DRAFT.partition("\n")[2]})
    assert (placed.file, placed.others, flags) == ("retry.ipynb", {"zz.py"}, ["several answers"])


def test_the_same_twice(books, found):
    """Two copies of one answer are no choice, so nothing is told."""
    made = edited(books["retry"], RETRY)
    assert found("retry", {"retry.ipynb": made, "retry (1).ipynb": made})[1] == []


def test_handed_out_code_is_no_answer(books, found):
    """A cell that shows the naive way under the very name, as it was handed out, is not taken for an answer."""
    shown = code("def execute_with_retry(fn, max_attempts, clock):\n    return fn()")
    books["retry"]["cells"].insert(2, shown | {"id": "naive"})
    try:
        assert found("retry", {"retry.ipynb": books["retry"]})[0].state == "untouched"
    finally:
        del books["retry"]["cells"][2]


def test_another_notebook_under_this_name(books, found):
    """A notebook of another exercise that is called after this one holds no stub of it."""
    assert found("lease", {"lease.ipynb": edited(books["retry"], RETRY)})[0].state == "missing"


@pytest.mark.parametrize("keep", [True, False])
def test_lessons_are_no_answers(books, keep):
    """Lessons in a learner's folder, with their metadata or without, are taken for no answer."""
    lessons = sorted((ROOT / "notebooks").glob("*/*.ipynb"))
    assert lessons
    read_in = [read(path) for path in lessons]
    if not keep:
        read_in = [type(one)(one.name, tuple(type(cell)(cell.number, cell.kind, cell.source) for cell in one.cells)) for one in read_in]
    assert {splice(book, read_in).answers[name].state for name, book in books.items()} == {"missing"}


def test_tags_and_marks(books, found):
    """Tags and marks that tell nbval to look away are told, however many there are, in one flag."""
    source = RETRY.replace("    # tries", "    ## NBVAL_SKIP")

    def edit(cells, place):
        cells[place] = code(source, **cells[place]["metadata"], tags=["raises-exception", "mine"])

    placed, flags = found("retry", {"retry.ipynb": edited(books["retry"], source, edit)})
    assert flags == ["marks"]
    assert "NBVAL" not in placed.source
    assert placed.source.split("\n")[6:] == ["", "    return (fn, max_attempts, clock, RetriesExhausted, TerminalError)"]


def test_a_learners_own_check(books, found):
    """A function that a learner calls `check` is a function like any other."""
    source = f"{RETRY}\n\ndef check(value):\n    return value\n\nlimit = check(3)"
    assert found("retry", {"retry.py": source})[0].source == source
