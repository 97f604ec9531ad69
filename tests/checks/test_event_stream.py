"""What a browser makes of the bytes of an event stream."""

import pytest

from labkit.checks.event_stream import Event, events_in

WHOLE = {
    "line feeds": (b"id: 3\ndata: x\n\n", [Event("3", "", "x")]),
    "carriage returns": (b"id: 3\rdata: x\r\r", [Event("3", "", "x")]),
    "both": (b"id: 3\r\ndata: x\r\n\r\n", [Event("3", "", "x")]),
    "one space is taken off": (b"data:x\ndata:  y\n\n", [Event(None, "", "x\n y")]),
    "lines are joined": (b"data: a\ndata\ndata: b\n\n", [Event(None, "", "a\n\nb")]),
    "comments": (b": a\n\n:\ndata: x\n:b\n\n", [Event(None, "", "x")]),
    "a name": (b"event: ping\ndata: x\n\n", [Event(None, "ping", "x")]),
    "no data is no event": (b"id: 3\nevent: x\n\nretry: 10\n\n", []),
    "a byte order mark": (b"\xef\xbb\xbfdata: x\n\n", [Event(None, "", "x")]),
    "an id with a NUL is none": (b"id: 3\0\ndata: x\n\n", [Event(None, "", "x")]),
    "other line ends are letters": ("data: a\u2028b\x85c\x0b\n\n".encode(), [Event(None, "", "a\u2028b\x85c\x0b")]),
    "two events": (b"data: 1\n\ndata: 2\n\n\n", [Event(None, "", "1"), Event(None, "", "2")]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize(("sent", "found"), WHOLE.values(), ids=WHOLE)
def test_whole_events(sent, found):
    """Events are found as the HTML standard says, and nothing is left."""
    assert (found, "") == events_in(sent)


def test_the_last_event_without_its_blank_line_is_lost():
    """What the end of the stream cuts off is no event."""
    assert ([Event(None, "", "1")], "data: 2") == events_in(b"data: 1\n\ndata: 2\n")


def test_a_comment_at_the_end_is_nothing():
    """A heartbeat that is under way is nothing left over."""
    assert ([], "") == events_in(b": still here\n")


def test_other_bytes_are_refused():
    """A stream is UTF-8."""
    with pytest.raises(UnicodeDecodeError):
        events_in(b"data: \xff\n\n")
