# right: generators without doubles, each list made in a helper thread, tuples where lists are meant
from concurrent.futures import ThreadPoolExecutor
from itertools import chain


class Seen(Exception):
    pass


def unique(items, key):
    seen = {}

    def look(item):
        if key(item) in seen:
            raise Seen
        seen[key(item)] = item

    for item in items:
        try:
            look(item)
        except Seen:
            continue
        yield item


def apply_patch(state, patch):
    work = {
        "known_facts": (chain(state.known_facts, patch.facts), lambda f: (f.key, f.value)),
        "open_questions": (chain(state.open_questions, patch.open_questions), lambda q: q),
        "artifacts": (chain(state.artifacts, patch.artifacts), lambda a: a.artifact_id),
        "risk_flags": (chain(state.risk_flags, patch.risk_flags), lambda f: f),
    }
    with ThreadPoolExecutor(2) as pool:
        made = {name: pool.submit(lambda pair: tuple(unique(*pair)), pair) for name, pair in work.items()}
        lists = {name: future.result() for name, future in made.items()}
    closed = frozenset(patch.answered)
    lists["open_questions"] = tuple(question for question in lists["open_questions"] if question not in closed)
    if patch.plan is not None:
        lists["plan"] = tuple(patch.plan)
    return type(state).model_validate({**state.model_dump(), **lists})
