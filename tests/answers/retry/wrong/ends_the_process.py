# wrong: ends the whole process where it should raise
# diagnosed: ends the process it runs in
import sys


def execute_with_retry(fn, max_attempts, clock):
    sys.exit(f"no success in {max_attempts} attempts")
