"""Texts that an answer had a hand in can be shown everywhere."""

import json

from labkit.checks.page import page
from labkit.checks.replay import run_replay
from labkit.checks.run import run_check
from labkit.checks.texts import printable
from labkit.checks.words import whole
from labkit.faults.picture import svg, text

ODD = "\ud800\x00\x1b[2J\u202e"
SOURCE = f"""
def execute_with_retry(fn, max_attempts, clock):
    print({ODD!r})
    raise ValueError({ODD!r})
"""


def test_what_cannot_be_shown_is_escaped():
    """Halves of characters, control characters and those that turn the writing round; all else stays."""
    assert "\\ud800\\x00\\x1b[2J\\u202e" == printable(ODD)
    assert "é 漢 \N{PARTY POPPER}\n\t" == printable("é 漢 \N{PARTY POPPER}\n\t")


def test_a_place_in_memory_is_left_out():
    """It is another one each time, and equal answers have equal reports."""
    assert "ValueError: <object object> is none" == printable(f"ValueError: {object()} is none")


def test_report_and_trace_can_be_shown():
    """An error and an output that no terminal can take stand in the report, in its page and in the trace as escapes."""
    report = run_check("retry", SOURCE)
    trace = run_replay("retry.four_attempts/memory:none", SOURCE)
    shown = [whole(report), page(report), json.dumps(report.to_data(), ensure_ascii=False), text(trace), svg(trace), trace.to_jsonl()]
    for one in shown:
        assert "ud800" in one
        assert not {"\x00", "\x1b"} & {*one.encode().decode()}
