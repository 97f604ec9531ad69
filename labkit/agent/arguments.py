"""What a model wrote as arguments, read once and strictly: the fields that the tool names, or one short line that says what is wrong.

Models write half a JSON object, `null`, a list, a field twice, a field that nobody knows, a megabyte of nothing. None of it is an accident of the
program: each is answered with a line that the model can act on, and the run goes on. The line never holds more than a little of what was written.

Not handled here: whether the call is a good idea (see `approval`).
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn

from pydantic import BaseModel, ValidationError

from labkit.agent.conversation import LONGEST_ARGUMENTS
from labkit.errors import BadArguments
from labkit.store.contract import storable_text

LONGEST_LINE = 300
LONGEST_NAME = 60  # of a field, or of the way to it
MOST_FAULTS = 3  # of what pydantic finds wrong
LONGEST_NUMBER = 300  # digits; what is much longer is no float, and from some length on no int either
TOO_LARGE = "a number is too large"
TOO_DEEP = "the arguments are JSON that is too deep, or hold half of a character"
_NAMES = {type(None): "null", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def parse_arguments(text: str, model: type[BaseModel]) -> dict[str, Any]:
    """The arguments as `model` has them, defaults filled in. `BadArguments` with one line of at most 300 characters."""
    if len(text) > LONGEST_ARGUMENTS:
        raise _bad(f"the arguments have more than {LONGEST_ARGUMENTS} characters")
    try:
        found = json.loads(
            text, object_pairs_hook=_each_once, parse_constant=_no_number, parse_float=_finite, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise _bad(f"the arguments are not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _bad(TOO_DEEP) from None
    if not isinstance(found, dict):
        raise _bad(f"the arguments must be a JSON object, not {_NAMES[type(found)]}")
    return _as_the_tool_wants(found, model)


def _as_the_tool_wants(found: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    try:
        # subtle: as JSON again, or a strict model would take no time, no choice and no set, which JSON writes as texts and lists
        return model.model_validate_json(json.dumps(found)).model_dump()
    except ValidationError as error:
        told = faults(error)
    except Exception as error:  # whatever a check of the tool's own raises
        told = f"the arguments cannot be checked: {type(error).__name__}"
    raise _bad(told)


def faults(error: ValidationError) -> str:
    """The first few things that are wrong with what was sent, by path, with no more than a little of what was sent: one line of at most 300 characters."""
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    if wrong[0]["type"] == "json_invalid":
        return TOO_DEEP
    lines = [f"{'.'.join(map(str, one['loc']))[:LONGEST_NAME] or 'arguments'}: {one['msg']}" for one in wrong[:MOST_FAULTS]]
    return _line("; ".join(lines) + (f" and {len(wrong) - MOST_FAULTS} more" if len(wrong) > MOST_FAULTS else ""))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _bad(f"the field {name[:LONGEST_NAME]!r} is given twice")
        found[name] = value
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise _bad(TOO_LARGE)
    return number


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise _bad(TOO_LARGE)
    return int(digits)


def _no_number(name: str) -> NoReturn:
    raise _bad(f"{name} is not a JSON number")


def _bad(said: str) -> BadArguments:
    return BadArguments(_line(said))


def _line(said: str) -> str:
    """One short line, whatever a name or a check holds."""
    line = storable_text(" ".join(said[: 4 * LONGEST_LINE].split()))
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 4]} ..."
