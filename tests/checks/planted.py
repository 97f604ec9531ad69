"""Faults to plant into the host of a check, by the names that a nursery's `preload` takes."""

from labkit.checks import host
from labkit.faults.runner import Runner


def _fails_with(error):
    def fail(*_, **__):
        raise error

    return fail


def no_runs():
    """The host cannot run a case."""
    host._through = _fails_with(OverflowError("int too large to convert"))


def no_ends():
    """The host cannot say how a run ended."""
    Runner.end = _fails_with(ZeroDivisionError())


def no_loading():
    """The host cannot even limit itself."""
    host.limit_resources = _fails_with(RuntimeError("no limits here\nand more"))


def no_second_case():
    """The host runs one case and then fails."""
    through = host._through

    def once(*arguments):
        host._through = _fails_with(LookupError("no second case"))
        return through(*arguments)

    host._through = once
