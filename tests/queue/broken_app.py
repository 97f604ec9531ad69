"""A module that cannot be imported: its error becomes one line of `labkit worker`."""

raise RuntimeError("no configuration")
