"""What a model wrote as arguments, read once and strictly: the fields that the tool names, or one short line that says what is wrong.

Models write half a JSON object, `null`, a list, a field twice, a field that nobody knows, a megabyte of nothing. None of it is an accident of the
program: each is answered with a line that the model can act on, and the run goes on. The line never holds more than a little of what was written.

Not handled here: whether the call is a good idea (see `approval`).
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from labkit.agent.conversation import LONGEST_ARGUMENTS
from labkit.errors import BadArguments

LONGEST_LINE = 300
SHOWN = 3  # of what pydantic finds wrong
_NAMES = {type(None): "null", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def parse_arguments(text: str, model: type[BaseModel]) -> dict[str, Any]:
    """The arguments as `model` has them, defaults filled in. `BadArguments` with one line of at most 300 characters."""
    if len(text) > LONGEST_ARGUMENTS:
        raise _bad(f"the arguments have more than {LONGEST_ARGUMENTS} characters")
    try:
        found = json.loads(text, object_pairs_hook=_each_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise _bad(f"the arguments are not JSON: {error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, lists inside lists inside lists
        raise _bad("the arguments are JSON that is too deep or has too long a number") from None
    if not isinstance(found, dict):
        raise _bad(f"the arguments must be a JSON object, not {_NAMES[type(found)]}")
    try:
        return model.model_validate(found).model_dump()
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors()]
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise _bad("; ".join(wrong[:SHOWN]) + more) from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _bad(f"the field {twice[:60]!r} is given twice")
    return found


def _no_number(name: str) -> NoReturn:
    raise _bad(f"{name} is not a JSON number")


def _bad(line: str) -> BadArguments:
    return BadArguments(line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 4]} ...")
