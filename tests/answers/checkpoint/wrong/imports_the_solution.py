# wrong: hands the work to the library
# diagnosed: imports the solution
from labkit.checkpoint import CheckpointManager  # noqa: F401
