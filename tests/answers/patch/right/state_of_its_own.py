# right: a subclass of the state knows how to take a patch, with a method for each part
import logging

import labkit.agent.state as shapes


class Patched(shapes.AgentState):
    def learn(self, facts: list[shapes.Fact]) -> None:
        for fact in facts:
            if (fact.key, fact.value) not in ((f.key, f.value) for f in self.known_facts):
                logging.getLogger("patch").warning("learnt %s", fact.key)
                self.known_facts.append(fact)

    def ask(self, questions, answered) -> None:
        self.open_questions.extend(q for q in dict.fromkeys(questions) if q not in self.open_questions)
        self.open_questions = [q for q in self.open_questions if q not in answered]

    def keep(self, artifacts) -> None:
        for artifact in artifacts:
            if artifact.artifact_id not in {a.artifact_id for a in self.artifacts}:
                self.artifacts.append(artifact)

    def warn(self, flags) -> None:
        self.risk_flags += [f for n, f in enumerate(flags) if f not in self.risk_flags and f not in flags[:n]]


def apply_patch(state, patch):
    new = Patched.model_validate(state.model_dump())
    new.learn(patch.facts)
    new.ask(patch.open_questions, patch.answered)
    new.keep(patch.artifacts)
    new.warn(patch.risk_flags)
    if patch.plan is not None:
        new.plan = list(patch.plan)
    return new
