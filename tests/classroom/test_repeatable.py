"""Graded twice, whatever an answer reads of its machine: the same bytes, but for the times."""

import shutil

from labkit.classroom.grade import grade
from tests.checkout import ROOT

DRAWN = "{random.random()} {random.Random().random()} {uuid.uuid4()} {hash('x')} {object()} { {*'abcdef'} }"
READ = "{os.getpid()} {time.time()} {datetime.now()} {id(task)}"
TEXT, MACHINE = f'f"{DRAWN}"', f'f"{READ} {DRAWN}"'
IMPORTS = "import os, random, time, uuid\nfrom dataclasses import replace\nfrom datetime import datetime\nfrom labkit import TaskState\n"
ANSWERS = {
    "in_a_key": f"""{IMPORTS}
def execute_task_if_not_done(store, task_id, work):
    task = store.get(task_id)
    return store.save(replace(task, state=TaskState.COMPLETED, result=work(task.user_input, {MACHINE})))
""",
    "in_an_error": f"{IMPORTS}\ndef execute_with_retry(fn, max_attempts, clock):\n    task = fn()\n    raise ValueError({MACHINE})\n",
    "while_it_loads": f"{IMPORTS}\ntask = 1\nraise ValueError({TEXT})\n",
}


def outputs(folder, out):
    grade(folder, out, out.parent / "masters", databases=("sqlite",), jobs=2)
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file() and path.name != "timing.json"}


def test_what_is_read_of_the_machine_is_the_same_again(tmp_path):
    """Clocks, numbers, draws, hashes and places in a key, in an error and in what fails at once: all files of two gradings are equal."""
    (tmp_path / "masters").mkdir()
    for exercise in ("idempotency", "retry"):
        shutil.copy(ROOT / f"solutions/11-state-management/{exercise}.ipynb", tmp_path / "masters")
    for learner, source in ANSWERS.items():
        place = tmp_path / "returned" / learner / f"{'idempotency' if 'execute_task' in source else 'retry'}.py"
        place.parent.mkdir(parents=True)
        place.write_text(source)
    first, second = (outputs(tmp_path / "returned", tmp_path / f"report-{n}") for n in (1, 2))
    assert [] == [name for name in first if first[name] != second.get(name)]
    assert first.keys() == second.keys()
    said = first["details.jsonl"].decode()
    assert "40961" in said  # what was read is told
    assert "2031" in said
