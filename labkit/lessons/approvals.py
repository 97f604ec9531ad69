"""Chapter 21, questions to a person: designs for an agent that asks before it deletes, each sound at first sight.

A design is what a worker does with its task, and sometimes what the dashboard does with an answer. `parks` is the library's. Every other one is broken on
purpose, under what its docstring says: `BROKEN` holds each with the schedule that breaks it.

Not handled here: two people who answer (see `approvals_two`), and what waiting costs (see `approvals_night`).
"""

from __future__ import annotations

from labkit.faults import Scenario
from labkit.lessons.approvals_world import TASK, TWICE, TWO_HOSTS, Desk, asked_for, night
from labkit.queue import Job
from labkit.queue.job import Ask

IN_THE_NIGHT = "p1@clock1.before+crash"  # the schedule: the machine dies while the person is asleep
BEHIND_THE_YES = "p1@cloud1.before+crash"


def blocks(job: Job, desk: Desk) -> None:
    """Asks, and waits inside of the handler. Breaks on a crash in the night: the question dies with its worker."""
    for call in desk.left():
        desk.asks(asked_for(call))
        desk.sleeps()
        desk.settle(call, desk.person())


def in_memory(job: Job, desk: Desk) -> None:
    """Parks, and keeps the question in a dict. Breaks on a crash in the night: nobody knows for what the task waits."""
    for call in desk.left():
        if call not in desk.memory:
            desk.memory[call] = None
            raise Ask(asked_for(call))
        desk.settle(call, desk.memory[call])


def answers_in_memory(desk: Desk) -> None:
    """The dashboard that belongs to it: a question that it does not know cannot be answered."""
    for call, said in desk.memory.items():
        if said is None:
            desk.memory[call] = desk.person()
            desk.queue.answer(TASK, "go on")
            return
    desk.process.note("the dashboard", "no such question")


def mails_first(job: Job, desk: Desk) -> None:
    """Mails the question, and parks then. Breaks on a crash between the two: it is sent again."""
    for call in desk.left():
        if desk.queue.question(TASK).text != asked_for(call):
            desk.process.cloud.send_mail("on-call")
        # crash here: the mail is out, and the task does not wait yet
        desk.settle(call, job.ask(asked_for(call)))


def reads_once(job: Job, desk: Desk) -> None:
    """Takes the answer out when it reads it. Breaks on a crash behind that: the person is asked again."""
    for call in desk.left():
        said = desk.take_answer()
        if said is None:
            raise Ask(asked_for(call))
        # crash here: the yes is gone, and nothing has been done yet
        desk.settle(call, said)


def any_yes(job: Job, desk: Desk) -> None:
    """The answer is taken as it stands with the task. Breaks with a second call: it runs on the yes to the first."""
    for call in desk.left():
        said = desk.queue.question(TASK).answer
        if said is None:
            raise Ask(asked_for(call))
        desk.settle(call, said)


def same_words(job: Job, desk: Desk) -> None:
    """The question does not say in which call. Breaks when the model wants the same again: the old yes is its answer."""
    for call in desk.left():
        desk.settle(call, job.ask(asked_for(call).partition(" (")[0]))


def parks(job: Job, desk: Desk) -> None:
    """The library's: the question names its call, and stands with the task from the moment at which the task waits."""
    for call in desk.left():
        desk.settle(call, job.ask(asked_for(call)))


BROKEN: dict[str, tuple[Scenario, str]] = {
    "waits inside of the worker": (night(blocks), IN_THE_NIGHT),
    "the question in memory": (night(in_memory, answers_in_memory), IN_THE_NIGHT),
    "asked before it is parked": (night(mails_first), "p1@cloud1.after+crash"),
    "the answer is read once": (night(reads_once), BEHIND_THE_YES),
    "a yes without a name": (night(any_yes, calls=TWO_HOSTS), "none"),
    "a yes to the same words": (night(same_words, calls=TWICE), "none"),
}
