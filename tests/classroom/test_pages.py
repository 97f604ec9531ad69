"""The gradebook's pages: what a learner and an instructor see, and nothing that acts or gives the check away."""

from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

from labkit.checks.judge import BROKEN, HOLDS
from labkit.classroom import pages
from labkit.classroom.gradebook import Entry
from labkit.classroom.submission import Flag
from tests.classroom.books import book, settled

NASTY = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'


class Elements(HTMLParser):
    """The names of the elements on a page, and all attributes."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes = set(), set()
        self.feed(page.decode())

    def handle_starttag(self, name, attributes):
        self.names.add(name)
        self.attributes |= {key for key, _ in attributes}


def example(**more):
    return book(ann=[settled(HOLDS), Entry("claim", 15)], bob=[settled(BROKEN, HOLDS), Entry("claim", 15)], **more)


def links(made):
    return {row.learner: f"learners/{number}.html" for number, row in enumerate(made.rows)}


def test_a_learner_sees_points_reason_and_what_broke():
    """The page says how many points, what broke first and why, and what is missing."""
    made = example()
    made.rows[1].entries["retry"].picture = "<svg><title>the run</title></svg>"
    page = pages.learner(made.rows[1], made).decode()
    for said in ("bob: 4 of 23 points", "one was seen to fail", "forgets one", "<title>the run</title>", "nothing was handed in for it"):
        assert said in page


def test_the_seed_is_for_the_instructor():
    """A learner may hand in again, so no learner's page tells the seed; the class page does."""
    made = example()
    assert b"seed" not in pages.learner(made.rows[0], made)
    assert b"seed: 1" in pages.of_class(made, links(made))


def test_databases_that_were_used():
    """A page names the databases on which something of it ran, and what did not run on all of them: what breaks on one is not run on the next."""
    made = example(cid=[settled(HOLDS), settled(BROKEN, exercise="claim")])
    made.how["databases"] = "sqlite, postgres"
    for row, entry, there in ((0, "retry", []), (1, "retry", ["sqlite"]), (2, "retry", ["sqlite", "postgres"]), (2, "claim", ["sqlite"])):
        made.rows[row].entries[entry].report.databases = there
    told = [pages.learner(row, made).decode().partition("databases: ")[2].partition(";")[0].partition(".")[0].partition("<")[0] for row in made.rows]
    assert told == ["none", "sqlite", "sqlite, postgres (claim not on all of them)"]
    assert "databases: sqlite, postgres (retry, claim not on all of them)" in pages.of_class(made, links(made)).decode()


def test_flags_are_for_the_instructor():
    """A suspicion is not told to the learner; the class page tells it, with the learner's name."""
    made = example()
    made.rows[0].entries["retry"].flags.append(Flag("odd", "it touches sys.modules"))
    assert b"sys.modules" not in pages.learner(made.rows[0], made)
    assert b"sys.modules" in pages.of_class(made, links(made))


def test_whatever_is_odd_is_told():
    """An answer that cannot be loaded and a notebook that does not run are told on the class page, each with a link to its learner."""
    made = example()
    made.rows[0].entries["retry"].public, made.rows[0].entries["retry"].public_reason = "error", "the kernel ended"
    made.rows[1].entries["claim"].state, made.rows[1].entries["claim"].reason = "error", "it does not parse"
    page = pages.of_class(made, links(made)).decode()
    rows = [part for part in page.split("<tr>") if "learners/" in part]
    assert any("learners/0.html" in row and "the notebook, run from top to bottom, error: the kernel ended" in row for row in rows)
    assert any("learners/1.html" in row and "error: it does not parse" in row for row in rows)


def test_the_class_on_average():
    """The points table begins with what can be had and what the class has on average."""
    assert "6 of 8" in pages.of_class(example(), links(example())).decode()


def test_misconceptions_are_counted():
    """The most frequent misconception stands first, with whose it is."""
    made = example(cid=[settled(BROKEN, HOLDS), Entry("claim", 15)], dan=[settled(HOLDS, BROKEN), Entry("claim", 15)])
    assert pages.misconceptions(made) == [(2, "retry", "forgets one", ["bob", "cid"]), (1, "retry", "forgets two", ["dan"])]


def test_nothing_from_outside_acts():
    """Names, reasons and outputs are text on every page, whatever is in them."""
    made = book(**{NASTY: [settled(BROKEN), Entry("claim", 15, reason=NASTY)]})
    made.rows[0].entries["retry"].report.output = NASTY
    made.rows[0].entries["retry"].flags.append(Flag("odd", NASTY))
    made.strays.append(NASTY)
    for page in (pages.learner(made.rows[0], made), pages.of_class(made, links(made))):
        found = Elements(page)
        assert not found.names & {"script", "img", "iframe", "link"}
        assert not any(name.startswith("on") or name == "src" for name in found.attributes)


def test_a_class_without_learners_has_a_page():
    """A gradebook without a row is no error: the page says that there is nobody."""
    assert b"0 learners" in pages.of_class(book(), {})


def test_a_learner_reads_what_became_of_the_files():
    """What could not be read, was not used or was one of several is told to whoever handed it in, and which file the answer was taken from."""
    made = example()
    made.rows[1].flags = [Flag("unreadable", "not read: rest.zip: hand in notebooks"), Flag("namesakes", "another row is called ' bob'")]
    entry = made.rows[1].entries["retry"]
    entry.file, entry.flags = "retry.py", [Flag("several answers", "retry: 2 different answers")]
    page = pages.learner(made.rows[1], made).decode()
    for said in ("not read: rest.zip", "retry: 2 different answers", "The answer in retry.py."):
        assert said in page
    assert "another row" not in page


def test_a_replay_names_the_file_that_stands_alone():
    """A notebook is found in the work folder; a Python file must be named."""
    made = example()
    entry = made.rows[1].entries["retry"]
    entry.report.properties[0] = replace(entry.report.properties[0], token="retry.four_attempts/memory:none")
    for file, said in (("my retry.py", "labkit replay 'retry.four_attempts/memory:none' 'my retry.py'<"), ("retry.ipynb", "memory:none'<")):
        entry.file = file
        assert said in unescape(pages.learner(made.rows[1], made).decode())


def test_one_thing_seen_often_is_one_line():
    """What was seen of several exercises of one learner stands together; code in it looks like code."""
    made = example()
    for entry in made.rows[0].entries.values():
        entry.public, entry.public_reason = "failed", "No module named `google`"
    page = pages.of_class(made, links(made)).decode()
    assert page.count("No module named") == 1
    assert "<code>google</code>" in page
    assert "retry, claim" in page
