# wrong: takes the library's own solution from the modules that are loaded
# diagnosed: imports the solution instead of writing it
import sys

execute_with_retry = getattr(sys.modules[".".join(["labkit", "retry"])], "retry")
