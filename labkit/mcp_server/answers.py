"""What is answered where nothing can be done: an error that says why, and nothing of what goes on inside.

A state that is not there, an address that is none and what is no patch are the caller's to mend (`INVALID_PARAMS`). For the rest the message is
labkit's own where it has one; what a driver or anything else says stays in this server's log, a line each.

Not handled here: a refusal that a model is to read, which is a tool's result (see `tool`).
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from labkit.database import in_one_line
from labkit.errors import LabkitError, StateNotFound, UnstorableValue, UsageError

_log = logging.getLogger("labkit.mcp")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def answers(handler: Callable[_P, Awaitable[_R]]) -> Callable[_P, Awaitable[_R]]:
    """The handler, of which nothing is raised but `MCPError`."""

    @functools.wraps(handler)
    async def answered(*args: _P.args, **named: _P.kwargs) -> _R:
        try:
            return await handler(*args, **named)
        except MCPError:
            raise
        except (StateNotFound, UnstorableValue, UsageError) as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        except LabkitError as error:
            raise MCPError(INTERNAL_ERROR, str(error)) from error
        except Exception as error:
            _log.error("%s failed: %s: %s", handler.__name__, type(error).__name__, in_one_line(error))
            raise MCPError(INTERNAL_ERROR, "this server could not answer; its log says why") from error

    return answered
