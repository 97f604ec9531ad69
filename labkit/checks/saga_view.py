"""One run of one plan, as a judge reads it: what each call did, what the log says, what the ledger says.

Not handled here: what must hold (see `saga_rules`, `saga_undo_rules` and `saga_log_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from labkit.checks.exercise import Finding, Seen
from labkit.checks.saga_plans import ACTS, Plan
from labkit.cloud import Effect, resources

Facts = dict[str, Any]
Told = dict[str, Any]
FINAL = ("completed", "compensated", "compensation_failed")
ENDS = ("done", "failed", "unknown")


@dataclass(frozen=True)
class View:
    """`told` is what each call of the last process did, none if it did not come to its end; `clean` says that nothing disturbed it."""

    plan: Plan
    told: list[Told]
    log: list[tuple[str, str]]
    effects: list[Effect]
    clean: bool
    number: int = 0  # of the plan among those of its case

    @property
    def first(self) -> Told:
        return self.told[0]

    @property
    def found_ended(self) -> bool:
        """Whether the saga had ended before this process began."""
        return any(event in FINAL for event, _ in self.first["found"])

    @property
    def there(self) -> list[str]:
        """The steps of which something exists."""
        found = resources(self.effects)
        return [name for name in self.plan.names if found[self.plan.resource(name)]]

    def done(self, what: int) -> list[str]:
        """The steps that the ledger shows as done (0) or undone (1), each as often as it does, in order."""
        names = {pair[what]: step for pair, step in zip(ACTS, self.plan.names, strict=False)}
        return [names[effect.name] for effect in self.effects if effect.name in names]

    def count(self, name: str, what: str) -> int:
        """How often the first call asked for this action or undo."""
        return sum(call[:2] == [name, what] for call in self.first["calls"])

    def asked(self, what: str) -> list[str]:
        """The steps whose action or undo the first call asked for, each once, in order of the first time."""
        return list(dict.fromkeys(name for name, asked, *_ in self.first["calls"] if asked == what))


def said(told: Told) -> str:
    """How a call ended."""
    error = told["error"]
    return f"raised {error['type']}: {error['message']}" if error else "returned"


def raised(told: Told, name: str) -> bool:
    return bool(told["error"]) and name in told["error"]["bases"]


def views(seen: Seen, facts: Facts) -> Iterator[View]:
    """One for each plan of the case. A process that was stopped has told nothing."""
    value = seen.end.last.value if seen.kind != "left" and seen.end.last.how == "returned" else None
    clean = seen.kind == "end" and seen.end.token.endswith(":none")
    rows = seen.end.rows.get("saga_log", [])
    for number, plan in enumerate(facts["plans"]):
        told = value[number] if isinstance(value, list) else []
        log = [(row["event"], row["step"]) for row in rows if row["saga_id"] == plan.saga_id]
        yield View(plan, told, log, [effect for effect in seen.end.effects if effect.target == plan.app], clean, number)


Rule = Callable[[View], Finding | None]


def over(rule: Rule) -> Callable[[Seen, Facts], Finding | None]:
    """A rule for plans that came to their end, as what a property asks."""

    def find(seen: Seen, facts: Facts) -> Finding | None:
        found = (rule(view) for view in views(seen, facts) if view.told)
        return next((one for one in found if one is not None), None)

    return find


def anywhere(rule: Rule) -> Callable[[Seen, Facts], Finding | None]:
    """A rule that also holds of what a crash left and of a process that was interrupted."""

    def find(seen: Seen, facts: Facts) -> Finding | None:
        return next((one for view in views(seen, facts) if (one := rule(view)) is not None), None)

    return find


def when(test: Callable[[View], bool]) -> Callable[[Seen, Facts], bool]:
    """Whether some plan of a run that came to its end put a property to the test."""
    return lambda seen, facts: any(view.told and test(view) for view in views(seen, facts))
