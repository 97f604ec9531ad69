"""What comes back from a class: each animal is a way to return a right answer to `retry`, or none, and what must be found.

An animal is a function from the released notebook and the source of a right answer to the files that are returned: name -> bytes.
"""

import copy
import json

from labkit.classroom.notebook import about, text

ANSWERED, UNTOUCHED, MISSING, UNREADABLE = "answered", "untouched", "missing", "unreadable"

DRAFT = "# labkit: retry\ndef execute_with_retry(fn, max_attempts, clock):\n    return fn()"


def answer_cell(book):
    return next(cell for cell in book["cells"] if about(cell).get("role") == "solution")


def filled(book, answer):
    """The released notebook with the answer in its cell."""
    made = copy.deepcopy(book)
    answer_cell(made)["source"] = answer
    return made


def dumped(book, name="retry.ipynb"):
    return {name: json.dumps(book).encode()}


def changed(edit):
    """An animal that is the filled notebook after one edit of its list of cells."""

    def animal(book, answer):
        made = filled(book, answer)
        edit(made["cells"], next(n for n, cell in enumerate(made["cells"]) if about(cell).get("role") == "solution"))
        return dumped(made)

    return animal


def without_metadata(cells, at):
    for cell in cells:
        cell["metadata"] = {}


def without_ids(cells, at):
    without_metadata(cells, at)
    for cell in cells:
        del cell["id"]


def doubled_ids(cells, at):
    for cell in cells:
        cell["id"] = "same"


def copied(cells, at):
    """A copy of the answer's cell, with its metadata, in which an older try stands; the last changed one counts."""
    older = copy.deepcopy(cells[at])
    older["source"] = DRAFT
    cells.insert(at, older)


def drafted(cells, at):
    """A draft in the answer's cell, with its metadata; the answer in a cell at the end that has the visible line alone."""
    cells.append({"cell_type": "code", "metadata": {}, "source": text(cells[at]["source"]), "outputs": [], "execution_count": None})
    cells[at]["source"] = DRAFT


def doubled_untouched(cells, at):
    """All other cells twice."""
    for place in reversed(range(len(cells))):
        if place != at:
            cells.insert(place, copy.deepcopy(cells[place]))


def split(cells, at):
    """The answer in two cells, cut inside of the function."""
    whole = text(cells[at]["source"]).split("\n")
    cells[at]["source"] = "\n".join(whole[:4])
    cells.insert(at + 1, {"cell_type": "code", "metadata": {}, "source": "\n".join(whole[4:]), "outputs": [], "execution_count": None})


def merged(cells, at):
    """The setup, the answer and the check in one cell."""
    source = "from labkit import check, hint, show\n\n" + text(cells[at]["source"]) + '\n\ncheck("retry")'
    cells[at]["source"], cells[at]["metadata"] = source, {}


def only_the_answer(cells, at):
    cells[:] = [cells[at]]


def reordered(cells, at):
    cells.reverse()


def retyped(cells, at):
    cells[at]["cell_type"] = "markdown"


def pasted_below(cells, at):
    """The stub stays; the answer stands in a cell of its own below, without its anchor."""
    answer = text(cells[at]["source"])
    cells[at]["source"] = "# labkit: retry\ndef execute_with_retry(fn, max_attempts, clock):\n    ..."
    cells.insert(at + 1, {"cell_type": "code", "metadata": {}, "source": answer.partition("\n")[2], "outputs": [], "execution_count": None})


def timed(cells, at):
    cells[at]["source"] = "%%time\n" + text(cells[at]["source"])
    cells[at]["metadata"] = {}


def skipping(cells, at):
    cells[at]["source"] = text(cells[at]["source"]) + "\n# NBVAL_SKIP"
    cells[at]["metadata"]["tags"] = ["nbval-skip"]


def helper_above(cells, at):
    """A cell of the learner's own that the answer uses."""
    cells[at]["source"] = text(cells[at]["source"]).replace("from labkit import RetriesExhausted, TerminalError", "")
    source = "# mine\nfrom labkit import RetriesExhausted, TerminalError"
    cells.insert(at, {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None})


def helper_below(cells, at):
    """The same in a cell below: written after a red one, run, and then the answer again."""
    helper_above(cells, at)
    cells.insert(at + 2, cells.pop(at))


def filled_by_a_call(cells, at):
    """What the answer uses is filled by a cell that gives it to a function, and by a decorator."""
    source = "KEPT = {}\ndef fill(kept):\n    kept[1] = 2\ndef keep(number):\n    return lambda made: KEPT.setdefault(number, made)"
    for cell in (source, "fill(KEPT)", "@keep(2)\ndef two():\n    return 4"):
        cells.insert(at, {"cell_type": "code", "metadata": {}, "source": cell, "outputs": [], "execution_count": None})
        at += 1
    cells[at]["source"] = text(cells[at]["source"]).replace("def execute", "ONE, TWO = KEPT[1], KEPT[2]()\n\n\ndef execute", 1)


def keeps_the_report(cells, at):
    """The answer's cell checks itself, and looks at what the check said."""
    cells[at]["source"] = text(cells[at]["source"]) + '\nresult = check("retry")\nprint(result)\nassert result.report.verdict == "holds"'


def tries_out(cells, at):
    """The answer's cell tries itself out in the ways that a notebook has, and has a function of its own that is called like a check."""
    trials = 'async def demo():\n    return 1\nawait demo()\ndisplay(1)\nfrom labkit import check as c\nc("retry")\nget_ipython().run_line_magic("time", "1")'
    source = text(cells[at]["source"]).replace("def execute", "import math\n\nshow = math.exp2\nTABLE = [show(n) for n in range(3)]\n\n\ndef execute", 1)
    cells[at]["source"] = f"{source}\nassert TABLE[2] == 4\n{trials}\nimport sys\nsys.stdout.reconfigure(encoding='utf-8')"


def without_line_ends(cells, at):
    """Each source as a list of lines, as some programs write them: without their ends."""
    for cell in cells:
        cell["source"] = text(cell["source"]).split("\n")


def changed_check(cells, at):
    next(cell for cell in cells if about(cell).get("role") == "check")["source"] = "print('holds')"


def renamed(cells, at):
    cells[at]["source"] = text(cells[at]["source"]).replace("execute_with_retry", "my_retry")


def format_3(book, answer):
    cells = [{"cell_type": c["cell_type"], "input" if c["cell_type"] == "code" else "source": c["source"]} for c in filled(book, answer)["cells"]]
    return dumped({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]})


def exported(book, answer):
    parts = [f"# In[{n}]:\n\n\n{text(c['source'])}\n" for n, c in enumerate(filled(book, answer)["cells"], 1) if c["cell_type"] == "code"]
    return {"retry.py": "\n".join(parts).encode()}


def other_version(book, answer):
    made = filled(book, answer)
    made["metadata"]["labkit"] |= {"digest": "0" * 64, "version": "0"}
    return dumped(made)


def nested(depth):
    return b'{"cells": ' + b"[" * depth + b"]" * depth + b"}"


OWN_CHECK = '\n\nif __name__ == "__main__":\n    from labkit import check\n\n    check("retry")\n'


ANIMALS = {
    "as handed out": (lambda book, answer: dumped(book), UNTOUCHED),
    "answered": (lambda book, answer: dumped(filled(book, answer)), ANSWERED),
    "metadata stripped": (changed(without_metadata), ANSWERED),
    "ids missing": (changed(without_ids), ANSWERED),
    "ids doubled": (changed(doubled_ids), ANSWERED),
    "answer copied": (changed(copied), ANSWERED),
    "drafted": (changed(drafted), ANSWERED),
    "a draft beside it": (lambda book, answer: {**dumped(filled(book, DRAFT)), "retry_final.py": answer.encode()}, ANSWERED),
    "all else doubled": (changed(doubled_untouched), ANSWERED),
    "split": (changed(split), ANSWERED),
    "merged": (changed(merged), ANSWERED),
    "all else deleted": (changed(only_the_answer), ANSWERED),
    "reordered": (changed(reordered), ANSWERED),
    "retyped": (changed(retyped), ANSWERED),
    "pasted below": (changed(pasted_below), ANSWERED),
    "timed": (changed(timed), ANSWERED),
    "NBVAL_SKIP": (changed(skipping), ANSWERED),
    "a helper above": (changed(helper_above), ANSWERED),
    "a helper below": (changed(helper_below), ANSWERED),
    "filled by a call": (changed(filled_by_a_call), ANSWERED),
    "keeps the report": (changed(keeps_the_report), ANSWERED),
    "tries itself out": (changed(tries_out), ANSWERED),
    "checks itself": (lambda book, answer: {"retry.py": (answer + OWN_CHECK).encode()}, ANSWERED),
    "the check changed": (changed(changed_check), ANSWERED),
    "renamed": (changed(renamed), ANSWERED),
    "format 3": (format_3, ANSWERED),
    "exported to Python": (exported, ANSWERED),
    "a Python file": (lambda book, answer: {"retry.py": answer.encode()}, ANSWERED),
    "a second download": (lambda book, answer: dumped(filled(book, answer), "retry (1).ipynb"), ANSWERED),
    "in a new notebook": (lambda book, answer: dumped({"cells": [{"cell_type": "code", "source": answer}]}, "homework.ipynb"), ANSWERED),
    "another version": (other_version, ANSWERED),
    "CRLF": (lambda book, answer: {"retry.py": answer.replace("\n", "\r\n").encode()}, ANSWERED),
    "a byte order mark": (lambda book, answer: {"retry.ipynb": b"\xef\xbb\xbf" + dumped(filled(book, answer))["retry.ipynb"]}, ANSWERED),
    "nothing": (lambda book, answer: {}, MISSING),
    "another exercise": (lambda book, answer: {"claim.py": b"# labkit: claim\ndef claim(engine, worker_id, now):\n    return None"}, MISSING),
    "empty": (lambda book, answer: {"retry.ipynb": b""}, UNREADABLE),
    "not JSON": (lambda book, answer: {"retry.ipynb": b"{"}, UNREADABLE),
    "no notebook": (lambda book, answer: {"retry.ipynb": b'{"a": 1}'}, UNREADABLE),
    "a list": (lambda book, answer: {"retry.ipynb": b"[[[]]]"}, UNREADABLE),
    "nested deeply": (lambda book, answer: {"retry.ipynb": nested(100_000)}, UNREADABLE),
    "NUL": (lambda book, answer: {"retry.ipynb": b"\0" * 100}, UNREADABLE),
    "UTF-16": (lambda book, answer: {"retry.py": answer.encode("utf-16")}, ANSWERED),
    "a notebook in UTF-16": (lambda book, answer: {"retry.ipynb": json.dumps(filled(book, answer)).encode("utf-16")}, ANSWERED),
    "Latin-1": (lambda book, answer: {"retry.py": f"# -*- coding: latin-1 -*-\n{answer}\n# é\n".encode("latin-1")}, ANSWERED),
    "Latin-1 without a word": (lambda book, answer: {"retry.py": f"{answer}\n# é\n".encode("latin-1")}, UNREADABLE),
    "a notebook called .py": (lambda book, answer: dumped(filled(book, answer), "retry.py"), ANSWERED),
    "lines without ends": (changed(without_line_ends), ANSWERED),
    "a notebook called .txt": (lambda book, answer: dumped(filled(book, answer), "retry.ipynb.txt"), UNREADABLE),
    "a notebook called .json": (lambda book, answer: dumped(filled(book, answer), "retry.json"), UNREADABLE),
    "zipped": (lambda book, answer: {"homework.zip": b"PK\3\4"}, UNREADABLE),
    "50 MB": (lambda book, answer: {"retry.ipynb": b" " * 50_000_000}, UNREADABLE),
}
