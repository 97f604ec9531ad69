"""The lesson on artifacts and context: what it measures is so, each broken way breaks, and the sound ones hold for every number of bytes."""

import pytest

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.context import select_context, size
from labkit.faults import sweep
from labkit.lessons import contexts as lesson
from labkit.lessons import contexts_cut as cuts
from labkit.lessons import contexts_errors as named
from labkit.lessons import contexts_gain as gain
from labkit.lessons import contexts_select as select

BREAKS = {
    "the log in every question": "over the budget of tokens in step 16",
    "an excerpt, and no way on": "the model says: I do not know",
    "cut by characters": "too long",
    "cut in the middle of a sign": "no text or too long",
    "half a sign replaced": "too long or not what was there",
    "escapes not counted": "too long",
    "the JSON is cut": "no text",
    "stops at the first": "8 facts would still fit",
    "counts only values": "3,762 bytes, 2,000 allowed",
    "counts what is not sent": "its artifact is not shown",
    "counts characters": "2,042 bytes, 2,000 allowed",
    "named before it is there": "named, and not there: nginx error log",
}


def test_no_question_leaves_this_machine(monkeypatch):
    """A key in the environment is not used: the scripted model answers all the same."""
    monkeypatch.setenv("OPENAI_API_KEY", "a key of somebody")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert "I do not know" == lesson.converse(lesson.excerpt_only).answer


def test_each_error_breaks_and_its_cure_holds():
    """The last table: red beside green, for the lesson's reasons."""
    assert [(name, "broken", why, "holds") for name, why in BREAKS.items()] == [
        (name, first.verdict, first.text, sound.verdict) for name, first, sound in named.errors().rows
    ]


def test_the_log_is_the_chapters_and_says_why_at_its_end():
    """48,231 bytes, the cause in the last line and nowhere else."""
    text = lesson.log()
    assert (lesson.LOG_BYTES, 1) == (len(text.encode()), text.count("no space left"))
    assert text.endswith(lesson.CAUSE)


def test_the_log_is_paid_for_in_every_question():
    """Twenty questions cost at least twenty logs at four signs a token; an excerpt and a slice a tenth of it, for the same answer."""
    whole, excerpt, sliced = lesson.runs()
    assert {lesson.STEPS} == {len(run.tokens) for run in lesson.runs()}
    assert whole.total > lesson.STEPS * lesson.LOG_BYTES / 4
    assert sliced.total < whole.total / 10
    assert (whole.answer, "I do not know") == (sliced.answer, excerpt.answer)


def test_the_chart_is_what_was_measured():
    """A bar for each question, and the sum beside it."""
    chart = lesson.per_step()
    assert [round(tokens / 1000, 1) for tokens in lesson.runs()[0].tokens] == list(chart.series[0][1])
    assert f"{lesson.runs()[0].total:,} in all" in repr(chart)
    assert "in thousands of tokens" in chart._repr_html_()


@pytest.mark.parametrize("text", [cuts.ODD, "", "a", "\N{FIRE}", "\n" * 9, "\x00\x1b", '"\\' * 5], ids=ascii)
def test_a_piece_fits_as_it_is_sent_and_is_the_text(text):
    """For every number of bytes: never longer, a beginning of the text, and the next sign would not fit."""
    for most in range(cuts.sent(text) + 2):
        piece = cuts.as_sent(text, most)
        assert text.startswith(piece)
        assert cuts.sent(piece) <= most
        assert piece == text or cuts.sent(text[: len(piece) + 1]) > most


@pytest.mark.parametrize("start", [*range(0, 60, 7), -1, -2, -3, -4, -30, -999])
def test_a_piece_may_begin_anywhere(start):
    """In the middle of a sign it begins with the next one; before the beginning it begins there."""
    piece = cuts.as_sent(cuts.ODD, 1_000, start=start)
    assert cuts.ODD.endswith(piece)
    assert len(piece.encode()) > len(cuts.ODD.encode()[start:]) - 4


def test_the_librarys_excerpt_fits_for_every_number_of_bytes():
    """As the lesson's log is cut, too."""
    assert [] == cuts.wrong_excerpts()


def test_which_way_breaks_on_which_state():
    """One long fact, many short ones, a large result, other letters: each way has its own."""
    grid = ["".join("X" if mark.verdict == "broken" else "." for mark in marks) for _, *marks in select.compared().rows]
    assert ["X...", ".X.X", "..X.", "...X", "...."] == grid


def test_the_sound_way_holds_for_every_number_of_bytes():
    """From goal and step alone up to all of it, nothing that would fit is left out."""
    for state in select.STATES.values():
        least = size(select_context(state, select.STEP, 10_000).model_copy(update={"facts": [], "artifacts": []}))
        for most in range(least, 2 * select.MOST, 97):
            assert select.why_wrong(select_context, state, most) is None


def test_when_the_selection_pays():
    """From the first step on for results of 2 kB, not within twenty steps for results of 200 bytes; once the slice is full the price is flat."""
    times = {name: [float(str(mark).split()[1]) for mark in marks] for name, *marks in gain.gains().rows}
    assert max(times["200 bytes"][:4]) < 1 < times["200 bytes"][4]
    assert times["2,000 bytes"][1] > 3
    assert times["2,000 bytes"] == sorted(times["2,000 bytes"])
    picked = [gain.tokens(gain.selected, step, 2_000) for step in (30, 40)]
    assert picked[1] < 1.02 * picked[0]


def test_content_first_holds_anywhere():
    """Any number of crashes: what the state names is there, once."""
    report = sweep(named.named(named.kept_first))
    assert ("holds", True) == (report.verdict, report.closure.closed)


def test_the_name_is_the_stores():
    """`named_first` guesses the name that the store gives, so only its order is wrong."""

    def put_and_named_first(process):
        ArtifactStore(process.engine).put(named.LOG, type="log", summary="")
        named.named_first(process)

    assert "holds" == sweep(named.named(put_and_named_first)).verdict
