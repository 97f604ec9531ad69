# wrong: hands the library's own solution in
# diagnosed: imports the solution
from labkit.execution import execute_task_if_not_done  # noqa: F401
