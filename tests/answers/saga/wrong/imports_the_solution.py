# wrong: calls the library
# diagnosed: imports the solution instead of writing it
from labkit.saga import run_saga as library


def run_saga(steps, log):
    library(steps, log)
