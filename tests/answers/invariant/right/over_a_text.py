# right: the events of each task are written into a text, and patterns look for what must not stand there
import json
import re


def word(text):
    return json.dumps(text).replace(" ", "\\u0020")


def lines(trace, task):
    return "".join(
        f"\n{e.kind} {word(e.worker)}/{e.attempt} {word(e.name)} ;" for e in trace.events if e.task_id == task
    )


HOLDER = r"\nclaimed (?P<holder>\S+) \S+ ;(?:(?!\nclaimed)[\s\S])*?\nwritten (?!(?P=holder) )"
EFFECT = r"\neffect \S+ (?P<name>\S+) ;[\s\S]*\neffect \S+ (?P=name) ;"
ORDER = (
    r"\ndone \S+ (?P<first>\S+) ;[\s\S]*\ndone \S+ (?P<second>\S+) ;"
    r"[\s\S]*\nundone \S+ (?P=first) ;[\s\S]*\nundone \S+ (?P=second) ;"
)
END = r'\nprogress \S+ "(?:completed|error)" ;'


def invariant(trace):
    for task in {event.task_id: None for event in trace.events if event.kind == "submitted"}:
        text = lines(trace, task)
        if re.search(HOLDER, text):
            return f"{task}: written by somebody who does not hold it"
        if re.search(EFFECT, text):
            return f"{task}: an effect is doubled"
        if re.search(ORDER, text):
            return f"{task}: undone in the order in which it was done"
        if len(re.findall(END, text)) != 1:
            return f"{task}: not one end"
        state = str(trace.tasks[task].state) if task in trace.tasks else "gone"
        if not re.fullmatch("completed|failed|cancelled", state):
            return f"{task}: {state}"
    return None
