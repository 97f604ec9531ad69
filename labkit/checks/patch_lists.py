"""More cases of `patch`: questions that are asked and answered, artifacts, flags.

Not handled here: facts and plans (see `patch_cases`).
"""

from __future__ import annotations

from labkit.agent.state import Artifact
from labkit.checks.patch_cases import EMPTY_TEXT, EXACT, IN_ORDER, LOG, ODD, OPEN, TAIL, row

ASKED = (
    row(
        "two questions",
        f"questions are {IN_ORDER}",
        {"open_questions": ["who?", "by when?"]},
        {"open_questions": [*OPEN, "who?", "by when?"]},
    ),
    row(
        "a question that is open",
        "a question that is open is asked again",
        {"open_questions": ["which logs?", "who?"]},
        {"open_questions": [*OPEN, "who?"]},
    ),
    row(
        "one question twice in the patch",
        "a question that stands twice in the patch is asked twice",
        {"open_questions": ["who?", "who?"]},
        {"open_questions": [*OPEN, "who?"]},
    ),
    row("questions in odd texts", EXACT, {"open_questions": ODD}, {"open_questions": [*OPEN, *ODD]}),
)
STAY_OPEN = "answered questions stay open"
ANSWERED = (
    row(
        "an answer", STAY_OPEN, {"answered": ["which logs?"]}, {"open_questions": ["until when?"]}
    ),
    row(
        "all answers",
        STAY_OPEN,
        {"answered": ["until when?", "which logs?"]},
        {"open_questions": []},
    ),
    row(
        "a question asked and answered in one patch",
        "answered questions are removed before the new ones are added",
        {"open_questions": ["who?", "by when?"], "answered": ["who?"]},
        {"open_questions": [*OPEN, "by when?"]},
    ),
    row(
        "an open question asked again and answered",
        "answered questions are removed before the new ones are added",
        {"open_questions": ["which logs?"], "answered": ["which logs?"]},
        {"open_questions": ["until when?"]},
    ),
    row(
        "an answer to what nobody asked",
        "an answer to a question that is not open does something",
        {"answered": ["why?", "which logs?"]},
        {"open_questions": ["until when?"]},
    ),
    row(
        "an answer that comes twice",
        "an answer that comes twice does something",
        {"answered": ["which logs?", "which logs?"]},
        {"open_questions": ["until when?"]},
    ),
    row(
        "an answer to a question that is open twice",
        "an answer closes one of two: a patch that comes twice closes the other",
        {"answered": ["which logs?"]},
        {"open_questions": ["until when?"]},
        open_questions=["which logs?", "until when?", "which logs?"],
    ),
    row(
        "an answer to an empty question",
        EMPTY_TEXT,
        {"answered": [""]},
        {"open_questions": ["which logs?"]},
        open_questions=["", "which logs?"],
    ),
    row("answers that are like a question", EXACT, {"answered": ["Which logs?", "which logs? "]}, {}),
    row(
        "answers that are a part of a question",
        "an answer closes a question that it is only a part of",
        {"answered": ["logs", "which logs", ""]},
        {},
    ),
)
NEWER = Artifact(artifact_id="log_1", type="logs", summary="a newer one", bytes=9, step="clean")
TWIN = LOG.model_copy(update={"artifact_id": "log_7"})
CASED = Artifact(artifact_id="Log_1", type="text", summary="a twin in name", bytes=7, step="clean")
ERRORS = Artifact(artifact_id="err_1", type="report", summary="what failed", bytes=64, step="rotate")
NAMELESS = Artifact(artifact_id="", summary="no name", step="look")
MADE = (
    row("two new artifacts", f"artifacts are {IN_ORDER}", {"artifacts": [ERRORS, TAIL]}, {"artifacts": [LOG, ERRORS, TAIL]}),
    row("an artifact that is there", "an artifact that is there is added again", {"artifacts": [LOG]}, {}),
    row(
        "the same artifact under another artifact_id",
        "tells artifacts apart by something else than their artifact_id",
        {"artifacts": [TWIN]},
        {"artifacts": [LOG, TWIN]},
    ),
    row("an artifact_id in upper case", EXACT, {"artifacts": [CASED]}, {"artifacts": [LOG, CASED]}),
    row(
        "another artifact under a known artifact_id",
        "an artifact with a known artifact_id is added or replaces the old one",
        {"artifacts": [NEWER]},
        {},
    ),
    row(
        "one artifact_id twice in the patch",
        "an artifact_id that stands twice in the patch is added twice",
        {"artifacts": [TAIL, TAIL.model_copy(update={"summary": "x"})]},
        {"artifacts": [LOG, TAIL]},
    ),
    row("an artifact with an empty artifact_id", EMPTY_TEXT, {"artifacts": [NAMELESS]}, {"artifacts": [LOG, NAMELESS]}),
    row(
        "a known artifact_id with another type",
        "an artifact with a known artifact_id is added or replaces the old one",
        {"artifacts": [LOG.model_copy(update={"type": "text"})]},
        {},
    ),
)
FLAGS = (
    row(
        "new flags",
        f"flags are {IN_ORDER}",
        {"risk_flags": ["writes", "asks", "budget"]},
        {"risk_flags": ["budget_pressure", "writes", "asks", "budget"]},
    ),
    row(
        "a flag that is there",
        "a flag that is there is added again",
        {"risk_flags": ["budget_pressure", "asks"]},
        {"risk_flags": ["budget_pressure", "asks"]},
    ),
    row(
        "one flag twice in the patch",
        "a flag that stands twice in the patch is added twice",
        {"risk_flags": ["writes", "asks", "writes"]},
        {"risk_flags": ["budget_pressure", "writes", "asks"]},
    ),
    row(
        "flags in odd texts",
        EXACT,
        {"risk_flags": ["BUDGET_PRESSURE", "budget_pressure ", "", "\U0001f525"]},
        {"risk_flags": ["budget_pressure", "BUDGET_PRESSURE", "budget_pressure ", "", "\U0001f525"]},
    ),
)
