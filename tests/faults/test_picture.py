"""The picture of a trace: lanes, faults, effects and folds, nothing that overlaps, nothing that escapes."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from labkit.faults.paint import cells, width, wrap
from labkit.faults.picture import svg, text
from labkit.faults.picture_fold import Fold, fold
from labkit.faults.picture_layout import lay_out
from labkit.faults.picture_pack import pack
from labkit.faults.picture_story import read
from labkit.faults.trace import Line, Trace
from tests.faults.boxes import boxes, overlaps


class Story:
    """Writes traces by hand."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.time = 0.0
        self.count: dict[str, int] = {}

    def start(self, process: str, label: str = "runs") -> None:
        self.count[process] = 0
        self.lines.append(Line("start", process, self.time, label=label))

    def before(self, process: str, boundary: str, label: str, fault: str = "") -> None:
        self.count[process] += 1
        self.lines.append(Line("cross", process, self.time, self.count[process], "before", boundary, label, fault))

    def after(self, process: str, boundary: str, label: str, fault: str = "") -> None:
        self.lines.append(Line("cross", process, self.time, self.count[process], "after", boundary, label, fault))

    def effect(self, process: str, label: str, key: str) -> None:
        self.lines.append(Line("effect", process, self.time, self.count.get(process, 0), label=label, text=key))

    def call(
        self, process: str, boundary: str, label: str, *, effect: str = "", fault: str = "", takes: float = 0
    ) -> None:
        self.before(process, boundary, label)
        self.time += takes
        if effect:
            self.effect(process, label, effect)
        self.after(process, boundary, label, fault)

    def write(self, process: str) -> None:
        for label in ("BEGIN IMMEDIATE", "UPDATE tasks", "COMMIT"):
            self.call(process, "sql", label)

    def end(self, process: str, how: str, more: str = "") -> None:
        self.lines.append(Line("end", process, self.time, label=how, text=more))

    def trace(self, token: str, *broken: tuple[str, str]) -> Trace:
        return Trace(token, tuple(self.lines)).with_broken(broken)


DEPLOY = "deploy_container shop"


def reboot(key: str = "None") -> Trace:
    """A deployment that dies after its effect and before its record, and starts over."""
    story = Story()
    story.start("p1")
    story.write("p1")
    story.call("p1", "cloud", DEPLOY, effect=f"key={key}", fault="crash", takes=480)
    story.end("p1", "crashed")
    story.start("p2", "restarted")
    story.call("p2", "cloud", DEPLOY, effect=f"key={key}" + (" again" if key != "None" else ""), takes=480)
    story.write("p2")
    story.end("p2", "returned", "returned 'shop completed'")
    broken = [("one container", "two containers run")] if key == "None" else []
    return story.trace("idempotency/sqlite:p1@4.after+crash", *broken)


def two_callers() -> Trace:
    """Two processes whose calls interleave."""
    story = Story()
    story.start("p1")
    story.start("p2")
    story.before("p1", "cloud", "charge ada")
    story.effect("p1", "charge ada", "key=None")
    story.call("p2", "cloud", "charge ada", effect="key=None")
    story.before("p2", "sql", "UPDATE tasks")
    story.after("p1", "cloud", "charge ada")
    story.after("p2", "sql", "UPDATE tasks")
    story.end("p1", "raised", "raised StaleTask: another write came between, read the task again")
    story.end("p2", "returned")
    return story.trace("idempotency.two/sqlite:order=112212")


def retried() -> Trace:
    """Every kind of fault, sleeps, and an effect that lands late."""
    story = Story()
    story.start("p1")
    story.before("p1", "cloud", "charge ada", "error")
    story.call("p1", "clock", "sleep 1", takes=1)
    story.call("p1", "cloud", "charge ada", effect="key=order-17", fault="timeout", takes=30)
    story.before("p1", "cloud", "charge ada", "late(5)")
    story.call("p1", "clock", "sleep 4", takes=4)
    story.effect("p1", "charge ada", "key=order-17 again")
    story.before("p1", "http", "POST /hook", "delay(2.5)")
    story.time += 2.5
    story.after("p1", "http", "POST /hook")
    story.before("p1", "cloud", "send_mail ada", "duplicate")
    story.effect("p1", "send_mail ada", "key=None")
    story.effect("p1", "send_mail ada", "key=None")
    story.after("p1", "cloud", "send_mail ada")
    story.before("p1", "file", "fsync tasks.json", "torn(3)")
    story.end("p1", "crashed")
    return story.trace("retry/memory:p1@3.after+timeout")


def long() -> Trace:
    """A run of 120 calls that dies, and its successor that is answered from the ledger."""
    story = Story()
    story.start("p1")
    for index in range(60):
        story.call("p1", "cloud", f"clean_logs web-{index}", effect=f"key=clean-{index}", takes=3)
        story.call("p1", "sql", "UPDATE tasks")
    story.call("p1", "cloud", DEPLOY, effect="key=None", fault="crash")
    story.end("p1", "crashed")
    story.start("p2")
    for index in range(60):
        story.call("p2", "cloud", f"clean_logs web-{index}", effect=f"key=clean-{index} again", takes=3)
    story.end("p2", "returned")
    return story.trace("capstone/sqlite:p1@121.after+crash")


def hostile() -> Trace:
    """Labels that try to be markup, or are hard to set."""
    story = Story()
    story.start("<b>p1</b>", "<img src=x onerror=alert(1)>")
    story.call("<b>p1</b>", "sql", "<script>alert('x')</script>", effect="key=<i>&\x00\u202e\ud800")
    story.call("<b>p1</b>", "odd<", "]]></text></svg><script> \N{PARTY POPPER}" + "without_a_break" * 9)
    story.lines.append(Line("surprise", "<b>p1</b>", label="a kind of the future"))
    story.end("<b>p1</b>", "raised", "</style><script>")
    return story.trace("x:<script>", ("<script>", "</div><script>"))


def ordinary(fault: str = "") -> Trace:
    """Fifteen calls of an exercise: a task is read, claimed and done, over a crash; `fault` meets the last commit."""
    story = Story()
    for process, again in (("p1", ""), ("p2", " again")):
        story.start(process, "restarted" if again else "runs")
        for label in ("BEGIN", "SELECT tasks", "BEGIN", "UPDATE tasks", "COMMIT"):
            story.call(process, "sql", label)
        story.lines.append(Line("note", process, label="work", text="shop key=t1"))
        story.call(process, "cloud", DEPLOY, effect=f"key=t1{again}", fault="" if again else "crash")
        if not again:
            story.end("p1", "crashed")
    for label in ("BEGIN", "UPDATE tasks", "COMMIT"):
        story.call("p2", "sql", label, fault=fault if label == "COMMIT" else "")
    story.end("p2", "returned", "returned 't1 completed'")
    return story.trace("idempotency.fresh/memory:p1@cloud1.after+crash")


def refused() -> Trace:
    """A call that is refused for good, and its caller that gives up."""
    story = Story()
    story.start("p1")
    story.before("p1", "cloud", DEPLOY, "error(TerminalError)")
    story.end("p1", "raised", "raised RetriesExhausted: Every attempt failed; the last error is the cause.")
    return story.trace("retry/memory:p1@cloud1.before+error(TerminalError)")


TRACES = {f.__name__: f() for f in (reboot, two_callers, retried, long, hostile, ordinary, refused)}
every_trace = pytest.mark.parametrize("trace", TRACES.values(), ids=TRACES)


def parsed(trace: Trace) -> ElementTree.Element:
    return ElementTree.fromstring(svg(trace))


def drawing(trace: Trace) -> ElementTree.Element:
    found = parsed(trace).find(".//svg[@role='img']")
    assert found is not None
    return found


@every_trace
def test_equal_traces_give_equal_bytes(trace: Trace) -> None:
    """A trace that went to JSON and back draws the same picture."""
    if "\ud800" not in str(trace):
        again = Trace.from_jsonl(trace.to_jsonl())
        assert svg(again) == svg(trace)
        assert text(again) == text(trace)
    assert svg(trace).encode() == svg(trace).encode()


@every_trace
def test_nothing_in_a_trace_becomes_markup(trace: Trace) -> None:
    """The fragment is well formed, has no scripts and no ids, whatever the labels say."""
    root = parsed(trace)
    assert {"script", "img", "i"}.isdisjoint(node.tag for node in root.iter())
    assert not [node for node in root.iter() if "id" in node.attrib]


@every_trace
def test_no_two_texts_overlap(trace: Trace) -> None:
    """Every line of text has its place, also in a wide font, and lies inside the picture."""
    root = drawing(trace)
    assert overlaps(root) == []
    right, bottom = map(float, root.get("viewBox", "").split()[2:])
    assert [box for box in boxes(root) if box[1] < 0 or box[3] > right or box[4] > bottom] == []


@every_trace
def test_each_lane_is_straight_and_the_cloud_is_last(trace: Trace) -> None:
    """The names of the lanes stand under each other, in the order of their starts, the cloud below them."""
    names = [node for node in drawing(trace).iter("text") if node.get("class") == "lk-name"]
    assert [node.text for node in names] == [*trace.processes, "cloud"]
    assert len({node.get("x") for node in names}) == 1
    assert [float(node.get("y", "")) for node in names] == sorted(float(node.get("y", "")) for node in names)


@every_trace
def test_the_picture_describes_itself(trace: Trace) -> None:
    """A title and a description are there for whoever does not see it."""
    root = drawing(trace)
    assert [child.tag for child in root][:2] == ["title", "desc"]
    assert "Processes: " in (root.findtext("desc") or "")


@every_trace
def test_the_text_is_narrow_and_says_the_same(trace: Trace) -> None:
    """No row reaches a hundred cells, and every fault, end and invariant is in both pictures."""
    shown, seen = text(trace), "".join(parsed(trace).itertext())
    assert max(map(cells, shown.splitlines())) < 100
    for line in trace.lines:
        for word in (line.fault, line.label if line.kind in ("end", "broken") else ""):
            assert word in shown
            assert word in seen


def test_effect_done_record_lost_is_written_at_the_crash() -> None:
    """The point of the first lesson is said in words, in both pictures."""
    trace = reboot()
    said = [node.text for node in drawing(trace).iter("text")]
    place = said.index("crash")
    assert said[place : place + 3] == ["crash", "effect done,", "record lost"]
    assert "crash after the call: effect done, record lost" in text(trace)
    assert "done 2 times" in said


def test_a_recorded_effect_is_not_called_lost() -> None:
    """A crash after the commit of a write loses nothing."""
    story = Story()
    story.start("p1")
    story.call("p1", "cloud", DEPLOY, effect="key=None")
    story.call("p1", "sql", "BEGIN")
    story.call("p1", "sql", "UPDATE tasks")
    story.call("p1", "sql", "COMMIT", fault="crash")
    story.end("p1", "crashed")
    assert "record lost" not in text(story.trace("t"))


@pytest.mark.parametrize("label", ["BEGIN", "UPDATE tasks"])
def test_an_uncommitted_record_is_lost(label: str) -> None:
    """A crash before the commit loses the record, however far the transaction came."""
    story = Story()
    story.start("p1")
    story.call("p1", "cloud", DEPLOY, effect="key=None")
    for each in ("BEGIN", "UPDATE tasks", "COMMIT"):
        story.call("p1", "sql", each, fault="crash" if each == label else "")
        if each == label:
            break
    story.end("p1", "crashed")
    assert "effect done, record lost" in text(story.trace("t"))


def test_an_answer_from_the_ledger_is_hollow() -> None:
    """A repeated key changes nothing, and looks like it."""
    root = drawing(reboot(key="shop"))
    assert [node.get("class") for node in root.iter("circle") if node.get("r") == "9"] == ["lk-done", "lk-ring"]
    assert "again, nothing new" in text(reboot(key="shop"))


def test_a_dead_process_has_no_line_behind_its_death() -> None:
    """The lane ends at the cross; the restarted process begins to its right."""
    layout = lay_out(read(reboot()))
    y = layout.lanes["p1"].y
    lines = [
        n
        for n in drawing(reboot()).iter("line")
        if n.get("class") == "lk-life" and float(n.get("y1", "")) == round(y, 1)
    ]
    cross = next(n for n in drawing(reboot()).iter("path") if n.get("class") == "lk-dead")
    died = float(re.findall(r"[\d.]+", cross.get("transform", ""))[0])
    assert max(float(n.get("x2", "")) for n in lines) <= died
    begun = [spot.x for spot in layout.spots if not isinstance(spot.item, Fold) and spot.item.starts]
    assert begun[-1] > died


def test_interleaved_calls_stretch() -> None:
    """A call that others interrupt reaches from its first gate to its last."""
    bodies = [float(n.get("width", "")) for n in drawing(two_callers()).iter("rect") if "lk-body" in n.get("class", "")]
    assert len(bodies) == 3
    assert sum(wide > 40 for wide in bodies) == 2


def test_a_long_run_is_folded_and_counts_what_it_leaves_out() -> None:
    """Shown calls and folded calls are all calls; faults, starts and ends are never folded."""
    story = read(long())
    items = fold(story)
    folds = [item for item in items if isinstance(item, Fold)]
    assert folds
    assert len(items) < 50
    shown = sum(bool(item.before) for item in items if not isinstance(item, Fold))
    assert shown + sum(sum(item.calls.values()) for item in folds) == story.calls
    assert not [column for item in folds for column in item.columns if column.faults or column.starts or column.end]
    assert re.search(r"… \d+ calls …", "".join(drawing(long()).itertext()))


def test_a_short_run_is_shown_whole() -> None:
    """Up to forty calls nothing is left out."""
    assert not any(isinstance(item, Fold) for item in fold(read(reboot())))


def test_an_ordinary_run_over_a_crash_fits_a_narrow_page() -> None:
    """Fifteen calls of two processes stand in less than the width of a notebook's cell, at full size."""
    assert float(drawing(ordinary()).get("width", "")) < 840


def test_a_quiet_transaction_is_one_mark_with_all_its_numbers() -> None:
    """Its statement stands for it, its calls are counted, pointing at it tells them all, and the terminal has them."""
    said = [node.text for node in drawing(ordinary()).iter("text")]
    assert [said.count(range_) for range_ in ("1–2", "3–5", "7–9")] == [2, 2, 1]
    assert not {"BEGIN", "COMMIT"} & set(said)
    assert pack(read(ordinary())).calls == read(ordinary()).calls == 15
    assert any((node.text or "").count("COMMIT") == 2 for node in drawing(ordinary()).iter("title"))
    assert "a transaction from BEGIN to its end" in "".join(parsed(ordinary()).itertext())
    assert text(ordinary()).count("COMMIT") == 3


@pytest.mark.parametrize("fault", ["crash", "timeout", "delay(2)"])
def test_a_transaction_with_a_fault_is_shown_call_by_call(fault: str) -> None:
    """What a picture is there to show is never inside another mark."""
    columns = pack(read(ordinary(fault))).columns
    shown = [column.call.number for column in columns if column.process == "p2" and column.call and not column.inside]
    assert shown == [6, 7, 8, 9]


def test_a_transaction_that_others_interrupt_is_shown_call_by_call() -> None:
    """What happened in between could matter."""
    story = Story()
    for process in ("p1", "p2"):
        story.start(process)
    for label in ("BEGIN", "UPDATE tasks", "COMMIT", "BEGIN", "SELECT tasks"):
        for process in ("p1", "p2"):
            story.call(process, "sql", label)
    assert not any(column.inside for column in pack(read(story.trace("t"))).columns)


def reads_and_is_beaten(last: str) -> Trace:
    """A read, an effect, and a write that finds another version; then the process ends in the way of `last`."""
    story = Story()
    story.start("p1")
    for label in ("BEGIN", "SELECT tasks"):
        story.call("p1", "sql", label)
    story.call("p1", "cloud", DEPLOY, effect="key=t1")
    for label in ("BEGIN", "UPDATE tasks", "SELECT tasks"):
        story.call("p1", "sql", label)
    story.end("p1", last, "raised StaleTask: task t1 was read at version 1, but version 2 is stored by somebody else")
    return story.trace("t")


def test_a_transaction_without_a_commit_says_how_it_ended() -> None:
    """A read is over by the next BEGIN, a write that is not committed is rolled back; the dead say nothing."""
    trace = reads_and_is_beaten("raised")
    assert "2 sql   SELECT tasks; the read ends" in text(trace)
    assert "6 sql   SELECT tasks; rolled back" in text(trace)
    said = [node.text for node in drawing(trace).iter("text")]
    assert said.count("1–2") == said.count("rolled back") == 1
    assert "a read ends without a COMMIT" in "".join(parsed(trace).itertext())
    assert "rolled back" not in text(reads_and_is_beaten("crashed"))


def test_a_transaction_that_stays_open_is_not_said_to_end() -> None:
    """A COMMIT that comes after the outside call belongs to the BEGIN before it."""
    story = Story()
    story.start("p1")
    story.call("p1", "sql", "BEGIN")
    story.call("p1", "sql", "SELECT tasks")
    story.call("p1", "cloud", DEPLOY)
    story.call("p1", "sql", "COMMIT")
    story.end("p1", "returned")
    assert "the read ends" not in text(story.trace("t"))
    assert not any(column.inside for column in pack(read(story.trace("t"))).columns)


def test_what_is_long_is_told_whole() -> None:
    """What a process raised and under which key it acted is cut in neither picture."""
    shown = " ".join(text(reads_and_is_beaten("raised")).split())
    assert "version 2 is stored by somebody else" in shown
    said = " ".join(node.text or "" for node in drawing(reads_and_is_beaten("raised")).iter("text"))
    assert "but version 2 is stored by somebody else" in said
    keyed = " ".join(node.text or "" for node in drawing(reboot(key="deploy-shop:container")).iter("text"))
    assert "key deploy-shop: container" in keyed


def test_a_short_run_has_the_same_marks_as_a_long_one() -> None:
    """A quiet transaction is one mark, whatever the length of the run."""
    assert pack(read(reboot())).calls == read(reboot()).calls == 8
    said = [node.text for node in drawing(reboot()).iter("text")]
    assert "COMMIT" not in said
    assert {"1–3", "2–4"} < set(said)


def torn() -> Trace:
    story = Story()
    story.start("p1")
    story.call("p1", "cloud", "send_mail ada", effect="key=None")
    story.before("p1", "file", "write tasks.json", "torn(60)")
    story.end("p1", "crashed")
    return story.trace("t")


def test_a_torn_write_strikes_inside_of_its_call() -> None:
    """Half of the call is filled, the cross stands in its middle, and what was written is said instead of a lost record."""
    layout = lay_out(pack(read(torn())))
    root = drawing(torn())
    cross = next(n for n in root.iter("path") if n.get("class") == "lk-dead")
    middle = next(spot.x for spot in layout.spots if not isinstance(spot.item, Fold) and spot.item.faults)
    assert float(re.findall(r"[\d.]+", cross.get("transform", ""))[0]) == pytest.approx(middle, abs=0.1)
    assert [n.get("width") for n in root.iter("rect") if "lk-part" in n.get("class", "")] == ["16"]
    assert "torn(60) inside the call: 60 bytes written, then it died" in text(torn())
    assert "record lost" not in text(torn()) + svg(torn())


def test_a_fault_that_never_struck_is_said_above_the_picture() -> None:
    """Whoever sees an undisturbed run under the name of a crash is told so."""
    story = Story()
    story.start("p1")
    story.end("p1", "returned")
    story.lines.append(Line("note", label="crossing not reached", text="p1@cloud1.after+crash"))
    trace = story.trace("t")
    said = "crossing not reached, nothing struck: p1@cloud1.after+crash"
    assert said in text(trace)
    assert said in "".join(parsed(trace).itertext())


def timed(left: int) -> Trace:
    """Two steps of a minute under a deadline that is `left` seconds away."""
    story = Story()
    story.start("p1")
    story.lines.append(Line("note", "p1", label="deadline", text=str(left)))
    for _ in range(2):
        story.call("p1", "clock", "sleep 60", takes=60)
    story.end("p1", "returned")
    return story.trace("t")


@pytest.mark.parametrize(("left", "place"), [(90, 1.0), (60, 0.5), (-5, 0.0)])
def test_a_deadline_is_a_line_where_it_passes(left: int, place: float) -> None:
    """Inside of a call that begins in time and ends late, between two calls, or in front of everything."""
    found = [n for n in drawing(timed(left)).iter("line") if n.get("class") == "lk-due"]
    spots = [spot for spot in lay_out(pack(read(timed(left)))).spots if not isinstance(spot.item, Fold)]
    first, second = (spot for spot in spots if spot.item.call)
    wanted = {1.0: second.x, 0.5: second.left, 0.0: spots[0].left}[place]
    assert [float(n.get("x1", "")) for n in found] == [pytest.approx(wanted, abs=0.1)]
    assert first.x < second.left
    assert "-- the deadline passes --" in text(timed(left))


def test_a_deadline_that_does_not_pass_is_named_and_not_drawn() -> None:
    """Exactly at the deadline is in time."""
    assert not [n for n in drawing(timed(120)).iter("line") if n.get("class") == "lk-due"]
    assert "deadline: at 2 min; the run is over by then" in text(timed(120))
    assert "deadline: at 2 min; the run is over by then" in "".join(parsed(timed(120)).itertext())
    assert "passes" not in text(timed(120))


@every_trace
def test_time_goes_from_left_to_right_in_all_lanes(trace: Trace) -> None:
    """However close the lanes share their room, a later mark stands to the right of an earlier one."""
    xs = [spot.x for spot in lay_out(pack(read(trace))).spots]
    assert all(later - earlier >= 15 for earlier, later in pairwise(xs))


def test_the_class_of_an_error_is_written_whole() -> None:
    """Neither the class of a fault nor that of what was raised is cut or broken."""
    said = [node.text for node in drawing(refused()).iter("text")]
    assert {"error", "(TerminalError)"} < set(said)
    assert any((word or "").startswith("RetriesExhausted:") for word in said)


@every_trace
def test_a_wide_picture_scrolls_and_stays_readable(trace: Trace) -> None:
    """It scrolls by mouse and by keys, under a scrollbar that is always seen, with nothing on top of its words."""
    region = next(node for node in parsed(trace).iter("div") if node.get("class") == "lk-scroll")
    assert (region.get("tabindex"), region.get("role")) == ("0", "region")
    style = re.search(r"\.lk \.lk-scroll\{(.*?)\}", svg(trace))
    assert style is not None
    assert "overflow-x:auto" in style[1]
    assert "background" not in style[1]
    root = drawing(trace)
    least = re.search(r"min-width:(\d+)px", root.get("style", ""))
    assert least is not None
    assert float(least[1]) / float(root.get("width", "")) * 10 >= 9.4  # pixels of the smallest letters


def test_time_is_written_where_it_changes() -> None:
    """The axis holds each instant once."""
    small = [n.text for n in drawing(reboot()).iter("text") if n.get("class") == "lk-small"]
    assert [said for said in small if said and said.endswith((" s", " min"))] == ["0 s", "8 min", "16 min"]


def test_an_empty_trace_draws() -> None:
    """A run in which nothing happened is a picture all the same."""
    assert "nothing" in text(Trace("nothing"))
    assert drawing(Trace("nothing")) is not None


def test_a_word_keeps_its_last_letter():
    """A single word a little wider than its line is not cut; a much wider one is, and one with signs behind a sign."""
    limit = width("checkpoint")
    assert wrap("INSERT checkpoints", limit, 3) == ["INSERT", "checkpoints"]
    assert wrap("deploy_container", limit, 3) == ["deploy_", "container"]
    assert len(wrap("checkpointscheckpoints", limit, 3)) == 3
