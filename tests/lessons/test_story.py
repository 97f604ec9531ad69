"""The story's helpers: a kill at each side of each call, and the bill."""

from labkit.faults import run_once, sweep
from labkit.lessons.story import bill, containers, places, reboot, strips


def effect_first(process):
    if process.files.exists("done.txt"):
        return
    process.cloud.deploy_container("shop")
    process.files.write("done.txt", b"up")


def record_first(process):
    if process.files.exists("done.txt"):
        return
    process.files.write("done.txt", b"up")
    process.cloud.deploy_container("shop")


def test_effect_first_doubles_inside_the_window():
    """Killed between the effect and its record, the restart makes a second container; elsewhere it does not."""
    every = places(reboot(effect_first))
    assert [1, 2, 2, 1] == [containers(trace) for _, _, trace in every.runs]
    assert "p1@1.after+crash" == every.runs[1][0]
    assert (4, 2) == (len(every), every.broken)


def test_record_first_loses_inside_the_window():
    """Killed between the record and the effect, nobody ever makes a container."""
    every = places(reboot(record_first))
    assert [1, 0, 0, 1] == [containers(trace) for _, _, trace in every.runs]


def test_places_show_themselves():
    """The table names side and call, in text and in HTML."""
    every = places(reboot(effect_first))
    assert "after deploy_container shop" in repr(every)
    assert "after deploy_container shop" in every._repr_html_()


def test_strips_show_the_same_places():
    """The strip of a sweep has a cell for each place, broken where the table is."""
    row = strips({"effect first": sweep(reboot(effect_first))}).rows[0]
    assert ["holds", "broken", "broken", "holds"] == [cell.verdict for cell in row.cells]


def test_bill_leaves_out_what_was_answered_from_the_ledger():
    """A call under a known key is no second line on the bill."""

    def keyed(process):
        process.cloud.deploy_container("shop", key="k")
        process.cloud.deploy_container("shop", key="k")

    trace = run_once(reboot(keyed))
    assert 1 == containers(trace)
    assert 1 == len(bill(trace).rows)


def test_code_that_does_not_run_is_not_tried():
    """A typo or a wrong type is told, and never looks like a run that went wrong."""

    def typo(process):
        process.clock.sleep(1)
        process.clouds.deploy_container("shop")

    def text(process):
        process.files.write("x", "1")

    assert "your code raised AttributeError: 'Process' object has no attribute 'clouds'" in repr(places(reboot(typo)))
    assert "your code raised TypeError" in repr(places(reboot(text)))
    assert "raised TypeError" in places(reboot(text))._repr_html_()


def test_code_without_calls_has_no_places():
    """And the table says so instead of standing empty."""
    assert "your code calls nothing outside" in repr(places(reboot(lambda process: 1)))


def test_a_restart_that_raises_says_so():
    """Where the run ended is told together with how."""

    def cannot_go_on(process):
        if process.files.exists("mark"):
            raise ValueError("what is this?")
        process.files.write("mark", b"")
        process.cloud.deploy_container("shop")

    assert "0 s: raised ValueError: what is this?" in repr(places(reboot(cannot_go_on)))
