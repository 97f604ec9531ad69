"""The lesson on durable agents: each broken loop still breaks where the lesson says, and the library's holds in the same place."""

import pytest

from labkit.faults import run_once, sweep
from labkit.lessons import agents as lesson
from labkit.lessons import agents_ends as ends
from labkit.lessons import agents_runs as runs
from labkit.lessons import talk_crashes as talk
from labkit.lessons.agents_world import at_once, conversation, two_hosts, without_a_key
from labkit.lessons.talk_ledger import OPEN, UNTOLD, Moment, Said, SideBySide, ledger_of, talk_of

CLEANED_TWICE = "clean_logs web-1 happened 2 times"
REFUSED = "failed: ModelRefused: 400: call 'call_1' has no answer"
WHY = {  # broken loop -> how it breaks, from its beginning
    "the conversation in memory": CLEANED_TWICE,
    "a call without its answer": REFUSED,
    "an open call gets an excuse": CLEANED_TWICE,
    "an open call is made again": CLEANED_TWICE,
    "recorded afterwards, no key": CLEANED_TWICE,
    "a key of the process": CLEANED_TWICE,
    "the model's id as the key": "completed, and clean_logs web-2 never happened",
    "arguments that are no JSON": "failed: JSONDecodeError",
    "a tool that nobody has": "failed: KeyError",
    "made again without a key": CLEANED_TWICE,
}
WAYS = [
    lesson.in_memory,
    lesson.journalled,
    lesson.says_interrupted,
    lesson.runs_again,
    lesson.recorded,
    lesson.own_key,
    lesson.by_the_call,
    lesson.durable,
]


def notes(trace):
    """Places of faults that were not met."""
    return [line for line in trace.lines if line.label in ("crossing not reached", "something else stands there")]


def signs(strip):
    """The verdicts of each row in a line."""
    return ["".join("X" if cell.verdict == "broken" else "." for cell in row.cells) for row in strip.rows]


def verdicts(table):
    """The verdicts of a table, row by row."""
    return [
        "".join("X" if mark.verdict == "broken" else "." for mark in row if hasattr(mark, "verdict"))
        for row in table.rows
    ]


def test_every_broken_loop_is_named():
    """The tests below leave none out."""
    assert WHY.keys() == lesson.BROKEN.keys()


@pytest.mark.parametrize("name", WHY)
def test_broken_loops_break(name):
    """On the schedule that belongs to each, all of whose faults strike."""
    trace = run_once(*lesson.BROKEN[name])
    assert trace.broken.startswith(WHY[name]), trace.broken
    assert [] == notes(trace)


@pytest.mark.parametrize("name", WHY)
def test_the_librarys_loop_survives_the_same(name):
    """The same model and the same schedule."""
    scenario, schedule = lesson.BROKEN[name]
    trace = run_once(runs.sound_for(scenario), schedule)
    assert (None, []) == (trace.broken, notes(trace))


@pytest.mark.parametrize("way", WAYS)
def test_undisturbed_every_loop_completes(way):
    """Nothing but the trouble breaks them."""
    assert None is run_once(conversation(way)).broken


def test_two_states_that_no_conversation_tells_apart():
    """Before and behind the effect: the same messages, another ledger; both are refused, and nothing else is."""
    moments = talk.side_by_side(conversation(lesson.journalled)).moments
    lasts = ["nothing", "the goal", "the call", "clean_logs has happened", "its answer", "the last word"]
    assert lasts == [moment.last for moment in moments]
    before, behind = moments[2:4]
    assert (before.talk, (), UNTOLD) == (behind.talk, before.ledger, behind.ledger[0].sign)
    assert [False, False, True, True, False, False] == [moment.end.verdict == "broken" for moment in moments]


def test_no_repair_without_a_key_holds():
    """Each breaks from the effect to what is written behind it; a record only adds places."""
    repairs = (lesson.says_interrupted, lesson.runs_again, lesson.recorded, lesson.own_key, lesson.by_the_call)
    found = signs(runs.crashes(*map(conversation, repairs)))
    assert ["X" * 6] * 4 == [row.strip(".") for row in found[:4]]
    assert "X" not in found[4]


def test_a_batch_is_answered_in_order():
    """Dead in the second of four calls: each gets one answer, in order, and each effect is there once."""
    crashed, ended = talk.crash_and_end(at_once(lesson.durable), lesson.IN_THE_SECOND_CALL).moments
    assert 3 == sum(said.sign == OPEN for said in crashed.talk)
    assert [UNTOLD] == [said.sign for said in crashed.ledger if said.sign]
    answers = [said.text.rpartition("(")[2] for said in ended.talk if said.who == "tool"]
    assert [f"turn1_call{number})" for number in (1, 2, 3, 4)] == answers
    assert ["create_namespace shop", "deploy_container shop", "configure_route shop"] == [
        s.text for s in ended.ledger if s.who == "effect"
    ]


def test_one_id_for_two_calls():
    """The second call is answered with the result of the first, and nobody notices."""
    (ended,) = talk.crash_and_end(two_hosts(lesson.by_the_call), "none").moments
    assert 2 == sum(said.text == "cleaning web-1 ready (call_1)" for said in ended.talk)
    assert ["clean_logs web-1"] == [said.text for said in ended.ledger if said.who == "effect"]


def test_what_a_model_writes():
    """Read strictly all but the first line is answered with a reason; loaded, four raise and two run on something else."""
    rows = runs.arguments().rows
    assert [".."] + ["X."] * 6 == verdicts(runs.arguments())
    assert 4 == sum(row[1].text.endswith("Error") for row in rows)
    assert ["runs on web-1"] == [row[2].text for row in rows if row[2].text.startswith("runs")]


def test_the_turns_of_all_processes_count():
    """Counted in a process they are given anew with each attempt; counted in the journal there are ten."""
    asked = [[mark.text for mark in row[1:]] for row in runs.questions().rows]
    assert [["30", "28", "26"], ["10", "10", "10"]] == asked


def test_a_tool_without_a_key_is_asked_about():
    """A call that was under way is not made again: a person is asked, wherever it died."""
    said = runs.outcome(without_a_key(lesson.durable), lesson.EFFECT_WITHOUT_RECORD)
    assert said.startswith("asks: clean_logs")
    assert "may have happened" in said
    again, asked = signs(runs.crashes(without_a_key(lesson.recorded), without_a_key(lesson.durable)))
    assert (True, False) == ("X" in again, "X" in asked)


def test_the_last_word():
    """The chapter's loop is right on two paths; the queue tells one end on each."""
    assert ["..", "X.", "X.", "X.", "X.", "..", "X."] == verdicts(ends.last_words())
    heard = {
        name: ends.heard_on(ends.chapters, ends.PATHS[name]).text
        for name in ("the user cancels", "killed behind the last word")
    }
    assert ["completed", "completed, completed"] == list(heard.values())


def test_the_loop_closes():
    """Any number of crashes, and no place of one breaks it."""
    report = sweep(conversation(lesson.durable)).or_raise()
    assert report.closure.closed


@pytest.mark.parametrize("place", ["cloud1.after", "http1.after", "http2.before"])
def test_the_whole_agent_under_one_crash(place):
    """A few cells of the lesson's last strip, with state, progress and lease; nbval runs all of it."""
    trace = run_once(ends.whole_agent(), f"p1@{place}+crash")
    assert (None, [], ["p1", "p2"]) == (trace.broken, notes(trace), trace.processes)


def test_brief_strips_leave_out_what_changes_nothing():
    """They show each side of a commit and of a call outside, and nothing else."""
    (brief,) = runs.crashes(conversation(lesson.journalled), brief=True).rows
    calm = [line for line in run_once(conversation(lesson.journalled)).lines if line.kind == "cross"]
    outside = [line for line in calm if line.label == "COMMIT" or line.boundary != "sql"]
    assert [f"p1@{line.number}.{line.side}+crash" for line in outside] == [
        cell.crossing.partition("~")[0] for cell in brief.cells
    ]


def test_a_drawing_of_anybodys_messages():
    """Messages and effects are enough; open calls and effects that nobody tells of are marked; markup stays text."""
    function = {"name": "clean_logs", "arguments": "<b>"}
    messages = [
        {"role": "user", "content": "<script>"},
        {
            "role": "assistant",
            "content": "I will",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
    ]
    lines = talk_of(messages)
    assert [("user", ""), ("assistant", ""), ("tool", OPEN)] == [(said.who, said.sign) for said in lines]
    drawn = SideBySide((Moment("now", lines, (*ledger_of([]), Said("effect", "clean_logs web-1", UNTOLD))),))
    page = drawn._repr_html_()
    assert (0, 1) == (page.count("<script>"), page.count("&lt;script&gt;"))
    assert ["? tool: nothing (c1)", "! clean_logs web-1"] == [
        words for words in ("? tool: nothing (c1)", "! clean_logs web-1") if words in repr(drawn)
    ]
    assert max(map(len, repr(drawn).splitlines())) <= 102


def test_the_drawing_says_what_is_durable():
    """Its conversation is the one that the next process reads."""
    crashed = talk.crash_and_end(conversation(lesson.durable), lesson.EFFECT_WITHOUT_RECORD).moments[0]
    texts = [said.text for said in crashed.talk]
    assert ["Clean the logs of web-1.", "clean_logs web-1 (turn1_call1)", "nothing (turn1_call1)"] == texts
