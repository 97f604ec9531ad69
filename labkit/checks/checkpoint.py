"""The exercise `checkpoint`: when to save a snapshot of a task, which one may be gone on from, and which ones may go.

A process dies at every call to the store while it saves and while it cleans up: the newest checkpoint is there each time.

Not handled here: two sessions that save from one parent (the library gives the second `StaleCheckpoint`).
"""

from __future__ import annotations

from labkit.checks import checkpoint_cleanup_rules as cleanup
from labkit.checks import checkpoint_resume_rules as resume
from labkit.checks import checkpoint_rules as rules
from labkit.checks.checkpoint_cases import NAME, cases, drawn_cases
from labkit.checks.common import crash_rule, ends, exits_rule
from labkit.checks.exercise import Exercise, Property

RESUME = {
    "found": "a running, waiting, failed or completed task is gone on from",
    "missing": "no checkpoint is CheckpointNotFound",
    "newest": "the newest is the one with the highest number, and there is no other choice",
    "damaged": "a damaged newest checkpoint is CheckpointCorrupt",
    "state": "pending and cancelled are CheckpointNotResumable, whatever the age",
    "completed": "a completed task is handed back however old",
    "age": "what can go on is CheckpointExpired when it is older than max_age, to the moment",
}
TITLES = {
    "found": "resumes",
    "missing": "missing is told",
    "damaged": "damaged is told",
    "newest": "resumes the newest",
    "state": "state before age",
    "completed": "completed does not age",
    "age": "age",
}


def _saving() -> tuple[Property, ...]:
    said = rules.saved_any
    return (
        Property(
            "saves on its trigger", "saved when the trigger is the strategy", rules.saves(ended=False), ("saves",), said
        ),
        Property(
            "saves what has ended",
            "a task that has ended is saved under every strategy",
            rules.saves(ended=True),
            ("saves",),
            said,
        ),
        Property("says whether it saved", "maybe_save tells whether it saved", rules.says, ("saves",), said),
        Property("the whole task", "the data are the task, with all its fields", rules.whole, ("whole",), said),
        Property("a save adds", "a save changes nothing that is there", rules.adds, ("saves", "whole"), said),
    )


def _resuming() -> tuple[Property, ...]:
    asked = tuple(
        Property(
            TITLES[group],
            claim,
            resume.resumes(group),
            ("resumes",),
            resume.resumed(group),
            needs="" if group == "found" else TITLES["found"],
        )
        for group, claim in RESUME.items()
    )
    reads = Property("only reads", "resuming changes nothing", resume.only_reads, ("resumes",), resume.resumed("found"))
    return (*asked, reads)


def _cleaning() -> tuple[Property, ...]:
    return (
        Property(
            "cleans up",
            "at most max_count stay, none that is too old, and always the newest",
            cleanup.cleans,
            ("cleans",),
            cleanup.deleted_any,
        ),
        Property("counts", "cleanup returns how many went", cleanup.counts, ("cleans",), cleanup.deleted_any),
        Property(
            "in turn",
            "what counts is what the store holds now, whoever saved it",
            cleanup.in_turn,
            ("in_turn",),
            cleanup.cleaned_in_turn,
        ),
        Property(
            "other tasks stay",
            "the checkpoints of other tasks are left alone",
            cleanup.others_stay,
            ("run_dies", "cleans", "in_turn", "cleanup_dies"),
            lambda seen, facts: cleanup.deleted_any(seen, facts) or cleanup.cleaned_in_turn(seen, facts),
        ),
    )


def _dying() -> tuple[Property, ...]:
    died = ("run_dies", "cleanup_dies")
    return (
        Property(
            "what was saved survives",
            "a crash leaves what was saved",
            cleanup.saved_survives,
            ("run_dies",),
            cleanup.went_on,
        ),
        Property(
            "the newest survives",
            "a crash in a cleanup leaves the newest",
            cleanup.newest_survives,
            ("cleanup_dies",),
            cleanup.died_deleting,
        ),
        Property(
            "goes on", "after a crash the next process comes to the same end", cleanup.goes_on, died, cleanup.went_on
        ),
        crash_rule(*died),
        exits_rule("told_to_leave"),
        Property(
            "a busy store is no answer",
            "when the store raises nothing is saved, found or gone",
            cleanup.busy,
            ("busy",),
            cleanup.asked_when_busy,
        ),
    )


EXERCISE = Exercise(
    id="checkpoint",
    title="Checkpoints to go on from",
    chapter=11,
    origin="C",
    minutes=35,
    difficulty=3,
    points=15,
    essential=("resumes the newest", "damaged is told", "goes on"),
    signatures={NAME: ("store", "clock", "*strategy", "*max_age", "*max_count")},
    methods={
        f"{NAME}.maybe_save": ("task", "trigger"),
        f"{NAME}.validate_and_resume": ("task_id",),
        f"{NAME}.cleanup": ("task_id",),
    },
    shown=("run_dies:none", "run_dies:p1@7.after+crash", "cleanup_dies:none"),
    cases=cases(),
    drawn=drawn_cases,
    properties=(ends(), *_saving(), *_resuming(), *_cleaning(), *_dying()),
    hints=(
        "Three questions, three methods. Is it time to save? May somebody go on from here? Which of these will nobody ever need again? "
        "For each: what do you look at first, and what must not matter?",
        "Saving: the trigger is the strategy, or the task has ended. Resuming, in this order: is there one, is it intact, is it "
        "completed, may its state go on, is it too old? The newest is the one with the highest `seq`. Cleaning up: take the newest "
        "away first, then ask of each of the others whether it is surplus or too old.",
        "`found = sorted(store.load(task_id), key=lambda c: c.seq)`. Too old is `clock.now() - c.created_at > max_age`, asked at each "
        "call. In cleanup: `surplus = len(found) - max(max_count, 1)`, and of `enumerate(found[:-1])` those go whose place is below "
        "`surplus` or that are too old. Count them, and keep nothing in `self`.",
    ),
)
