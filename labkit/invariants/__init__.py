"""Runs as their domain sees them, and systems to try an invariant on. Read in this order: events, trace, watch, rules, work, systems, stories, runs."""

from labkit.invariants.events import TraceEvent
from labkit.invariants.runs import recorded, run, runs
from labkit.invariants.stories import STORIES, Story
from labkit.invariants.systems import BROKEN, SOUND, System, systems
from labkit.invariants.trace import Trace, seen

__all__ = ["BROKEN", "SOUND", "STORIES", "Story", "System", "Trace", "TraceEvent", "recorded", "run", "runs", "seen", "systems"]
