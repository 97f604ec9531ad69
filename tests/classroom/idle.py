"""An answer with the right names and signatures that does nothing: it must earn nothing, in any exercise."""

from collections.abc import Sequence

from labkit.checks.exercise import Exercise


def source(exercise: Exercise) -> str:
    """An answer with the right names and signatures that does nothing and returns None."""
    classes: dict[str, list[str]] = {}
    for path, parameters in exercise.methods.items():
        owner, _, method = path.partition(".")
        classes.setdefault(owner, []).append(_function(method, ("self", *parameters)))
    parts = []
    for name, parameters in exercise.signatures.items():
        if name in classes:
            init = _function("__init__", ("self", *parameters))
            body = "\n".join([init, *classes[name]])
            parts.append(f"class {name}:\n" + "\n".join(f"    {line}" for line in body.split("\n")))
        else:
            parts.append(("async " if exercise.asynchronous else "") + _function(name, parameters))
    return f"# labkit: {exercise.id}\n" + "\n".join(parts) + "\n"


def _function(name: str, parameters: Sequence[str]) -> str:
    places = [one for one in parameters if not one.startswith("*")]
    names = [one[1:] for one in parameters if one.startswith("*")]
    signature = ", ".join([*places, *(["*", *names] if names else [])])
    return f"def {name}({signature}):\n    return None"
